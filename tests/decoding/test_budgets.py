"""Every text that is generated under a grammar is complete within its budget of tokens, whatever the model prefers."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import numpy as np
import pytest
from embedded_model import needs_weights
from embedded_model import tiny as embedded
from fixed_models import END, VOCABULARY, WORDS, FixedModel, compiled, favouring, scattered
from writing_model import BYTES, Writer

import derivable as dv
from derivable.decoding.budget import DEFAULT, Budget, least_tokens
from derivable.decoding.targets import resolved
from derivable.errors import LimitError

PATTERNS = ["(ab|c)*12", "[abc12 ]{3,9}", "a*b*c*1?", "1{4}|2{5}", "(a(b(c1)*)*)*2"]
WAYS: list[dict[str, Any]] = [
    {},
    {"opportunistic": False},
    {"forced": False},
    {"speculate": 0},
    {"trace": True},
    {"choices": True},
    {"choices": "exact"},
    {"top_k": 2},
    {"top_p": 0.5, "temperature": 2.0},
    {"temperature": 0.0},
    {"repetition_penalty": 1.3},
]


def enders() -> FixedModel:
    """Never wants to end."""
    return favouring(0, 1, 2, 5, 3)


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_every_text_is_complete_in_time(options: dict[str, Any]) -> None:
    felt = 0
    for pattern in PATTERNS:
        constraint = compiled(pattern)
        least = least_tokens(constraint)
        for seed in range(8):
            for most in (least, least + 1, least + 3, 12):
                for model in (scattered(seed), enders()):
                    made = dv.generate(model, [0], constraint, max_tokens=most, seed=seed, **options)
                    assert re.fullmatch(pattern, made.text), (pattern, most, made)
                    assert made.finish_reason == "stop" and made.is_complete
                    assert made.stats.steps <= most
                    felt += made.stats.steps == most
    assert felt, "no budget was ever felt"


def test_far_from_its_end_a_budget_changes_no_text() -> None:
    for seed in range(20):
        free = dv.generate(scattered(seed), [0], compiled("[abc12 ]*"), seed=seed, max_tokens=400, finish=False)
        kept = dv.generate(scattered(seed), [0], compiled("[abc12 ]*"), seed=seed, max_tokens=400)
        assert free.finish_reason == "stop" and free.token_ids == kept.token_ids


def test_too_small_a_budget_is_refused_with_what_suffices() -> None:
    for model in (enders(), scattered(1)):
        with pytest.raises(LimitError, match=r"6 tokens or more.*finish=False") as refused:
            dv.generate(model, [0], compiled("[ab]{5}c{4}|1{5}"), max_tokens=4)
    assert (refused.value.limit, refused.value.used, refused.value.allowed) == ("max_tokens", 6, 4)
    cut = dv.generate(enders(), [0], compiled("[ab]{5}"), max_tokens=3, finish=False, temperature=0)
    assert (cut.text, cut.finish_reason, cut.is_complete) == ("aaa", "length", False)
    with pytest.raises(LimitError):
        dv.generate(enders(), [0], compiled("a"), max_tokens=0)


def test_no_text_at_all() -> None:
    with pytest.raises(LimitError, match="no text is known that ends"):
        least_tokens(dv.compile(dv.Grammar.from_gbnf('root ::= "a" root | "a" "é"'), VOCABULARY))


def test_the_default_is_enough_for_the_shortest_text_and_something_to_say() -> None:
    long = dv.Grammar.from_regex("([ac] ){300}[abc]*")
    made = dv.generate(enders(), [0], long, temperature=0)
    assert made.finish_reason == "stop" and made.stats.steps == 2 * least_tokens(dv.compile(long, VOCABULARY)) > DEFAULT
    short = dv.generate(enders(), [0], dv.Grammar.from_regex("[abc]*"), temperature=0)
    assert short.finish_reason == "stop" and short.stats.steps == DEFAULT
    assert Budget().room(resolved(None, VOCABULARY)).max_tokens == DEFAULT


def test_the_context_of_the_model_is_a_budget() -> None:
    model = FixedModel(enders().logits, context=9)
    made = dv.generate(model, [0, 1], compiled("(ab)*1"), temperature=0)
    assert made.finish_reason == "stop" and made.stats.steps <= 7 and re.fullmatch("(ab)*1", made.text)
    with pytest.raises(LimitError, match="context"):
        dv.generate(model, [0, 1], compiled("[abc]{20}"), max_tokens=100)
    assert dv.generate(model, [0, 1], compiled("[abc]{20}"), finish=False).finish_reason == "length"


def test_rows_have_budgets_of_their_own() -> None:
    prompts = [[0], [1], [0, 2], [2]]
    limits = [4, None, 9, 2]
    rows = dv.generate(enders(), prompts, compiled("[abc]+"), max_tokens=limits, temperature=0)
    assert [row.stats.steps for row in rows] == [4, DEFAULT, 9, 2]
    assert all(row.finish_reason == "stop" for row in rows)
    mixed = dv.generate(enders(), prompts, [compiled("[abc]+"), None] * 2, max_tokens=5, temperature=0)
    assert [row.finish_reason for row in mixed] == ["stop", "length"] * 2
    with pytest.raises(LimitError):
        dv.generate(enders(), prompts, compiled("[abc]{3}"), max_tokens=[4, 4, 1, 4])


def test_streams_and_stop_strings() -> None:
    stream = dv.generate(enders(), [0], compiled("[abc]+"), max_tokens=6, temperature=0, stream=True)
    assert "".join(stream) == "aaaaa" and stream.generation is not None and stream.generation.finish_reason == "stop"
    for seed in range(20):
        made = dv.generate(scattered(seed), [0], compiled("[abc]+"), max_tokens=8, stop="ca", seed=seed)
        assert made.finish_reason in ("stop", "stop_string") and made.is_complete == (made.finish_reason == "stop")


def test_a_matcher_keeps_the_budget_that_it_was_made_with() -> None:
    constraint = compiled("[abc]+")
    matcher = constraint.matcher(max_tokens=6)
    matcher.advance(2)
    made = dv.generate(enders(), [0], matcher, temperature=0)
    assert (made.text, made.finish_reason, matcher.is_finished) == ("aaaa", "stop", True)
    made = dv.generate(enders(), [0], constraint.matcher(max_tokens=400), temperature=0)  # not cut off at the default
    assert (made.stats.steps, made.finish_reason) == (400, "stop")
    plain = constraint.matcher()
    assert dv.generate(enders(), [0], plain, temperature=0, max_tokens=5).finish_reason == "length"
    assert dv.generate(enders(), [0], constraint.matcher(max_tokens=6), max_tokens=3).finish_reason == "length"


def test_guesses_of_others_keep_the_budget() -> None:
    class Endless:
        def draft(self, matcher: dv.Matcher, token_ids: Any, most: int) -> list[int]:
            return [0] * most

    for most in range(2, 12):
        drafted = dv.generate(enders(), [0], compiled("[abc]+"), max_tokens=most, temperature=0, drafters=[Endless()])
        alone = dv.generate(enders(), [0], compiled("[abc]+"), max_tokens=most, temperature=0, speculate=0)
        assert drafted.token_ids == alone.token_ids and drafted.finish_reason == "stop"
        assert most < 4 or drafted.stats.accepted


def test_prompts_that_are_spelled_again() -> None:
    """The tokens for the end of the prompt count, and where there is no room for them, nothing is spelled again."""
    words = [b"http", b":", b"://", b"/", b"//", b"a", b"h", None]
    vocabulary = dv.Vocabulary.from_bytes(words, eos=[7])
    model = FixedModel(lambda ids: np.random.default_rng([3, *ids]).normal(0, 2, 8).astype(np.float32))
    model.vocabulary = vocabulary
    constraint = compiled("//a{2,}", vocabulary)
    healed = set()
    for seed in range(30):
        for most in (4, 5, 6, 9):
            made = dv.generate(model, [0, 1], constraint, max_tokens=most, seed=seed)
            assert re.fullmatch("//a{2,}", made.text) and made.finish_reason == "stop"
            assert made.stats.steps <= most
            healed.add((most > least_tokens(constraint), bool(made.healed)))
    assert healed == {(False, False), (True, True)}


@pytest.mark.parametrize("forced", [True, False])
def test_vocabularies_without_an_end_token(forced: bool) -> None:
    vocabulary = dv.Vocabulary.from_bytes(WORDS[:9], eos=[])
    model = FixedModel(lambda ids: np.random.default_rng([1, *ids]).normal(0, 2, 9).astype(np.float32))
    model.vocabulary = vocabulary
    for pattern in ("(ab)+", "(ab){1,3}", "[abc]{3}"):
        for most in (3, 4, 5, 8):
            made = dv.generate(model, [0], compiled(pattern, vocabulary), max_tokens=most, forced=forced)
            assert made.finish_reason == "stop" and re.fullmatch(pattern, made.text), (pattern, most, made)


def test_masks_that_are_computed_ahead() -> None:
    constraint = dv.compile(dv.Grammar.from_regex("[abc]+"), VOCABULARY, prefetch=True)
    for most in range(2, 9):
        made = dv.generate(enders(), [0], constraint, max_tokens=most, temperature=0)
        assert (made.text, made.finish_reason) == ("a" * (most - 1), "stop")


def test_choices_are_told_however_little_is_left() -> None:
    """Alternatives have more bytes than the budget has tokens."""
    grammar = dv.Grammar.from_choices(["no", "never in my life", "yes"])
    made = dv.generate(Writer("never in my life", BYTES), [0], grammar, max_tokens=6, choices=True, temperature=0)
    assert made.text == made.choices[""].chosen == "no"


SCHEMAS: dict[str, dict[str, Any]] = {
    "person": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    },
    "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "tree": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["name", "children"],
    },
    "list": {
        "type": "object",
        "properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
        "required": ["next"],
    },
}
GRAMMARS = {name: dv.Grammar.from_json_schema(schema) for name, schema in SCHEMAS.items()} | {
    "json": dv.Grammar.builtin("json"),
    "sql": dv.Grammar.builtin("sql"),
    "words": dv.Grammar.from_regex("([A-Z][a-z]+ ){2,}[a-z]+\\."),
}


@needs_weights
@pytest.mark.parametrize("name", sorted(GRAMMARS))
@pytest.mark.parametrize("temperature", [0.0, 1.0, 3.0])
def test_the_embedded_model_always_finishes(name: str, temperature: float) -> None:
    model = embedded()
    constraint = dv.compile(GRAMMARS[name], model.vocabulary)
    least = least_tokens(constraint)
    for most in (least, least + 4, 40):
        for seed in range(2):
            made = dv.generate(model, "JSON:\n", constraint, max_tokens=most, temperature=temperature, seed=seed)
            assert made.finish_reason == "stop" and made.is_complete and made.stats.steps <= most
            whole = constraint.matcher()
            whole.advance_bytes(made.text_bytes)
            assert whole.is_accepting
            if name in SCHEMAS:
                jsonschema.Draft202012Validator(SCHEMAS[name]).validate(json.loads(made.text))
            elif name == "json":
                json.loads(made.text)


@needs_weights
def test_batches_of_the_embedded_model_finish() -> None:
    grammars = [GRAMMARS["person"], GRAMMARS["tags"], None, GRAMMARS["tree"]]
    rows = dv.generate(embedded(), ["A:\n"] * 4, grammars, max_tokens=[20, 12, 8, 30], temperature=2.0)
    assert [row.finish_reason == "stop" for row in rows if row is not rows[2]] == [True] * 3
    assert all(row.stats.steps <= most for row, most in zip(rows, [20, 12, 8, 30], strict=True))


def test_an_end_token_is_part_of_the_budget() -> None:
    made = dv.generate(favouring(0, END), [0], compiled("a+"), max_tokens=4, temperature=0)
    assert (made.token_ids, made.stats.steps) == ([0, 0, 0], 4)
