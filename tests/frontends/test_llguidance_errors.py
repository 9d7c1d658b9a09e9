"""llguidance's dialect of Lark: where mistakes are shown, what is refused by name, what untrusted texts may cost."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from accepting import BYTES, accepts

import derivable as dv
from derivable.errors import LimitError, UnsupportedFeatureError


def lark(text: str, **options: Any) -> dv.Grammar:
    return dv.Grammar.from_lark(text, dialect="llguidance", **options)


ERRORS = {
    'item: "x"': ("no start rule 'start'", None),
    "start: other": ("unknown name 'other'", "other"),
    'start: x\nx: "1"\nx: "2"': ("duplicate rule or terminal 'x'", "x"),
    "start: X\nX: Y\nY: X": ("circular reference in terminal", "X"),
    'start: X\nX: y\ny: "1"': ("terminal 'X' cannot reference rule 'y'", "y"),
    "start: X\nX: %json true": ("%json cannot be used in terminals", None),
    "start[suffix=END]: /a/": ("unknown name 'END'", "END"),
    "start: X\nX: @y": ("unknown named grammar", "@y"),
    'start "x"': ("expected ':' after rule name", '"'),
    'start: ("x"': ("expected ')' after group", "("),
    'start: ["x"': ("expected ']' after optional group", "["),
    'start: "x" ->': ("expected alias name", None),
    'start: "x': ("unterminated string", '"'),
    "start: /x": ("unterminated regular expression", "/"),
    "start: <x": ("unterminated special token", "<"),
    "start: <a b>": ("invalid special token", "<a b>"),
    "start: <[2-1]>": ("invalid numeric special-token range", "<[2-1]>"),
    "start: <[a]>": ("invalid numeric special-token range", "<[a]>"),
    "start: <[,]>": ("empty numeric special-token range", "<[,]>"),
    "start: <[*,1]>": ("wildcard cannot be mixed", "<[*,1]>"),
    "start: <[^*]>": ("negated wildcard", "<[^*]>"),
    "start: @": ("empty grammar reference", "@"),
    "start: $": ("unexpected character '$'", "$"),
    r'start: "\q"': ("unknown escape", r"\q"),
    r'start: "\x4"': ("needs 2 digits", r"\x"),
    r'start: "\ud800"': ("no such character", r"\ud800"),
    'start: "z".."a"': ("must not exceed", '"z".."a"'),
    'start: "ab".."c"': ("one character", '"ab".."c"'),
    'start: "a"i.."b"': ("flags are not allowed", '"a"i.."b"'),
    'start: "x"{2,1}': ("repetition end", "{2,1}"),
    'start: "x"{y}': ("invalid repetition count", "{y}"),
    'start: "x"{1 2}': ("invalid repetition count", "{1 2}"),
    "start: /[a/": ("cannot be parsed", "["),
    "start: /a/q": ("flag 'q' is not supported", "/a/q"),
    "start: %json {": ("failed to parse the JSON value", None),
    "start: %json []": ("failed to compile inline JSON schema", "%json []"),
    'start: %json {"type": "nothing"}': ("failed to compile inline JSON schema", "%json"),
    'start: %lark { x: "1" }': ("failed to compile nested Lark grammar", "%lark"),
    "start: %lark { start: y }": ("unknown name 'y'", "y"),
    'start: %lark { start: "x"': ("never closed", "{"),
    "start: %lark": ("expected '{'", None),
    "start: %regex []": ("must be an object", "%regex []"),
    "start: %regex {}": ("one field", "%regex {}"),
    'start: %regex {"substring_chars": 1}': ("must be a string", "%regex"),
    '%grammar_options []\nstart: "x"': ("must be an object", "%grammar_options"),
    '%grammar_options {"x": 1}\nstart: "x"': ("unknown %grammar_options option 'x'", "%grammar_options"),
    '%llguidance {"no_forcing": 1}\nstart: "x"': ("must be a boolean", "%llguidance"),
    "%import common.OTHER\nstart: OTHER": ("unknown common import 'OTHER'", "common.OTHER"),
    'start: "x"\n%ignore start': ("only terminals can be ignored", "start"),
    'start[budget=1]: "x"': ("attribute 'budget' is not supported", "budget"),
    'start[lazy, lazy]: "x"': ("lazy attribute is specified more than once", "lazy"),
    'start[lazy=1]: "x"': ("lazy takes no value", "lazy=1"),
    'start[suffix]: "x"': ("suffix needs a value", "suffix"),
    'start[suffix=x]: "x"': ("expected a string, a pattern or a terminal", "x"),
    'start[capture=""]: "x"': ("capture name must not be empty", '""'),
    'start[capture="a b"]: "x"': ("must only contain letters", '"a b"'),
    'start[stop_capture="a"]: "x"': ("stop_capture needs suffix or stop", "[stop_capture"),
    'start[suffix="a", stop="b"]: "x"': ("exclude one another", "[suffix"),
    'start[max_tokens=0]: "x"': ("max_tokens must be positive", "0"),
    'start[max_chars=1.5]: "x"': ("max_chars must be", "1.5"),
    'start[temperature=-1]: "x"': ("temperature must be a finite non-negative number", "-1"),
    'start[temperature=x]: "x"': ("expected number after temperature=", "x"),
    'start[temperature=1e999]: "x"': ("finite non-negative", "1e999"),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_point_at_the_place(text: str) -> None:
    says, at = ERRORS[text]
    with pytest.raises(dv.GrammarError) as caught:
        lark(text)
    assert says in caught.value.problem, caught.value.problem
    assert caught.value.hint
    if at is not None:
        assert caught.value.span is not None and "^" in str(caught.value)
        assert text[caught.value.span[0] :].startswith(at), text[caught.value.span[0] :]


REFUSED = {
    'start.1: "x"': "priority",
    "start{x}: x": "template",
    'start: y{x}\ny: "1"': "template",
    'start::0: "x"': "parametric rule",
    'start: y::0\ny: "x"': "parametric rule",
    'start: "x" %if true': "parametric rule",
    "%declare X\nstart: X": "%declare",
    '%override start\nstart: "x"': "%override",
    "%import other.X\nstart: X": "import",
    '%llguidance {"allow_invalid_utf8": true}\nstart: "x"': "allow_invalid_utf8",
    'start: %regex {"type": "substring"}': "%regex 'type'",
    'start[suffix=""]: "x"': "empty suffix",
    'start[stop=""]: "x"': "empty stop",
    'start[lazy]: y\ny: "x"': "lazy",
    'start[suffix="x"]: y\ny: "1"': "suffix",
    'start[max_tokens=3]: "(" start ")" | "x"': "max_tokens",
    'start[max_chars=3]: "(" start ")" | "x"': "max_chars",
    "start[capture, suffix=/ba|ab/]: /a?/": "suffix",
    "start: X\nX: <|y|>": "special token in a terminal",
    'start: x & y\nx: "1"\ny: "2"': "& and ~ of rules",
    'start: X Y\nX: "a" Y\nY[max_chars=1]: "b"': "attribute",
    'start: X Y\nY[max_chars=1]: "b"\nX: "a" Y': "attribute",
    'start[suffix=END]: /a/\nEND[max_chars=1]: "b"': "attribute",
    r"start: /(a)\1/": "backreference",
    'start: %json {"x-guidance": {"coerce_one_of": true}}': "x-guidance.coerce_one_of",
    'start: %json {"x-guidance": {"whitespace_pattern": "[ ]+"}}': "x-guidance.whitespace_pattern",
    'start: %json {"x-guidance": {"item_separator": ",\\\\s*"}}': "x-guidance.item_separator",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_enforced_is_refused_by_name(text: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        lark(text)
    assert caught.value.feature == REFUSED[text]


# Untrusted text


def test_size_and_depth_are_bounded() -> None:
    with pytest.raises(LimitError, match="max_depth"):
        lark("start: " + "(" * 5_000 + '"x"' + ")" * 5_000)
    with pytest.raises(LimitError, match="nested Lark grammars"):
        lark("start: " + "%lark { start: " * 50 + '"x"' + "}" * 50)
    with pytest.raises(LimitError, match="max_source"):
        lark('start: "x"' + " " * 100, limits=dv.Limits(max_source=100))
    doubled = "\n".join(f"A{at}: A{at + 1} A{at + 1}" for at in range(40))
    with pytest.raises(LimitError, match="max_symbols"):
        lark(f'start: A0\n{doubled}\nA40: "x"')
    with pytest.raises(LimitError, match="max_symbols"):
        lark('start: "x"{99999999999}')
    with pytest.raises(LimitError, match="ids of tokens"):
        lark("start: <[0-900000]> <[0-900001]>")
    with pytest.raises(dv.GrammarError, match="JSON value"):
        lark("start: %json " + "[" * 100_000)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a[\n" * 40_000, id="attributes that are never closed"),
        pytest.param('"' + '\\"' * 40_000, id="a string that is never closed"),
        pytest.param("/" + "\\/" * 40_000, id="a pattern that is never closed"),
        pytest.param('start: "x"{1,' + " " * 40_000 + "x}", id="blanks within a repeat"),
        pytest.param('start: "x"{' + " " * 40_000 + "x}", id="blanks that begin a repeat"),
        pytest.param(
            "start: T\nT: " + " ".join(f"A{at}" for at in range(4_000)) + " X\n"
            + "\n".join(f'A{at}: "x"' for at in range(4_000)) + "\nX: T",
            id="a terminal of many others",
        ),
    ],
)  # fmt: skip
def test_time_grows_with_the_length(text: str) -> None:
    """Each takes ten seconds or more if a pattern, or the walk through the terminals, looks again at what it has
    seen."""
    begin = process_time()
    for read in (dv.Grammar.from_lark, lark):
        with pytest.raises(dv.DerivableError):
            read(text)
    assert process_time() - begin < 5


def test_nesting_within_the_bound() -> None:
    deep = dv.Limits().max_depth - 1
    assert accepts(dv.compile(lark("start: " + "(" * deep + '"x"' + ")" * deep), BYTES), "x")
    chain = "\n".join(f"r{at}: r{at + 1}" for at in range(2_000))
    text = f'start: r0 | TEXT\n{chain}\nr2000: head "y"\nhead[lazy]: TEXT "!"\nTEXT: /.*/'
    assert accepts(dv.compile(lark(text), BYTES), "x!y") and not accepts(dv.compile(lark(text), BYTES), "x!z")
