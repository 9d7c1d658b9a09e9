"""Put a checkpoint of ``train.py`` and the tokenizer into the package.

    python export.py --run /tmp/tiny/run --tokenizer /tmp/tiny/tokenizer.json --package
    ../packages/derivable-demo/derivable_demo

Writes ``weights.npz`` (float16 arrays under their transformers names, and the configuration as JSON) and
``tokenizer.json``.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer


def main() -> None:
    """Convert and copy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--package", type=Path, required=True)
    parser.add_argument("--context", type=int, default=1024, help="positions the model was trained on")
    options = parser.parse_args()

    checkpoint = torch.load(options.run / "checkpoint.pt", weights_only=True)
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    config = dict(checkpoint["record"]["shape"])
    config["max_position_embeddings"] = options.context
    config["bos_token_id"] = tokenizer.token_to_id("<|begin|>")
    config["eos_token_id"] = tokenizer.token_to_id("<|end|>")
    arrays = {f"model.{name}": tensor.numpy().astype(np.float16) for name, tensor in checkpoint["model"].items()}
    options.package.mkdir(parents=True, exist_ok=True)
    target = options.package / "weights.npz"
    np.savez(target, config=np.frombuffer(json.dumps(config).encode(), np.uint8), **arrays)
    shutil.copyfile(options.tokenizer, options.package / "tokenizer.json")
    print(f"{target}: {target.stat().st_size / 1e6:.2f} MB, {checkpoint['record']['minutes']:.1f} minutes")


if __name__ == "__main__":
    main()
