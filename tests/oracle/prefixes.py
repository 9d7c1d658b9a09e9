"""Every member of `L` up to a length, and hence every prefix and every mask.

A text `w` of at most `max_len` bytes counts as a prefix if a member of at most `max_len + slack` bytes extends it.
So "yes" is always right: the member is there to be seen. "No" is right only if `slack` covers the shortest completion.
The tests guard that: where the engine allows what the oracle refuses, they look for a longer member (`completion`,
which builds long texts from the rules, and `deeper()`, an oracle with twice the slack) before they call it a mistake of
the engine. (The other way round there is nothing to guard.)

The alphabet must hold a byte of every class that the terminals can tell apart (`notation.alphabet_of` does that), for
a completion may need any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from typing import Any

from derivable.expr import EMPTY, Alt, Concat, Expr, Look, Repeat, walk
from derivable.grammar import Grammar

from .recognizers import Recognizer
from .regular import pattern_of

__all__ = ["PrefixOracle", "derivable_from"]

ByLength = list[set[bytes]]
"""A set of texts; `[n]` holds those of `n` bytes."""


class PrefixOracle:
    """Answers "is `w` a prefix of a member?" and "is it a member?" from a list of all members up to a length.

    Args:
        grammar: any policy.
        alphabet: the bytes that texts are made of.
        max_len: the longest text that will be asked about.
        slack: how much longer the members that are enumerated may be.
    """

    def __init__(self, grammar: Grammar, alphabet: bytes, max_len: int, slack: int) -> None:
        self.grammar = grammar
        self.alphabet = bytes(sorted(set(alphabet)))
        self.max_len = max_len
        self.slack = slack
        self.recognizer = Recognizer(grammar)
        length = max_len + slack
        if grammar.lexing == "scannerless":
            self.members = frozenset(self._derived(length))
        else:
            self.members = frozenset(self._read(length))
        self._prefixes = frozenset(w[:n] for w in self.members for n in range(len(w) + 1))
        self._deeper: PrefixOracle | None = None

    def is_member(self, w: bytes) -> bool:
        """`w ∈ L`."""
        self._check(w)
        return w in self.members

    def is_prefix(self, w: bytes) -> bool:
        """Some member of at most `max_len + slack` bytes extends `w`."""
        self._check(w)
        return w in self._prefixes

    def mask(self, w: bytes, tokens: Iterable[bytes]) -> set[int]:
        """Indices of the tokens that keep `w` a prefix."""
        return {index for index, token in enumerate(tokens) if self.is_prefix(w + token)}

    def prefixes(self, max_len: int) -> list[bytes]:
        """All prefixes up to a length, shortest first."""
        return sorted((w for w in self._prefixes if len(w) <= max_len), key=lambda w: (len(w), w))

    def completion(self, w: bytes) -> bytes | None:
        """Some member that extends `w`, however long; `None` if none was found, which proves nothing.

        The rules propose texts (`derivable_from`), the recogniser decides.
        """
        separators = [b""]
        for name in self.grammar.ignore:  # some lexemes only end where an ignored one begins
            pattern = pattern_of(self.grammar.terminals[name].expr)
            separators += [u for u in texts(self.alphabet, 3) if u and pattern.full_match(u)][:2]
        for separator in separators:
            for text in derivable_from(self.recognizer, self.alphabet, w, separator):
                if self.recognizer.member(text):
                    return text
        return None

    def deeper(self) -> PrefixOracle:
        """The same oracle with twice the slack."""
        if self._deeper is None:
            self._deeper = PrefixOracle(self.grammar, self.alphabet, self.max_len, 2 * self.slack)
        return self._deeper

    def _check(self, w: bytes) -> None:
        if len(w) > self.max_len or not set(w) <= set(self.alphabet):
            raise ValueError(f"{w!r} is longer than {self.max_len} or leaves the alphabet {self.alphabet!r}")

    def _derived(self, length: int) -> Iterator[bytes]:
        """Scannerless: the texts of every symbol as a least fixed point of "concatenate what the bodies name".

        A set of texts per symbol is all there is: the texts of a body are the concatenations of texts of its symbols.
        """
        cfg = self.recognizer.cfg
        derived: dict[str, ByLength] = {name: [set() for _ in range(length + 1)] for name in cfg.productions}
        for name, expr in cfg.terminals.items():
            derived[name] = _terminal_texts(expr, self.alphabet, length)
        changed = True
        while changed:
            changed = False
            for name, bodies in cfg.productions.items():
                for body in bodies:
                    for n, found in enumerate(_concatenated([derived[symbol] for symbol in body], length)):
                        if not found <= derived[name][n]:
                            derived[name][n] |= found
                            changed = True
        for found in derived[cfg.start]:
            yield from found

    def _read(self, length: int) -> Iterator[bytes]:
        """`longest` and `basic`: every text is asked, but none behind a lexeme that no member can have.

        A lexeme is decided as soon as no terminal that competes has a text that begins with what stands there, and
        none that looks around has matched: whatever follows, it ends where it ends.
        """
        beginnings = {
            name: _beginnings(expr, self.alphabet, length) for name, expr in self.recognizer.cfg.terminals.items()
        }
        work = [(b"", self.recognizer.reading.start, 0)] if self.recognizer.sequences.viable(()) else []
        while work:
            text, state, pos = work.pop()
            if self.recognizer.member(text):
                yield text
            for byte in self.alphabet if len(text) < length else b"":
                longer, after, at = text + bytes([byte]), state, pos
                while after is not None and self._is_decided(after, longer[at:], beginnings):
                    after, at = self.recognizer.step(after, longer, at)
                if after is not None:
                    work.append((longer, after, at))

    def _is_decided(self, state: Any, rest: bytes, beginnings: Mapping[str, Any]) -> bool:
        for name in self.recognizer.competing(state) if rest else ():
            if beginnings[name] is None:
                return False
            begin, unsure = beginnings[name]
            if rest in begin or (unsure and any(rest[:n] in unsure for n in range(len(rest)))):
                return False
        return rest != b""


def derivable_from(recognizer: Recognizer, alphabet: bytes, w: bytes, separator: bytes, width: int = 24) -> list[bytes]:
    """Texts that begin with `w` and that the rules derive under any segmentation, short ones first.

    As the span recogniser, with one more place to end: beyond `w`. For every symbol and every start it keeps the spans
    inside `w` and the `width` shortest texts by which the symbol would go on beyond the end. Look-around is left out
    unless the policy is scannerless: these are proposals. `separator` is put before every lexeme beyond `w`.
    """
    cfg, n = recognizer.cfg, len(w)
    scannerless = recognizer.grammar.lexing == "scannerless"
    inside: dict[str, set[tuple[int, int]]] = {name: set() for name in cfg.productions}
    beyond: dict[str, list[list[bytes]]] = {name: [[] for _ in range(n + 1)] for name in cfg.productions}
    for name, expr in cfg.terminals.items():
        pattern = pattern_of(expr if scannerless else without_look(expr))
        starts = range(n + 1)
        inside[name] = {(i, j) for i in starts for j in range(i, n + 1) if pattern.full_match(w[i:j])}
        further = [u for u in texts(alphabet, 3) if u]
        beyond[name] = [[u for u in further if pattern.full_match(w[i:] + u)][:width] for i in starts]
        beyond[name][n] = [separator + u for u in beyond[name][n]]
    changed = True
    while changed:
        changed = False
        for name, bodies in cfg.productions.items():
            for body, start in product(bodies, range(n + 1)):
                places, tails = {start}, set[bytes]()
                for symbol in body:
                    longer = {v + u for v in tails for u in beyond[symbol][n]}
                    longer |= {u for place in places for u in beyond[symbol][place]}
                    if (n, n) in inside[symbol]:
                        longer |= tails
                    places = {j for i, j in inside[symbol] if i in places}
                    tails = set(_shortest(longer, width))
                best = _shortest({*beyond[name][start], *tails}, width)
                spans = {(start, place) for place in places}
                if best != beyond[name][start] or not spans <= inside[name]:
                    beyond[name][start] = best
                    inside[name] |= spans
                    changed = True
    whole = [w] if (0, n) in inside[cfg.start] else []
    return whole + [w + u for u in beyond[cfg.start][0]]


def _shortest(found: set[bytes], width: int) -> list[bytes]:
    return sorted(found, key=lambda u: (len(u), u))[:width]


@cache
def without_look(expr: Expr) -> Expr:
    """`expr` with every assertion taken as true (inside `And` and `Not` they stay)."""
    match expr:
        case Look():
            return EMPTY
        case Concat(items):
            return Concat(tuple(map(without_look, items)))
        case Alt(items):
            return Alt(tuple(map(without_look, items)))
        case Repeat(item, least, most, lazy):
            return Repeat(without_look(item), least, most, lazy)
        case _:
            return expr


def texts(alphabet: bytes, length: int) -> Iterator[bytes]:
    """All texts up to a length, shortest first."""
    for n in range(length + 1):
        yield from map(bytes, product(alphabet, repeat=n))


def _concatenated(parts: list[ByLength], length: int) -> ByLength:
    result: ByLength = [{b""}, *(set() for _ in range(length))]
    for part in parts:
        longer: ByLength = [set() for _ in range(length + 1)]
        for i, heads in enumerate(result):
            for j, tails in enumerate(part[: length + 1 - i]):
                if heads and tails:
                    longer[i + j] |= {head + tail for head in heads for tail in tails}
        result = longer
    return result


@cache
def _beginnings(expr: Expr, alphabet: bytes, length: int) -> tuple[frozenset[bytes], frozenset[bytes]] | None:
    """What texts of a terminal begin with, of those up to a length, assertions aside; and those texts if there are
    assertions, which may take a match back. `None`: that cannot be said, for `And` or `Not` hold an assertion."""
    plain = without_look(expr)
    if any(isinstance(node, Look) for node in walk(plain)):
        return None
    found = frozenset[bytes]().union(*_terminal_texts(plain, alphabet, length))
    return frozenset(text[:n] for text in found for n in range(len(text) + 1)), found if plain != expr else frozenset()


@cache
def _terminal_texts(expr: Expr, alphabet: bytes, length: int) -> ByLength:
    """The texts of one terminal (do not change the result: it is shared)."""
    pattern = pattern_of(expr)
    return [{w for w in map(bytes, product(alphabet, repeat=n)) if pattern.full_match(w)} for n in range(length + 1)]
