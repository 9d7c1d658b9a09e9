"""Train the byte-level BPE on the documents of ``generate_data.py``.

    python train_tokenizer.py --data /tmp/tiny --out /tmp/tiny/tokenizer.json

The pre-tokenizer pattern is that of Qwen 2 (llama-3's with single digits) without the English contractions:
runs of punctuation stay together with a preceding blank and following newlines, a letter run takes one
preceding character with it. Tokens therefore cross the terminals of programming languages (``":``,
``},\\n``, ``(self``), as those of real vocabularies do.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

from generators.common import BOUNDARY
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPECIAL_TOKENS = ["<|begin|>", "<|end|>", "<|user|>", "<|assistant|>"]


def documents(path: Path, characters: int) -> Iterator[str]:
    """Documents of a JSON-lines file until ``characters`` are reached."""
    seen = 0
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            text: str = json.loads(line).replace(BOUNDARY, "")
            seen += len(text)
            if seen > characters:
                return
            yield text


def main() -> None:
    """Train and write ``tokenizer.json``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--vocabulary", type=int, default=3072)
    options = parser.parse_args()

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=options.vocabulary,
        special_tokens=SPECIAL_TOKENS,
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        min_frequency=2,
    )
    tokenizer.train_from_iterator(documents(options.data / "train.jsonl", 60_000_000), trainer)
    tokenizer.save(str(options.out))

    sample = list(documents(options.data / "val.jsonl", 10_000_000))
    random.Random(0).shuffle(sample)
    tokens = sum(len(tokenizer.encode(text, add_special_tokens=False).ids) for text in sample)
    size = sum(len(text.encode()) for text in sample)
    print(f"{tokenizer.get_vocab_size()} entries, {size / tokens:.2f} bytes per token on val")


if __name__ == "__main__":
    main()
