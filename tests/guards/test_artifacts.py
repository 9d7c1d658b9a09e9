"""Saved constraints that somebody changed, checksum mended: refused by a typed error, or used without harm."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import derivable as dv
from guards.fuzz import replay
from guards.mutate import mutated_artifact, with_header
from guards.samples import samples, vocabulary

SAVED = samples("artifact")


def written(data: bytes, folder: Path) -> Path:
    path = folder / "saved"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("at", range(len(SAVED)))
def test_what_was_saved_is_loaded(at: int, tmp_path: Path) -> None:
    constraint = dv.Constraint.load(written(SAVED[at], tmp_path), vocabulary())
    assert constraint.matcher().allowed_tokens().size


@pytest.mark.parametrize("at", range(len(SAVED)))
@pytest.mark.parametrize("lexing", ["scannerless", "longest", "basic", "greedy", "", None, 5, ["longest"]])
def test_another_lexing(at: int, lexing: object, tmp_path: Path) -> None:
    """Lists of strings have no automaton, look-around has none that stands alone: neither may meet the other lexer."""

    def change(header: dict[str, object]) -> None:
        header["lexing"] = lexing

    path = written(with_header(SAVED[at], change), tmp_path)
    try:
        matcher = dv.Constraint.load(path, vocabulary()).matcher()
    except dv.ArtifactError as error:
        assert str(path) in str(error) or "automaton" in str(error)
    else:
        assert lexing in ("scannerless", "longest", "basic")
        for token in matcher.allowed_tokens()[:5].tolist():
            assert matcher.allows(token)


CHANGES: dict[str, tuple[str, object]] = {
    "productions-symbol": ("productions", [-1, 1, 99]),
    "productions-head": ("productions", [1, 1, 1]),
    "productions-cut": ("productions", [-1, 5, 1]),
    "productions-length": ("productions", [-1, -1]),
    "productions-huge": ("productions", [-1, 2**63]),
    "productions-float": ("productions", [-1, 1.0, 1]),
    "productions-object": ("productions", {"a": 1}),
    "start": ("start_symbol", 99),
    "start-zero": ("start_symbol", 0),
    "start-none": ("start_symbol", None),
    "names": ("terminal_names", ["a"] * 50),
    "names-kind": ("nonterminal_names", [5]),
    "terminals": ("terminals", []),
    "terminals-length": ("terminals", [[2**62, 0, False]]),
    "terminals-rank": ("terminals", [[1, -1, False]]),
    "lookahead": ("lookahead", -1),
    "lookahead-huge": ("lookahead", 2**40),
    "references": ("references", [[1, [10**9], False]]),
    "references-symbol": ("references", [[99, [1], False]]),
    "references-none": ("references", [[1, [], False]]),
    "references-name": ("references", [[1, ["<nothing>"], False]]),
    "strings": ("strings", [[0, [["a"], False, 0, None]], [0, [["a"], False, 0, None]]]),
    "strings-place": ("strings", [[99, [["a"], False, 0, None]]]),
    "strings-surrogate": ("strings", [[0, [["\ud800"], False, 0, None]]]),
    "strings-bounds": ("strings", [[0, [[], True, 5, 2**70]]]),
    "texts": ("texts", [[99, None]]),
    "words": ("words", [[99, ["a"]]]),
    "words-empty": ("words", [[0, [""]]]),
    "words-wide": ("words", [[0, ["\u0100"]]]),
    "indentation": ("indentation", [1, 2, 99, [], [], 8, True, False]),
    "indentation-newline": ("indentation", [6, 2, 3, [], [], 8, True, False]),
    "indentation-indent": ("indentation", [1, 6, 3, [], [], 8, True, False]),
    "indentation-short": ("indentation", [1, 2]),
    "indentation-tab": ("indentation", [1, 2, 3, [], [], 0, True, False]),
    "distinct": ("distinct", [99]),
    "distinct-kind": ("distinct", ["["]),
    "relaxed": ("relaxed", [5]),
    "vocabulary": ("vocabulary", 5),
    "unknown": ("limits", {"max_parses": 2**63}),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("at", range(len(SAVED)))
def test_headers_that_contradict_themselves(name: str, at: int, tmp_path: Path) -> None:
    key, value = CHANGES[name]
    path = written(with_header(SAVED[at], lambda header: header.update({key: value})), tmp_path)
    with pytest.raises(dv.ArtifactError):
        dv.Constraint.load(path, vocabulary())


def test_a_header_that_is_too_deep_or_no_header(tmp_path: Path) -> None:
    for text in (b"[" * 100_000, b"{}", b"[]", b"5", b"\xff", b"9" * 5_000, b""):
        with pytest.raises(dv.ArtifactError):
            dv.Constraint.load(written(with_header(SAVED[0], text), tmp_path), vocabulary())


def test_the_bounds_are_those_of_the_loader(tmp_path: Path) -> None:
    """What is saved carries none: a file could otherwise raise them."""
    grammar = dv.Grammar.from_lark("start: (A | B)+\nA: /a/\nB: /aa+b/")
    dv.compile(grammar, vocabulary()).save(tmp_path / "saved")
    matcher = dv.Constraint.load(tmp_path / "saved", vocabulary(), limits=dv.Limits(max_parses=1)).matcher()
    with pytest.raises(dv.LimitError, match="max_parses"):
        matcher.advance_bytes(b"aaaaaaaa")
    with pytest.raises(dv.LimitError, match="max_symbols"):
        dv.Constraint.load(tmp_path / "saved", vocabulary(), limits=dv.Limits(max_symbols=3))
    dv.Constraint.load(tmp_path / "saved", vocabulary()).matcher().advance_bytes(b"aaaaaaaa")


def mutants(count: int, seed: int) -> list[tuple[str, bytes, int]]:
    draw = random.Random(seed)
    return [
        ("artifact", mutated_artifact(draw.choice(SAVED), SAVED, draw), draw.randrange(1 << 30)) for _ in range(count)
    ]


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_mutants(count: int) -> None:
    """In child processes: a crash is a finding, and so is anything but a typed error."""
    inputs = mutants(count, count)
    ends = [what for what, _ in replay(inputs)]
    bad = {what: data for what, (_, data, _) in zip(ends, inputs, strict=True) if what.startswith("!")}
    assert not bad, {what: data[:80] for what, data in bad.items()}
    # Most are refused; some are other constraints, or the same.
    assert "ArtifactError" in ends and "fine" in ends
