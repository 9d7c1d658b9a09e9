"""Bounds on what a grammar may cost. Grammars and schemas are untrusted input; every bound raises `LimitError`."""

from __future__ import annotations

from dataclasses import dataclass, fields

from .arguments import integer

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
        max_cases: combinations that the boolean keywords of a schema may lead to, states of one object or array. What
            is looked at to find the combinations is bounded by 50 times as much.
        max_threads: simultaneous parses of one matcher.
        cache_bytes: memory a constraint may use for finished masks before it drops them and starts again.
        max_liveness_steps: bytes that lexing is tried on to decide what can still follow, where longest match leaves
            dead ends; per question.

    Raises:
        ArgumentError: a bound that is no integer, or negative.
    """

    max_source: int = 10_000_000
    max_depth: int = 500
    max_nfa_states: int = 2_000_000
    max_dfa_states: int = 100_000
    max_symbols: int = 2_000_000
    max_cases: int = 20_000
    max_threads: int = 4_096
    cache_bytes: int = 256 * 1024 * 1024
    max_liveness_steps: int = 20_000_000

    def __post_init__(self) -> None:
        for field in fields(self):
            integer(f"Limits({field.name}=)", getattr(self, field.name))
