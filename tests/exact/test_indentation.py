"""Indentation: every mask against the oracle, refusals, and Python's own grammar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from families import Case
from oracle import notation
from references import REFERENCES
from shared_data import program_texts, require_shared
from test_exact import check

import derivable as dv
from derivable.errors import GrammarError, LimitError
from derivable.expr import NOTHING
from derivable.grammar import Lexing, Terminal

LINES, ONE_LINE = r"(?:\n[ ]*)+", r"\n[ ]*"
TAB_LINES, TAB_LINE = r"(?:\n[ \t]*)+", r"\n[ \t]*"
COMMENTS = r"(?:\n[ ]*|x)+"
RULES = {"s": "( N | t )*", "t": "A N | A N I t t* D"}


def case(
    rules: Mapping[str, str],
    terminals: Mapping[str, str],
    tokens: str | tuple[str, ...],
    *,
    ignore: tuple[str, ...] = (),
    depth: int = 3,
    slack: int = 3,
    brackets: tuple[tuple[str, str], ...] = (),
    tab: int = 2,
    tab_stops: bool = True,
    final_newline: bool = False,
    step: int | None = None,
) -> Case:
    """A grammar whose terminals `I` and `D` are brought by columns; `tokens` are added to the single bytes."""
    layout = dv.Indentation("N", "I", "D", brackets, tab, tab_stops, final_newline, step)
    made = notation.grammar(rules, {**terminals, "I": "x", "D": "x"}, ignore=ignore, lexing="longest")
    nothing = {"I": Terminal(NOTHING), "D": Terminal(NOTHING)}
    grammar = replace(made, terminals={**made.terminals, **nothing}, indentation=layout)
    pieces = tuple(token.encode() for token in tokens)
    return Case(rules, terminals, ignore, "longest", tokens=pieces, depth=depth, slack=slack, _grammar=[grammar])


TOKENS = ("a", "\n", " ", "\n ", "a\n", "\na", "  a", "\n\n ", "a\n a")
TABBED = ("a", "\n", " ", "\t", "\n\t", " \t", "\ta")
BRACKETED = ("a", "\n", " ", "(", ")", "(\n ", "\n)")

CASES = {
    "lines": case(RULES, {"A": "a", "N": LINES}, TOKENS),
    "one line": case(RULES, {"A": "a", "N": ONE_LINE}, TOKENS),
    "long names": case(RULES, {"A": "a+", "N": LINES}, TOKENS),
    "blanks ignored": case(RULES, {"A": "a", "N": LINES, "W": " +"}, TOKENS, ignore=("W",)),
    "comments": case(
        RULES,
        {"A": "a", "N": COMMENTS, "C": "x"},
        ("a", "\n", " ", "x", "\n x", "x\n", "x\n a"),
        ignore=("C",),
        depth=2,
        slack=2,
    ),
    "two columns": case(RULES, {"A": "a", "N": LINES}, TOKENS, step=2),
    "two columns, one line": case(RULES, {"A": "a", "N": ONE_LINE}, (*TOKENS, "\n  ", "\n   a"), step=2),
    "two columns, blocks in blocks only": case(
        {"s": "t", "t": "A N | A N I t D"}, {"A": "a", "N": ONE_LINE}, (*TOKENS, "\n  a"), step=2
    ),
    "what a line ends with tells how it may go on": case(
        {"s": "t s | t", "t": "A N | A C N I s D"},
        {"A": "a", "C": ":", "N": "(?<=:)\n *|(?<!:)\n[ \n]*"},
        ("\n ", ":\n  a", "\n\n"),
    ),
    "no newline at the end": case(RULES, {"A": "a", "N": LINES}, TOKENS, final_newline=True),
    "one line, none at the end": case(RULES, {"A": "a", "N": ONE_LINE}, TOKENS, final_newline=True),
    "a block must be there": case(
        {"s": "t t*", "t": "A N I b b* D", "b": "A N | t"}, {"A": "a", "N": LINES}, TOKENS, slack=4
    ),
    "blocks in blocks only": case({"s": "t", "t": "A N | A N I t D"}, {"A": "a", "N": ONE_LINE}, TOKENS),
    "two after a block": case({"s": "t*", "t": "A N | A N I t t D"}, {"A": "a", "N": LINES}, TOKENS),
    "undecided": case({"s": "t*", "t": "A N | A N I t D | A N I t t D"}, {"A": "a", "N": LINES}, TOKENS),
    # Behind E a block can only end with the text.
    "ends of text": case(
        {"s": "t*", "t": "A N | E | N I t t* D"},
        {"A": "a", "E": "e", "N": ONE_LINE},
        ("a", "e", "\n", " ", "\n e", "\n a", "a\n"),
    ),
    "ends of text, lines, more behind a block": case(
        {"s": "t*", "t": "A N E? | N I t t* D A? E?"},
        {"A": "a+", "E": "e", "N": LINES},
        ("a", "e", "\n", " ", "\n e", "\n a"),
        slack=2,
    ),
    "more must follow a block": case(
        {"s": "t*", "t": "A N | E | N I t t* D A N"},
        {"A": "a", "E": "e", "N": ONE_LINE},
        ("a", "e", "\n", " ", "\n e", "\n a"),
    ),
    "ends of text, no newline there": case(
        {"s": "t*", "t": "A N | E | N I t t* D"},
        {"A": "a", "E": "e", "N": ONE_LINE},
        ("a", "e", "\n", " ", "\n e", "\n a"),
        final_newline=True,
    ),
    "tab stops": case(RULES, {"A": "a", "N": TAB_LINES}, TABBED, slack=2),
    "tab stops, one line": case(RULES, {"A": "a", "N": TAB_LINE}, TABBED, slack=2),
    "tabs as columns": case(RULES, {"A": "a", "N": TAB_LINES}, TABBED, tab_stops=False, slack=2),
    "tabs as columns, one line": case(RULES, {"A": "a", "N": TAB_LINE}, TABBED, tab_stops=False, slack=2),
    "brackets": case(
        {"s": "( N | t )*", "t": "e N | e N I t t* D", "e": "A | O e* C"},
        {"A": "a", "N": LINES, "O": r"\(", "C": r"\)", "W": " +"},
        BRACKETED,
        ignore=("W",),
        brackets=(("O", "C"),),
        depth=2,
        slack=2,
    ),
    "brackets, one line": case(
        {"s": "t*", "t": "e N | e N I t t* D", "e": "A | O e C"},
        {"A": "a", "N": ONE_LINE, "O": r"\(", "C": r"\)"},
        BRACKETED,
        brackets=(("O", "C"),),
        depth=2,
        slack=2,
    ),
    # After a comment only a newline lexeme can come: within brackets it is dropped, elsewhere the parser must want it.
    "comments in brackets": case(
        {"s": "t*", "t": "e N", "e": "A | O A* C"},
        {"A": "a", "N": ONE_LINE, "O": r"\(", "C": r"\)", "K": r"x(?=\n)"},
        ("a", "\n", "x", "(", ")", "(x\n", "x\n"),
        ignore=("K",),
        brackets=(("O", "C"),),
        depth=2,
        slack=2,
    ),
    "newlines between names": case(
        {"s": "t*", "t": "f N", "f": "A | O f f C | O C"},
        {"A": "a+", "N": ONE_LINE, "O": r"\(", "C": r"\)"},
        ("a", "\n", "(", ")", "(a\n", "a\na"),
        brackets=(("O", "C"),),
        depth=2,
        slack=2,
    ),
    # Lexemes that bring nothing: masks within and behind them are not those within and behind lines.
    **{
        f"{name}, {how}": case(rules, {"A": "a", "N": newline}, ("a", "\n", " ", ";", "\n ", ";\n", "a; "), slack=2)
        for name, newline in {
            "or a mark": r"\n[ ]*|;",
            "or a mark and blanks": r"(?:\n|;)[ ]*",
            "or a mark and lines": r"\n[ ]*|;[ \n]*",
            "a mark may end the blanks": r"\n[ ]*;?",
        }.items()
        for how, rules in {
            "blocks": RULES,
            "a block must be there": {"s": "t t*", "t": "A N I b b* D", "b": "A N | t"},
            "one in a block": {"s": "t*", "t": "A N | A N I t D"},
        }.items()
    },
}


@pytest.mark.parametrize("policy", ["longest", "basic"])
@pytest.mark.parametrize("name", CASES)
def test_oracle(name: str, policy: Lexing) -> None:
    """Every mask equals the definition, also for tokens of line feeds, blanks and text at once."""
    made = CASES[name]
    grammar = made.grammar.with_lexing(policy)
    check([replace(made, lexing=policy, _grammar=[grammar])])


BRACKETS = (("LPAR", "RPAR"), ("LSQB", "RSQB"), ("LBRACE", "RBRACE"))
PYTHON = dv.Indentation("_NEWLINE", "_INDENT", "_DEDENT", BRACKETS)


def python() -> dv.Grammar:
    """Lark's own grammar, as it stands."""
    import lark

    source = (Path(lark.__file__).parent / "grammars" / "python.lark").read_text(encoding="utf-8")
    return dv.Grammar.from_lark(source, start="file_input", indentation=PYTHON)


def test_python() -> None:
    """Blocks, several dedents at once, brackets, comments, blank lines, tabs: byte by byte."""
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b"</s>"], eos=[256])
    constraint = dv.compile(python(), vocabulary)

    def refused_at(text: str) -> int | None:
        matcher = constraint.matcher()
        for at, byte in enumerate(text.encode()):
            if not matcher.allows(byte):
                return at
            matcher.advance(byte)
        return None if matcher.is_accepting else len(text)

    accepted = [
        "x = 1\n",
        "if x:\n  y\nz\n",
        "def f():\n    if x:\n        y\n\n  # c\n\nz(1,\n2)\n",
        "class A:\n\tdef f(self):\n\t\treturn [\n1]\n",
        "while x:\n    y\n    # c\n",
    ]
    for text in accepted:
        assert refused_at(text) is None, text
    assert refused_at("if x:\ny\n") == 6
    assert refused_at("x\n  y\n") == 4
    assert refused_at("if x:\n    y\n  z\n") == 14
    assert refused_at("if x:\n        y\n\tz\n") == 17  # the tab decides
    assert refused_at("if x:\n  y") == 9  # a newline must come


def test_programs() -> None:
    """Every program that Python takes is allowed token by token."""
    programs = program_texts("python")
    tokenizer_json = require_shared("data", "tokenizers", "llama-3", "tokenizer.json")
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer_json))
    constraint = dv.compile(python(), dv.Vocabulary.from_tokenizer_json(tokenizer_json))
    bitmask = dv.allocate_bitmask(1, constraint.vocabulary.size)
    texts = [program.rstrip("\n") + "\n" for program in programs[::16]]
    valid = REFERENCES["python"]()([text.encode() for text in texts])
    assert sum(valid) > len(texts) / 2
    for text in (text for text, one in zip(texts, valid, strict=True) if one):
        matcher = constraint.matcher()
        for token in tokenizer.encode(text, add_special_tokens=False).ids:
            matcher.fill_bitmask(bitmask, 0)
            assert bitmask[0, token // 32] >> token % 32 & 1, (text, matcher.explain(token))
            matcher.advance(token)
        assert matcher.is_accepting, text


def test_blocks_that_the_end_of_the_text_closes() -> None:
    """SynCode's Python, in which `eof` may stand behind a statement. Lark's Indenter says the same of each text."""
    source = require_shared("data", "grammars", "syncode", "python.lark").read_text(encoding="utf-8")
    layout = dv.Indentation("_NL", "_INDENT", "_DEDENT", BRACKETS)
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b"</s>"], eos=[256])
    constraint = dv.compile(dv.Grammar.from_lark(source, indentation=layout), vocabulary)

    def accepts(text: str) -> bool:
        matcher = constraint.matcher()
        for byte in text.encode():
            if not matcher.allows(byte):
                return False
            matcher.advance(byte)
        return matcher.is_accepting

    block = "if x:\n  if y:\n    z\n"
    for text in ["x\neof", "x\neof y\n", block, *(block + blanks + "eof" for blanks in ("", "  ", "    "))]:
        assert accepts(text), text
    for text in ["if x:\n  y", block + "  eof\n", block + "    eof\nz\n"]:
        assert not accepts(text), text


def test_many_ways_to_end_are_bounded() -> None:
    rules = f"t: A N I b D | A N E?\nb: t | b {'x ' * 60} t\nx: A N | A"
    text = f"start: t*\n{rules}\nA: /a/\nE: /e/\nN: /\\n */\n%declare I D"
    grammar = dv.Grammar.from_lark(text, indentation=dv.Indentation("N", "I", "D"))
    with pytest.raises(LimitError, match="max_symbols"):
        dv.compile(grammar, dv.Vocabulary.from_bytes([b"a", b""], eos=[1]), limits=dv.Limits(max_symbols=20_000))


def test_rollback_and_fork() -> None:
    """Columns and depth belong to the state."""
    tokens = [b"if x:", b"\n  ", b"\n    ", b"y", b"\n", b"(", b")", b"</s>"]
    constraint = dv.compile(python(), dv.Vocabulary.from_bytes([*tokens, *map(bytes, zip(range(256)))], eos=[7]))
    matcher = constraint.matcher()
    masks = []
    path = [0, 1, 0, 2, 3, 1, 3, 4]
    for token in path:
        masks.append(matcher.allowed_tokens().tolist())
        matcher.advance(token)
    assert matcher.is_accepting
    fork = matcher.fork()
    for mask in reversed(masks):
        matcher.rollback(1)
        assert matcher.allowed_tokens().tolist() == mask
    assert fork.is_accepting


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ("t: A N | A N I t D | A N I A N", "opens a block"),
        ("t: A N I A N D | A N D", "without the terminal"),
        ("t: A I t N D | A N", "stands behind 'A'"),
        ("t: A N I t A D | A N", "stands behind 'A'"),
        ("t: A N I b D | A N\nb: A N A | A N", "stands behind 'A'"),  # no list that could go on
        ("t: A N I b+ D | A N\nb: A N A | A", "stands behind 'A'"),  # nor with a newline
        ("t: O A N C N | A N I t D", "between brackets"),
        ("t: O A N | O A C N | A N I A N D", "between brackets"),
    ],
)
def test_refused(rules: str, problem: str) -> None:
    """A grammar whose blocks no column could tell."""
    text = f"start: t*\n{rules}\nA: /a/\nN: /\\n */\nO: /[(]/\nC: /[)]/\n%declare I D"
    layout = dv.Indentation("N", "I", "D", (("O", "C"),) if " C" in rules or "O " in rules else ())
    with pytest.raises(GrammarError, match=problem):
        dv.compile(
            dv.Grammar.from_lark(text, indentation=layout), dv.Vocabulary.from_bytes([b"a", b"\n", b""], eos=[2])
        )


@pytest.mark.parametrize("start", ["stmt+", "stmt+ | start start"])
def test_brackets_of_lists(start: str) -> None:
    """`"[" (e ",")* "]"` becomes a list with its bracket in it, which opens what another production closes. Where the
    inside of quotes swallows everything, dead ends are decided by what the brackets of each production do."""
    source = f"""start: {start}
stmt: NAME "=" e _NEWLINE | "if" NAME ":" _NEWLINE _INDENT stmt+ _DEDENT
e: NAME | string | LSQB (e ",")* RSQB
string: QUOTE CHARS? QUOTE
QUOTE: "'"
LSQB: "["
RSQB: "]"
CHARS: /[^'\\n]+/
NAME: /[a-z]+/
_NEWLINE: /(\\n *)+/
%declare _INDENT _DEDENT
%ignore " "
"""
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b"</s>"], eos=[256])
    constraint = dv.compile(dv.Grammar.from_lark(source), vocabulary)
    for depth in (1, 3, 70):
        text = "if a:\n  b = " + "[" * depth + "\n'c '," + "],\n" * (depth - 1) + "]\n"
        matcher = constraint.matcher()
        for byte in text.encode():
            assert matcher.allows(byte), (text, chr(byte))
            matcher.advance(byte)
        assert matcher.is_accepting and not matcher.allows(ord("]"))


@pytest.mark.parametrize("token", [".n\ne", ".n\n(", ".n\n\n#"])
def test_lines_that_begin_deep_within_a_token(token: str) -> None:
    """What follows a line break depends on the columns of the enclosing blocks. So it is asked again for each mask,
    also where several lexemes of the token end before it and another mask has settled what these lead to."""
    vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), token.encode(), b""], eos=[257])
    constraint = dv.compile(dv.Grammar.builtin("python"), vocabulary)
    for text in ("x.a", "x.ab", "if x:\n  y.a", "if x:\n  y.ab", "import n", "import ne"):
        matcher = constraint.matcher()
        matcher.advance_bytes(text.encode())
        assert matcher.allows(256) and 256 in matcher.allowed_tokens(), text
