"""`derivable lint` and the searches behind it, against what can be counted by hand or by force."""

from __future__ import annotations

import itertools
import json
import random
from functools import cache
from pathlib import Path

import pytest

import derivable as dv
from derivable.analysis import Lexemes, TerminalGrammar, ambiguity
from derivable.lint import Finding, lint

BYTES = dv.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos=[256])


def found(text: str, **options: object) -> list[tuple[str, str, int | None]]:
    grammar = dv.Grammar.from_gbnf(text) if "::=" in text else dv.Grammar.from_lark(text)
    return [(each.kind, each.name, each.line) for each in lint(grammar, **options)]  # type: ignore[arg-type]


def derivations(rules: dict[str, list[str]], sentence: tuple[str, ...], depth: int = 12) -> int:
    """How many trees of bounded depth the start has for a sentence, from the definition."""

    @cache
    def of(symbol: str, first: int, last: int, deep: int) -> int:
        if symbol not in rules:
            return int(sentence[first:last] == (symbol,))
        return sum(body(tuple(each.split()), first, last, deep - 1) for each in rules[symbol]) if deep else 0

    @cache
    def body(symbols: tuple[str, ...], first: int, last: int, deep: int) -> int:
        if not symbols:
            return int(first == last)
        return sum(
            of(symbols[0], first, middle, deep) * body(symbols[1:], middle, last, deep)
            for middle in range(first, last + 1)
        )

    return of("s", 0, len(sentence), depth)


def test_a_sentence_that_is_found_has_two_derivations() -> None:
    """And of grammars without one among short sentences, next to none is said to have one."""
    rng, ambiguous, missed = random.Random(7), 0, 0
    for _ in range(400):
        symbols = ["s", "t", "a", "b"]
        rules = {
            name: list(
                dict.fromkeys(
                    " ".join(rng.choices(symbols, weights=[2, 2, 3, 3], k=rng.choice([0, 1, 2, 2, 3])))
                    for _ in range(rng.randint(1, 3))
                )
            )
            for name in ("s", "t")
        }
        met = ambiguity(TerminalGrammar.from_rules(rules, "s"))
        if met is not None:
            ambiguous += 1
            assert derivations(rules, met.sentence) > 1, (rules, met)
            assert met.symbol in rules
            continue
        short = itertools.chain.from_iterable(itertools.product("ab", repeat=size) for size in range(6))
        missed += any(derivations(rules, sentence) > 1 for sentence in short)
    assert ambiguous > 100 and missed <= 1


def test_ambiguities_that_are_well_known() -> None:
    dangling = {"s": ["if c s", "if c s else s", "x"]}
    met = ambiguity(TerminalGrammar.from_rules(dangling))
    assert met is not None and " ".join(met.sentence) == "if c if c x else x"
    for unambiguous in (
        {"s": ["s + t", "t"], "t": ["t * n", "n", "( s )"]},
        {"s": ["open s end", "open s else s end", "x"]},
        {"s": ["a s a", "b"]},
        {"s": ["t b c", "u b d"], "t": ["a"], "u": ["a"]},  # a conflict for one terminal of look-ahead
    ):
        assert ambiguity(TerminalGrammar.from_rules(unambiguous)) is None
    circle = ambiguity(TerminalGrammar.from_rules({"s": ["t", "a"], "t": ["s"]}))
    assert circle is not None and circle.sentence == ("a",)
    assert ambiguity(TerminalGrammar.from_rules({"s": ["s a"]})) is None  # no sentence at all


@pytest.mark.parametrize(
    ("rules", "losing"),
    [
        ("start: HEX | INT\nHEX: /[0-9a-f]+/\nINT: /[0-9]+/", {"INT": ("HEX",)}),
        ("start: HEX | INT\nHEX: /[0-9a-f]+/\nINT.2: /[0-9]+/", {}),
        ('start: "h" HEX | "i" INT\nHEX: /[0-9a-f]+/\nINT: /[0-9]+/', {}),
        ("start: A | B | C\nA: /a+/\nB: /b+/\nC: /a+|b/", {"C": ("A", "B")}),
        ("start: A | B | C\nA: /a+/\nB: /b+/\nC: /a+|b|c/", {}),
        ('start: "x" C?\nC: /#b/\nD.2: /#[a-z]/\n%ignore D', {"C": ("D",)}),
        ('start: NAME | "if"\nNAME: /[a-z]+/', {}),
        ("start: A | B\nA: /a(?!b)/\nB: /a/", {}),  # look-ahead: no language of its own
    ],
)
def test_terminals_that_never_win(rules: str, losing: dict[str, tuple[str, ...]]) -> None:
    constraint = dv.compile(dv.Grammar.from_lark(rules), BYTES)
    assert Lexemes(constraint).losing() == losing


def test_where_all_terminals_compete() -> None:
    text = 'start: "h" HEX | "i" INT\nHEX: /[0-9a-f]+/\nINT: /[0-9]+/'
    constraint = dv.compile(dv.Grammar.from_lark(text, lexing="basic"), BYTES)
    assert Lexemes(constraint).losing() == {"INT": ("HEX",)} and Lexemes(constraint).keywords() == {}


def test_keywords_that_a_name_also_takes() -> None:
    """Each is confirmed by a text in which the keyword stands for a name."""
    spaced = '\nNAME: /[a-z]+/\n%ignore " "'
    constraint = dv.compile(dv.Grammar.from_lark('start: "let" NAME "=" NAME' + spaced), BYTES)
    assert Lexemes(constraint).keywords() == {"NAME": ("LET",)}
    constraint.matcher().advance_bytes(b"let let = let")
    for rules in ('start: ("let" | NAME)+', 'start: "let" /[0-9]+/ | NAME', 'start: "->" NAME'):
        assert Lexemes(dv.compile(dv.Grammar.from_lark(rules + spaced), BYTES)).keywords() == {}


def test_unused_names_have_their_lines() -> None:
    text = 'start: a\na: "x" | B\nB: "b" F\nF: "f"\nold: a\n  | older\nolder: "o"\nG: F\n%ignore " "\n%declare _I\n'
    assert found(text) == [("unused", "old", 5), ("unused", "older", 7), ("unused", "G", 8)]
    assert found('root ::= a\na ::= "x"\nb ::= c\nc ::= "z"') == [("unused", "b", 3), ("unused", "c", 4)]


def test_what_no_text_reaches() -> None:
    assert found('start: "1" (A A | "2")\nA: /[a-z]+/') == [("never-reached", "A", 2)]
    assert found('start: "1" (A A | "2")\nA: /[a-z]+/\n%ignore " "') == []
    assert found('start: "a" x?\nx: WS\nWS: " "\n%ignore WS') == [("never-reached", "x", 2)]
    assert found('start: "x" A A\nA: /[a-z]+/')[0][0] == "error"
    assert found('start: "x" | a\na: "b" a') == [("error", "start", None)]


def test_warnings_of_a_schema_are_findings() -> None:
    [one] = lint(dv.Grammar.from_json_schema({"requierd": ["a"]}))
    assert (one.kind, one.name) == ("schema", "#/requierd") and "'required'" in one.hint
    assert lint(dv.Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "integer"}}})) == []
    assert lint(dv.Grammar.from_regex("a+")) == []


def test_slow_masks_are_measured_with_a_vocabulary() -> None:
    grammar = dv.Grammar.from_lark('start: "a"+')
    assert lint(grammar, BYTES) == []
    slow = lint(grammar, BYTES, slow_ms=1e-6)
    assert slow and {each.kind for each in slow} == {"slow"} and "first mask behind" in slow[0].message


def test_arguments() -> None:
    for wrong in ({"seconds": 0}, {"slow_ms": True}, {"situations": 0}, {"vocabulary": 5}):
        with pytest.raises(dv.ArgumentError, match=next(iter(wrong))):
            lint(dv.Grammar.from_regex("a"), **wrong)  # type: ignore[arg-type]
    with pytest.raises(dv.ArgumentError, match="grammar"):
        lint("a")  # type: ignore[arg-type]
    assert str(Finding("unused", "a", "b.", "c.", 3)) == "line 3: [unused] b. c."


def test_on_the_command_line(tmp_path: Path) -> None:
    testing = pytest.importorskip("typer.testing")
    from derivable import cli

    path = tmp_path / "a.lark"
    path.write_text('start: "a"\nold: "x"\n', encoding="utf-8")
    run = testing.CliRunner().invoke
    result = run(cli.app, ["lint", str(path)], env={"COLUMNS": "100"})
    assert result.exit_code == 1 and "line 2: [unused]" in result.stdout
    listed = json.loads(run(cli.app, ["lint", str(path), "--json"]).stdout)
    assert [(each["kind"], each["line"]) for each in listed] == [("unused", 2)]
    path.write_text('start: "a"\n', encoding="utf-8")
    result = run(cli.app, ["lint", str(path), "--slow", "1000"])
    assert result.exit_code == 0 and "nothing found" in result.stdout
    assert run(cli.app, ["lint", str(path), "--json", "--slow", "1000"]).stdout.strip() == "[]"
