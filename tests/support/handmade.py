"""Tiny grammars for the exactness tests that each stand for a known difficulty (see `families`)."""

from __future__ import annotations

from dataclasses import replace

from families import VOCABULARIES, Case, words

from derivable.grammar import Lexing

__all__ = ["handmade"]


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
    # nothing that the parser wants can come before a blank, and what comes behind it always loses elsewhere
    Case(
        {"s": "K T S | S u S", "u": "T | U"},
        {"K": "[ab]+", "T": "a", "U": '"a"', "W": "c", "S": '"d"'},
        ("W",),
        tokens=(b"a", b"b", b"c", b"d", b"ac", b"ca", b"cad"),
        depth=4,
        slack=3,
    ),
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
