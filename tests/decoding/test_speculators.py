"""Speculators: what they learn, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fixed_models import END, WORDS, compiled, favouring

import derivable as dv
from derivable.decoding.decoder import guesses
from derivable.decoding.policy import Policy


def test_a_speculator_is_saved_loaded_merged_and_frozen(tmp_path: Any) -> None:
    constraint, model = compiled("(ab|c){12}12"), favouring(3, 2, 0, 5)
    speculator = dv.Speculator(threshold=0.5)
    for _ in range(3):
        dv.generate(model, [0], constraint, temperature=0, speculator=speculator, forced=False)
    speculator.save(tmp_path / "counts.json")
    loaded = dv.Speculator.load(tmp_path / "counts.json")
    assert len(loaded) == len(speculator) > 3 and (loaded.threshold, loaded.hops) == (0.5, speculator.hops)
    fresh = dv.compile(dv.Grammar.from_regex("(ab|c){12}12"), dv.Vocabulary.from_bytes(WORDS, eos=[END]))
    result = dv.generate(model, [0], fresh, temperature=0, speculator=loaded.freeze(), forced=False)
    assert result.stats.model_calls <= 4 and result.stats.accepted >= 8
    assert len(loaded) == len(speculator)
    other = dv.generate(model, [0], compiled("c{14}"), temperature=0, speculator=loaded, forced=False)
    assert other.stats.drafted == 0  # nothing was learned about that grammar
    merged = dv.Speculator(threshold=0.5).merge(loaded).merge(loaded)
    places = merged.places(constraint.matcher(), [0])
    assert merged.probability(places)[0] == 3
    # Seen six times and nothing else, with three tokens before it, two, one and none: each time one choice is added.
    assert merged.probability(places)[1] == pytest.approx(1 - (1 / 7) ** 4)
    assert loaded.probability(places)[1] == pytest.approx(1 - (1 / 4) ** 4)


def test_contexts_are_the_same_wherever_they_are_asked() -> None:
    """States are numbered as they are visited; what counts are saved under must not depend on it."""
    text = 'start: pair*\npair: NAME "=" (NUMBER | list) ";"\nlist: "[" (NUMBER ",")* "]"\n'
    text += "NAME: /[a-c]+/\nNUMBER: /[12]+/\n"
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(128)), None], eos=[128])
    samples = [b"a=1;b=[1,2,];c", b"ab=[", b"a=12;", b"", b"c=[2,"]

    def contexts(order: Sequence[bytes]) -> dict[bytes, tuple[int, ...]]:
        constraint = dv.compile(dv.Grammar.from_lark(text + f"// {order!r}"), vocabulary)
        found = {}
        for sample in order:
            matcher = constraint.matcher()
            matcher.advance_bytes(sample)
            found[sample] = tuple(matcher.context(hops) for hops in (-1, 0, 2))
        return found

    first = contexts(samples)
    assert first == contexts(samples[::-1])
    assert len(set(first.values())) == len(samples)
    with pytest.raises(dv.ArgumentError):
        dv.compile(dv.Grammar.from_lark(text), vocabulary).matcher().context("2")  # type: ignore[arg-type]


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": "derivable speculator 1"}', "\udcff", "{" * 100_000])
def test_damaged_counts(tmp_path: Any, content: str) -> None:
    path = tmp_path / "counts.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(dv.ArtifactError, match="counts"):
        dv.Speculator.load(path)
    with pytest.raises(dv.ArtifactError):
        dv.Speculator.load(tmp_path / "absent")
    with pytest.raises(dv.ArtifactError):
        dv.Speculator().save(tmp_path / "absent" / "x")
    for arguments in ({"threshold": 2}, {"threshold": "a"}, {"hops": -2}, {"max_places": 1.5}):
        with pytest.raises(dv.ArgumentError):
            dv.Speculator(**arguments)
    with pytest.raises(dv.ArgumentError):
        dv.Speculator().merge(dv.Speculator(hops=7))


def test_places_are_told_apart() -> None:
    speculator = dv.Speculator()
    shapes = [compiled("[ab]{5}").matcher(), compiled("[ac]{5}").matcher()]  # states alike, of different grammars
    assert len({speculator.places(matcher, [1])[-1] for matcher in shapes}) == 2
    nested = 'start: "x" a "c" | "y" b "c"\na: "a" "b"\nb: "a" "b"\n'
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(128)), None], eos=[128])
    constraint = dv.compile(dv.Grammar.from_lark(nested), vocabulary)
    matchers = [constraint.matcher(), constraint.matcher()]
    for matcher, text in zip(matchers, (b"xa", b"ya"), strict=True):
        matcher.advance_bytes(text)
    for hops, distinct in ((-1, 1), (2, 2)):
        places = {dv.Speculator(hops=hops).places(matcher, [])[-1] for matcher in matchers}
        assert len(places) == distinct, hops
    first, second = (speculator.places(matchers[0], tokens) for tokens in ([7, 8, 8], [9, 8, 8]))
    assert first[0] != second[0] and first[1:] == second[1:] and len(first) == 4


def test_a_draft_goes_on_while_all_of_it_is_likely() -> None:
    constraint, speculator = compiled("[ab]{9}"), dv.Speculator()
    matcher, tokens = constraint.matcher(), [0]
    for _ in range(9):  # a three times, b once, wherever a is followed by a
        for token in (0, 0, 0, 1):
            speculator.observe(speculator.places(matcher, tokens), token)
        matcher.advance(0)
        tokens.append(0)
    _, share = speculator.probability(speculator.places(constraint.matcher(), [0]))
    assert share == pytest.approx((3 + (3 + (3 + 3 / 5) / 5) / 5) / 5)
    for threshold, length in ((0.8, 0), (0.7, 1), (0.5, 2), (0.3, 4), (0.0, 8)):
        speculator.threshold = threshold
        drafted = list(guesses(constraint.matcher(), [0], Policy(speculator=speculator, forced=False), 8))
        assert drafted == [(0, False)] * length, threshold


def test_a_place_that_is_hardly_known_is_judged_by_wider_ones() -> None:
    constraint, speculator = compiled("[abc]*"), dv.Speculator()
    matcher = constraint.matcher()
    for before in range(5):
        speculator.observe(speculator.places(matcher, [before]), 1)
    assert speculator.probability(speculator.places(matcher, [9])) == (1, 5 / 6)
    assert dv.Speculator().probability(speculator.places(matcher, [9])) == (-1, 0.0)
    speculator.observe(speculator.places(matcher, [9]), 2)
    token, share = speculator.probability(speculator.places(matcher, [9]))
    assert token == 2 and share == pytest.approx((1 + (1 + (1 + 1 / 7) / 2) / 2) / 2)


def test_places_are_bounded() -> None:
    speculator, matcher = dv.Speculator(max_places=5), compiled("[abc]*").matcher()
    for token in range(9):
        speculator.observe(speculator.places(matcher, [token]), 1)
    assert len(speculator) == 5
