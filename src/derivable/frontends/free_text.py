"""Free text up to a trigger, as algebra of automata: what tool calls and `TagDispatch` are made of.

A *trigger* in free text begins something else. The first one to be complete decides; of several that are complete at
the same character, the longest. So free text is text that contains no trigger, and what stands before a trigger `t` is
free text `u` such that no trigger is complete in `u t` before its end. That only excludes some ends of `u`: if
another trigger is `x y` and `y` begins `t`, then `u` must not end with `x`. Triggers of tool calls do not overlap
like this, so all of them share one terminal for the text before them.

*Excluded* texts must not become complete in free text either, nor at the end of a trigger.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import GrammarError, LimitError
from ..expr import ANY_CHAR, ANY_TOKEN, EMPTY, Alt, And, Concat, Expr, Not, Repeat, Special, optional, star
from ..limits import Limits
from ..rules import Rules
from .build import alternation
from .combine import Joined, literal

__all__ = ["dispatch", "free_text", "grammar_of_free_text", "text_without", "token_dispatch"]

_DEFAULTS = Limits()
_ANYTHING = star(ANY_CHAR)


def free_text(without: Sequence[str] = (), max_chars: int | None = None) -> Expr:
    """Text (valid UTF-8) that contains none of some strings."""
    parts: list[Expr] = []
    if without:
        parts.append(Not(Concat((_ANYTHING, Alt(tuple(map(literal, without))), _ANYTHING))))
    if max_chars is not None:
        parts.append(Repeat(ANY_CHAR, 0, max_chars))
    return And(tuple(parts)) if len(parts) > 1 else parts[0] if parts else _ANYTHING


def text_without(
    joined: Joined, texts: Sequence[str], max_chars: int | None = None, max_tokens: int | None = None
) -> Expr:
    """Free text as one terminal, with so many characters, in so many tokens."""
    if max_tokens == 0:
        return EMPTY
    name = _name(texts)
    if max_chars is not None:
        name = f"up to {max_chars} characters of {name}"
    if max_tokens is not None:
        name += f" in {max_tokens} tokens"
    return joined.terminal(free_text(texts, max_chars), name, max_tokens)


def _name(without: Sequence[str]) -> str:
    return f"text without {_shown(without)}" if without else "any text"


class _Overlaps:
    """How triggers and excluded texts lie in and over each other.

    Cost: the square of the longest text's length, and the number of characters times that of different lengths.
    """

    def __init__(self, triggers: Sequence[str], excluded: Sequence[str], limits: Limits) -> None:
        squares = sum(len(text) ** 2 for text in (*triggers, *excluded)) // 50
        if squares > limits.max_nfa_states:
            raise LimitError("max_nfa_states", squares, limits.max_nfa_states, "overlaps of long triggers in free text")
        self.lengths = sorted({len(text) for text in (*triggers, *excluded)})
        self.triggers, self.excluded = set(triggers), set(excluded)
        beginnings = {trigger[:end] for trigger in triggers for end in range(1, len(trigger) + 1)}
        self.heads: dict[str, dict[str, None]] = {}  # by the tail that begins some trigger
        states = 0
        for text in (*triggers, *excluded):
            for cut in range(1, len(text)):
                if text[cut:] in beginnings:
                    states += cut
                    if states > limits.max_nfa_states:
                        detail = "overlaps of triggers in free text"
                        raise LimitError("max_nfa_states", states, limits.max_nfa_states, detail)
                    self.heads.setdefault(text[cut:], {})[text[:cut]] = None

    def forbidden_ends(self, trigger: str) -> tuple[str, ...]:
        """What free text before this trigger must not end with: together with its beginning it were another one."""
        heads = (self.heads.get(trigger[:end], {}) for end in range(1, len(trigger) + 1))
        return tuple(dict.fromkeys(head for group in heads for head in group))

    def hiding(self, trigger: str) -> str | None:
        """What is complete within this trigger before it is, so that it never begins anything."""
        for length in self.lengths:
            for at in range(len(trigger) - length + 1):
                inner = trigger[at : at + length]
                if inner in self.excluded or (inner in self.triggers and at + length < len(trigger)):
                    return inner
        return None


def dispatch(
    joined: Joined,
    rules: Sequence[tuple[str, Expr]],
    excluded: Sequence[str] = (),
    *,
    loop: bool = True,
    by_token: Sequence[Expr] = (),
    limits: Limits = _DEFAULTS,
) -> Expr:
    """Free text in which each trigger is followed by its expression; then, if `loop`, free text again.

    Args:
        joined: where the terminals go.
        rules: (trigger, what follows it); equal triggers are alternatives.
        excluded: what must not appear in the free text.
        loop: after one of them, free text and more of them may follow.
        by_token: what begins with a token that no text holds, and so may stand wherever free text can end.

    Raises:
        GrammarError: a trigger is empty, or can never be reached.
        LimitError: they are longer together than an automaton may be (`max_dfa_states`), or overlap too much.
    """
    triggers = list(dict.fromkeys(trigger for trigger, _ in rules))
    excluded = list(dict.fromkeys(excluded))
    size = sum(map(len, triggers)) + sum(map(len, excluded))
    if size > limits.max_dfa_states:
        raise LimitError("max_dfa_states", size, limits.max_dfa_states, "triggers in free text")
    for what in (*triggers, *excluded):
        if not what:
            raise GrammarError("a trigger or an excluded text is empty", hint="Give the text that it begins with.")
    texts = [*triggers, *excluded]
    name, without = _name(texts), free_text(texts)
    rest = joined.terminal(without, name)
    groups: dict[tuple[str, ...], list[Expr]] = {}
    overlaps = _Overlaps(triggers, excluded, limits)
    for trigger, after in rules:
        hidden = overlaps.hiding(trigger)
        if hidden is not None:
            raise GrammarError(
                f"{trigger!r} can never trigger anything: {hidden!r} in it is complete before it is",
                hint="Remove one of them, or make the shorter one longer.",
            )
        groups.setdefault(overlaps.forbidden_ends(trigger), []).append(
            Concat((joined.terminal(literal(trigger)), after))
        )
    calls: list[Expr] = []
    for ends, bodies in groups.items():
        text: Expr = rest
        if ends:
            apart = Not(Concat((_ANYTHING, Alt(tuple(map(literal, ends))))))
            text = joined.terminal(And((without, apart)), f"{name}, nor ending with {_shown(ends)}")
        calls.append(Concat((text, bodies[0] if len(bodies) == 1 else Alt(tuple(bodies)))))
    if by_token:
        calls.append(Concat((rest, alternation(by_token))))
    call = calls[0] if len(calls) == 1 else Alt(tuple(calls))
    if loop:
        return Concat((star(call), rest)) if calls else rest
    return Alt((rest, call)) if calls else rest


def token_dispatch(
    rules: Sequence[tuple[str | int, Expr]], excluded: Sequence[str | int] = (), *, loop: bool = True
) -> Expr:
    """As `dispatch`, but triggers are tokens, and what is free is any tokens of text but those named here."""
    named = tuple(dict.fromkeys([*(token for token, _ in rules), *excluded]))
    one = Special(named[0], True, named[1:]) if named else ANY_TOKEN
    calls = alternation([Concat((Special(token), after)) for token, after in rules])
    return star(alternation((one, calls))) if loop else Concat((star(one), optional(calls)))


def _shown(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts[:3])) + (", …" if len(texts) > 3 else "")


def grammar_of_free_text(until: str | Sequence[str], max_tokens: int | None = None) -> Rules:
    """See `Grammar.free_text`."""
    without = [until] if isinstance(until, str) else list(until)
    for what in without:
        if not isinstance(what, str) or not what:
            raise GrammarError(f"free text cannot end before {what!r:.80}", hint="Give texts that are not empty.")
    joined = Joined()
    return joined.grammar("text", text_without(joined, without, max_tokens=max_tokens))
