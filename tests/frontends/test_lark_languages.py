"""Languages in a Lark grammar: do `%import derivable.python` and its like hold a text to the language they name?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import accepting
import pytest
from accepting import BYTES
from lark import Tree

import derivable as dv

STEPS = r"""
start: step+
step: "step" NAME ":" (script | query) "end" ";"
script: "python" "{" python "}"
query: "sql" "{" sql? "}"
NAME: /[a-z]+/
%import derivable (python, sql)
%ignore /[ \n]+/
"""


def accepts(grammar: dv.Grammar, text: str) -> bool:
    return accepting.accepts(dv.compile(grammar, BYTES), text)


def lark(text: str, **options: Any) -> dv.Grammar:
    return dv.Grammar.from_lark(text, **options)


def test_a_rule_is_a_language() -> None:
    """With a lexer of its own: `print` is no NAME, blanks count for the columns, `}` ends the program or a `dict`."""
    grammar = lark(STEPS)
    assert grammar.lexing == "longest"
    assert accepts(grammar, "step a: python {print({1: 2})} end; step b: sql { SELECT a FROM b } end;")
    assert accepts(grammar, "step a: python {if x:\n  y\n  z\n} end; step b: sql {} end;")
    assert not accepts(grammar, "step a: python {if x:\n  y\n z\n} end;")
    assert not accepts(grammar, "step a: python {print({1: 2)} end;")
    assert not accepts(grammar, "step a: sql {SELECT FROM b} end;")


@pytest.mark.parametrize("lexing", ["longest", "basic", "scannerless"])
def test_lexing_of_the_grammar_around(lexing: Any) -> None:
    grammar = lark('start: "<" python ">" NAME\nNAME: /[a-z]+/\n%import derivable.python', lexing=lexing)
    for text, fits in {"<x = 1>a": True, "<x>>y>a": True, "<x = >a": False, "<x>1": False}.items():
        assert accepts(grammar, text) == fits, text


def test_another_name() -> None:
    grammar = lark('start: "x" code\n%import derivable.python -> code')
    assert accepts(grammar, "xx = 1") and not accepts(grammar, "xx =")
    assert lark('start: a{code}\na{x}: "<" x ">"\n%import derivable.sql -> code').start == "start"


def test_grammars_by_name_come_first() -> None:
    color = dv.Grammar.from_regex("#[0-9a-f]{3}")
    grammar = lark('start: "c" c\n%import derivable.color -> c', grammars={"color": color})
    assert accepts(grammar, "c#0f7") and not accepts(grammar, "c#0fg")
    assert accepts(lark("start: python\n%import derivable.python", grammars={"python": color}), "#0f7")
    nested = lark('start: "(" steps ")"\n%import derivable.steps', grammars={"steps": lark(STEPS)})
    assert accepts(nested, "(step a: sql {SELECT 1} end;)") and not accepts(nested, "(step a: sql {SELECT} end;)")


def test_what_a_language_leaves_unenforced_is_known() -> None:
    schema = {"type": "string", "pattern": r"(a)\1"}
    loose = dv.Grammar.from_json_schema(schema, relax=["pattern"])
    assert loose.relaxed
    text = 'start: s NAME?\nNAME: /[a-z]+/\n%ignore " "\n%import derivable.s'
    assert lark(text, grammars={"s": loose}).relaxed == loose.relaxed
    scannerless = lark(text, grammars={"s": loose}, lexing="scannerless")
    for made in (scannerless, scannerless + "!", scannerless.with_max_tokens({"NAME": 2})):
        assert made.relaxed == loose.relaxed


def test_trees_go_on_inside() -> None:
    tree = dv.compile(lark(STEPS), BYTES).parse("step a: sql {SELECT 1} end;")
    (query,) = tree.find_data("query")
    (sql,) = query.children
    assert isinstance(sql, Tree) and sql.data == "sql"
    assert [each.data for each in sql.find_data("select")] == ["select"]


def test_what_lark_imports_is_as_it_was(tmp_path: Path) -> None:
    """Also where a file has the name from which languages are imported."""
    both = lark('start: INT python\n%import common.INT\n%import derivable.python\n%ignore " "')
    assert accepts(both, "12 x = 1") and not accepts(both, "x = 1")
    (tmp_path / "derivable.lark").write_text('python: "snake"\n', encoding="utf-8")
    own = lark("start: python\n%import derivable.python", import_paths=[str(tmp_path)])
    assert accepts(own, "snake") and not accepts(own, "x = 1")
    relative = lark("start: python\n%import .derivable.python", import_paths=[str(tmp_path)])
    assert accepts(relative, "snake")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("start: pyton\n%import derivable.pyton", r"no language 'pyton'(.|\n)*line 1, column 8(.|\n)*java, go, c, sql"),
        ('start: "a"\n%import derivable.pyton', r"no language 'pyton'(.|\n)*line 2, column 19"),
        ("start: CODE\n%import derivable.python -> CODE", r"names a terminal(.|\n)*derivable.python -> code"),
        ('start: python\npython: "a"\n%import derivable.python', "more than once"),
        ('start: X\nX: "a" python\n%import derivable.python', "Rules aren't allowed inside terminals"),
        ("start: python\n%import derivable.lib.python", "cannot be found"),
    ],
)
def test_mistakes_are_explained(text: str, said: str) -> None:
    with pytest.raises(dv.GrammarError, match=said):
        lark(text)


def test_only_grammars_are_languages() -> None:
    with pytest.raises(dv.ArgumentError, match=r"grammars\['color'\]"):
        lark("start: color\n%import derivable.color", grammars={"color": 'start: "a"'})


def test_blanks_of_the_grammar_around_can_be_bounded() -> None:
    """Those of the language are its own."""
    grammar = lark('start: "<" python ">"\n%ignore " "\n%import derivable.python').with_max_blanks(1)
    assert accepts(grammar, "< x  =   1 > ") and not accepts(grammar, "<x>  ")


def test_a_grammar_with_a_meaning_is_refused() -> None:
    class Anything(dv.Meaning):
        slots = ("NAME",)

        def start(self) -> None:
            return None

        def names(self, state: None, slot: str) -> None:
            return None

        def read(self, state: None, slot: str, text: str) -> None:
            return None

    held = lark("start: NAME\nNAME: /[a-z]+/").with_meaning(Anything())
    with pytest.raises(dv.UnsupportedFeatureError, match="a meaning cannot be part"):
        lark("start: held\n%import derivable.held", grammars={"held": held})
    with pytest.raises(dv.UnsupportedFeatureError, match="a meaning cannot be part"):
        dv.Grammar.fenced({"held": held})
    with pytest.raises(dv.UnsupportedFeatureError, match="a meaning cannot be part"):
        held.encoded("json")
