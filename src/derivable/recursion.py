"""Grammars that hold themselves, as `Grammar` has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import ArgumentError
from .rules import Rules
from .support.arguments import instance, integer
from .values.reader import Reader

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Recursive"]


class Recursive(Rules):
    """Rules that may be made of themselves."""

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
    def recursive(
        cls, make: Callable[[Any], Rules], *, depth: int | None = None, innermost: Rules | str | None = None
    ) -> Self:
        """A grammar that holds itself, made of grammars (as with pyparsing's `Forward`).

        Without `depth` texts may lie in one another as deep as they like. The grammar may stand in itself wherever
        grammars are joined: by `+`, `|`, `repeat` and `optional`, or imported into a `scannerless` Lark grammar.

        Where it stands in a grammar under `longest` or `basic` lexing, or is encoded, `depth` and `innermost` say how
        deep it goes: with `depth=2`, the result is `make(make(innermost))`. docs/lexing.md says more.

        Args:
            make: given the grammar itself, returns it. With `depth` it is called so often, from the inside out.
            depth: how often, 1 to 64.
            innermost: the grammar, or text, that stands in the innermost place, rather one of the texts of the
                language itself: `""` if it has the empty text.

        Raises:
            ArgumentError: `make` returns no grammar; `depth` without `innermost`, or the other way round.
            GrammarError: `make` returns what it is given.
            UnsupportedFeatureError: without `depth`, the grammar stands where only `depth` leads to.

        Cost: that of `make`; with `depth` so many times, and as many grammars are compiled.

        Example:
            >>> import derivable as dv
            >>> code = dv.Grammar.from_regex("[a-z]+")
            >>> block = dv.Grammar.recursive(lambda me: "{" + (code + ";" | me).repeat() + "}")
            >>> vocab = dv.Vocabulary.from_bytes([b"{", b"x", b";", b"}", b"{{", b"}}", None], eos=[6])
            >>> m = dv.compile(block, vocab).matcher()
            >>> for token in (4, 1, 2): m.advance(token)
            >>> m.allowed_tokens().tolist()
            [0, 1, 3, 4, 5]
        """
        from .frontends.recursive import DEEPEST, nested, tied

        if not callable(make):
            raise ArgumentError("make", "a function that returns a Grammar", make)
        instance("innermost", innermost, Rules | str | None, "a Grammar, a text, or None")
        if depth is None:
            if innermost is not None:
                raise ArgumentError("innermost", "left out where there is no depth", innermost)
            return cls.of(tied(make, cls.of))
        deep = integer("depth", depth, 1, DEEPEST)
        if innermost is None:
            raise ArgumentError("innermost", "a Grammar, or a text, where there is a depth", innermost)
        return cls.of(nested(lambda inner: make(cls.of(inner)), innermost, deep))
