"""Batches: rows are answered together, and each as if it were alone."""

from __future__ import annotations

from typing import Any

import pytest
from fixed_models import FixedModel, compiled, scattered

import derivable as dv


def test_batches() -> None:
    model = scattered(3)
    grammars = [dv.Grammar.from_regex(p) for p in ("(ab|c){3}", "1{4}", "[abc]{2}")]
    rows = dv.generate(model, [[0], [1], [0, 2]], grammars, seed=7)
    alone = [
        dv.generate(model, prompt, grammar, seed=7 + row)
        for row, (prompt, grammar) in enumerate(zip([[0], [1], [0, 2]], grammars, strict=True))
    ]
    assert [row.token_ids for row in rows] == [row.token_ids for row in alone]
    assert len(dv.generate(model, [[0], [1]], grammars[1])) == 2
    with pytest.raises(dv.ArgumentError, match="grammar"):
        dv.generate(model, [[0], [1]], grammars)
    with pytest.raises(dv.ArgumentError, match="stream"):
        dv.generate(model, [[0], [1]], grammars[0], stream=True)


def test_errors_say_which_row() -> None:
    schemas = [{"type": "integer"}, {"type": "integer"}, {"type": "intejer"}, {"type": "object"}]
    with pytest.raises(dv.GrammarError, match=r"row 2: .*intejer") as caught:
        dv.generate("tiny", ["a"] * 4, schemas)
    assert caught.value.row == 2
    model, grammar = scattered(3), dv.Grammar.from_regex("[abc]{5}")
    with pytest.raises(dv.LimitError, match=r"row 1: .*6 tokens or more") as limited:
        dv.generate(model, [[0], [0]], grammar, max_tokens=[9, 3])
    assert (limited.value.row, limited.value.used) == (1, 6)
    with pytest.raises(dv.DerivableError, match="row 1: the prompt is empty"):
        dv.generate(model, [[0], []], grammar)
    with pytest.raises(dv.LimitError) as alone:
        dv.generate(model, [0], grammar, max_tokens=3)
    assert alone.value.row is None and "row" not in str(alone.value)


class Together(FixedModel):
    """A model that answers several states at once, and says how many tokens each was given."""

    def __init__(self, seed: int) -> None:
        super().__init__(scattered(seed).logits)
        self.passes: list[list[int]] = []
        self.fails_at = -1

    def append_batch(self, states: list[Any], token_ids: list[list[int]]) -> list[Any]:
        assert len(set(map(id, states))) == len(states) == len(token_ids)
        self.passes.append([len(ids) for ids in token_ids])
        if len(self.passes) == self.fails_at:
            raise RuntimeError("no memory")
        return [state.append(ids) for state, ids in zip(states, token_ids, strict=True)]


@pytest.mark.parametrize("options", [{}, {"speculate": 0}, {"temperature": 0}, {"forced": False, "heal": False}])
def test_rows_of_a_batch_are_answered_together(options: dict[str, Any]) -> None:
    grammars = [dv.Grammar.from_regex(p) for p in ("(ab|c){3,9}", "1{4}", "[abc]{2}( [12]+)?", "(a|b|c|1|2){12}")]
    prompts = [[0], [1, 2], [0, 2], [3, 3, 3]]
    drafted = 0
    for seed in range(8):
        model = Together(seed)
        rows = dv.generate(model, prompts, grammars, seed=seed, max_tokens=20, **options)
        alone = [
            dv.generate(scattered(seed), p, g, seed=seed + row, max_tokens=20, **options)
            for row, (p, g) in enumerate(zip(prompts, grammars, strict=True))
        ]
        assert [row.token_ids for row in rows] == [one.token_ids for one in alone]
        assert [row.finish_reason for row in rows] == [one.finish_reason for one in alone]
        if seed == 0:  # later on they have learned in other orders
            assert len(model.passes) == max(row.stats.model_calls for row in rows) - 1
        drafted += sum(max(lengths) > 1 for lengths in model.passes)
    assert drafted or options.get("speculate") == 0 or options.get("forced") is False


def test_a_batch_that_fails_says_what_there_is() -> None:
    model = Together(1)
    model.fails_at = 3
    with pytest.raises(dv.ModelError, match="no memory") as caught:
        dv.generate(model, [[0], [1]], dv.Grammar.from_regex("[abc]{9,}"), speculate=0, heal=False)
    partial = caught.value.partial
    assert isinstance(partial, list) and [len(one.token_ids) for one in partial] == [3, 3]
    matcher = compiled("[abc]{2}").matcher()
    with pytest.raises(dv.ArgumentError, match="another Matcher"):
        dv.generate(model, [[0], [1]], matcher)
    model.append_batch = lambda states, token_ids: []  # type: ignore[method-assign]
    with pytest.raises(dv.ModelError, match="0 arrays"):
        dv.generate(model, [[0], [1]], dv.Grammar.from_regex("[abc]{9}"), speculate=0)


def test_rows_may_have_limits_seeds_and_temperatures_of_their_own() -> None:
    model, grammar = scattered(3), dv.Grammar.from_regex("[abc]{12}")
    prompts = [[0], [1], [0, 2], [2]]
    limits, seeds, heats = [3, 20, 1, 5], [9, 2, 2, 400], [1.0, 0.0, 3, 0.5]
    rows = dv.generate(model, prompts, grammar, max_tokens=limits, finish=False, seed=seeds, temperature=heats)
    alone = [
        dv.generate(model, prompt, grammar, max_tokens=limit, finish=False, seed=seed, temperature=heat)
        for prompt, limit, seed, heat in zip(prompts, limits, seeds, heats, strict=True)
    ]
    assert [row.token_ids for row in rows] == [one.token_ids for one in alone]
    assert [len(row.token_ids) for row in rows] == [3, len(alone[1].token_ids), 1, 5]
    fresh = dv.generate(model, [[0]] * 8, dv.Grammar.from_regex("[abc]{30}"), seed=[None] * 8)
    assert len({tuple(row.token_ids) for row in fresh}) > 1
    many = dv.generate(model, [[0]] * 40, grammar, seed=None, max_tokens=1, finish=False)
    assert len(many) == 40  # whatever number it begins with


@pytest.mark.parametrize("name", ["max_tokens", "seed", "temperature"])
def test_lists_that_do_not_fit_the_batch(name: str) -> None:
    for given in ([1], [1, 2, 3], []):
        with pytest.raises(dv.ArgumentError, match=f"{name} must be a list of 2"):
            dv.generate(scattered(3), [[0], [1]], dv.Grammar.from_regex("a"), **{name: given})
    with pytest.raises(dv.ArgumentError, match=f"{name} must be one"):
        dv.generate(scattered(3), [0], dv.Grammar.from_regex("a"), **{name: [1]})
    with pytest.raises(dv.DerivableError, match=name):
        dv.generate(scattered(3), [[0], [1]], dv.Grammar.from_regex("a"), **{name: [1, -2]})
    with pytest.raises(dv.ArgumentError, match=name):
        dv.generate(scattered(3), [[0], [1]], dv.Grammar.from_regex("a"), **{name: [1, "2"]})
