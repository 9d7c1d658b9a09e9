"""The data of Derivable's embedded model: `weights.npz` and `tokenizer.json`, read by `derivable.tiny`."""
