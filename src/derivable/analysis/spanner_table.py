"""GreatGramma's tables, as data: what tokens do to a lexer, and what sequences of terminals they realize.

K. Park, T. Zhou, L. D'Antoni, "Flexible and Efficient Grammar-Constrained Decoding" (2025). The constructions are the
paper's, one after the other: lexing transducer (Algorithm 2), detokenizing transducer (Algorithm 3), their composition,
producible terminals (Definition 3.2), realizable sequences (Definition 3.3), the token spanner table (Figure 1d) and
its inverse (Algorithm 4). Derivable's kernel holds the inverse table as a tree that unfolds where a parser goes; here
it is whole, for looking at, for counting, and for comparison.

Where the paper's lexer is a function, this one lets a text that several terminals match be each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from ..errors import GrammarError
from ..vocabulary import Vocabulary
from .scanner import Scanner
from .transducers import DetokenizingTransducer, LexingTransducer, Terminals, TokenTransducer, moved

__all__ = ["SpannerTable"]


class SpannerTable:
    """The token spanner table, and its inverse: the composition of both transducers, sorted by what it writes.

    Attributes:
        scanner, lexing, detokenizing: what it is made of.
        producible: by state: the terminals that may be written next (Definition 3.2).
        inverse: Algorithm 4: (state, sequence) to the tokens that realize it there. A sequence holds the terminals that
            the token writes, and one that may come next; `None` in place of that one: an ignored terminal may, and
            then any.

    Example:
        >>> import derivable as dv
        >>> from derivable.analysis import Scanner, SpannerTable
        >>> scanner = Scanner.from_patterns({"B": "ab+", "C": "ac+"})
        >>> table = SpannerTable(scanner, dv.Vocabulary.from_bytes([b"a", b"b", b"c", b"ab", b"ac", b"aba"], eos=[]))
        >>> print(table)
            a       b  c  ab  ac  aba
        q0  B, C          B   C   BB, BC
        q1          B  C
        q2  BB, BC  B     BB  BC  BBB, BBC
        q3  CB, CC     C  CB  CC  CBB, CBC

    Cost: states times the nodes of the token trie that the scanner reads, in Python: for tables one can look at, and
    small vocabularies; `MaskStore` counts large ones.
    """

    def __init__(self, scanner: Scanner, vocabulary: Vocabulary) -> None:
        self.scanner = scanner
        self.vocabulary = vocabulary
        self.lexing = LexingTransducer.of(scanner)
        eos = set(vocabulary.eos_ids)
        self.tokens = {i: data for i, data in enumerate(vocabulary.tokens) if data and i not in eos}
        self.detokenizing = DetokenizingTransducer.of(self.tokens)
        self._dropped = {t for t, name in enumerate(scanner.terminals) if name in scanner.ignored}
        self.producible = scanner.producible()
        self.inverse: dict[tuple[int, tuple[int | None, ...]], list[int]] = {}
        for state, token_id, written, after in self.transitions():
            for terminal in sorted(self.producible[after]):
                last = None if terminal in self._dropped else terminal
                tokens = self.inverse.setdefault((state, (*written, last)), [])
                if not tokens or tokens[-1] != token_id:
                    tokens.append(token_id)
        for tokens in self.inverse.values():
            tokens[:] = sorted(set(tokens))

    def transitions(self) -> Iterator[tuple[int, int, Terminals, int]]:
        """Those of the composition, by state: (state, token, terminals written, next state)."""
        moves = self.lexing.moves
        for state in range(len(self.producible)):
            todo: list[tuple[int, set[tuple[Terminals, int]]]] = [(0, {((), state)})]
            while todo:
                node, at = todo.pop()
                for token_id in self.detokenizing.ends[node]:
                    for written, after in sorted(at):
                        yield state, token_id, written, after
                for byte, below in self.detokenizing.edges[node]:
                    on = moved(moves, at, byte)
                    if on:
                        todo.append((below, on))

    @cached_property
    def realizable(self) -> tuple[tuple[int | None, ...], ...]:
        """All sequences that some token realizes in some state (Definition 3.3), shortest first."""
        return tuple(sorted({s for _, s in self.inverse}, key=lambda s: (len(s), [-1 if t is None else t for t in s])))

    @cached_property
    def composition(self) -> TokenTransducer:
        """Both transducers as one that reads tokens (Figure 4). Cost: as the table itself, in memory, too."""
        found: dict[tuple[int, int], list[tuple[Terminals, int]]] = {}
        for state, token_id, written, after in self.transitions():
            found.setdefault((state, token_id), []).append((written, after))
        return TokenTransducer(self.lexing, self.tokens, {key: tuple(each) for key, each in found.items()})

    def tokens_for(self, state: int, sequence: Sequence[str]) -> tuple[int, ...]:
        """``T_inv(state, sequence)``: the tokens that realize a sequence of terminals in a state.

        Args:
            state: of the lexer.
            sequence: names of terminals. ``*`` as the last one, as `names` has it: an ignored terminal may come next.

        Raises:
            GrammarError: a name that no terminal has, or ``*`` before the end.
        """
        known = {name: number for number, name in enumerate(self.scanner.terminals)}
        numbers: list[int | None] = []
        for at, name in enumerate(sequence):
            if name == "*" and name not in known and at == len(sequence) - 1:
                numbers.append(None)
            elif name not in known:
                hint = (
                    f"The terminals are {', '.join(self.scanner.terminals[:12])}; `*` may stand last, for any of them."
                )
                raise GrammarError(f"{name!r:.80} at place {at} of a sequence is no terminal of the lexer", hint=hint)
            else:
                numbers.append(known[name])
        return tuple(self.inverse.get((state, tuple(numbers)), ()))

    def entry(self, state: int, token_id: int) -> tuple[tuple[str, ...], ...]:
        """The table itself (Figure 1d): the sequences that a token realizes in a state."""
        found = [s for (at, s), tokens in self.inverse.items() if at == state and token_id in tokens]
        return tuple(sorted(self.names(s) for s in found))

    def names(self, sequence: Sequence[int | None]) -> tuple[str, ...]:
        """Names of terminals; ``*`` for any one."""
        return tuple("*" if t is None else self.scanner.terminals[t] for t in sequence)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How large everything is."""
        return {
            "tokens": len(self.tokens),
            "lexer states": len(self.producible),
            "lexing transitions": len(self.lexing.transitions),
            "detokenizing states": len(self.detokenizing.edges),
            "bytes of tokens": self.detokenizing.num_bytes,
            "realizable sequences": len(self.realizable),
            "inverse entries": len(self.inverse),
            "tokens in entries": sum(map(len, self.inverse.values())),
        }

    def __str__(self) -> str:
        letters = all(len(name) == 1 for name in self.scanner.terminals)
        head = ["", *(data.decode("utf-8", "backslashreplace") for data in self.tokens.values())]
        rows = [head]
        for state in range(len(self.producible)):
            cells = [", ".join(("" if letters else " ").join(s) for s in self.entry(state, t)) for t in self.tokens]
            rows.append([f"q{state}", *cells])
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)
