"""llguidance's dialect of Lark: what its documentation and xgrammar's describe, feature by feature, in our grammars.

Read were `docs/syntax.md` and `docs/json_schema.md` of llguidance (for 1.9.1), and `docs/defining_structures` of
xgrammar 0.2.9.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from accepting import BYTES, accepts
from oracle.prefixes import PrefixOracle

import derivable as dv
from derivable.errors import ArgumentError, GrammarSyntaxError, LimitError, UnsupportedFeatureError
from derivable.frontends.llguidance import has_marks

PLACES = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def lark(text: str, **options: Any) -> dv.Grammar:
    return dv.Grammar.from_lark(text, dialect="llguidance", **options)


LANGUAGES: dict[str, tuple[str, list[str], list[str]]] = {
    # Rules, terminals, and how often
    "sequence and choice": ('start: "x" "y" | "z"', ["xy", "z"], ["x", "xz", ""]),
    "choice on the next line": ('start: "x"\n  | "y"  // two\n\n  | "z"  # three', ["x", "y", "z"], ["xy"]),
    "first choice on the next line": ('start:\n  | "x"\n  | "y"', ["", "x", "y"], ["xy"]),
    "brackets": ('start: ["-"] ("1" | "2")', ["1", "-2"], ["-", "--1"]),
    "brackets over lines": ('start: (\n  "1"\n  | "2"\n)', ["1", "2"], ["12"]),
    "empty rule": ("start:", [""], ["x"]),
    "empty strings": ('start: "" "x" ""', ["x"], ["", "xx"]),
    "prefixes and aliases": ('?start: item -> one\n!item: "x" -> two | "y"', ["x", "y"], ["one"]),
    "hyphens": ('start: a-b A-B\na-b: "1"\nA-B: "2"', ["12"], ["a-b"]),
    "recursion": ('start: "(" start ")" | "x"', ["x", "((x))"], ["(x", "()"]),
    "braces": ('start: "x"{2} "y"{1,2} "z"{2,} "w"{,1}', ["xxyzz", "xxyyzzzw"], ["xyzz", "xxyz", "xxyzzww"]),
    "tilde": ('start: "x" ~ 2 "y" ~ 1..2', ["xxy", "xxyy"], ["xy", "xxyyy"]),
    "none at all": ('start: "x"{0} "y"', ["y"], ["xy"]),
    "group again and again": ('start: ("x" | "yz"){2}', ["xx", "xyz", "yzyz"], ["x", "xxx"]),
    "terminals of terminals": (
        "start: REAL\nREAL: INT FRAC?\nINT: /[0-9]/+\nFRAC: /[.][0-9]+/",
        ["1", "12.5"],
        ["1.", ".5"],
    ),
    # Text
    "escapes": (r'start: "\n\t\\\"\/\b\f\r" "\u00e9" "\x41"', ['\n\t\\"/\b\f\réA'], ["nt"]),
    "surrogate pair": (r'start: "\ud83d\ude00"', ["😀"], ["?"]),
    "any case": ('start: "Yes"i', ["yes", "YES", "yEs"], ["ye"]),
    "range": ('start: "a".."f"+', ["a", "face"], ["g", ""]),
    "Greek range": ('start: "α".."ω"', ["λ"], ["l"]),
    "pattern": (r"start: /a[.\/]b/", ["a.b", "a/b"], ["axb"]),
    "dot": ("start: /x.y/", ["x-y", "x😀y"], ["x\ny"]),
    "dot with s": ("start: /x.y/s", ["x\ny"], ["xy"]),
    "inline flag": ("start: /(?s:x.)y./", ["x\nyz"], ["x\ny\n"]),
    "named group as in Rust": ("start: /(?<year>[0-9]{4})/", ["2024"], ["24"]),
    "code points as in Rust": (r"start: /\x{1F600}\u{e9}\z/", ["😀é"], ["é"]),
    "classes of POSIX": ("start: /[[:digit:]_]+/", ["1_2"], ["a"]),
    "two readings": ('start: WORD "!" | "if" "?"\nWORD: /[a-z]+/', ["if!", "if?", "of!"], ["of?"]),
    "pieces of any length": ("start: /x+/ /xy/", ["xxy", "xxxy"], ["xy"]),
    # Directives
    "ignored": ('%ignore / +/\nstart: "x" /[0-9]+/', ["x1", "x  12 "], [" x1", "x1 2"]),
    "ignored, several": ('%ignore " "\n%ignore /#[^\\n]*\\n/\nstart: "x" "y"', ["x #c\n y", "xy"], ["x#cy"]),
    "ignored at first": ('%grammar_options {"allow_initial_skip": true}\n%ignore " "\nstart: "x"', ["  x "], ["y"]),
    "ignored once": ('%llguidance {"skip_repetition": "once"}\n%ignore / {1,2}/\nstart: "x" "y"', ["x  y"], ["x   y"]),
    "no option": ('%llguidance {}\nstart: "x"', ["x"], ["y"]),
    "options that say nothing of texts": ('%llguidance {"no_forcing": true}\nstart: "x"', ["x"], ["y"]),
    "imports": (
        "start: NUM NAME\n%import common (CNAME, WS_INLINE)\n%import common.INT -> NUM\nNAME: CNAME\n%ignore WS_INLINE",
        ["1 x", "12y_1"],
        ["x 1"],
    ),
    # And, not
    "and": ("start: T\nT: /[a-c]+/ & /[b-d]+/", ["b", "cb"], ["a", "d"]),
    "not": ("start: T\nT: /[ab]*/ & ~/(?s:.*)bb(?s:.*)/", ["", "abab"], ["abba"]),
    "and before or": ('start: T\nT: /[ab]/ & "a" | "z"', ["a", "z"], ["b"]),
    "not before repeats": ('start: T "."\nT: (/[ab]/ & ~"a")+ ', ["b.", "bb."], ["a.", "ba."]),
    "not not": ('start: T\nT: ~~"x"', ["x"], ["y"]),
    "in a rule": ('start: "<" (/[ab]+/ & ~"ab") ">"', ["<a>", "<ba>"], ["<ab>"]),
    # Structured patterns
    "words": ('start: %regex {"substring_words": "to be, or"}', ["", "be, or", "to ", ","], ["b", "to or"]),
    "characters": ('start: %regex {"substring_chars": "abé"}', ["", "bé", "abé"], ["aé"]),
    "chunks": ('start: X\nX: %regex {"substring_chunks": ["ab", "c", "d"]}', ["", "abc", "cd"], ["a", "abd"]),
    # Other grammars
    "schema": (
        f"start: '<' %json {json.dumps(PLACES)} '>'".replace("'", '"'),
        ['<{"city":"Rom"}>', '<{ "city" : "\\u0052om" }>'],
        ['< {"city":"Rom"}>', '<{"city":1}>', "<{}>"],
    ),
    "schema, compact": (
        'start: %json {"x-guidance": {"whitespace_flexible": false}, "type": "array"}',
        ["[1,2]"],
        ["[1, 2]"],
    ),
    "schema, separators": (
        'start: %json {"x-guidance": {"whitespace_flexible": false, "item_separator": ", "}, '
        '"items": {"type": "null"}, "type": "array"}',
        ["[null, null]"],
        ["[null,null]"],
    ),
    "nested": ('start: "[" %lark { start: part+\n part: "x" } part\npart: "]"', ["[x]", "[xx]"], ["[]", "[]]"]),
    "nested twice": ('start: %lark { start: "1" %lark { start: "2" } }', ["12"], ["1"]),
    "nested, ignored apart": ('start: "[" %lark { start: "x" "y"\n%ignore " " } "]"', ["[x y ]", "[xy]"], ["[ xy]"]),
    # Lazy rules, ends
    "lazy": ('start: part "b"\npart[lazy]: /.*<end>/', ["a<end>b", "<end>b"], ["<end><end>b", "ab"]),
    "lazy at once": ('start: few "1"\nfew[lazy]: /[0-9]+/', ["21", "11"], ["2", "221"]),
    "lazy nothing": ('start: none "x"\nnone[lazy]: /.*/', ["x"], ["xx"]),
    "suffix": ('start: part "b"\npart[suffix="<end>"]: /.*/', ["a<end>b"], ["a<end><end>b", "ab"]),
    "stop": ('start: part "b"\npart[stop="<end>"]: /.*/', ["a<end>b"], ["a<end><end>b", "ab"]),
    "suffix by a pattern": ("start: part\npart[suffix=/[.!]+/]: /[a-z]*/", ["so.", "!"], ["so!!", "so"]),
    "suffix by a terminal": (
        'start: part\npart[suffix=END]: /[a-z]*/\nEND: ";" | "end"',
        ["a;", "aend"],
        ["a", "endend"],
    ),
    "suffix in any case": ('start: part\npart[suffix="end"i]: /[a-z]*/', ["aEND", "aEnd"], ["aen"]),
    "characters, at most": ('start: part "."\npart[max_chars=2]: /.*/', [".", "aé."], ["abc."]),
    "characters of a sequence": ('start: part "."\npart[max_chars=3]: "x" rest\nrest: /[a-z]*/', ["xab."], ["xabc."]),
    "characters, or an end": (
        'start: part\npart[max_chars=3, suffix=";"]: /[a-z]*/',
        ["ab;", "abc"],
        ["ab", "abcd", "abc;"],
    ),
    "no characters": ('start: part "."\npart[max_chars=0]: /.*/', ["."], ["a."]),
}


@pytest.mark.parametrize("case", LANGUAGES.values(), ids=LANGUAGES)
def test_languages(case: tuple[str, list[str], list[str]]) -> None:
    text, inside, outside = case
    constraint = dv.compile(lark(text), BYTES)
    for member in inside:
        assert accepts(constraint, member), member
    for other in outside:
        assert not accepts(constraint, other), other


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "characters, or an end" else name  # a minute
        for name, (text, _, _) in LANGUAGES.items()
        if "%json" not in text and "%regex" not in text and "α" not in text
    ],
)
def test_masks_are_the_oracles(name: str) -> None:
    """Of what was made of the dialect: every token of a small vocabulary, behind every text of up to two bytes."""
    text, inside, outside = LANGUAGES[name]
    grammar = lark(text)
    if any(len(member.encode()) > 6 for member in inside):
        pytest.skip("its texts are too long to write all of them out")
    alphabet = bytes(sorted({*"".join([*inside, *outside]).encode()}))[:4]
    oracle = PrefixOracle(grammar, alphabet, 4, 3)
    tokens = [*(bytes([byte]) for byte in alphabet), *(bytes([a, b]) for a in alphabet for b in alphabet[:2])]
    small = dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)])
    try:
        constraint = dv.compile(grammar, small)
    except dv.VocabularyError:
        return  # none of these bytes begins a text
    for prefix in oracle.prefixes(2):
        matcher = constraint.matcher()
        matcher.advance_bytes(prefix)
        allowed = set(matcher.allowed_tokens().tolist()) - {len(tokens)}
        expected = oracle.mask(prefix, tokens)
        for more in allowed - expected:  # a longer text completes it
            assert oracle.completion(prefix + tokens[more]) is not None, (prefix, tokens[more])
        assert allowed >= expected
        assert matcher.is_accepting == oracle.is_member(prefix)


# Tool calls


CALLS = r"""
start: (say | ask)* rest
rest: TEXT
say_head[lazy]: TEXT "<call"
say: say_head "=say>" /[a-z]+/ "</call>"
ask_head[suffix="<call"]: TEXT
ask: ask_head "=ask>" %json {"type": "integer"} "</call>"
TEXT: /(.|\n)*/
"""


def test_text_with_calls() -> None:
    constraint = dv.compile(lark(CALLS), BYTES)
    inside = ("", "Hello", "a <cal", "<call=say>hi</call>", "So\n<call=ask>1</call> and <call=say>x</call>.")
    outside = ("<call", "<call=say>1</call>", "<call=ask>x</call>", "<call=say>hi", "a<call=other></call>")
    for text in inside:
        assert accepts(constraint, text), text
    for text in outside:
        assert not accepts(constraint, text), text
    matcher = constraint.matcher()
    matcher.advance_bytes(b"Well. <call=")
    assert matcher.next_bytes() == b"as"


def test_lazy_rules_end_others_only_where_they_may_come() -> None:
    text = 'start: TEXT "|" (head "x" | TEXT)\nhead[lazy]: TEXT "!"\nTEXT: /[^|]*/'
    constraint = dv.compile(lark(text), BYTES)
    assert accepts(constraint, "a!b|c") and accepts(constraint, "|a!x")
    assert not accepts(constraint, "|a!b") and not accepts(constraint, "a|b!")


# Tokens


A, B, CALL, END, STOP = range(5)
NAMED = dv.Vocabulary.from_bytes([b"a", b"b", None, None, None], eos=[STOP], special={"<|call|>": CALL, "<end>": END})


def allowed(grammar: dv.Grammar, *taken: int, vocabulary: dv.Vocabulary = NAMED) -> list[int]:
    matcher = dv.compile(grammar, vocabulary).matcher()
    for token in taken:
        matcher.advance(token)
    return [int(token) for token in matcher.allowed_tokens()]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ("<|call|>", [CALL]),
        ("<end> | /a/", [A, END]),
        ("<[2]>", [CALL]),
        ("<[0-2]>", [A, B, CALL]),
        ("<[0, 2-3,3]>", [A, CALL, END]),
        ("<[^0-1,3]>", [CALL, STOP]),
        ("<[*]>", [A, B, CALL, END, STOP]),
    ],
)
def test_tokens(tokens: str, expected: list[int]) -> None:
    assert allowed(lark(f"start: {tokens}")) == expected
    saved = dv.compile(lark(f"start: {tokens}"), NAMED).to_bytes()
    assert dv.Constraint.from_bytes(saved, NAMED).matcher().allowed_tokens().tolist() == expected


def test_tokens_among_text() -> None:
    grammar = lark("start: (TEXT <|call|> /b+/)* TEXT <end>\nTEXT: /a*/")
    assert allowed(grammar) == [A, CALL, END]
    assert allowed(grammar, A, CALL) == [B]
    assert allowed(grammar, CALL, B) == [A, B, CALL, END]


def test_lazy_up_to_a_token() -> None:
    grammar = lark('start: head "b"\nhead[lazy]: TEXT <|call|>\nTEXT: /a*/')
    assert allowed(grammar, A) == [A, CALL]
    assert allowed(grammar, CALL) == [B]


@pytest.mark.parametrize("end", ["<tool>", "<[2]>", "<[2-3]>"])
def test_lazy_up_to_a_token_of_text(end: str) -> None:
    """Text before it could spell it, so that where the rule ends would not be said."""
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"b", b"<tool>", None, None], eos=[4], special={"<end>": 3})
    grammar = lark(f'start: head "b"\nhead[lazy]: TEXT {end}\nTEXT: /(?s:.*)/')
    with pytest.raises(UnsupportedFeatureError, match="a token that is text in this vocabulary") as caught:
        dv.compile(grammar, vocabulary)
    assert caught.value.feature == "lazy"
    assert allowed(lark(f"start: TEXT {end}\nTEXT: /a*/"), vocabulary=vocabulary)[:2] == [0, 2]


def test_a_range_of_many_tokens_is_one_terminal() -> None:
    grammar = lark("start: <[1000-200000]>+")
    assert len(grammar.terminals) == 1
    with pytest.raises(LimitError):
        lark("start: <[0-1000001]>")
    with pytest.raises(dv.VocabularyError):
        dv.compile(grammar, NAMED)


# Grammars by name


def test_grammars_by_name() -> None:
    others = {"word": "start: /[a-z]+/ @sign", "sign": dv.Grammar.from_regex("[.!]"), "number": {"type": "integer"}}
    constraint = dv.compile(
        dv.Grammar.from_lark('start: @word " " @number %lark { start: @sign }', grammars=others), BYTES
    )
    assert accepts(constraint, "hi! 12.") and not accepts(constraint, "hi 12.")


def test_a_list_of_grammars_as_llguidance_has_it() -> None:
    listed = [{"lark_grammar": "start: @word @flag"}, {"name": "word", "lark_grammar": "start: /[a-z]/"}]
    said = json.dumps({"grammars": [*listed, {"name": "flag", "json_schema": {"type": "boolean"}}]})
    assert accepts(dv.compile(lark(said), BYTES), "xtrue")
    for wrong in ('{"grammars": []}', "{}", "{", '{"grammars": [{"lark_grammar": 1}]}'):
        with pytest.raises(dv.GrammarError, match="no list of grammars"):
            lark(wrong)


def test_a_language_by_name_is_cut_by_itself() -> None:
    grammar = lark('start: "```" @code "```"', grammars={"code": dv.Grammar.builtin("json")})
    assert accepts(dv.compile(grammar, BYTES), "``` [1] ```") and not accepts(dv.compile(grammar, BYTES), "```[1```")


def test_grammars_that_hold_each_other() -> None:
    with pytest.raises(dv.GrammarError, match="@left -> @right -> @left"):
        lark("start: @left", grammars={"left": "start: @right", "right": 'start: "x" @left'})
    with pytest.raises(GrammarSyntaxError, match="unknown named grammar '@other'"):
        lark("start: @other")


@pytest.mark.parametrize("grammars", [{"a b": "start:"}, {1: "start:"}, {"x": 1}, [1]])
def test_grammars_that_are_none(grammars: Any) -> None:
    with pytest.raises(ArgumentError):
        lark('start: "x"', grammars=grammars)


# Bounds in tokens, temperatures, captures


def test_parts_in_so_many_tokens() -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"ab", b"c", b".", None], eos=[3])
    grammar = lark('start: part "."\npart[max_tokens=2]: /[a-c]*/')
    assert allowed(grammar, 0, vocabulary=vocabulary) == [0, 1, 2]
    assert allowed(grammar, 0, 1, vocabulary=vocabulary) == [2]
    whole = lark('start: part "."\npart[max_tokens=2]: "ab" "c"*')
    assert allowed(whole, 0, 1, vocabulary=vocabulary) == [2]


def test_temperatures() -> None:
    text = 'start: "a" value "z"\nvalue[temperature=0.6]: '
    for body, between in (("/x+/", b"xx"), ('%json {"type": "integer"}', b"12"), ('%lark { start: "x" "y" }', b"xy")):
        matcher = dv.compile(dv.Grammar.from_lark(text + body), BYTES).matcher()
        assert matcher.temperature is None
        for byte in b"a" + between:
            matcher.advance(byte)
            assert matcher.temperature == (0.6 if byte != between[-1] or body != '%lark { start: "x" "y" }' else None)
        matcher.advance(ord("z"))
        assert matcher.temperature is None
        matcher.rollback(len(between) + 1)
        assert matcher.temperature == 0.6


def test_temperatures_within_temperatures() -> None:
    text = 'start[temperature=1.5]: "a" inner "b" other\ninner[temperature=0]: "x" more\nmore: "y"+\nother: "c" more'
    matcher = dv.compile(dv.Grammar.from_lark(text), BYTES).matcher()
    heard = []
    for byte in b"axybcyy":
        heard.append(matcher.temperature)
        matcher.advance(byte)
    assert heard == [1.5, 0, 0, 1.5, 1.5, 1.5, 1.5]
    assert matcher.temperature == 1.5  # another `y` may follow
    loaded = dv.Constraint.from_bytes(matcher.constraint.to_bytes(), BYTES).matcher()  # type: ignore[attr-defined]
    loaded.advance_bytes(b"ax")
    assert loaded.temperature == 0


def test_where_several_terminals_may_come_the_highest_temperature_counts() -> None:
    text = 'start: left | right\nleft[temperature=0.2]: "a"+\nright[temperature=0.9]: "a" "b"'
    matcher = dv.compile(dv.Grammar.from_lark(text), BYTES).matcher()
    assert (matcher.temperature, matcher.advance(97), matcher.temperature) == (0.9, None, 0.9)
    matcher.advance(97)
    assert matcher.temperature == 0.2
    assert dv.compile(dv.Grammar.from_lark('start: "a"'), BYTES).matcher().temperature is None


def test_captures_are_kept() -> None:
    text = 'start: head name tail\nhead[capture]: "a" "b"\nname[capture="x", suffix=";"]: /[a-z]*/\n'
    text += 'tail[stop="!", stop_capture="mark"]: /[0-9]*/'
    grammar = dv.Grammar.from_lark(text)
    assert grammar.captures == {"head": "head", "name before its end": "x", "end of tail": "mark"}
    assert grammar.hidden == ("end of tail",)
    assert accepts(dv.compile(grammar, BYTES), "abq;12!")
    both = grammar + dv.Grammar.from_lark('start: head\nhead[capture="other"]: "z"')
    assert both.captures == {**grammar.captures, "head#2": "other"}


# Which dialect


MARKED = [
    '%llguidance {}\nstart: "x"',
    "start: %json true",
    "start: <think>",
    "start: <[1]>",
    "start: @x",
    'start: "x"{2}',
    'start: "x"{,2}',
    'start[lazy]: "x"',
    'start: A\nA: "x" & "y"',
    'start: A\nA: ~"x"',
    'my-rule: "x"',
]
PLAIN = [
    'start: "%json <x> @y & {2}" /<[a]>@&/ // %json\n# <think>',
    "start: _list{item, sep}\n_list{a, b}: a (b a)*",
    "start: A ~ 2 B~1..2",
    'start: ["x"] | [A]\nA.2: "x"',
    "%import common (WS, INT)\n%declare X\n%ignore WS\nstart: X -> y",
]


@pytest.mark.parametrize("text", MARKED)
def test_the_dialect_is_found(text: str) -> None:
    assert has_marks(text)
    with pytest.raises(dv.GrammarError, match=r"llguidance|cannot be parsed|Lark"):
        dv.Grammar.from_lark(text, dialect="lark")


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_lark_stays_lark(text: str) -> None:
    assert not has_marks(text)


def test_what_the_two_read_differently() -> None:
    text = 'start: WORD "x"\nWORD: /[a-z]+/'
    assert dv.Grammar.from_lark(text).lexing == "longest"
    assert dv.Grammar.from_lark(text, dialect="llguidance").lexing == "scannerless"
    with pytest.raises(UnsupportedFeatureError, match="'scannerless' lexing, not 'longest'"):
        lark(text, lexing="longest")
    with pytest.raises(ArgumentError, match="declared"):
        lark(text, declared={"X": dv.Terminal(dv.expr.Bytes(b"x"))})
    with pytest.raises(ArgumentError, match="dialect"):
        dv.Grammar.from_lark(text, dialect="xgrammar")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="grammars"):
        dv.Grammar.from_lark(text, dialect="lark", grammars={"x": text})
