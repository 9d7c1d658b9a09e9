"""`frontends/lark.py`: languages against Lark's own Earley parser (scannerless), structure, and errors."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import lark
import pytest
from expr_matcher import derives, full_match, match_ends
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from paths import ROOT

import derivable
import derivable as dv
from derivable.errors import GrammarError, GrammarSyntaxError, LimitError, UnsupportedFeatureError
from derivable.expr import Bytes, Chars, Concat, Ref, Repeat, refs
from derivable.frontends.lark import grammar_from_lark
from derivable.frontends.lark_loading import load
from derivable.frontends.lark_source import Source
from derivable.grammar import Indentation, Terminal
from derivable.limits import Limits

GRAMMARS = ROOT.parent / "shared/data/grammars"
LIBRARY = Path(derivable.__file__).parent / "library"

LANGUAGES = [
    ('start: "a" b*\nb: "b" | "c" "a"', "abc"),
    ('start: A | B+\nA: "a" "b"?\nB: "b" | A "c"', "abc"),
    ('start: (x "a" | [x] "b")~2\n?x: "c" -> name\n | "a"', "abc"),
    ('start: "a"~1..3 ("b" | )~0..2 -> end', "ab"),
    ('start: list{"a", "b"}\nlist{x, sep}: x (sep x)*', "ab"),
    ('start: twice{list{A}}\nlist{x}: "[" x* "]"\ntwice{x}: x x?\nA: "a"', "a[]"),
    ('start: "a" "b"\nWS: " "\n%ignore WS', "ab "),
    ('start: "a" "b"\n%ignore / +/', "ab "),
    ('start: x\nx: "a"\n%extend x: "b"\n%override y: "c"\ny: "q"\n', None),
    ('start: x\nx: "a"\n%extend x: "b"', "ab"),
    ('start: "A"i /b/i "c"', "aAbBc"),
    ('start: "a".."b" X\nX: "b".."c" | "]".."_"', "abc]_-"),
    ('start: start "a" | _b\n!_b.2: "b" | "b" "c"', "abc"),
    ('%import common.DIGIT\n%import common.INT -> N\nstart: N "a" DIGIT', "1a"),
]


@pytest.mark.parametrize(("text", "alphabet"), LANGUAGES, ids=range(len(LANGUAGES)))
def test_the_language_is_larks(text: str, alphabet: str | None) -> None:
    if alphabet is None:  # an override of something not yet defined
        with pytest.raises(GrammarError):
            grammar_from_lark(text)
        return
    theirs = lark.Lark(text, parser="earley", lexer="dynamic_complete")
    ours = grammar_from_lark(text, lexing="scannerless")
    for size in range(6 if len(alphabet) < 4 else 4):
        for letters in itertools.product(alphabet, repeat=size):
            string = "".join(letters)
            try:
                theirs.parse(string)
                expected = True
            except lark.exceptions.LarkError:
                expected = False
            assert derives(ours, string.encode()) == expected, string


def test_structure() -> None:
    text = 'start: NAME.. "if" A~0..1000 _B?\n'.replace("..", "", 1)
    grammar = grammar_from_lark(text + 'NAME.3: /[a-z]+/\nA: "a"\n_B: "b" "c"\nUNUSED: "u"\nother: "o"\n%ignore " "')
    assert list(grammar.terminals) == ["NAME", "A", "_B", '" "', "IF"]
    assert list(grammar.rules) == ["start"] and grammar.lexing == "longest" and grammar.ignore == ('" "',)
    parts = (Ref("NAME"), Ref("IF"), Repeat(Ref("A"), 0, 1000), Repeat(Ref("_B"), 0, 1))
    assert grammar.rules["start"] == Concat(parts)
    assert grammar.terminals["NAME"].priority == 3 and not grammar.terminals["NAME"].literal
    assert grammar.terminals["IF"] == Terminal(Bytes(b"if"), literal=True)
    assert grammar.terminals["_B"] == Terminal(Bytes(b"bc"))


def test_case_insensitive_literals_stay_literal() -> None:
    terminal = grammar_from_lark('start: "ON"i').terminals["ON"]
    assert terminal == Terminal(Concat((Chars(((79, 79), (111, 111))), Chars(((78, 78), (110, 110))))), literal=True)


def test_a_terminal_prefers_as_lark_does() -> None:
    grammar = grammar_from_lark('start: A\nA: "l" | "ll"')
    assert match_ends(grammar.terminals["A"].expr, b"lll") == [2, 1]


BLOCKS = ("_INDENT", "_DEDENT")


def test_a_range_from_a_caret_is_a_range() -> None:
    """Lark writes `[^-_]` for it, a negated class."""
    assert grammar_from_lark('start: A\nA: "^".."_"').terminals["A"].expr == Chars(((94, 95),))


def test_names_are_plain_strings() -> None:
    grammar = grammar_from_lark('start: x A "b"\nx: "c"\nA: "a"\n%ignore WS\nWS: " "')
    names = [*grammar.rules, *grammar.terminals, *grammar.ignore]
    names += [ref.name for expr in grammar.rules.values() for ref in refs(expr)]
    assert {type(name) for name in names} == {str}


def test_declared_terminals() -> None:
    text = "%declare _INDENT OTHER\nstart: _INDENT"
    with pytest.raises(GrammarError, match="declared terminal '_INDENT' has no pattern"):
        grammar_from_lark(text)
    given = Terminal(Bytes(b"\x01"))
    assert dict(grammar_from_lark(text, declared={"_INDENT": given}).terminals) == {"_INDENT": given}
    with pytest.raises(GrammarError, match="does not declare 'X'"):
        grammar_from_lark(text, declared={"_INDENT": given, "X": given})


def test_blocks_by_the_names_of_lark() -> None:
    text = '%declare _INDENT _DEDENT\nstart: ("a" _NL | "(" ")" _NL _INDENT start _DEDENT)+\n_NL: /(\\r?\\n[\\t ]*)+/'
    brackets = (("LPAR", "RPAR"),)
    assert grammar_from_lark(text).indentation == Indentation("_NL", *BLOCKS, brackets, tab_stops=False)
    other = Indentation("_NL", *BLOCKS)
    assert grammar_from_lark(text, indentation=other).indentation == other
    assert grammar_from_lark(text, declared={name: Terminal(Bytes(b"#")) for name in BLOCKS}).indentation is None
    renamed = text.replace("_NL", "_END")
    with pytest.raises(GrammarError, match="declared terminal '_INDENT' has no pattern"):
        grammar_from_lark(renamed)
    assert grammar_from_lark(renamed.replace("_END", "_NEWLINE")).indentation is not None


IGNORED_AND_USED = [
    ('start: "a" x?\nx: WS\nWS: " "\n%ignore WS', "a "),
    ('start: "a" (WS | "b")* "a"\nWS: " "\n%ignore WS', "ab "),
    ('start: x* | "b"\nx: y "a"\ny: " " "a" | "b" y\n%ignore " "', "ab "),
    ('start: line+\nline: "a" [C] NL | C NL\nNL: (/\\n/ | C)+\nC: /#b*/\n%ignore C', "ab#\n"),
]


@pytest.mark.parametrize(("text", "alphabet"), IGNORED_AND_USED)
@pytest.mark.parametrize("lexing", ["longest", "basic"])
def test_a_terminal_both_ignored_and_used_is_dropped_as_in_lark(text: str, alphabet: str, lexing: Any) -> None:
    lexer: Any = {"longest": "contextual", "basic": "basic"}[lexing]
    theirs = lark.Lark(text, parser="lalr", lexer=lexer)
    vocabulary = dv.Vocabulary.from_bytes([*(letter.encode() for letter in alphabet), None], eos=[len(alphabet)])
    constraint = dv.compile(dv.Grammar.from_lark(text, lexing=lexing), vocabulary)
    for size in range(7 if len(alphabet) < 4 else 6):
        for letters in itertools.product(range(len(alphabet)), repeat=size):
            string = "".join(alphabet[letter] for letter in letters)
            try:
                theirs.parse(string)
                expected = True
            except lark.exceptions.LarkError:
                expected = False
            matcher = constraint.matcher()
            fits = matcher.count_valid(list(letters)) == size
            if fits:
                for letter in letters:
                    matcher.advance(letter)
            assert (fits and matcher.is_accepting) == expected, string


def test_an_ignored_terminal_that_every_text_needs() -> None:
    for text, name in (
        ('start: "a" x\nx: WS\nWS: " "\n%ignore WS', "'WS'"),
        ('start: "a" " " "b"\n%ignore " "', "'\" \"'"),
        ('start: WS\nWS: " "\n%ignore WS', "'WS'"),
    ):
        with pytest.raises(GrammarError, match=f"every text needs the terminal {name}") as caught:
            grammar_from_lark(text)
        assert "^" in str(caught.value) and "__" not in str(caught.value)
        grammar_from_lark(text, lexing="scannerless")
    with pytest.raises(GrammarError, match="every text needs the terminal 'WS'"):
        grammar_from_lark('WS: " "\n%ignore WS', start="WS")
    endless = dv.Grammar.from_lark('start: "a" | x " "?\nx: "b" x\n%ignore " "')
    with pytest.raises(GrammarError, match="'x' never ends"):  # for another reason
        dv.compile(endless, dv.Vocabulary.from_bytes([b"a", None], eos=[1]))


@pytest.mark.parametrize(
    "text", ['start: X\nX: "on" | "off" |', "start: X\nX: /a*/", 'start: "a" X "b"\nX: "c"?', "start: X\nX: /(a?){3}/"]
)
def test_a_terminal_that_may_be_empty_is_refused_as_by_lark(text: str) -> None:
    """Its empty text would be lost without a word: no lexeme is empty."""
    with pytest.raises(lark.exceptions.LexError, match="zero-width"):
        lark.Lark(text, parser="lalr")
    with pytest.raises(GrammarError, match=r"the terminal X may match the empty text.*\n.*\n *X: .*\n *\^.*\n.*`X\?`"):
        grammar_from_lark(text)
    assert "X" in grammar_from_lark(text, lexing="scannerless").terminals
    grammar_from_lark(text.replace("start: ", 'start: "z" //') + "\n%ignore X")  # nothing is lost where it is ignored


def test_terminals_without_a_name_are_called_by_their_text() -> None:
    grammar = grammar_from_lark('start: /x+/i "a b" "->" "a"\n%ignore /[ \t]+/\n%ignore "' + "-" * 70 + '"')
    assert list(grammar.terminals) == ["/[ \t]+/", "__IGNORE_1", "/x+/i", '"a b"', '"->"', "A"]
    assert grammar.ignore == ("/[ \t]+/", "__IGNORE_1")  # what is too long for a name has none


def test_imports(tmp_path: Path) -> None:
    (tmp_path / "mine.lark").write_text('%import .more.B\nA: "a" B\n')
    (tmp_path / "more.lark").write_text('B: "b"\n')
    for text in ("%import mine.A\nstart: A", "%import .mine.A\nstart: A"):
        grammar = grammar_from_lark(text, import_paths=[str(tmp_path)])
        assert full_match(grammar.terminals["A"].expr, b"ab")
        with pytest.raises(GrammarError):
            grammar_from_lark(text)


@pytest.mark.parametrize(
    ("text", "kind", "says", "at"),
    [
        ('start: "a', GrammarSyntaxError, "this string is never closed", 7),
        ('start: "' + "\\\\" * 500, GrammarSyntaxError, "this string is never closed", 7),
        ("start: /a", GrammarSyntaxError, "this pattern is never closed", 7),
        ('start "a"', GrammarSyntaxError, "missing colon", 6),
        ('start: "a" ~ 3..2', GrammarSyntaxError, "cannot|nothing can be repeated 3 to 2", 13),
        ('start: A\nA: "a" ~ -1', GrammarSyntaxError, "nothing can be repeated -1", 18),
        ('start: A\nA: "z".."a"', GrammarSyntaxError, "a range goes from", 12),
        ("start: /a(/", GrammarSyntaxError, "unterminated subpattern", 9),
        ('start: "\\x"', GrammarSyntaxError, "this string cannot be read", 7),
        ('start: A\nA: ""', GrammarSyntaxError, "Empty terminals are not allowed", 12),
        ('start: (("a")', GrammarSyntaxError, "cannot be parsed", None),
        ("start: b", GrammarError, "'b' used but not defined", 7),
        ("start: B", GrammarError, "'B' used but not defined", 7),
        ("start: A\nA: B", GrammarError, "Terminal used but not defined: B", 12),
        ("start: A\nA: B\nB: A", GrammarError, "Recursion in terminal", 7),
        ('a: "b"', GrammarError, "start rule 'start' is not defined", None),
        ("%import nope.X\nstart: X", GrammarError, "cannot be found", None),
        ("%import .nope.X\nstart: X", GrammarError, "relative import", 9),
        ('start: a{"x","y"}\na{x}: x', GrammarError, "Wrong number of template arguments", None),
        ("start: a\n%declare a", GrammarError, "declared rule 'a' has no definition", 7),
        ("start: /(?P<x>a)(?P=x)/", UnsupportedFeatureError, "backreference", 16),
        (r"start: /\n\r\x41\u0041\/\"\'(?P<x>a)(?P=x)/", UnsupportedFeatureError, "backreference", 36),
        (r"start: /\U00000041\\\w[\p{L}]/", GrammarSyntaxError, r"bad escape \p", 23),
    ],
)
def test_errors(text: str, kind: type[GrammarError], says: str, at: int | None) -> None:
    with pytest.raises(kind, match=says if "|" in says else re.escape(says)) as caught:
        grammar_from_lark(text)
    if at is not None:
        assert caught.value.span is not None and caught.value.span[0] == at


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("start: /<<(?P<tag>[A-Z]+)x(?P=tag)/", "an alternative for each text"),
        ("start: /(?>a)b/", "a look-ahead"),
        (r"start: /[\p{XID_Start}]/", "write the characters as a class"),
        (r"start: /\((?<x>(?&x))?\)/", "`(?P<name>...)`"),
        (r"start: /\((?&x)?\)/", "write rules"),
        ('start: a\na[suffix="x"]: /y*/', "llguidance"),
        ('start: a\na: %json {"type": "null"}', "llguidance"),
        ("start: <|x|>", "llguidance"),
    ],
)
def test_errors_say_what_to_do_instead(text: str, says: str) -> None:
    with pytest.raises(GrammarError) as caught:
        grammar_from_lark(text)
    assert says in str(caught.value.hint), caught.value


@pytest.mark.parametrize(
    "text",
    [
        "start: " + "(" * 600 + '"a"' + ")" * 600,
        "start: " + "(" * 50_000,
        'start: A60\nA0: "a"\n' + "\n".join(f"A{i + 1}: A{i} A{i}" for i in range(60)),
        'a{x}: a{b{x}} | x\nb{x}: x\nstart: a{"x"}',
        'a{x}: a{b{x,x}} | x\nb{x,y}: x y\nstart: a{"x"}',
    ],
    ids=["parentheses", "open parentheses", "terminals", "templates", "doubling templates"],
)
def test_bounds(text: str) -> None:
    with pytest.raises(LimitError):
        grammar_from_lark(text)


def test_nesting_within_the_bound() -> None:
    grammar_from_lark("start: " + "(" * 490 + '"a"' + ")*" * 490)


def _patterns(text: str, import_paths: list[str]) -> list[tuple[str, lark.lexer.Pattern]]:
    ours = load(Source(text, Limits()), import_paths)
    larks = {shown: name for name, shown in ours.names.items()}
    return [(larks.get(name, name), p) for name, (p, _) in ours.terminals.items() if p is not None]


def _larks_patterns(text: str, import_paths: list[str]) -> list[tuple[str, lark.lexer.Pattern]]:
    grammar, _ = lark.load_grammar.load_grammar(text, f"{[*import_paths, '.'][0]}/<string>", import_paths, False)
    return [(str(t.name), t.pattern) for t in grammar.compile(["start"], "*")[0]]


@pytest.mark.parametrize("name", [path.stem for path in LIBRARY.glob("*.lark")])
def test_terminals_are_joined_as_lark_joins_them(name: str) -> None:
    text = (LIBRARY / f"{name}.lark").read_text(encoding="utf-8")
    language, _, roles = name.partition("_")
    behind = {"typescript_names": ["typescript", "javascript_names"], "python_members": ["python", "python_names"]}
    below = behind.get(name, [language] if roles in ("database", "names") and language != "unicode" else [])
    text = "".join((LIBRARY / f"{each}.lark").read_text(encoding="utf-8") for each in below) + text
    text = text if re.search("^start:", text, re.M) else text + '\nstart: "a"\n'
    assert _patterns(text, [str(LIBRARY)]) == _larks_patterns(text, [str(LIBRARY)])


# Whose widths, or what they become beside one another, are not what they look like.
_ODD = ['"a"', '"{"', '"bc"i', "/a|bcd/", "/a{2/", '"}"', "/[a-z]/i", "/x y/x", r"/\0/", '"1"', "/ab?|/", "/(?=a)/"]
_OPERATORS = st.sampled_from(["{}+", "{}?", "{}*", "{}~2", "{}~0..3", "[{}]", "({})"])


@st.composite
def _terminals(draw: st.DrawFn) -> str:
    """Definitions of A to D, each made of those before it."""
    lines = []
    for name in "ABCD":
        leaf = st.sampled_from([*_ODD, *(line[0] for line in lines)])
        expr = st.recursive(
            leaf,
            lambda inner: st.one_of(
                st.lists(inner, min_size=2, max_size=3).map(" ".join),
                st.lists(inner, min_size=2, max_size=4).map(lambda some: f"({' | '.join(some)})"),
                st.tuples(inner, _OPERATORS).map(lambda both: both[1].format(f"({both[0]})")),
            ),
            max_leaves=8,
        )
        lines.append(f"{name}: {draw(expr)}")
    return "\n".join(["start: D", *lines])


@given(_terminals())
@settings(max_examples=200, deadline=None)
def test_odd_terminals_are_joined_as_lark_joins_them(text: str) -> None:
    try:
        theirs = _larks_patterns(text, [])
    except Exception:
        assume(False)
    assert _patterns(text, []) == theirs


@pytest.mark.skipif(not GRAMMARS.is_dir(), reason="../shared is not here")
def test_shared_grammars_load() -> None:
    declared = {name: Terminal(Bytes(b"\x01")) for name in ("_INDENT", "_DEDENT")}
    paths = [*GRAMMARS.glob("*/*.lark"), Path(lark.__file__).parent / "grammars/python.lark"]
    assert len(paths) > 10
    for path in paths:
        text = path.read_text(encoding="utf-8")
        start = "compilation_unit" if path.stem == "java" else "file_input" if "file_input:" in text else "start"
        grammar = grammar_from_lark(text, start, declared=declared if "_INDENT" in text else None)
        assert grammar.rules and grammar.terminals
