"""Families of tiny grammars and vocabularies for the exactness tests, and strategies that draw random ones.

A `Case` is one grammar with one vocabulary, written in the notation of `oracle.notation`, so that a failing case can be
printed as JSON and pasted into `testdata/regressions.json` as it stands. The families are enumerated in a fixed order;
`sample` takes every n-th member with a stride that is coprime to the size, so that a small sample still touches all of
the shapes, all of the terminal languages and all of their pairings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, permutations, product
from math import gcd
from typing import Any, TypeVar, get_args

from hypothesis import strategies as st
from oracle import notation
from oracle.regular import pattern_of

from derivable.grammar import Grammar, Lexing

__all__ = ["POLICIES", "Case", "cases", "enumerated", "grammars", "handmade", "sample", "shaped", "vocabularies"]

POLICIES: tuple[Lexing, ...] = get_args(Lexing)

T = TypeVar("T")


@dataclass(frozen=True)
class Case:
    """One grammar, one vocabulary.

    Attributes:
        rules, terminals, ignore, lexing, start: as `oracle.notation.grammar` takes them.
        tokens: the vocabulary; the end of sequence is one more entry behind them.
        depth: texts up to this length are tried.
        slack: see `oracle.prefixes`.
        more: bytes of the alphabet that the terminals alone do not suggest.
    """

    rules: Mapping[str, str]
    terminals: Mapping[str, str]
    ignore: tuple[str, ...] = ()
    lexing: Lexing = "scannerless"
    start: str | None = None
    tokens: tuple[bytes, ...] = ()
    depth: int = 4
    slack: int = 4
    more: bytes = b""
    _grammar: list[Grammar] = field(default_factory=list, compare=False, repr=False)

    @property
    def grammar(self) -> Grammar:
        """The grammar itself."""
        if not self._grammar:
            made = notation.grammar(
                self.rules, self.terminals, start=self.start, ignore=self.ignore, lexing=self.lexing
            )
            self._grammar.append(made)
        return self._grammar[0]

    @property
    def alphabet(self) -> bytes:
        """A byte of every class that the grammar can tell apart, and those of the vocabulary."""
        grammar = self.grammar
        exprs = [terminal.expr for terminal in grammar.terminals.values()] + list(grammar.rules.values())
        return bytes(sorted({*notation.alphabet_of(*exprs), *self.more, *b"".join(self.tokens)}))

    def to_json(self) -> str:
        """One line for `testdata/regressions.json`."""
        data: dict[str, Any] = {"lexing": self.lexing, "rules": dict(self.rules), "terminals": dict(self.terminals)}
        if self.ignore:
            data["ignore"] = list(self.ignore)
        if self.start is not None:
            data["start"] = self.start
        data["tokens"] = [token.decode("latin-1") for token in self.tokens]  # bytes as U+0000 to U+00FF
        data["depth"] = self.depth
        data["slack"] = self.slack
        if self.more:
            data["more"] = self.more.decode("latin-1")
        return json.dumps(data)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Case:
        """The inverse of `to_json`; other keys (a comment, the prefix where it failed) are for people."""
        return Case(
            rules=data["rules"],
            terminals=data["terminals"],
            ignore=tuple(data.get("ignore", ())),
            lexing=data["lexing"],
            start=data.get("start"),
            tokens=tuple(token.encode("latin-1") for token in data["tokens"]),
            depth=data["depth"],
            slack=data["slack"],
            more=data.get("more", "").encode("latin-1"),
        )


# --- terminal languages ---

# fmt: off
LANGUAGES = (
    "a", "b", "ab", "a+", "ab*", "a*b", "(ab)+", "a|ab", "a|abc", "a+?b", "ab?", ".", "a(?!b)",
    "(?<!a)b", "aa", "[ab]+", "ab|a", "a(?=b)", "(?<=a)b", "b(?!.)", "[^a]", "a{2,3}", "(?:a|b)*?b",
    "[ab]+?b", "aba?", "a+b?",
)
# fmt: on
"""Tiny terminal languages over {a, b, c}: prefixes of each other, lazy, ordered, with look-around."""

NULLABLE = ["a*", "b?", "(?:ab)?", "(?:|a)"]
"""Those that match the empty text (they mean something under `scannerless`)."""

LITERALS = ('"a"', '"b"', '"ab"', '"aa"', '"ba"')


# --- vocabularies ---


def words(alphabet: str, length: int) -> list[bytes]:
    """All texts from one byte to `length` bytes."""
    return ["".join(w).encode() for n in range(1, length + 1) for w in product(alphabet, repeat=n)]


VOCABULARIES: Mapping[str, tuple[tuple[bytes, ...], ...]] = {
    "ab": (
        (*words("ab", 3), b"ab", b"a"),  # everything, and some twice
        (b"a", b"b", b"aba", b"bab", b"aabb", b"abab", b"bbaa", b"b"),
        (b"b", b"ab", b"aab", b"a", b"ba", b"abb"),
    ),
    "abc": (
        (*words("abc", 2), b"abc", b"cab", b"aca", b"bca", b"c"),
        (b"a", b"b", b"c", b"abc", b"acb", b"cc", b"bcb", b"aab"),
    ),
    "abcd": (tuple(words("abc", 2)), (b"d", b"a", b"b", b"c", b"ab", b"bd", b"ca", b"ab")),
}
"""Token lists by alphabet: single bytes, duplicates, tokens across several terminals."""


def with_vocabulary(case: Case, index: int) -> Case:
    """`case` with the `index`-th vocabulary for its alphabet, and bounds that fit the alphabet's size."""
    if case.tokens:
        return case
    letters = set(case.alphabet) | set(b"ab")
    name, depth, slack = {2: ("ab", 4, 3), 3: ("abc", 3, 2)}.get(len(letters), ("abcd", 2, 2))
    choices = VOCABULARIES[name]
    tokens = choices[index % len(choices)]
    return replace(case, tokens=tokens, depth=depth, slack=slack, _grammar=[])


# --- families ---

SHAPES: Mapping[str, Mapping[str, str]] = {
    "terminal": {"s": "X"},
    "sequence": {"s": "X Y"},
    "two or one": {"s": "X Y | X"},
    "either": {"s": "X | Y X"},
    "left recursive": {"s": "s X | Y"},
    "left recursive list": {"s": "Y | s X Y"},
    "right recursive": {"s": "X s | Y"},
    "middle recursive": {"s": "X s Y |"},
    "middle recursive, not empty": {"s": "X s Y | X Y"},
    "ambiguous": {"s": "s s | X | Y"},
    "ambiguous and empty": {"s": "s s | X Y |"},
    "hidden left recursion": {"s": "n s X | Y", "n": "Y |"},
    "hidden left recursion, all nullable": {"s": "n s X |", "n": "| n Y"},
    "nullable in the middle": {"s": "X n X", "n": "Y |"},
    "dangling else": {"s": "X s | X s Y s | Y Y"},
    "palindromes": {"s": "X s X | Y s Y | X | Y |"},
    "even palindromes": {"s": "X s X | Y s Y | Y Y"},
    "two nonterminals": {"s": "n Y | X X", "n": "X"},
    "not LR(1)": {"s": "n X | m Y", "n": "k X | k", "m": "k X", "k": "X | X k"},
    "cyclic": {"s": "n | X Y", "n": "s | Y"},
    "unit chain": {"s": "n", "n": "m", "m": "X m | Y"},
    "dead rules": {"s": "X | d Y", "d": "d X", "unused": "Y"},
    "repeated": {"s": "( X Y? )* X"},
    "optional and plus": {"s": "X? Y+ X?"},
    "alternation inside": {"s": "( X | Y X )+ Y"},
    "indirect left recursion": {"s": "n X | Y", "n": "s Y | X"},
    "counting": {"s": "X X X | Y"},
    "twins": {"s": "X Y s | Y X s |"},
}

WITH_THREE: Mapping[str, Mapping[str, str]] = {
    "choice of three": {"s": "X s | Y | Z"},
    "brackets": {"s": "X s Y s | Z |"},
    "statement list": {"s": "s t |", "t": "X Y Z | Y Z"},
    "expression": {"s": "s X s | Y s | Z"},
    "contextual": {"s": "X Y | Z X | Y Z Z"},
}


@cache
def shaped(policy: Lexing) -> list[Case]:
    """Every shape of rules with every choice of terminal languages, without and with an ignored terminal."""
    return list(_shaped(policy))


def _shaped(policy: Lexing) -> Iterator[Case]:
    languages = [*LANGUAGES, *LITERALS, *(NULLABLE if policy == "scannerless" else ())]
    for rules in SHAPES.values():
        for x, y in permutations(languages, 2):
            yield Case(rules, {"X": x, "Y": y}, lexing=policy)
    for rules in SHAPES.values():
        for (x, y), ignored in product(combinations(languages, 2), ("c", "c+", "b", "ab", "cb?", "a+?c", "bb|c")):
            yield Case(rules, {"X": x, "W": ignored, "Y": y}, ignore=("W",), lexing=policy)
    for rules in WITH_THREE.values():
        for x, y, z in combinations(languages, 3):
            yield Case(rules, {"Z": z, "Y": y, "X.1": x}, lexing=policy)


@cache
def enumerated(policy: Lexing) -> list[Case]:
    """All grammars with nonterminals `s`, `n`, at most two productions each, of at most two symbols, two terminals.

    Up to renaming nothing is left out: left, right, hidden and cyclic recursion, dead and nullable rules, ambiguity.
    """
    bodies = [" ".join(body) for n in range(3) for body in product("snXY", repeat=n)]
    sides = [*bodies, *(" | ".join(pair) for pair in combinations(bodies, 2))]
    pairs = [("a", "b"), ("a", "ab"), ("a+", "ab*"), ("a|ab", "b"), ("a+?b", "[ab]"), ("a(?!b)", "ab?")]
    cases = []
    for index, (s, n) in enumerate(product(sides, sides)):
        if "n" in s or n == "":  # where `n` is not used one body for it is enough
            x, y = pairs[index % len(pairs)]
            cases.append(Case({"s": s, "n": n}, {"X": x, "Y": y}, lexing=policy))
    return cases


def sample(cases: Sequence[T], count: int) -> list[T]:
    """About `count` members, evenly spread, always the same ones."""
    if count >= len(cases):
        return list(cases)
    stride = len(cases) // count
    while gcd(stride, len(cases)) != 1:
        stride += 1
    return [cases[i * stride % len(cases)] for i in range(count)]


def handmade(policy: Lexing) -> list[Case]:
    """Cases that each stand for a known difficulty; kept whole in every run."""
    text_in_rules = [case for case in _HANDMADE if any('"' in body for body in case.rules.values())]
    cases = [case for case in _HANDMADE if policy == "scannerless" or case not in text_in_rules]
    return [replace(case, lexing=policy, _grammar=[]) for case in cases]


ABC = VOCABULARIES["abc"][0]
SPECIAL: tuple[bytes, ...] = (b"a", b"b", b"ab", b"\xff", b"ba", b"bb", b"c", b"cb")
ONE_SPECIAL = SPECIAL[:6]
TWO_SPECIAL = (*SPECIAL[:6], b"\xfe")

_HANDMADE = [
    # a longer attempt that fails later (`1e;`)
    Case({"s": "N E S | N S"}, {"N": "a(?:ba)?", "E": "b", "S": "c"}, tokens=ABC, depth=4, slack=2),
    Case({"s": "( A | L | B )+"}, {"A": "a", "L": "abab", "B": "b"}),
    Case({"s": "( A | L )* B*"}, {"A": "a", "L": "aabb", "B": "b"}),
    Case({"s": "A L | A B A"}, {"A": "a", "L": "abbba", "B": "b"}, tokens=tuple(words("ab", 3)), depth=6, slack=3),
    # keyword and identifier
    Case({"s": "K I | I K K"}, {"K": '"ab"', "I": "[ab]+", "W": "c"}, ("W",), tokens=ABC, depth=3, slack=2),
    Case(
        {"s": "K I S"},
        {"I": "[ab]+", "K": "ab(?![ab])", "W": "c", "S": '"d"'},
        ("W",),
        tokens=(b"a", b"b", b"c", b"d", b"ab", b"bc", b"cd", b"ca", b"d"),
        depth=3,
        slack=3,
    ),
    # `>>` against `>` `>`
    Case({"t": "N | N O t C"}, {"N": "a", "O": '"b"', "C": '"c"', "R": '"cc"'}, tokens=ABC, depth=4, slack=2),
    Case({"t": "N | N O t C | N R N"}, {"N": "a", "O": '"b"', "C": '"c"', "R": '"cc"'}, tokens=ABC, depth=4, slack=2),
    # comments: lazy, ignored, and begun by the division sign
    Case(
        {"s": "N | s D N"},
        {"C": "aa[ab]*?aa", "D": "a", "N": "b"},
        ("C",),
        tokens=(b"a", b"b", b"aa", b"ba", b"ab", b"aaa", b"aba", b"baa"),
        depth=7,
        slack=3,
    ),
    Case({"s": "N | s D N"}, {"C": "ab(?:.)*?ba", "D": "a", "N": "c"}, ("C",), tokens=ABC, depth=3, slack=2),
    # no text at all: the first terminal eats the second
    Case({"s": "I I S"}, {"I": "[ab]+", "S": '"c"'}),
    Case({"s": "I I S | S"}, {"I": "[ab]+", "S": '"c"'}),
    Case({"s": "A B"}, {"A": "a+b?", "B": "b"}),
    Case({"s": "A A s | B"}, {"A": "a+", "B": "b"}),
    # candidates depend on what is acceptable
    Case({"s": "A B | B L"}, {"L": "ab", "A": "a", "B": "b"}),
    Case({"s": "A n | B n", "n": "A B | L"}, {"A": "a", "B": "b", "L": "aab"}),
    Case({"s": "A n A | B n B", "n": "A"}, {"A": "a", "B": "b|ab"}),
    # the empty text
    Case({"s": ""}, {"A": "a"}),
    Case({"s": "A |"}, {"A": "a", "W": "b+"}, ("W",)),
    Case({"s": "n n", "n": "A | m", "m": ""}, {"A": "ab"}),
    # the start is a terminal
    Case({"s": "A"}, {"A": "a+?b|b"}, start="A"),
    # ignored lexemes half read at the end, inside tokens, and where they are longer than what is wanted
    Case({"s": "A B"}, {"A": "a", "W": "ba", "B": "b"}, ("W",)),
    Case({"s": "A+"}, {"A": "aa", "W": "a"}, ("W",)),
    Case({"s": "A B"}, {"A": "a", "W": "c(?:ab)?", "B": "b"}, ("W",), tokens=ABC, depth=4, slack=2),
    # priority, literal, order of definition
    Case({"s": "X A | Y B"}, {"X": "ab?", "Y.1": "ab", "A": "a", "B": "b"}),
    Case({"s": "X A | Y B"}, {"X": "[ab]b", "Y": '"ab"', "A": "a", "B": "b"}),
    Case({"s": "X A | Y B | X"}, {"X.1": "a+", "Y": "a+b", "A": "a", "B": "b"}),
    Case({"s": "X A | Y B | X"}, {"X": "a+", "Y.1": "[ab]a", "A": "a", "B": "b"}),
    # look-around across lexemes
    Case({"s": "( X | Y | Z )*"}, {"X": "a(?!b)", "Y": "(?<!a)b", "Z": "ab"}),
    Case({"s": "( X | Y )*"}, {"X": "a(?=ab|b)", "Y": "(?<=a)b|ba"}),
    Case({"s": "X+ Y"}, {"X": "a(?!ab)", "Y": "b"}),
    Case({"s": "X Y* X"}, {"X": "a(?!aa)[ab]*?(?<!bb)a", "Y": "b"}, tokens=tuple(words("ab", 3)), depth=5, slack=4),
    Case({"s": "( X | Y )+"}, {"X": "(?<!ab)a", "Y": "b(?!.)|bb"}),
    # look-behind at the start of a lexeme: to the lexeme before, to ignored text, to the start, by two terminals
    Case({"s": "( X | Y )*"}, {"X": "(?<=b)a|b", "Y": "(?<!b)a+"}),
    Case({"s": "( X | Y W? )+"}, {"X": "(?<=c)ab?", "Y": "b(?<!bb)", "W": "c"}, tokens=ABC, depth=4, slack=2),
    Case({"s": "( X | Y )+"}, {"X": "(?<![ab])a", "Y": "(?<=a)b+", "W": "c"}, ("W",), tokens=ABC, depth=4, slack=2),
    Case({"s": "X Y | Y X | X X"}, {"X": "(?<!a)[ab]+?(?=a)|b", "Y": "(?<!aa)a+"}),
    Case({"s": "A s | B"}, {"A": "a", "B": "(?<=aaa)b|(?<!a)b"}),
    Case({"s": "( X | Y )*"}, {"X": "(?<!ab)(?:a|ab)(?!ba)", "Y": "(?<=a)b|b(?=a)"}),
    Case({"s": "X E Y | X"}, {"X": "(?<!a)b?a", "Y": "(?<!a)b", "E": "<\xff>"}, tokens=ONE_SPECIAL, depth=4, slack=2),
    # text in rules beside ignored terminals: a run of it is one piece
    Case({"s": '"a" "b" X | ( "b" "b" )* s | "a" "a"'}, {"X": "a", "W": "c"}, ("W",), tokens=ABC, depth=4, slack=2),
    Case({"s": '"a" n "b"', "n": '"b" "a" |'}, {"W": "c"}, ("W",), tokens=ABC, depth=4, slack=2),
    # ambiguity that never ends
    Case({"s": "s s | s s s | A |"}, {"A": "a|aa"}),
    Case({"s": "n m", "n": "A n |", "m": "A m |"}, {"A": "a"}),
    # special tokens (FF and FE stand for them): after a lexeme that may end, after one that may not, twice, ignored
    # ones beside them, first, last, where the text may end too, where longest match leaves no other way
    Case({"s": "X E X | Y"}, {"X": "ab?", "Y": "abb", "E": "<\xff>"}, tokens=ONE_SPECIAL, depth=4, slack=2),
    Case({"s": "E s E | X"}, {"X": "a+?b", "E": "<\xff>", "W": "c+"}, ("W",), tokens=SPECIAL, depth=2, slack=3),
    Case({"s": "( X E? )* F?"}, {"X": "a(?!b)|b", "E": "<\xff>", "F": "<\xfe>"}, tokens=TWO_SPECIAL, depth=3, slack=2),
    Case(
        {"s": "X E X E | Y"}, {"X": "[ab]+", "Y": "(?<!a)b(?!.)", "E": "<\xff>"}, tokens=ONE_SPECIAL, depth=4, slack=2
    ),
    Case({"s": "X X E | X E X"}, {"X": "a+", "E": "<\xff>"}, tokens=ONE_SPECIAL, depth=4, slack=2),
    Case({"s": "E | X E X | X F"}, {"X": "a+b?", "E": "<\xff>", "F": "<\xfe>"}, tokens=TWO_SPECIAL, depth=3, slack=2),
    Case({"s": "n E n", "n": "X n |"}, {"X": "ab|a", "E": "<\xff>"}, tokens=ONE_SPECIAL, depth=4, slack=2),
    Case({"s": "E"}, {"E": "<\xff>", "W": "a"}, ("W",), tokens=ONE_SPECIAL, depth=4, slack=2),
    # a terminal that wins elsewhere under weaker conditions than here
    Case(
        {"s": "X C | Z Y B"},
        {"X": '"a"', "C": "c", "Y": "a(?!b)|cc", "Z": "b", "B": '"b"'},
        tokens=ABC,
        depth=4,
        slack=2,
    ),
    # shadowed terminals: always, or only in some company
    Case({"s": "( N | D ) s |"}, {"N": "a+", "D": "a", "B": "b"}),
    Case({"s": "( N | D ) B s | B D B"}, {"N": "a+", "D": "a", "B": "b"}),
    Case(
        {"s": "L D | C D | C n", "n": "J A"},
        {"L.1": "ab", "J": '"ab"', "C": "b", "D": "[ab]", "A": "a", "W": "c"},
        ("W",),
    ),
    Case(
        {"s": "C J | L s | J"}, {"L.1": "a|ab", "J": '"ab"', "C": "b", "W": "c"}, ("W",), tokens=ABC, depth=4, slack=2
    ),
    Case(
        {"s": "( S | L )+ B"},
        {"S": "a[^a]*?a", "L": "aa[^a]*?aa", "B": "b", "W": "c"},
        ("W",),
        tokens=ABC,
        depth=4,
        slack=2,
    ),
    Case(
        {"s": "B K | K B I | I I"}, {"K.1": "a", "I": "[ab]", "B": "b", "W": "c"}, ("W",), tokens=ABC, depth=4, slack=2
    ),
    # a comment that was not taken as one must never end: some terminals are out of reach from then on
    Case(
        {"s": "s D s | A | B L"}, {"C": "bb[^c]*c", "D": "b", "A": "a", "B": '"b"', "L": "c", "W": "a(?=a)"}, ("C", "W")
    ),
    Case({"s": "s D s | A L?"}, {"C": "bb[ab]*c", "D": "b", "A": "a", "L": "c"}, ("C",), tokens=ABC, depth=5, slack=2),
    Case(
        {"s": "s D s | A | s L"}, {"C": "bb[ab]*?c", "D": "b", "A": "a", "L": "c"}, ("C",), tokens=ABC, depth=5, slack=2
    ),
    Case(
        {"s": "n | n D n", "n": "A | D A | n L"},
        {"C": "bc(?:.)*?cb", "D": "b", "A": "a", "L": "c", "W": "ca"},
        ("C", "W"),
    ),
    # no blanks: what may follow always can, or cannot at one place
    Case({"s": "N | s P N | O s C"}, {"N": "a+", "P": "b", "O": "c", "C": "cb"}),
    Case({"s": "N | s P N | P P s"}, {"N": "a+b?", "P": "b"}),
    Case({"s": "N P s | N N P | P"}, {"N": "a+", "P": "b"}),
    Case({"s": "N P s | P N n", "n": "N P | P"}, {"N": "a+", "P": "b|bb"}),
    # undecided parses: candidates of all of them compete
    Case({"s": "n X | m Y X", "n": "A n | A", "m": "A m | A"}, {"A": "a", "X": "b", "Y": "bb?"}),
    Case({"s": "A n X | A m Z", "n": "A", "m": "A |"}, {"A": "a", "X": "b", "Z": "ba"}),
    Case({"s": "A s A | B L | A"}, {"A": "a", "L": "ab", "B": "b"}),
    # halves of characters (é is C3 A9, è is C3 A8)
    Case(
        {"s": "( A | E )+ B"},
        {"A": "[^aé]", "E": "é", "B": "a"},
        more=b"\xa8",
        tokens=(b"a", b"\xc3", b"\xa9", b"\xc3\xa9", b"\xa8", b"\xa9a", b"a\xc3", b"\xa9\xc3"),
        depth=2,
        slack=2,
    ),
    Case(
        {"s": "D B?"},
        {"D": ".", "B": "è|b"},
        tokens=(b"b", b"\xc3", b"\xa8", b"\xa9\xc3", b"\xa8b", b"\xc3\xa8"),
        depth=2,
        slack=2,
    ),
]


# --- random cases ---


def expressions(letters: str = "ab") -> st.SearchStrategy[str]:
    """Patterns that can match some text: classes, order, laziness, bounded repetition and bounded look-around."""
    atoms = st.sampled_from([*letters, *letters, f"[{letters}]", ".", f"[^{letters[0]}]", *words_of(letters)])
    ahead = st.sampled_from([f"(?={x})" for x in letters] + [f"(?!{x})" for x in (*letters, ".", *words_of(letters))])
    behind = st.sampled_from(
        [f"(?<={x})" for x in letters] + [f"(?<!{x})" for x in (*letters, ".", *words_of(letters))]
    )

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        suffixes = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}"])
        return st.one_of(
            st.tuples(inner, suffixes).map(lambda x: f"(?:{x[0]}){x[1]}"),
            st.lists(inner, min_size=2, max_size=3).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda x: f"(?:{'|'.join(x)})"),
            st.tuples(inner, ahead).map("".join),
            st.tuples(behind, inner).map("".join),
        )

    return st.recursive(atoms, larger, max_leaves=4)


def words_of(letters: str) -> list[str]:
    """The texts of two bytes."""
    return [x + y for x in letters for y in letters]


@st.composite
def grammars(draw: st.DrawFn, policy: Lexing) -> Case:
    """A random grammar without a vocabulary: up to three rules, up to four terminals, ignored ones, priorities."""
    letters = draw(st.sampled_from(["ab", "ab", "abc"]))
    names = draw(st.sampled_from(["X", "XY", "XY", "XYZ", "XYZ"]))
    languages = st.one_of(st.sampled_from(LANGUAGES[:12]), expressions(letters), st.sampled_from(LITERALS))
    if policy == "scannerless":
        languages = st.one_of(languages, languages, st.sampled_from(NULLABLE))
    priority = st.sampled_from(["", "", "", ".1", ".2"] if policy != "scannerless" else [""])
    terminals = {name + draw(priority): draw(languages) for name in names}
    ignore: tuple[str, ...] = ()
    if draw(st.integers(0, 3)) == 0:
        terminals["W" + draw(priority)] = draw(st.sampled_from(["c", "c+", "b", "ab", "a+?b", "c|ca"]))
        ignore = ("W",)
    if policy == "scannerless" and ignore and draw(st.booleans()):
        names += "W"  # both ignored and used
    if draw(st.integers(0, 3)) == 0:
        terminals["E"] = "<\xff>"
        names += "E"
    nonterminals = draw(st.sampled_from(["s", "sn", "sn", "snm"]))
    symbols = [*names, *names, *nonterminals]
    if policy == "scannerless":
        symbols += ['"a"', '"ab"']
    symbol = st.tuples(st.sampled_from(symbols), st.sampled_from(["", "", "", "", "", "", "?", "*", "+"])).map("".join)
    bodies = st.lists(symbol, max_size=3).map(" ".join)
    rules = {name: " | ".join(draw(st.lists(bodies, min_size=1, max_size=3))) for name in nonterminals}
    return Case(rules, terminals, ignore, policy)


def matches_only_empty(case: Case) -> bool:
    """Some terminal has no match but the empty one, which `longest` and `basic` refuse: not what is tested here."""
    for terminal in case.grammar.terminals.values():
        pattern = pattern_of(terminal.expr)
        alphabet = notation.alphabet_of(terminal.expr) or b"a"
        if not any(pattern.full_match(w) for n in range(1, 5) for w in map(bytes, product(alphabet, repeat=n))):
            return True
    return False


@st.composite
def vocabularies(draw: st.DrawFn, alphabet: bytes, longest: int = 3) -> tuple[bytes, ...]:
    """All single bytes and random short texts, some twice, in random order."""
    letters = [byte for byte in sorted(alphabet) if byte < 0xF8]
    token = st.lists(st.sampled_from(letters), min_size=1, max_size=longest).map(bytes)
    tokens = [bytes([byte]) for byte in alphabet] + draw(st.lists(token, min_size=2, max_size=8))
    return tuple(draw(st.permutations(tokens)))


@st.composite
def cases(draw: st.DrawFn, policy: Lexing) -> Case:
    """A random grammar with a random vocabulary, small enough for the oracle."""
    case = draw(grammars(policy))
    alphabet = bytes(sorted({*case.alphabet, *b"ab"}))
    depth, longest, slack = {2: (3, 3, 4), 3: (3, 2, 2)}.get(len(alphabet), (2, 2, 2))
    return replace(case, tokens=draw(vocabularies(alphabet, longest)), depth=depth, slack=slack, _grammar=[])
