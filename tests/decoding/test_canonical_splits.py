"""Are masks of canonical tokens those of the definition, where a pattern splits texts before they are merged?"""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from small_bpe import splitting, trained

import derivable as dv

tokenizers = pytest.importorskip("tokenizers")

LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
PATTERNS = {
    "llama-3": LLAMA_3,
    "gpt-2": GPT_2,
    "blanks": r"\s+(?!\S)|\s+|[a-c]+|[^a-c\s]",
    "far ahead": r"a[ab]*1|[ab]| +\n| |[^ab ]",
    "lazy": r"[ab]+?b| ?[^ ]| ",
    "ahead of two": r"a+(?!ab|1)|[ab]|[^ab]",
}


def tokenize(path: Path) -> Any:
    made = tokenizers.Tokenizer.from_file(str(path))
    made.encode_special_tokens = True
    return lambda text: tuple(made.encode(text, add_special_tokens=False).ids)


def defined(texts: list[str], encode: Any) -> dict[tuple[int, ...], set[int]]:
    """The masks behind all beginnings of tokenizations of a language's texts, by the definition; 0 is the end."""
    masks: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for text in texts:
        ids = encode(text)
        for at, token in enumerate((*ids, 0)):
            masks[ids[:at]].add(token)
    return masks


def assert_as_defined(constraint: dv.Constraint, masks: dict[tuple[int, ...], set[int]], most: int = 10**9) -> None:
    matcher = constraint.matcher()
    for ids, allowed in sorted(masks.items(), key=lambda item: item[0])[:most]:
        matcher.reset()
        for token in ids:
            matcher.advance(token)
        assert set(matcher.allowed_tokens().tolist()) == allowed, ids


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("seed", range(4))
def test_masks_are_those_of_the_definition(tmp_path: Path, seed: int, name: str, alone: bool) -> None:
    alphabet = "ab 1\n's"
    path = splitting(tmp_path / "tokenizer.json", seed, PATTERNS[name], alphabet, alone=alone)
    vocabulary, encode = dv.Vocabulary.from_tokenizer_json(path, eos=[0]), tokenize(path)
    for characters, most in ((alphabet, 3), ("a \n", 5), ("a1 ", 5), ("'s a", 4)):
        texts = ["".join(text) for n in range(1, most + 1) for text in itertools.product(characters, repeat=n)]
        shown = characters.replace("\n", "\\n")
        constraint = dv.compile(dv.Grammar.from_regex(f"[{shown}]{{1,{most}}}"), vocabulary, canonical=True)
        assert_as_defined(constraint, defined(texts, encode))
        assert not constraint.search.undecided
