"""Which names a text in JavaScript has declared so far, and where scopes end.

Source: ECMA-262, chapters 8.2 "Scope Analysis", 9.1 "Environment Records" and 14 "Statements and Declarations".
"""

from __future__ import annotations

from ..frames import changed, enclosing
from .frames import (
    ENDED,
    ENDED_DO,
    STATEMENTS,
    Frame,
    State,
    is_boundary,
    is_later,
    scope_at,
)

__all__ = [
    "bind",
    "commit",
    "constants",
    "declare_var",
    "is_signature",
    "mark_ended",
    "note",
    "owe",
    "pop",
    "pop_expression",
    "settled",
    "unbindable",
    "unpaid",
    "visible",
    "waiting",
]

_NONE: frozenset[str] = frozenset()
DECLARATIONS = ("let", "const")
_HOLDS_NAMES = ("module", "function", "arrow", "block", "for", "switch", "head", "catch", "enum", "signature")
_CARRIES = ("module", "function", "arrow", "block", "for", "switch", "head", "catch", "enum")

# Names that are there


def visible(state: State, known: frozenset[str]) -> frozenset[str]:
    """Names that may be read: those that are always there, and those that are declared and have been reached."""
    found, late = _found(state, known)
    return found - late


def waiting(state: State) -> frozenset[str]:
    """Names that a declaration in progress has, so nothing may be read by them in the same function."""
    return _found(state, _NONE)[1]


def _found(state: State, known: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    found, late, title = known, _NONE, _NONE
    for frame in state:
        kind = frame.kind
        if kind in ("title", "class"):
            title = frozenset([frame.name] if frame.name else ())
            late |= title
        elif kind in DECLARATIONS:
            late |= frame.pending - frame.reached
            found |= frame.reached
        elif kind in _HOLDS_NAMES:
            if is_later(frame):
                found, late = found | late, _NONE
                if kind == "function" and "arrow" not in frame.flags:
                    found |= _ARGUMENTS
            elif is_boundary(frame):  # a static part of a class, which has its name by then
                found, late = found | title, late - title
            own = frame.names | {frame.name} if frame.name else frame.names
            if own:
                found, late = found | own, late - own
            if frame.pending:
                found, late = found | frame.reached, late | (frame.pending - frame.reached)
    return found, late


_ARGUMENTS = frozenset(["arguments"])


def constants(state: State) -> frozenset[str]:
    """Names that must not be assigned to."""
    found: frozenset[str] = _NONE
    for frame in state:
        if frame.kind in ("function", "head", "class") and frame.name:
            found |= {frame.name}
        if frame.kind in _HOLDS_NAMES:
            found = (found - frame.names) | frame.consts
    return found


# Names that are read


def note(state: State, name: str) -> State:
    """Behind the reading of a name that is there: scopes that do not have it may not declare it any more."""
    return _seen(state, name, len(state))


def _seen(state: State, name: str, end: int) -> State:
    for i in range(end - 1, -1, -1):
        frame = state[i]
        if frame.kind not in _HOLDS_NAMES:
            continue
        if name in frame.names:
            return state
        if name not in frame.seen:
            state = changed(state, i, seen=frame.seen | {name})
        if is_boundary(frame):
            return state
    return state


def owe(state: State, name: str) -> State:
    """Behind the reading of a name that is not there: what declares it is still to come."""
    at = scope_at(state)
    state = _seen(state, name, len(state))
    return changed(state, at, owed=state[at].owed | {name})


# Names that are declared


def unbindable(state: State, kind: str) -> frozenset[str]:
    """Names that a declaration of a kind may not have: `let`, `const`, `class`, `import`, `function` or `var`."""
    at = scope_at(state)
    scope = state[at]
    if kind == "var":
        banned: frozenset[str] = _NONE
        for i in range(at, -1, -1):
            banned |= state[i].lexical
            if is_boundary(state[i]):
                break
        return banned
    if kind == "function":
        return scope.names | scope.hoisted
    banned = scope.names | scope.hoisted
    return banned if kind == "import" else banned | scope.seen


def bind(state: State, names: frozenset[str], kind: str) -> State:
    """Names are declared in the innermost scope."""
    if not names:
        return state
    if kind == "var":
        return declare_var(state, names)
    at = scope_at(state)
    scope = state[at]
    is_const = kind in ("const", "import")
    return changed(
        state,
        at,
        names=scope.names | names,
        consts=scope.consts | names if is_const else scope.consts,
        lexical=scope.lexical | names,
        owed=scope.owed - names,
        owed_types=scope.owed_types - {f"{name}?" for name in names},
        seen=scope.seen - names,
    )


def declare_var(state: State, names: frozenset[str]) -> State:
    """Names are declared in the function around."""
    for i in range(scope_at(state), -1, -1):
        frame = state[i]
        if frame.kind not in _HOLDS_NAMES:
            continue
        if is_boundary(frame) or frame.kind == "module":
            types = frame.owed_types - {f"{name}?" for name in names}
            rest = {"owed": frame.owed - names, "owed_types": types, "seen": frame.seen - names}
            return changed(state, i, names=frame.names | names, **rest)
        state = changed(state, i, hoisted=frame.hoisted | names, owed=frame.owed - names)
    return state


def commit(state: State) -> State:
    """What the innermost declaration, or list of parameters, has named so far is there."""
    top = state[-1]
    if not top.pending:
        return state
    state = changed(state, len(state) - 1, pending=_NONE, reached=_NONE)
    if top.kind in ("head", "catch"):
        wide = top.pending if "wide" in top.flags else _NONE
        return changed(
            state,
            len(state) - 1,
            names=top.names | top.pending,
            lexical=top.lexical | wide,
            owed=top.owed - top.pending,
        )
    return (*bind(state[:-1], top.pending, top.kind), state[-1])


# Frames that end


def pop(state: State) -> State:
    """Behind the innermost frame. What it owes is owed around it."""
    *_, frame = state
    if frame.kind in (*DECLARATIONS, "var"):
        return commit(state)[:-1]
    state = state[:-1]
    if frame.owed or frame.owed_types:
        at = next(enclosing(state, *_CARRIES))
        owed, types = state[at].owed | frame.owed, state[at].owed_types | frame.owed_types
        state = changed(state, at, owed=owed, owed_types=types - state[at].types)
    rest = frame.owed_private - {each.partition(":")[0] for each in frame.private}
    at = next(enclosing(state, "class"), -1)
    if rest and at >= 0:
        state = changed(state, at, owed_private=state[at].owed_private | rest)
    return state


def pop_expression(state: State) -> State:
    """An expression has ended, and so have functions of `=>` that end with it."""
    while state[-1].kind in ("arrow", "choice", "signature") or is_signature(state[-1]):
        state = pop(state)
    return state


def is_signature(frame: Frame) -> bool:
    """A list of parameters that has ended. No body follows if a comma, a bracket or a line break does."""
    return frame.kind == "head" and frame.progress == 2


def mark_ended(state: State, progress: int = ENDED) -> State:
    """Behind a statement. What may go on behind it, as `else` does, decides where it ends."""
    return changed(state, len(state) - 1, progress=progress) if state[-1].kind in STATEMENTS else state


def settled(state: State) -> State:
    """Behind statements that have ended, where nothing goes on with them."""
    while state[-1].kind in STATEMENTS and state[-1].progress in (ENDED, ENDED_DO) and state[-1].kind != "do":
        state = mark_ended(pop(state))
    return state


def unpaid(state: State) -> tuple[frozenset[str], frozenset[str]]:
    """Values and types that would still be owed if the text ended here."""
    while len(state) > 1:
        state = pop(state)
    return state[0].owed, state[0].owed_types
