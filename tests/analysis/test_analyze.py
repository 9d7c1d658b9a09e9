"""Does `derivable analyze` say what the predicates of the library say?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from derivable.analysis import are_jointly_legal, is_always_legal, is_never_legal, terminal_grammar
from derivable.grammar import Grammar

LISTS = """
start: sum
sum: sum PLUS atom | sum MINUS atom | atom
atom: NAME | "not in" NAME | LPAR sum RPAR
NAME: /[a-z]+/
PLUS: "+"
MINUS: "-"
LPAR: "("
RPAR: ")"
%ignore " "
"""


def run(path: Path, *arguments: str) -> Any:
    testing = pytest.importorskip("typer.testing")
    from derivable import cli

    path.write_text(LISTS, encoding="utf-8")
    return testing.CliRunner().invoke(cli.app, ["analyze", str(path), *arguments], env={"COLUMNS": "200"})


def test_verdicts_of_sequences(tmp_path: Path) -> None:
    sequences = ["RPAR", "PLUS", "PLUS LPAR", "MINUS", "NAME", "RPAR RPAR"]
    arguments = [piece for sequence in sequences for piece in ("--then", sequence)]
    found = json.loads(run(tmp_path / "a.lark", "--after", "NAME", *arguments, "--json").stdout)
    of = terminal_grammar(Grammar.from_lark(LISTS))
    kinds = set()
    for name, word in found["verdicts"].items():
        terminals = name.split()
        if is_never_legal(of, ["NAME", *terminals]):
            expected = "never legal"
        elif is_always_legal(of, "NAME", terminals):
            expected = "always legal"
        else:
            expected = "legal after some texts (or not shown to be always legal)"
        assert word == expected, name
        kinds.add(word)
    assert len(kinds) == 3
    jointly = {(one, other) for one, other in found["jointly legal"]}
    for i, one in enumerate(sequences):
        for other in sequences[i + 1 :]:
            assert ((one, other) in jointly) == are_jointly_legal(of, "NAME", one.split(), other.split())


def test_all_terminals_behind_one(tmp_path: Path) -> None:
    """Also behind a terminal whose name holds a blank."""
    name = next(name for name in terminal_grammar(Grammar.from_lark(LISTS)).terminals if " " in name and "not" in name)
    shown = run(tmp_path / "a.lark", "--after", f"PLUS {name}").stdout
    assert "NAME" in shown and "always legal" in shown and "LPAR" in shown and "never legal" in shown
    assert "jointly" not in shown


def test_what_the_terminals_are(tmp_path: Path) -> None:
    found = json.loads(run(tmp_path / "a.lark", "--json").stdout)
    assert ["PLUS", "MINUS"] in found["interchangeable"] and "NAME" in found["terminals"] and found["ignored"]
    assert "interchangeable" in run(tmp_path / "a.lark").stdout


def test_names_that_are_none(tmp_path: Path) -> None:
    result = run(tmp_path / "a.lark", "--after", "NAMES")
    assert result.exit_code == 2 and "NAMES" in result.output and "NAME" in result.output
