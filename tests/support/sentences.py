"""Random sentences of a grammar, derived from its rules, to put to the language's own parser."""

from __future__ import annotations

import random
from functools import cache

import derivable as dv
from derivable.expr import Alt, Concat, Expr, Ref, Repeat

__all__ = ["Sentences"]

_FAR = 10**6


class Sentences:
    """Derivations of a grammar in which every terminal is a name (Lark's).

    Args:
        grammar: whose sentences.
        replaced: texts of terminals to use instead of random ones.
        gap: what stands between two terminals.
    """

    def __init__(self, grammar: dv.Grammar, replaced: dict[str, list[bytes]] | None = None, gap: bytes = b" ") -> None:
        self.grammar = grammar
        self.gap = gap
        self.replaced = replaced or {}
        self.depths: dict[str, int] = dict.fromkeys(grammar.rules, _FAR)
        self.pools = cache(self._pool)
        changed = True
        while changed:
            changed = False
            for name, expr in grammar.rules.items():
                depth = 1 + self._depth(expr)
                if depth < self.depths[name]:
                    self.depths[name], changed = depth, True

    def _depth(self, expr: Expr) -> int:
        """How deep a derivation must be at least."""
        match expr:
            case Ref(name):
                return self.depths.get(name, 0)
            case Alt(items):
                return min(map(self._depth, items))
            case Concat(items):
                return max(map(self._depth, items), default=0)
            case Repeat(item, low, _, _):
                return self._depth(item) if low else 0
            case _:
                return 0

    def _pool(self, terminal: str) -> list[bytes]:
        """Texts that match a terminal: short random walks through its own mask."""
        if terminal in self.replaced:
            return self.replaced[terminal]
        only = {terminal: self.grammar.terminals[terminal]}
        alone = dv.Grammar(rules={}, terminals=only, start=terminal, lexing=self.grammar.lexing)
        vocabulary = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
        constraint = dv.compile(alone, vocabulary)
        rng = random.Random(terminal)
        found: set[bytes] = set()
        for _ in range(1000):
            m = constraint.matcher()
            text = b""
            for _ in range(60):
                if m.is_accepting and (text not in found or rng.random() < 0.3):
                    found.add(text)
                    break
                choices = [t for t in m.allowed_tokens().tolist() if t < 256]
                if not choices:
                    break
                plain = [t for t in choices if t < 128]
                closing = [t for t in choices if t in b"\"'*/>]\n"]
                if closing and rng.random() < 0.4:
                    plain = closing
                byte = rng.choice(plain if plain and rng.random() < 0.8 else choices)
                m.advance(byte)
                text += bytes([byte])
            if len(found) > 60:
                break
        assert found, terminal
        return sorted(found)

    def sentence(self, rng: random.Random, depth: int, start: str | None = None) -> list[bytes]:
        """The terminals' texts of one sentence, derived freely down to `depth` and then as shallow as can be."""
        out: list[bytes] = []
        budget = 400

        def derive(expr: Expr, room: int) -> None:
            nonlocal budget
            match expr:
                case Ref(name) if name in self.grammar.rules:
                    derive(self.grammar.rules[name], room - 1)
                case Ref(name):
                    budget -= 1
                    out.append(rng.choice(self.pools(name)))
                case Alt(items):
                    fitting = [item for item in items if self._depth(item) < room] if budget > 0 else []
                    least = min(map(self._depth, items))
                    derive(rng.choice(fitting or [item for item in items if self._depth(item) == least]), room)
                case Concat(items):
                    for item in items:
                        derive(item, room)
                case Repeat(item, low, high, _):
                    more = 0
                    if budget > 0 and self._depth(item) < room:
                        while rng.random() < 0.4 and (high is None or low + more < high):
                            more += 1
                    for _ in range(low + more):
                        derive(item, room)

        derive(Ref(start or self.grammar.start), depth)
        return out

    def text(self, rng: random.Random, depth: int) -> bytes:
        return self.gap.join(self.sentence(rng, depth))
