"""Bounds on what a grammar may cost. Grammars and schemas are untrusted input; every bound raises `LimitError`."""

from __future__ import annotations

from dataclasses import dataclass, fields

from .support.arguments import integer

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on memory and time, each with a default that real grammars do not reach.

    Attributes:
        max_source: characters of grammar text or pattern.
        max_depth: nesting of the source (parentheses, groups, sub-schemas).
        max_nfa_states: states of one terminal's nondeterministic automaton, counted repeats unrolled.
        max_dfa_states: states of one terminal's deterministic automaton, before minimisation.
        max_symbols: terminals + nonterminals + right-hand-side symbols of the lowered grammar.
        max_cases: combinations that the boolean keywords of a schema may lead to, and a fiftieth of
            what may be looked at to translate it, options and states above all, which bounds that to some seconds.
        max_parses: simultaneous parses of one text.
        max_bytes: memory that the kernel may take while one grammar is compiled.
        max_step_work: what one mask, or one token advanced, may cost, in counted units of about 10 ns of work (by
            default about 50 ms), the same on every machine. Past it the call is refused, and the matcher is as it was;
            what was found out is kept, so asking again goes on from there, and leads to an answer after some calls.
            Texts that are advanced as one, and drafts, may take more, by their length.
        cache_bytes: memory that a constraint may use for what its matchers make and what can be made again: finished
            masks, parser states, parts of the index. Past it that is dropped, and made again where it is needed. A call
            that needs over 64 MB more by itself is refused.
        max_liveness_steps: bytes that lexing is tried on to decide what can still follow, where longest match leaves
            dead ends; per question. (Asking what may follow a symbol counts as fifty or a hundred of them.)

    Raises:
        ArgumentError: a bound that is no integer, or negative.

    Example:
        >>> import derivable as dv
        >>> try:
        ...     dv.Grammar.from_regex("((((a))))", limits=dv.Limits(max_depth=3))
        ... except dv.LimitError as error:
        ...     print(error.limit)
        max_depth
    """

    max_source: int = 10_000_000
    max_depth: int = 500
    max_nfa_states: int = 2_000_000
    max_dfa_states: int = 100_000
    max_symbols: int = 2_000_000
    max_cases: int = 20_000
    max_parses: int = 4_096
    max_bytes: int = 1 << 30
    max_step_work: int = 5_000_000
    cache_bytes: int = 256 * 1024 * 1024
    max_liveness_steps: int = 20_000_000

    def __post_init__(self) -> None:
        for field in fields(self):
            integer(f"Limits({field.name}=)", getattr(self, field.name))
