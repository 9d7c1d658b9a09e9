"""The index of a constraint, to be looked at: what was built so far, how large it is, and what it says about stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass
from typing import Any

from .. import _kernel
from ..errors import ArgumentError
from ..support.arguments import instance, integer
from .keys import Keys, keys_of

__all__ = ["Index", "LexerState", "Shares", "Span", "spans_of", "view"]


@dataclass(frozen=True)
class Shares:
    """How tokens are decided, as fractions of 1.

    Attributes:
        always: allowed in every mask that is known in the lexer state (GreatGramma's A).
        stack_dependent: allowed in some of them.
        never: allowed in none.
    """

    always: float
    stack_dependent: float
    never: float


@dataclass(frozen=True)
class LexerState:
    """A state of the lexer in which masks are known.

    Attributes:
        lexeme: names of the terminals that the lexeme in progress may belong to.
        stacks: beginnings of stacks that a mask is known under.
        masks: different masks among these.
        depth: parser states that the longest of those beginnings holds: how far down answers had to look.
        always, stack_dependent, never: tokens that are in all of the masks, in some, in none.
        inside: tokens that may end while the lexeme goes on; `None`: not worked out here (the masks were found
            elsewhere).
        exits: ways in which the lexeme may end inside a token, each with what is left of those tokens; `None` likewise.
    """

    lexeme: tuple[str, ...]
    stacks: int
    masks: int
    depth: int
    always: int
    stack_dependent: int
    never: int
    inside: int | None
    exits: int | None

    @property
    def name(self) -> str:
        """The lexeme in a few words."""
        if not self.lexeme:
            return "(the end)"
        return " | ".join(self.lexeme[:4]) + (f" | {len(self.lexeme) - 4} more" if len(self.lexeme) > 4 else "")


@dataclass(frozen=True)
class Index:
    """What the index of a constraint holds at one moment. It grows as generations visit it.

    Attributes:
        lexing: the policy.
        terminals, nonterminals, productions: of the grammar as the kernel has it.
        vocabulary: tokens.
        states: the lexer states in which masks are known, those that depend most on the stack first.
        lr_states: parser states that were visited.
        stack_nodes: nodes of live stacks.
        spanner_nodes: nodes of all spanner trees (levels 1 and 2): a lexer state and what is left of some tokens,
            sorted by what becomes of them. Under `scannerless` all grammars of the vocabulary share them, and all are
            counted.
        mask_keys: nodes of the trie of stacks that masks are found by (level 4).
        masks: different masks.
        asked, found: masks asked for so far, and those of them that were known.
        bytes: by level; levels 1 and 2 are shared under `scannerless`.
    """

    lexing: str
    terminals: int
    nonterminals: int
    productions: int
    vocabulary: int
    states: tuple[LexerState, ...]
    lr_states: int
    stack_nodes: int
    spanner_nodes: int
    mask_keys: int
    masks: int
    asked: int
    found: int
    bytes: Mapping[str, int]
    source: InitVar[_kernel.Constraint]
    symbols: InitVar[tuple[Sequence[str], Sequence[str]]]

    def __post_init__(self, source: _kernel.Constraint, symbols: tuple[Sequence[str], Sequence[str]]) -> None:
        object.__setattr__(self, "_source", source)  # no fields, for they are no part of what was counted
        object.__setattr__(self, "_symbols", symbols)

    def walk(
        self,
        matcher: _kernel.Matcher | None = None,
        *,
        terminal: str | None = None,
        most: int = 10_000,
        most_bytes: int = 64 << 20,
    ) -> Keys:
        """The keys of level 4 by now, each with the tokens of its mask: the trie over stacks of Willard & Louf.

        A key is a lexer state and the upper levels of a stack, as far as the mask depended on them. Every parse that
        agrees with it has that mask; the mask of a matcher is the union of those of its parses. Three things are no
        part of a key, because they are taken out of the mask, or added, for each matcher anew: items that a list of
        distinct items has had, names that a meaning allows, and texts of a language inside another one.

        Args:
            matcher: only the keys that the masks of its parses are found by, one for each parse whose mask is known.
                A mask is known once it was asked for, if it did not depend on more than 32 levels.
            terminal: only those of lexemes that may belong to this terminal.
            most: keys that are given at most. The others are counted (`Keys.left_out`).
            most_bytes: of masks, each of which takes an eighth of a byte for each token of the vocabulary.

        Raises:
            ArgumentError: a matcher of another constraint, or a terminal that the grammar does not have.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"(", b")", b"))", b"x", None], eos=[4])
            >>> constraint = dv.compile(dv.Grammar.from_gbnf('root ::= "(" root ")" | "x"'), vocab)
            >>> m = constraint.matcher()
            >>> for token in (0, 0, 3): m.advance(token)
            >>> m.allowed_tokens().tolist()
            [1, 2]
            >>> for key in constraint.index.walk(m): print(key)
            "x".1 over root → "(" · root ")" / root → "(" · root ")": 2 tokens

        Cost: with a matcher, a look-up for each of its parses; else linear in all keys that are known, those that are
        left out included.

        Source: Willard & Louf (2023), Section 4.1.
        """
        kernel, (terminals, nonterminals) = self._source, self._symbols  # type: ignore[attr-defined]
        if terminal is not None and terminal not in terminals:
            raise ArgumentError("terminal", "a terminal of the grammar", terminal)
        symbol = 0 if terminal is None else list(terminals).index(terminal) + 1
        bounds = integer("most", most), integer("most_bytes", most_bytes)
        if matcher is not None:
            instance("matcher", matcher, _kernel.Matcher, "a Matcher")
            if matcher.constraint._kernel is not kernel:  # type: ignore[attr-defined]
                raise ArgumentError("matcher", "a matcher of this constraint", matcher)
        return keys_of(kernel.index_keys(symbol, *bounds, matcher), terminals, nonterminals)

    @property
    def shares(self) -> Shares:
        """How much depends on the stack: the mean over the lexer states visited."""
        total = max(1, len(self.states) * self.vocabulary)
        always = sum(state.always for state in self.states) / total
        dependent = sum(state.stack_dependent for state in self.states) / total
        return Shares(always, dependent, max(0.0, 1 - always - dependent) if self.states else 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return asdict(self) | {"bytes": dict(self.bytes), "shares": asdict(self.shares)}

    def __str__(self) -> str:
        shares = self.shares
        lines = [
            f"{self.lexing} lexing, {self.terminals:,} terminals, {self.nonterminals:,} nonterminals, "
            f"{self.productions:,} productions, {self.vocabulary:,} tokens",
            f"lexer states visited: {len(self.states):,}; parser states: {self.lr_states:,}; "
            f"spanner nodes: {self.spanner_nodes:,}; masks: {self.masks:,} under {self.mask_keys:,} keys",
            f"tokens: {shares.always:.2%} always, {shares.stack_dependent:.2%} up to the stack, "
            f"{shares.never:.2%} never",
            "bytes: " + ", ".join(f"{level} {size:,}" for level, size in self.bytes.items()),
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Span:
    """A node of a spanner tree, as the parser prunes it: a sequence of terminals that tokens read, and those tokens.

    Attributes:
        terminals: that end inside the token, in order; ignored ones in parentheses.
        tokens: tokens that end behind them, within a lexeme that the parser can use.
        refused: tokens that end behind them, within one that it cannot.
        hops: parser states below the uppermost that it took to decide.
    """

    terminals: tuple[str, ...]
    tokens: int
    refused: int
    hops: int


def view(
    kernel: Mapping[str, Any],
    stats: Mapping[str, int | bool],
    names: Sequence[str],
    *,
    source: _kernel.Constraint,
    lexing: str,
    nonterminals: Sequence[str],
    productions: int,
    vocabulary: int,
) -> Index:
    """An `Index` of what the kernel says (`Constraint.index_view` and `stats`)."""
    states = []
    for lexeme, stacks, masks, depth, always, dependent, never, split, inside, exits in kernel["states"]:
        terminals = tuple(dict.fromkeys(names[symbol - 1] for symbol, _ in lexeme))
        states.append(
            LexerState(
                terminals,
                stacks,
                masks,
                depth,
                always,
                dependent,
                never,
                inside if split else None,
                exits if split else None,
            )
        )
    states.sort(key=lambda state: (-state.stack_dependent, -state.masks, state.lexeme))
    sizes = {
        "lexer": kernel["lexer_bytes"],
        "levels 1 and 2": kernel["split_bytes"],
        "level 4, what walks found": kernel["part_bytes"],
        "level 4, masks": kernel["mask_bytes"],
        "allocated by matchers": int(stats["run_bytes"]),
    }
    return Index(
        lexing=lexing,
        terminals=len(names),
        nonterminals=len(nonterminals),
        productions=productions,
        vocabulary=vocabulary,
        states=tuple(states),
        lr_states=int(stats["lr_states"]),
        stack_nodes=int(stats["stack_nodes"]),
        spanner_nodes=kernel["splits"],
        mask_keys=kernel["keys"],
        masks=int(stats["rows"]),
        asked=int(stats["masks"]),
        found=int(stats["mask_hits"]),
        bytes=sizes,
        source=source,
        symbols=(names, nonterminals),
    )


def spans_of(nodes: Sequence[tuple[int, int, bool, int, int, int]], names: Sequence[str]) -> list[Span]:
    """The nodes of `Matcher.unfolded` as sequences."""
    paths: list[tuple[str, ...]] = []
    looked: list[int] = []  # on the way
    spans = []
    for parent, symbol, ignored, tokens, refused, hops in nodes:
        name = names[symbol - 1] if symbol else ""
        path = () if parent < 0 else (*paths[parent], f"({name})" if ignored else name)
        paths.append(path)
        looked.append(max(hops, 0 if parent < 0 else looked[parent]))
        spans.append(Span(path, tokens, refused, looked[-1]))
    return spans
