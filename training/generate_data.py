"""Write the training text: Python's standard library and generated documents, as JSON lines.

    python generate_data.py --out /tmp/tiny --megabytes 17

Every line of ``train.jsonl`` and ``val.jsonl`` is a JSON string, one document (the private character BOUNDARY
marks where an answer begins). The generated part is the same for the same seed; the standard library is that
of the running interpreter.
"""

from __future__ import annotations

import argparse
import json
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from generators import GENERATORS
from generators.common import BOUNDARY

SKIPPED_FOLDERS = {
    "test",
    "tests",
    "idlelib",
    "lib2to3",
    "site-packages",
    "dist-packages",
    "encodings",
    "__pycache__",
}


def standard_library() -> Iterator[str]:
    """The standard library's modules, without tests, idlelib, lib2to3 and the code-page tables."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        if SKIPPED_FOLDERS.isdisjoint(path.relative_to(root).parts) and path.stat().st_size > 200:
            try:
                yield path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def generated(name: str, characters: int, seed: int) -> Iterator[str]:
    """Documents of one generator until ``characters`` are reached."""
    make, _ = GENERATORS[name]
    rng = random.Random(f"{seed}:{name}")
    written = 0
    while written < characters:
        document = make(rng)
        written += len(document)
        yield document


def main() -> None:
    """Write ``train.jsonl``, ``val.jsonl`` and print the sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--megabytes", type=float, default=17.0, help="generated text, in millions of characters")
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--library-share", type=float, default=1.0, help="part of the standard library's modules")
    parser.add_argument("--boost", default="", help="factors for some generators, such as arithmetic=4,yes_no=3")
    parser.add_argument("--show", action="store_true", help="print one document of each kind and stop")
    options = parser.parse_args()
    if options.show:
        for name, (make, _) in GENERATORS.items():
            print(f"=== {name}\n{make(random.Random(options.seed)).replace(BOUNDARY, '|')}\n")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    boosts = dict(item.split("=") for item in options.boost.split(",") if item)
    shares = {name: share * float(boosts.get(name, 1)) for name, (_, share) in GENERATORS.items()}
    weight = sum(shares.values())
    documents = list(standard_library())
    if options.library_share < 1:
        keep = int(len(documents) * options.library_share)
        documents = random.Random(options.seed).sample(documents, keep)
    print(f"{'standard_library':18} {len(documents):7} documents {sum(map(len, documents)) / 1e6:6.2f} MB")
    for name, share in shares.items():
        part = list(generated(name, int(options.megabytes * 1e6 * share / weight), options.seed))
        print(f"{name:18} {len(part):7} documents {sum(map(len, part)) / 1e6:6.2f} MB")
        documents += part
    random.Random(options.seed).shuffle(documents)
    held_out = len(documents) // 100
    for file, part in (("val.jsonl", documents[:held_out]), ("train.jsonl", documents[held_out:])):
        with (options.out / file).open("w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(document, ensure_ascii=False) + "\n" for document in part)
        print(f"{file}: {len(part)} documents, {sum(len(d.encode()) for d in part) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
