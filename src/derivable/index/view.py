"""The index of a constraint, to be looked at: what was built so far, how large it is, and what it says about stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

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
    lexing: str,
    nonterminals: int,
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
        nonterminals=nonterminals,
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
