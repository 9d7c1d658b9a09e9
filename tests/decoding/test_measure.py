"""Retokenization, perplexity, templates, and how much a grammar interferes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedded_model import needs_weights
from fixed_models import END, VOCABULARY, WORDS, FixedModel, favouring, scattered

import derivable as dv
from derivable.decoding.measure import measure
from derivable.decoding.retokenize import perplexity, retokenize
from derivable.decoding.trace import Step

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(128)), None], eos=[128])


def log_softmax(row: Any) -> Any:
    row = np.asarray(row, np.float64)
    return row - row.max() - np.log(np.exp(row - row.max()).sum())


# Retokenization


@pytest.mark.parametrize("text", [b"abc", b"abcab12", b"1212ab c", b"c", b""])
def test_retokenization_is_decoding_under_the_grammar_of_one_text(text: bytes) -> None:
    for seed in range(20):
        model = scattered(seed)
        found = retokenize(model, [0], text)
        assert VOCABULARY.decode(found.token_ids) == text
        if text:
            only = dv.compile(dv.Grammar.from_choices([text.decode()]), VOCABULARY)
            made = dv.generate(model, [0], only, temperature=0, forced=False, heal=False)
            assert list(found.token_ids) == made.token_ids
        ids = [0]
        for token, log_probability in zip(found.token_ids, found.log_probabilities, strict=True):
            assert log_probability == pytest.approx(log_softmax(model.logits(ids))[token])
            ids.append(token)
        again = perplexity(model, [0], found.token_ids)
        np.testing.assert_allclose(again.log_probabilities, found.log_probabilities)
        assert again.perplexity == pytest.approx(found.perplexity) and found.perplexity >= 1


def test_no_choice_leads_where_the_rest_cannot_be_spelled() -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"ab", b"bc", None], eos=[3])
    model = FixedModel(lambda _: np.array([0, 9, 0, 0], np.float32))
    model.vocabulary = vocabulary
    assert retokenize(model, [0], "abc").token_ids == (0, 2)  # `ab` is likelier, and c is no token
    with pytest.raises(dv.VocabularyError, match="offset 1"):
        retokenize(model, [0], "ac")


def test_what_cannot_be_measured() -> None:
    model = scattered(0)
    with pytest.raises(dv.DerivableError, match="empty"):
        retokenize(model, [], "a")
    with pytest.raises(dv.ArgumentError, match="text"):
        retokenize(model, [0], 5)  # type: ignore[arg-type]
    model.context = 3
    with pytest.raises(dv.DerivableError, match="context"):
        retokenize(model, [0], "aaaa")
    with pytest.raises(dv.DerivableError, match="context"):
        perplexity(model, [0], [0] * 9)
    assert perplexity(model, [0], []).perplexity == 1.0
    certain = FixedModel(lambda _: np.where(np.arange(len(WORDS)) == 2, 0, -np.inf).astype(np.float32))
    assert perplexity(certain, [0], [2, 2]).perplexity == 1.0
    assert perplexity(certain, [0], [1, 99]).perplexity == float("inf")


# Templates


CHARACTER = dv.Template('{ "name": "{name}",\n\t"armor": "{armor}" }', name="[A-Z][a-z]*", armor=["plate", "leather"])


def accepts(grammar: dv.Grammar, text: str) -> bool:
    matcher = dv.compile(grammar, BYTES).matcher()
    try:
        matcher.advance_bytes(text.encode())
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting


def test_templates() -> None:
    assert CHARACTER.parts == ['{ "name": "', "name", '",\n\t"armor": "', "armor", '" }']
    fixed, flexible = CHARACTER.grammar(), CHARACTER.grammar("flexible")
    good = '{ "name": "Ann",\n\t"armor": "plate" }'
    assert accepts(fixed, good) and accepts(flexible, good)
    tight = '{"name":"Ann","armor":"leather"}'
    assert not accepts(fixed, tight) and accepts(flexible, tight)
    assert accepts(flexible, '{\n  "name": "Ann", "armor":\n "plate" \n}')
    for bad in (good.replace("Ann", "ann"), good.replace("plate", "cloth"), good + " ", good.replace("name", "nam e")):
        assert not accepts(fixed, bad) and not accepts(flexible, bad)
    assert accepts(dv.Template("no holes {here}").grammar(), "no holes {here}")
    assert accepts(dv.Template("{a}{a}", a=dv.Grammar.from_regex("x|y")).grammar(), "xy")
    with pytest.raises(dv.GrammarError, match="no hole 'b'"):
        dv.Template("{a}", a="x", b="y")
    with pytest.raises(dv.ArgumentError, match="b must be"):
        dv.Template("{b}", b=5)  # type: ignore[arg-type]
    with pytest.raises(dv.ArgumentError, match="text"):
        dv.Template(5)  # type: ignore[arg-type]
    with pytest.raises(dv.ArgumentError, match="form"):
        CHARACTER.grammar("loose")  # type: ignore[arg-type]


@needs_weights
def test_templates_are_filled() -> None:
    from derivable.decoding.models import tiny

    for seed in range(3):
        filled = CHARACTER.fill(tiny(), "A character as JSON:\n", seed=seed)
        assert filled.is_complete and accepts(CHARACTER.grammar(), filled.text)
        assert json.loads(filled.text) == filled.holes
        assert tiny().vocabulary.decode(filled.token_ids).decode() == filled.text
        whole = dv.generate("tiny", "A character as JSON:\n", CHARACTER.grammar(), seed=seed)
        assert accepts(CHARACTER.grammar(), whole.text) and whole.stats.forced > 4
        loose = dv.generate("tiny", "A character as JSON:\n", CHARACTER.grammar("flexible"), seed=seed)
        assert loose.is_complete and json.loads(loose.text).keys() == {"name", "armor"}


def test_a_hole_is_over_when_the_model_goes_on_behind_it() -> None:
    """Also with a token that spells the end of the hole and what is behind it, which then is tokenized apart."""
    template = dv.Template("a{x}c{y}b", x="b*", y="[12]+")
    crossing = 0
    for seed in range(40):
        filled = template.fill(scattered(seed), [0], seed=seed, max_tokens=20)
        assert VOCABULARY.decode(filled.token_ids).decode() == filled.text
        if filled.is_complete:
            assert filled.text == f"a{filled.holes['x']}c{filled.holes['y']}b" and accepts_exactly(template, filled)
            # `bc` is a token, and `c` belongs to the template: it is never part of what is in the hole
            crossing += "b" in filled.holes["x"] and 2 in filled.token_ids
    assert crossing > 3


def accepts_exactly(template: dv.Template, filled: Any) -> bool:
    matcher = dv.compile(template.grammar(), BYTES).matcher()
    matcher.advance_bytes(filled.text.encode())
    return bool(matcher.is_accepting)


# Invasiveness


def test_the_figures_are_those_of_the_definition() -> None:
    model, constraint = scattered(2), dv.compile(dv.Grammar.from_regex("(ab|c){1,4}1"), VOCABULARY)
    found = measure(model, [[0], [1]], constraint, repeat=5, seed=3, heal=False)
    assert (found.texts, found.complete) == (10, 1.0)
    steps = interventions = 0
    removed, divergence, forced, logs = [], [], 0, []
    for one in found.generations:
        matcher, ids = constraint.matcher(), list(one.prompt_ids)
        for step in one.trace:
            p = np.exp(log_softmax(model.logits(ids)))
            allowed = matcher.allowed_tokens()
            q = np.zeros_like(p)
            q[allowed] = p[allowed] / p[allowed].sum()
            removed.append(1 - p[allowed].sum())
            divergence.append((q[allowed] * np.log(q[allowed] / p[allowed])).sum())
            steps += 1
            interventions += step.wanted not in allowed
            forced += len(allowed) == 1
            if step.token_id != END:
                logs.append(np.log(p[step.token_id]))
            matcher.advance(step.token_id)
            ids.append(step.token_id)
    assert found.steps == steps and found.interventions == interventions / steps and found.forced == forced / steps
    assert found.removed == pytest.approx(np.mean(removed)) and found.divergence == pytest.approx(np.mean(divergence))
    assert found.perplexity == pytest.approx(np.exp(-np.mean(logs)))
    assert found.retokenized is not None and found.retokenized > 1 and found.by_position
    assert json.loads(json.dumps(found.to_dict()))["texts"] == 10


class TwoNames(dv.Meaning):
    """Names that were not written yet."""

    slots = ("NAME",)

    def start(self) -> frozenset[str]:
        return frozenset()

    def names(self, state: Any, slot: str) -> dv.Names:
        return dv.Names(name for name in ("ab", "cc") if name not in state)

    def read(self, state: Any, slot: str, text: str) -> frozenset[str]:
        return frozenset({*state, text})


def test_the_trace_has_the_names_that_there_are() -> None:
    grammar = dv.Grammar.from_lark('start: NAME "1" NAME\nNAME: /[abc]+/', lexing="scannerless").with_meaning(
        TwoNames()
    )
    made = dv.generate(favouring(WORDS.index(b"b")), [0], grammar, temperature=0, trace=True, forced=False, heal=False)
    assert made.text == "ab1cc"
    first, *_, last = [step for step in made.trace if step.names]
    assert (first.wanted, first.names) == (WORDS.index(b"b"), {"NAME": ("ab", "cc")})
    assert last.names == {"NAME": ("cc",)}  # `ab` was written before, and is withheld
    again = dv.Trace.from_jsonl(made.trace.to_jsonl())
    assert again == made.trace and again.steps[0].names == first.names
    assert "NAME: ab, cc" in made.trace.html()


def test_a_grammar_of_everything_does_not_interfere() -> None:
    everything = dv.Grammar.from_regex(r"[abc12 ]*")
    model = FixedModel(lambda ids: np.where(np.arange(len(WORDS)) == 10, -np.inf, len(ids) % 3).astype(np.float32))
    found = measure(model, [[0]], everything, repeat=4, max_tokens=20)
    assert (found.interventions, found.forced) == (0, 0)
    assert found.removed == pytest.approx(0, abs=1e-9) and found.divergence == pytest.approx(0, abs=1e-9)
    never = measure(favouring(END), [[0]], dv.Grammar.from_regex("a{3}"), retokenized=False, temperature=0, heal=False)
    assert never.retokenized is None and never.interventions == 0.75 and never.forced == 1.0
    with pytest.raises(dv.DerivableError, match="prompts"):
        measure(model, [], everything)
    with pytest.raises(dv.ArgumentError, match="prompts"):
        measure(model, "abc", everything)


@needs_weights
def test_the_commands(tmp_path: Path) -> None:
    testing = pytest.importorskip("typer.testing")
    from derivable.cli import app

    runner = testing.CliRunner()
    pattern = "(19|20)[0-9]{2}-[0-9]{2}"
    shown = runner.invoke(app, ["measure", "Date: ", "Day: ", "-r", pattern, "--repeat", "2"])
    assert shown.exit_code == 0
    assert re.search(r"interventions +\d", shown.output) and "perplexity" in shown.output and "4, 100%" in shown.output
    figures = runner.invoke(app, ["measure", "Date: ", "-r", pattern, "--repeat", "2", "--json"])
    assert json.loads(figures.stdout)["texts"] == 2
    file = tmp_path / "date.jsonl"
    made = runner.invoke(app, ["generate", "Date: ", "-r", pattern, "--trace", str(file)])
    assert made.exit_code == 0
    trace = dv.Trace.load(file)
    assert "".join(step.text for step in trace).strip() == made.stdout.strip()
    told = runner.invoke(app, ["trace", str(file)])
    assert told.exit_code == 0 and "forced" in told.output and "allowed" in told.output
    assert runner.invoke(app, ["trace", str(file), "--html", str(tmp_path / "date")]).exit_code == 0
    assert (tmp_path / "date.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert runner.invoke(app, ["trace", str(file), "--step"], input="\nq\n").exit_code == 0
    file.write_text("{}")
    assert runner.invoke(app, ["trace", str(file)]).exit_code == 2


@needs_weights
def test_plots(tmp_path: Path) -> None:
    from derivable.decoding.models import tiny

    found = measure(tiny(), ["Date: "], dv.Grammar.from_regex("[0-9]{4}"), repeat=2)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        with pytest.raises(dv.DerivableError, match="pip install matplotlib"):
            found.plot(tmp_path / "x.png")
        return
    found.plot(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(dv.ArtifactError):
        found.plot(tmp_path / "absent" / "x.png")


def test_traces_of_any_characters_are_saved() -> None:
    """Line separators of Unicode are no ends of lines in JSON lines."""
    trace = dv.Trace([Step(0, 5, data) for data in ("\u2028\x85\x1c\r\n".encode(), b"\xff", None)], "\u2029")
    assert dv.Trace.from_jsonl(trace.to_jsonl()) == trace
