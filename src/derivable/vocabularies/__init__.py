"""Readers: what a tokenizer file or object says about its tokens, as a `Source`.

`derivable.vocabulary.Vocabulary` is the public face. One file a family: `tokenizer_json` (the format, decoders above
all), `huggingface` (folders and `transformers` objects), `libraries` (tiktoken, sentencepiece, GGUF); `source` holds
what they have in common, the rule for end-of-sequence ids included; `spellings` is the tokens sorted. Third-party
packages are imported when needed.
"""
