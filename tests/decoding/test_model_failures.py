"""Models, drafters and arguments that are not what they should be: a typed error, and what there is so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fixed_models import FixedModel, compiled, favouring, scattered
from numpy.typing import NDArray

import derivable as dv


class Failing(FixedModel):
    """Raises, or returns something else, after some calls."""

    def __init__(self, after: int, what: Any) -> None:
        super().__init__(favouring(3, 2, 0, 5).logits)
        self.after, self.what, self.calls = after, what, 0

    def start(self) -> Any:
        inner, outer = super().start(), self

        class State:
            length = property(lambda _: inner.length)

            def truncate(self, length: int) -> None:
                inner.truncate(length)

            def append(self, token_ids: Sequence[int]) -> Any:
                outer.calls += 1
                if outer.calls > outer.after:
                    if isinstance(outer.what, BaseException):
                        raise outer.what
                    return outer.what
                return inner.append(token_ids)

        return State()


@pytest.mark.parametrize(
    "what",
    [
        RuntimeError("out of memory"),
        ValueError(),
        None,
        "logits",
        [[1, 2], [3]],
        np.zeros((0, 11), np.float32),
        np.zeros((40, 11), np.float32),
        np.zeros((1, 2, 11), np.float32),
        np.zeros((1, 11), np.int64),
    ],
)
@pytest.mark.parametrize("after", [0, 3])
def test_a_model_that_fails(what: Any, after: int) -> None:
    matcher = compiled("(ab|c){12}12").matcher()
    with pytest.raises(dv.ModelError) as caught:
        dv.generate(Failing(after, what), [0], matcher, temperature=0, forced=False, speculate=0)
    partial = caught.value.partial
    assert isinstance(partial, dv.Generation)
    assert partial.text == "ab" * after and not partial.is_complete
    assert matcher.length == after
    if isinstance(what, Exception):
        assert caught.value.__cause__ is what


def test_a_drafter_that_fails() -> None:
    class Broken:
        def draft(self, matcher: dv.Matcher, token_ids: Sequence[int], most: int) -> list[int]:
            if len(token_ids) > 3:
                raise RuntimeError("no memory")
            return [99, -1]

    with pytest.raises(dv.ModelError, match="no memory") as caught:
        dv.generate(favouring(3, 2), [0], compiled("(ab|c){12}"), temperature=0, drafters=[Broken()], forced=False)
    assert isinstance(caught.value.partial, dv.Generation) and caught.value.partial.text == "ababab"


def test_prompts_that_do_not_fit() -> None:
    model = favouring(3)
    model.context = 4
    with pytest.raises(dv.DerivableError, match="5 tokens"):
        dv.generate(model, [0] * 5)
    unknown = dv.generate(model, [0], {("a",): 1}, max_tokens=2, finish=False)  # an unknown keyword
    assert unknown.finish_reason == "length"
    for schema in ({"type": {"x"}}, {"properties": 5}):
        with pytest.raises(dv.DerivableError):
            dv.generate(model, [0], schema)


def test_an_interrupt_is_nobodys_error() -> None:
    with pytest.raises(KeyboardInterrupt):
        dv.generate(Failing(2, KeyboardInterrupt()), [0])


def test_models_that_return_the_last_row_only() -> None:
    model, constraint = favouring(3, 2, 0, 5), compiled("(ab|c){12}12")

    class Last:
        def __init__(self) -> None:
            self.inner = model.start()
            self.length = 0

        def append(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
            rows = self.inner.append(token_ids)
            self.length = self.inner.length
            return rows[-1]

        def truncate(self, length: int) -> None:
            self.inner.truncate(length)
            self.length = length

    class LastModel(FixedModel):
        def start(self) -> Any:
            return Last()

    expected = dv.generate(model, [0], constraint, temperature=0)
    for _ in range(3):
        result = dv.generate(LastModel(model.logits), [0], constraint, temperature=0)
        assert result.token_ids == expected.token_ids


def test_a_mask_that_takes_too_much_work_is_asked_for_again() -> None:
    """Every call may do little; generation comes to an end all the same."""
    grammar = dv.Grammar.from_lark('start: "a"* x\nx: "(" x ")" | /[bc]+/ | x "+" x', lexing="scannerless")
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(128)), b"((", b"b+b", None], eos=[130])
    model = FixedModel(lambda ids: np.random.default_rng(ids).normal(0, 2, 131).astype(np.float32))
    model.vocabulary = vocabulary
    tight = dv.compile(grammar, vocabulary, limits=dv.Limits(max_step_work=40))
    with pytest.raises(dv.LimitError):
        tight.matcher().allowed_tokens()
    loose = dv.compile(grammar, vocabulary)
    for seed in range(5):
        results = [dv.generate(model, [97], c, seed=seed, max_tokens=25) for c in (tight, loose)]
        assert results[0].token_ids == results[1].token_ids


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"model": "large"}, "model"),
        ({"model": 5}, "model"),
        ({"prompt": 5}, "prompt"),
        ({"prompt": b"a"}, "prompt"),
        ({"prompt": [-1]}, "prompt"),
        ({"prompt": "text"}, "prompt"),  # this model has no encode()
        ({"grammar": "root ::= 'a'"}, "grammar"),
        ({"grammar": 5}, "grammar"),
        ({"stop": ""}, "stop"),
        ({"stop": 5}, "stop"),
        ({"speculate": -1}, "speculate"),
        ({"speculator": 5}, "speculator"),
        ({"seed": "a"}, "seed"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_k": 1.5}, "top_k"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"logit_bias": [1]}, "logit_bias"),
        ({"logit_bias": {10: 1.0, 99: 5.0}}, "logit_bias"),  # it has no such token
    ],
)
def test_arguments_of_the_wrong_kind(arguments: dict[str, Any], named: str) -> None:
    given: dict[str, Any] = {"model": scattered(0), "prompt": [0], **arguments}
    with pytest.raises(dv.ArgumentError, match=named) as caught:
        dv.generate(**given)
    assert caught.value.argument == named


def test_a_number_of_the_wrong_type_is_told_its_type() -> None:
    for given, wanted in ((2.0, r"an integer, not float \(2.0\)"), (1 << 70, "an integer of 64 bits, not int")):
        with pytest.raises(dv.ArgumentError, match=f"max_tokens must be {wanted}"):
            dv.generate(scattered(0), [0], max_tokens=given)  # type: ignore[arg-type]
