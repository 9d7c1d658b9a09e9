"""Arrays of distinct strings of a list: what is used up is taken out of masks, whatever tokens cut the names into.

What may be written is listed: all arrays of distinct names, in all their spellings.
"""

from __future__ import annotations

import json
import random
from itertools import permutations, product

import pytest

import derivable as dv

ALPHABET = ("a", "b", "ab", '"', "é", "\\")
CASES = 60


def spellings(name: str) -> set[str]:
    """Each character as it is, or as `json.dumps` escapes it."""
    ways = [{json.dumps(c)[1:-1], json.dumps(c, ensure_ascii=False)[1:-1]} for c in name]
    return {f'"{"".join(way)}"' for way in product(*ways)}


def written(lists: list[list[str]]) -> set[bytes]:
    """All arrays of distinct items, each one of the names."""
    names = sorted({name for each in lists for name in each})
    texts = set()
    for size in range(len(names) + 1):
        for items in permutations(names, size):
            for spelled in product(*(sorted(spellings(item)) for item in items)):
                texts.add(f"[{','.join(spelled)}]".encode())
    return texts


def case(seed: int) -> tuple[list[list[str]], list[bytes]]:
    rng = random.Random(seed)
    lists = []
    for _ in range(rng.choice((1, 1, 2))):
        names = {"".join(rng.choices(ALPHABET, k=rng.randint(1, 3))) for _ in range(rng.randint(2, 3))}
        lists.append(sorted(names))
    text = "".join(map(json.dumps, lists[0]))
    tokens = {bytes([b]) for b in range(256)} | {b'",', b'","', b'["', b'"]', b',"', b"\\u00", b"e9"}
    for _ in range(30):
        at = rng.randrange(len(text))
        tokens.add(text[at : at + rng.randint(2, 5)].encode())
        name = rng.choice(rng.choice(lists))
        tokens.add((name + rng.choice(("", '"', '",', '","'))).encode())
        tokens.add(name[rng.randrange(len(name)) :].encode())
    return lists, sorted(tokens - {b""})


@pytest.mark.parametrize("seed", range(CASES))
def test_masks_hold_what_is_left(seed: int) -> None:
    lists, tokens = case(seed)
    options = [{"enum": names} for names in lists]
    schema = {"type": "array", "items": options[0] if len(options) == 1 else {"anyOf": options}, "uniqueItems": True}
    grammar = dv.Grammar.from_json_schema(schema, separators=(",", ":"))
    constraint = dv.compile(grammar, dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)]))
    texts = written(lists)
    beginnings = {text[:end] for text in texts for end in range(len(text) + 1)}
    rng = random.Random(seed)
    for _ in range(6):
        matcher, text = constraint.matcher(), b""
        while not matcher.is_finished:
            wanted = [i for i, token in enumerate(tokens) if text + token in beginnings]
            wanted += [len(tokens)] if text in texts else []
            assert matcher.allowed_tokens().tolist() == wanted, text
            token = rng.choice([i for i in wanted if i < len(tokens) and tokens[i] != b"]"] or wanted)
            matcher.advance(token)
            text += tokens[token] if token < len(tokens) else b""
