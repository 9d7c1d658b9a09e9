"""Grammars put together: one after the other, one or the other, again and again.

All of it gives scannerless grammars; operands may be grammars of any front end, or literal text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .arguments import instance
from .rules import Rules
from .values.reader import Reader

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Combining"]


class Combining(Rules):
    """Rules that can be put together with others. `Grammar` is the one class of them."""

    @classmethod
    def of(cls, made: Rules, reader: Reader | None = None) -> Self:
        """What a front end made, with the methods of a grammar, and with what its texts stand for."""
        instance("made", made, Rules, "the rules that a front end made")
        if isinstance(made, cls):
            return made
        grammar = object.__new__(cls)
        grammar.__dict__.update(made.__dict__, reader=reader)
        return grammar

    @classmethod
    def concatenate(cls, *operands: Rules | str) -> Self:
        """One operand after the other; also `a + b`. A `str` is that text. Cost: the number of rules.

        Raises:
            GrammarError: an operand is under `longest` or `basic` lexing, where the parts would not keep their
                languages; `with_lexing("scannerless")` reads it as a plain context-free grammar.

        Example:
            >>> import derivable as dv
            >>> call = "f(" + dv.Grammar.from_json_schema({"type": "integer", "maximum": 9, "minimum": 0}) + ")"
            >>> vocab = dv.Vocabulary.from_bytes([b"f(", b"12", b"1", b")", None], eos=[4])
            >>> m = dv.compile(call, vocab).matcher()
            >>> m.advance_bytes(b"f(1")
            >>> m.allowed_tokens().tolist()
            [3]
        """
        from .frontends.combine import concatenate

        return cls.of(concatenate(operands))

    @classmethod
    def alternate(cls, *operands: Rules | str) -> Self:
        """Any one of the operands; also `a | b`.

        Raises:
            GrammarError: no operands, or one under another lexing policy (see `concatenate`).

        Example:
            >>> import derivable as dv
            >>> sorted((dv.Grammar.from_regex("[0-9]+") | "none").terminals)
            ['"none"', '[0-9]+']
        """
        from .frontends.combine import alternate

        return cls.of(alternate(operands))

    def repeat(self, min: int = 0, max: int | None = None) -> Self:
        """This grammar at least `min` and at most `max` times, one after the other (`None`: without bound).

        Raises:
            GrammarError: the bounds are not numbers in ascending order, or another lexing policy (see `concatenate`).

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"ab", b"abab", b"ababab", None], eos=[3])
            >>> dv.compile(dv.Grammar.from_choices(["ab"]).repeat(1, 2), vocab).matcher().allowed_tokens().tolist()
            [0, 1]
        """
        from .frontends.combine import repeated

        return self.of(repeated(self, min, max))

    def optional(self) -> Self:
        """This grammar or the empty text.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"ab", None], eos=[1])
            >>> dv.compile(dv.Grammar.from_regex("ab").optional(), vocab).matcher().is_accepting
            True
        """
        return self.repeat(0, 1)

    def __add__(self, other: Rules | str) -> Self:
        return self.concatenate(self, other) if isinstance(other, Rules | str) else NotImplemented

    def __radd__(self, other: str) -> Self:
        return self.concatenate(other, self) if isinstance(other, str) else NotImplemented

    def __or__(self, other: Rules | str) -> Self:
        return self.alternate(self, other) if isinstance(other, Rules | str) else NotImplemented

    def __ror__(self, other: str) -> Self:
        return self.alternate(other, self) if isinstance(other, str) else NotImplemented
