"""`constraint.index`, reports, and the verbs `derivable report` and `derivable compile`."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from embedded_model import needs_weights
from test_cli import JSON, run

import derivable as dv
from derivable.index.view import spans_of
from derivable.report import report
from derivable.report.page import page

NESTED = 'root ::= "(" root ")" | "x"'
TOKENS = [b"(", b")", b"))", b"x", b"x)", None]


def nested() -> dv.Constraint:
    return dv.compile(dv.Grammar.from_gbnf(NESTED), dv.Vocabulary.from_bytes(TOKENS, eos=[5]))


def test_the_index_grows_as_it_is_visited() -> None:
    constraint = nested()
    assert constraint.index.states == () and constraint.index.shares.never == 0
    matcher = constraint.matcher()
    matcher.allowed_tokens()
    first = constraint.index
    assert len(first.states) == 1 and first.asked == 1 and first.found == 0
    assert first.states[0].always == 2 and first.states[0].stack_dependent == 0  # "(" and "x"
    matcher.allowed_tokens()
    assert constraint.index.found == 1
    assert constraint.index.terminals == len(constraint._lowered.terminal_names)
    assert constraint.index.productions == 2 and constraint.index.vocabulary == 6
    assert all(size >= 0 for size in constraint.index.bytes.values()) and sum(constraint.index.bytes.values()) > 0
    assert json.loads(json.dumps(constraint.index.to_dict()))["lexing"] == "scannerless"
    assert "up to the stack" in str(constraint.index)


def test_shares_count_what_the_stack_decides() -> None:
    constraint = nested()
    matcher = constraint.matcher()
    masks = []
    for text in (b"(x", b"((x", b"x"):
        matcher.reset()
        matcher.advance_bytes(text)
        masks.append(set(matcher.allowed_tokens().tolist()))
    assert masks == [{1}, {1, 2}, {5}]
    (state,) = [s for s in constraint.index.states if s.masks == 3]
    assert (state.always, state.stack_dependent, state.never) == (0, 3, 3)
    assert state.depth >= 1 and constraint.index.states[0] is not None


@pytest.mark.parametrize("lexing", ["scannerless", "longest"])
def test_spanner_trees_add_up_to_the_mask(lexing: dv.Lexing) -> None:
    """Every allowed token ends on some node of the tree, and no other one does."""
    grammar = dv.Grammar.from_lark('start: "(" start ")" | NAME\nNAME: /[a-z]+/\n%ignore " "', lexing=lexing)
    tokens = [b"(", b")", b"))", b"x", b"x)", b" (", b" x )", b"( ", b"xy", None]
    constraint = dv.compile(grammar, dv.Vocabulary.from_bytes(tokens, eos=[9]))
    matcher = constraint.matcher()
    for text in (b"", b"(", b"((x", b" "):
        matcher.reset()
        matcher.advance_bytes(text)
        nodes = matcher.unfolded(1000)
        assert nodes is not None
        spans = spans_of(nodes, constraint._lowered.terminal_names)
        allowed = [t for t in matcher.allowed_tokens().tolist() if t != 9]
        # A token may be cut in several ways under scannerless, so there it may be counted more than once.
        total = sum(span.tokens for span in spans)
        assert total == len(allowed) if lexing == "longest" else total >= len(allowed)
    assert matcher.unfolded(1) is not None


def test_a_report_says_what_was_found() -> None:
    constraint = nested()
    found = report(constraint, "nested", situations=30, compile_ms=1.5)
    by_text = {s.text: s for s in found.situations}
    assert by_text["(x"].allowed == 1 and by_text["((x"].allowed == 2 and by_text["(x"].hops >= 1
    assert by_text["(x"].stack_dependent == 0 and by_text["((x"].stack_dependent == 1  # "))" asks what lies below
    assert all(a.first_us >= b.first_us for a, b in zip(found.situations, found.situations[1:], strict=False))
    assert 0 < found.stack_dependence < 1 and found.artifact_bytes > 100
    assert found.quantile(0.5) <= found.quantile(1.0) == found.situations[0].first_us
    assert json.loads(json.dumps(found.to_dict()))["situations"][0]["why"]


class _Links(HTMLParser):
    """What a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.loads += [str(value) for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "rect", "html"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "html", "meta"):
            assert self.open.pop() == tag


def test_the_page_needs_nothing_else() -> None:
    text = page(report(nested(), "<nested>", situations=30))
    reader = _Links()
    reader.feed(text)
    assert reader.loads == [] and reader.open == []
    assert "<script" not in text and "&lt;nested&gt;" in text and text.count("<svg") == 3
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@needs_weights
def test_report_verb(tmp_path: Path) -> None:
    html = tmp_path / "report.html"
    code, output, _ = run("report", JSON, "-n", "20", "--html", str(html))
    assert code == 0 and "slowest first masks" in output and "took a look below the top of the stack" in output
    assert "Why is this mask slow?" in html.read_text(encoding="utf-8")
    code, output, _ = run("report", "-r", "[0-9]{4}", "-n", "5", "--json")
    assert code == 0 and json.loads(output)["first_mask_us"]["max"] > 0
    code, _, error = run("report")
    assert code == 2 and "give a grammar" in re.sub(r"\s+", " ", error)


@needs_weights
def test_compile_verb(tmp_path: Path) -> None:
    file = tmp_path / "date.constraint"
    code, output, _ = run("compile", "-r", "[0-9]{4}", "-o", str(file), "-n", "5")
    assert code == 0 and "written to" in output and "first masks" in output
    from derivable.cli.options import vocabulary_of

    loaded = dv.Constraint.load(file, vocabulary_of(None)).matcher()
    loaded.advance_bytes(b"2026")
    assert loaded.is_accepting
    (tmp_path / "one").write_text("let ab = 12;\n", encoding="utf-8")
    grammar = tmp_path / "names.lark"
    grammar.write_text(
        'start: ("let" NAME "=" INT ";")+\nNAME: /[a-z]+/\nINT: /[0-9]+/\n%ignore /[ \\n]+/\n', encoding="utf-8"
    )
    sizes = []
    for sample in ([], ["--sample", str(tmp_path / "one")]):
        code, _, error = run("compile", str(grammar), "-o", str(file), "-n", "5", *sample)
        assert code == 0, error
        sizes.append(len(dv.Constraint.load(file, vocabulary_of(None))._plan.splits))
    assert sizes[0] == 0 < sizes[1]
