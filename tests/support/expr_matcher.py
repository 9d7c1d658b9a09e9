"""A slow reader of expressions and scannerless grammars, from their definitions; for tests on short strings.

`match_ends` gives the ends of all matches in the order in which a backtracking engine (Python's `re`) would try them:
the first is what `re.match` finds. `derives` decides membership for a scannerless grammar by a fixpoint. Neither shares
code with the engine. Recursion is used freely.
"""

from __future__ import annotations

from collections.abc import Iterable

from derivable.expr import (
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Expr,
    Look,
    Not,
    Ref,
    Repeat,
    Special,
    is_regular,
    walk,
)
from derivable.grammar import Grammar

__all__ = ["derives", "full_match", "match_end", "match_ends"]


def match_ends(expr: Expr, data: bytes, start: int = 0) -> list[int]:
    """Every end of a match of the regular `expr` at `start`, the preferred first, none twice."""
    return _Matcher(data).ends(expr, start)


def match_end(expr: Expr, data: bytes, start: int = 0) -> int | None:
    """Where `re.match` would end, or `None`."""
    return next(iter(match_ends(expr, data, start)), None)


def full_match(expr: Expr, data: bytes) -> bool:
    """Whether all of `data` can be matched (`re.fullmatch`)."""
    return len(data) in match_ends(expr, data)


class _Matcher:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.memo: dict[tuple[int, int], list[int]] = {}
        self.alive: list[Expr] = []  # keeps the ids in `memo` valid

    def ends(self, expr: Expr, pos: int) -> list[int]:
        key = (id(expr), pos)
        if key not in self.memo:
            self.alive.append(expr)
            self.memo[key] = _unique(self.compute(expr, pos))
        return self.memo[key]

    def compute(self, expr: Expr, pos: int) -> Iterable[int]:
        data = self.data
        match expr:
            case Bytes(value):
                return [pos + len(value)] if data.startswith(value, pos) else []
            case ByteSet(ranges):
                return [pos + 1] if pos < len(data) and any(lo <= data[pos] <= hi for lo, hi in ranges) else []
            case Chars(ranges):
                char = _char_at(data, pos)
                return [pos + len(char.encode())] if char and any(lo <= ord(char) <= hi for lo, hi in ranges) else []
            case Concat(items):
                ends = [pos]
                for item in items:
                    ends = _unique(end for begin in ends for end in self.ends(item, begin))
                return ends
            case Alt(items):
                return [end for item in items for end in self.ends(item, pos)]
            case Repeat():
                return self.repeat(expr, pos, 0, {})
            case Look(item, ahead, negative):
                if ahead:
                    found = bool(self.ends(item, pos))
                else:
                    found = any(pos in self.ends(item, begin) for begin in range(pos + 1))
                return [pos] if found != negative else []
            case And(items):
                return [e for e in range(pos, len(data) + 1) if all(full_match(i, data[pos:e]) for i in items)]
            case Not(item):
                return [
                    end
                    for end in range(pos, len(data) + 1)
                    if _is_utf8(data[pos:end]) and not full_match(item, data[pos:end])
                ]
            case _:
                raise TypeError(f"{type(expr).__name__} is not regular")

    def repeat(self, expr: Repeat, pos: int, count: int, memo: dict[tuple[int, int], list[int]]) -> list[int]:
        if (pos, count) in memo:
            return memo[pos, count]
        more: list[int] = []
        if expr.max is None or count < expr.max:
            for end in self.ends(expr.item, pos):
                # As in every backtracking engine, an empty round beyond the minimum ends the loop.
                more += [end] if end == pos and count >= expr.min else self.repeat(expr, end, count + 1, memo)
        stop = [pos] if count >= expr.min else []
        memo[pos, count] = _unique(stop + more if expr.lazy else more + stop)
        return memo[pos, count]


def derives(grammar: Grammar, data: bytes) -> bool:
    """Whether `data` is in the language of `grammar`, read scannerless whatever its policy says.

    Special tokens match nothing here.
    """
    return len(data) in _Recogniser(grammar, data).solve()


class _Recogniser:
    """The least fixpoint of "rule `name` matches from `pos` to these ends"; left recursion is no problem."""

    def __init__(self, grammar: Grammar, data: bytes) -> None:
        self.grammar = grammar
        self.data = data
        self.known: dict[tuple[str, int], set[int]] = {}
        self.pieces: dict[tuple[int, int], set[int]] = {}
        self.regular = {
            name: is_regular(expr) and any(isinstance(node, Look | And | Not) for node in walk(expr))
            for name, expr in grammar.rules.items()
        }

    def solve(self) -> set[int]:
        def once() -> set[int]:
            ends: set[int] = set()
            for begin in self.ignored(0):
                ends |= self.ends(Ref(self.grammar.start), begin)
            return ends

        while True:
            before = {key: len(ends) for key, ends in self.known.items()}
            answer = once()
            for (name, pos), ends in list(self.known.items()):
                expr = self.grammar.rules[name]
                ends |= self.piece(expr, pos) if self.regular[name] else self.ends(expr, pos)
            if before == {key: len(ends) for key, ends in self.known.items()}:
                return answer

    def ends(self, expr: Expr, pos: int) -> set[int]:
        match expr:
            case Ref(name=name) if name in self.grammar.terminals:
                return self.piece(self.grammar.terminals[name].expr, pos)
            case Ref(name=name):
                return self.known.setdefault((name, pos), set())
            case Concat(items):
                ends = {pos}
                for item in items:
                    ends = {end for begin in ends for end in self.ends(item, begin)}
                return set(ends)
            case Alt(items):
                return {end for item in items for end in self.ends(item, pos)}
            case Repeat(item, low, high):
                ends = {pos}
                for _ in range(low):
                    ends = {end for begin in ends for end in self.ends(item, begin)}
                done, rounds = set(ends), 0
                while ends and (high is None or rounds < high - low):
                    rounds += 1
                    ends = {end for begin in ends for end in self.ends(item, begin)} - done
                    done |= ends
                return done
            case Special():
                return set()
            case _:
                return self.piece(expr, pos)

    def piece(self, expr: Expr, pos: int) -> set[int]:
        """One lexeme and the ignored ones after it. Look-around sees the text of the lexeme only."""
        key = (id(expr), pos)
        if key not in self.pieces:
            alone = any(isinstance(node, Look) for node in walk(expr))
            ends: Iterable[int] = range(pos, len(self.data) + 1) if alone else match_ends(expr, self.data, pos)
            matched = [end for end in ends if not alone or full_match(expr, self.data[pos:end])]
            self.pieces[key] = {after for end in matched for after in self.ignored(end)}
        return self.pieces[key]

    def ignored(self, pos: int) -> set[int]:
        reached, todo = {pos}, [pos]
        while todo:
            begin = todo.pop()
            for name in self.grammar.ignore:
                for end in match_ends(self.grammar.terminals[name].expr, self.data, begin):
                    if end not in reached:
                        reached.add(end)
                        todo.append(end)
        return reached


def _unique(ends: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(ends))


def _char_at(data: bytes, pos: int) -> str:
    for size in (1, 2, 3, 4):
        try:
            return data[pos : pos + size].decode()
        except UnicodeDecodeError:
            continue
    return ""


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
