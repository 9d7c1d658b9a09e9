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

__all__ = [
    "POLICIES",
    "Case",
    "cases",
    "contested",
    "enumerated",
    "grammars",
    "sample",
    "shaped",
    "vocabularies",
]

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

MAY_BE_EMPTY = ["a?", "a*", "ab?", "(?:ab)?", "(?:[b ]b)?", "b?"]
"""Those that match the empty text, too, which counts as no match under `longest` and `basic`."""

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
    "ab ": (
        (b"a", b"b", b" ", b"aa", b"ab", b"a a", b"aaa", b"b ", b" b", b"a b", b"b a"),
        (b" ", b"a", b"ab ", b"b b", b"a", b"ba", b"  a", b"aba", b"b"),
    ),
    "abc ": ((b"a", b"b", b"c", b" ", b"aa", b"ab", b"a ", b" b", b"ca", b"c ", b"bb"),),
}
"""Token lists by alphabet: single bytes, duplicates, tokens across several terminals."""


def with_vocabulary(case: Case, index: int) -> Case:
    """`case` with the `index`-th vocabulary for its alphabet, and bounds that fit the alphabet's size."""
    if case.tokens:
        return case
    letters = set(case.alphabet) | set(b"ab")
    name, depth, slack = {2: ("ab", 4, 3), 3: ("abc", 3, 2)}.get(len(letters), ("abcd", 2, 2))
    if ord(" ") in letters:
        name, depth, slack = ("ab ", 3, 2) if len(letters) == 3 else ("abc ", 2, 2)
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


CONTESTS: Mapping[str, Mapping[str, str]] = {
    "behind a list": {"s": "n X", "n": "Y n*"},
    "behind a list, or nothing of it": {"s": "n | Z", "n": "m X", "m": "Y m*"},
    "behind a list that need not be": {"s": "( Z Y+ )? X"},
    "in turns": {"s": "m ( Y X | n X+ )+ Y | Z", "m": "m |", "n": "s Z"},
    "two lists": {"s": "n Z | m", "n": "X n |", "m": "Y m | Y"},
    "useless rules": {"s": "X n? m", "n": "Y | m", "m": "", "unused": "X Y"},
    "brackets": {"s": "X s Y | n", "n": "Z |"},
    "one or the other": {"s": "Y s | X Z | X"},
    "two in a row": {"s": "n n Z", "n": "X | Y n |"},
}
"""Shapes in which it matters that X or Y wins wherever both may stand."""


@cache
def contested(policy: Lexing) -> list[Case]:
    """Terminals that lose every contest or many, may be empty, have priorities; with and without blanks between."""
    pairs = [
        *(("a", "a"), ("[ab]+", "[ab]+"), ("a", "a?"), ("a?", "ab?"), ("ab", "[ab]+"), ('"ab"', "[ab]+")),
        *(("(?:[b ]b)?", "a?"), ("b?", "(?:[b ]b)?"), ("a", "[ab]"), ("a*", "a"), ("ab?", "a(?:bb)?"), ("b", "a")),
    ]
    priorities = (("", ""), (".1", ""), ("", ".1"))
    ignored = ({"W": '" "'}, {}, {"W": " +"}, {"W.1": '" "'}, {"W": " b?"})
    cases = []
    for rules, (x, y), (p, q), z, w in product(CONTESTS.values(), pairs, priorities, ("b", "a", "c", "b?"), ignored):
        terminals = {"X" + p: x, "Y" + q: y, "Z": z, **w}
        cases.append(Case(rules, terminals, ("W",) if w else (), policy))
    return cases


def sample(cases: Sequence[T], count: int) -> list[T]:
    """About `count` members, evenly spread, always the same ones."""
    if count >= len(cases):
        return list(cases)
    stride = len(cases) // count
    while gcd(stride, len(cases)) != 1:
        stride += 1
    return [cases[i * stride % len(cases)] for i in range(count)]


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
    languages = st.one_of(languages, languages, st.sampled_from(NULLABLE if policy == "scannerless" else MAY_BE_EMPTY))
    priority = st.sampled_from(["", "", "", ".1", ".2"] if policy != "scannerless" else [""])
    terminals = {name + draw(priority): draw(languages) for name in names}
    ignore: tuple[str, ...] = ()
    if draw(st.integers(0, 3)) == 0:
        terminals["W" + draw(priority)] = draw(st.sampled_from(["c", "c+", "b", "ab", "a+?b", "c|ca", '" "', " +"]))
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
