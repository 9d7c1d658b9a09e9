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


def folder_of(path: Path, **files: str) -> list[str]:
    """A folder with files of Lark's, by their names."""
    for name, text in files.items():
        (path / f"{name}.lark").write_text(text, encoding="utf-8")
    return [str(path)]


def test_a_file_that_is_imported_imports_languages(tmp_path: Path) -> None:
    paths = folder_of(
        tmp_path,
        cells='cell: "<" python ">" | quoted\nquoted: "`" query "`"\n%import derivable.python\n%import .deep.query',
        deep='query: "?" code NAME?\nNAME: /[a-z]+/\n%import derivable.sql -> code',
    )
    text = 'start: (cell | python)+\n%import .cells.cell\npython: "snake"\n%ignore " "'
    for each in (lark(text, import_paths=paths), lark(text, import_paths=paths, lexing="scannerless")):
        assert accepts(each, "<print({1: 2})> snake `?SELECT 1`")
        assert not accepts(each, "<print({1: 2)>") and not accepts(each, "x = 1") and not accepts(each, "`?SELECT`")


def test_names_of_languages_in_files_do_not_clash(tmp_path: Path) -> None:
    """Two rules are the same language, two languages have the same name, and a rule is both imported and its own."""
    paths = folder_of(
        tmp_path,
        one='one: "1" code\n%import derivable.python -> code',
        other='other: "2" code\n%import derivable.sql -> code',
        again="code: python\n%import derivable.python",
    )
    text = 'start: one | other | "3" code | "4" python\n%import .one.one\n%import .other.other\n%import .again.code'
    grammar = lark(f"{text}\n%import derivable.python", import_paths=paths)
    for text, fits in {"1x": True, "2SELECT 1": True, "3x": True, "4x": True, "1SELECT 1": False, "2x": False}.items():
        assert accepts(grammar, text) == fits, text
    assert list(grammar.terminals).count("derivable.python") == 1
    with pytest.raises(dv.GrammarError, match=r"'python' cannot be imported from 'again.lark': it is defined already"):
        lark("start: python\n%import derivable.python\n%import .again.python", import_paths=paths)


def test_a_language_of_a_file_can_be_imported_from_it(tmp_path: Path) -> None:
    paths = folder_of(tmp_path, cells="cell: python\n%import derivable.python")
    grammar = lark('start: "(" python ")"\n%import .cells.python', import_paths=paths)
    assert accepts(grammar, "(print(1))") and not accepts(grammar, "(print(1)")
    given = lark(
        'start: "(" cell ")"\n%import .cells.cell', import_paths=paths, grammars={"python": lark('start: "#"')}
    )
    assert accepts(given, "(#)") and not accepts(given, "(x)")


def test_a_language_cannot_be_extended_but_replaced(tmp_path: Path) -> None:
    paths = folder_of(tmp_path, cells="cell: python\n%import derivable.python")
    with pytest.raises(dv.GrammarError, match=r"'python' is a language, which cannot be extended(.|\n)*line 1"):
        lark('start: python\n%extend python: "x"\n%import derivable.python')
    with pytest.raises(dv.GrammarError, match=r"^the rule 'python' is a language"):
        lark('start: python\n%extend python: "x"\n%import .cells.python', import_paths=paths)
    own = lark('start: python\n%override python: "x"\n%import .cells.python', import_paths=paths)
    assert accepts(own, "x") and not accepts(own, "1")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"cells": "cell: x\n%import derivable.pyton -> x"}, r"in .*cells.lark: .*'pyton'(.|\n)*line 2, column 19"),
        ({"cells": "cell: X\n\n%import derivable.sql -> X"}, r"in .*cells.lark: .*names a terminal(.|\n)*line 1"),
        ({"cells": 'cell: "a"\ncell: "b"'}, r"in .*cells.lark: .*more than once(.|\n)*line 1, column 1"),
        ({"cells": 'cell: "a" )'}, r"in .*cells.lark: .*cannot be parsed(.|\n)*line 1, column 11"),
        ({"cells": 'cell: "a\n'}, r"in .*cells.lark: this string is never closed(.|\n)*line 1, column 7"),
        ({"cells": "cell: a\n%import .nowhere.a"}, r"in .*cells.lark: .*nowhere.lark' to import cannot be found"),
        ({"cells": "cell: a\n%import .deep.a", "deep": "a: b\n%import derivable.b"}, r"in .*deep.lark: .*language 'b'"),
        ({"cells": "cell: a\n%import .deep.a", "deep": "a: b\n%import .cells.b"}, r"in .*deep.lark: .*imports itself"),
        (
            {"cells": "%import derivable.inner\ncell: inner", "inner": "start: A"},
            r"in .*inner.lark: .*'A' used but not",
        ),
    ],
)
def test_mistakes_in_files_are_shown_there(tmp_path: Path, files: dict[str, str], said: str) -> None:
    with pytest.raises(dv.GrammarError, match=said):
        lark("start: cell\n%import .cells.cell", import_paths=folder_of(tmp_path, **files))


QUERY = 'start: "get" NAME ("," NAME)*\nNAME: /[a-z]+/\n%ignore /[ \\n]+/'


def test_a_file_is_a_language(tmp_path: Path) -> None:
    """With its own terminals, and what it ignores. Only where there is neither a given one nor a built-in one."""
    paths = folder_of(tmp_path, query=QUERY, sql='start: "never"')
    text = 'start: "q" "{" query "}" | "s" sql\n%import derivable.query\n%import derivable.sql'
    for grammar in (
        lark(text, import_paths=paths),
        lark(text, grammars={"query": tmp_path / "query.lark"}),
        lark(text, grammars={"query": lark(QUERY)}),
    ):
        assert accepts(grammar, "q{get a , b}") and accepts(grammar, "sSELECT 1")
        assert not accepts(grammar, "q {get a}") and accepts(grammar, "q{geta}")
        assert not accepts(grammar, "snever")
    first = lark(text, import_paths=paths, grammars={"query": tmp_path / "sql.lark"})
    assert accepts(first, "q{never}") and not accepts(first, "q{get a}")
    llguidance = lark('start: "<" @query ">"', grammars={"query": tmp_path / "query.lark"})
    assert accepts(llguidance, "<get a , b>") and not accepts(llguidance, "<>")


def test_a_file_that_is_a_language_imports_others(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    folder_of(
        tmp_path / "parts",
        inner='start: "<" value ">"\n%import .values.value\n%import derivable.python',
        values="value: sql | query\n%import derivable.sql\n%import derivable.query",
        query=QUERY,
    )
    grammar = lark("start: inner+\n%import derivable.inner", grammars={"inner": tmp_path / "parts" / "inner.lark"})
    assert accepts(grammar, "<SELECT 1><get a>") and not accepts(grammar, "<get>")


def test_a_file_that_is_inside_itself_is_refused(tmp_path: Path) -> None:
    paths = folder_of(tmp_path, one="start: other\n%import derivable.other", other="start: one\n%import derivable.one")
    with pytest.raises(dv.GrammarError, match=r"one.lark is inside itself(.|\n)*Grammar.recursive"):
        lark("start: one\n%import derivable.one", import_paths=paths)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    text = "start: a\n%import derivable.a"
    with pytest.raises(dv.GrammarError, match=r"nowhere.lark cannot be read"):
        lark(text, grammars={"a": tmp_path / "nowhere.lark"})
    (tmp_path / "latin.lark").write_bytes(b'start: "\xe4"')
    with pytest.raises(dv.GrammarError, match=r"latin.lark cannot be read"):
        lark(text, grammars={"a": tmp_path / "latin.lark"})
    with pytest.raises(
        dv.ArgumentError, match=r"grammars\['a'\] must be a Grammar, or the pathlib.Path of a Lark file"
    ):
        lark(text, grammars={"a": "start.lark"})
