"""Where memory is short, masks go before what they were made of."""

from __future__ import annotations

import random
from pathlib import Path

import derivable as dv

OTHERS = [b"#%d" % i for i in range(200_000)]  # in most masks, which are much larger than what they are made of
PAIRS = [bytes([one, other]) for one in b")]}" for other in b")]};"]
VOCABULARY = dv.Vocabulary.from_bytes(
    [*(bytes([byte]) for byte in range(256)), b"ab", b" = ", b"(a", b"f(", *PAIRS, None, *OTHERS],
    eos=[260 + len(PAIRS)],
)
GRAMMAR = dv.Grammar.from_lark(
    """
    start: stmt+
    stmt: NAME " = " expr ";"
    expr: NAME | NAME "(" expr ")" | "[" expr "]" | "{" expr "}"
    NAME: /[a-z][a-z0-9#]*/
    """,
    lexing="longest",
)
NESTED = [random.Random(k).choices(["f()", "[]", "{}"], k=k) for k in range(40)]
TEXTS = [
    f"a = {''.join(each[:-1] for each in some)}b{''.join(each[-1] for each in reversed(some))};{'c = d;' * (k % 3)}"
    for k, some in enumerate(NESTED)
]


def masks(constraint: dv.Constraint, text: str) -> list[list[int]]:
    matcher, found = constraint.matcher(), []
    for token in VOCABULARY.encode_forced(text.encode()):
        found.append(matcher.allowed_tokens().tolist())
        matcher.advance(token)
    return found


def walked(constraint: dv.Constraint, text: str) -> int:
    before = constraint.stats()["walk_nodes"]
    masks(constraint, text)
    return int(constraint.stats()["walk_nodes"] - before)


def test_masks_that_were_forgotten_are_put_together_again() -> None:
    dv.cache.clear()
    constraint = dv.compile(GRAMMAR, VOCABULARY)
    expected = [masks(constraint, text) for text in TEXTS]
    assert constraint.stats()["rows"] > 0
    constraint._kernel.forget_masks()
    assert constraint.stats()["rows"] == 0
    assert [walked(constraint, text) for text in TEXTS] == [0] * len(TEXTS)
    constraint._kernel.forget_masks()
    assert [masks(constraint, text) for text in TEXTS] == expected


def test_a_full_cache_keeps_what_walks_have_settled() -> None:
    dv.cache.clear()
    whole = dv.compile(GRAMMAR, VOCABULARY)
    expected = [masks(whole, text) for text in TEXTS]
    full = whole.stats()["row_bytes"]
    dv.cache.clear()
    small = dv.compile(GRAMMAR, VOCABULARY, limits=dv.Limits(cache_bytes=int(full * 0.8)))
    for _ in range(3):
        assert [masks(small, text) for text in TEXTS] == expected
    assert small.stats()["rows"] < whole.stats()["rows"]  # some went
    assert sum(walked(small, text) for text in TEXTS) == 0


def test_texts_are_followed_past_the_memory_of_their_masks(tmp_path: Path) -> None:
    dv.cache.clear()
    whole = dv.compile(GRAMMAR, VOCABULARY, ahead_of_time=TEXTS)
    stats = whole.stats()
    dv.cache.clear()
    # Half of it is for what is filled: there is room for half of the masks.
    limits = dv.Limits(cache_bytes=2 * stats["run_bytes"] - stats["row_bytes"])
    small = dv.compile(GRAMMAR, VOCABULARY, ahead_of_time=TEXTS, limits=limits)
    assert small.stats()["rows"] < stats["rows"]  # some went
    path = tmp_path / "one.constraint"
    small.save(path)
    dv.cache.clear()
    loaded = dv.Constraint.load(path, VOCABULARY)
    assert sum(walked(loaded, text) for text in TEXTS) == 0


def test_under_scannerless_what_texts_left_stays() -> None:
    """There nothing but masks is kept of them, so there is nothing to forget these for."""
    texts = ["acegikmoqsuwyACEGIKMOQSUWY0123456789", "z"]  # a mask for each character
    grammar = dv.Grammar.from_regex("|".join(texts))
    dv.cache.clear()
    lazy = dv.compile(grammar, VOCABULARY)
    masks(lazy, texts[0])
    dv.cache.clear()
    limits = dv.Limits(cache_bytes=lazy.stats()["run_bytes"])  # half of it is for what is filled
    small = dv.compile(grammar, VOCABULARY, ahead_of_time=texts, limits=limits)
    matcher = small.matcher()
    for token in VOCABULARY.encode_forced(texts[0].encode()):
        assert matcher.knows_mask()
        matcher.advance(token)


def test_masks_of_few_tokens_take_little_room() -> None:
    dv.cache.clear()
    constraint = dv.compile(dv.Grammar.from_choices(["abab = ab", "(a(a", "f(f("]), VOCABULARY)
    for text in ("abab = ab", "(a(a", "f(f("):
        masks(constraint, text)
    stats = constraint.stats()
    assert stats["rows"] >= 5
    assert stats["row_bytes"] < stats["rows"] * VOCABULARY.size / 8 / 10
