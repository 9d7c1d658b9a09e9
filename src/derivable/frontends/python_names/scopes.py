"""Which names a text in Python has bound so far, as CPython's compiler sees them.

A state is the frames around a place of the text, the module first. A frame is a scope (module, class, function,
lambda), a block that is no scope, the head of a definition, or a pair of brackets, which may become a comprehension.

Source: The Python Language Reference, section 4.2, "Naming and binding".
"""

from __future__ import annotations

from ..frames import changed, enclosing
from .objects import end_class
from .states import BLOCKS, ENDED, FRESH, OPEN, Frame, State, scope_at, without

__all__ = [
    "awaits_loops",
    "begin_lines",
    "begin_loop",
    "bind",
    "close",
    "commit",
    "end_line",
    "ended",
    "hide",
    "is_deferred",
    "misuse",
    "modules",
    "note",
    "owe",
    "pop_block",
    "pop_lambdas",
    "rest_misused",
    "rest_owed",
    "separate",
    "settled",
    "takes",
    "unpaid",
    "valueless",
    "visible",
]

_NONE: frozenset[str] = frozenset()


# Names that are there


def visible(state: State, known: frozenset[str]) -> frozenset[str]:
    """Names that may be used, of those that are always there and those that the text has bound."""
    return _bound(state, known) - valueless(state)


def _bound(state: State, known: frozenset[str]) -> frozenset[str]:
    found = known
    inner = scope_at(state)
    # What the first `for` of a comprehension iterates over is outside of it.
    loops = any(frame.kind == "loops" and (frame.progress or frame.names) for frame in state[inner + 1 :])
    for i, frame in enumerate(state):
        match frame.kind:
            case "class":
                if i == inner and not loops:
                    found = (found - frame.hidden) | frame.names
                elif i < inner:
                    found |= {frame.name}  # the body of a method is run when there is the class
            case "module" | "function" | "lambda":
                found = (found - frame.hidden) | frame.names
            case "loops":
                found |= frame.names
    return found


def modules(state: State) -> dict[str, str]:
    """Modules by the names that stand for them."""
    found: dict[str, str] = {}
    inner = scope_at(state)
    for i, frame in enumerate(state):
        if frame.kind in ("module", "function", "lambda", "loops") or (frame.kind == "class" and i == inner):
            for name in frame.names | frame.hidden:
                found.pop(name, None)
            found.update(frame.modules)
    return found


# Names that are used


def note(state: State, name: str) -> State:
    """Behind the use of a name that is there."""
    inner = scope_at(state)
    for i in enclosing(state[inner:], "brackets", "loops"):  # it may still be bound between them
        frame = state[inner + i]
        if frame.kind == "loops" and name in frame.names:
            return state
        return changed(state, inner + i, seen=frame.seen | {name})
    scope = state[inner]
    if name in scope.names:
        return state
    if scope.kind == "function" and name not in scope.outside:
        state = changed(state, inner, seen=scope.seen | {name})
    for i in enclosing(state[:inner], "function", "module"):
        if name in state[i].names:
            is_later = any(frame.kind in ("function", "lambda") for frame in state[i + 1 : inner + 1])
            return changed(state, i, kept=state[i].kept | {name}) if is_later else state
    return state


def awaits_loops(state: State) -> bool:
    """A comprehension may come that binds what is used here."""
    return _takes(state) is not None


def is_deferred(state: State) -> bool:
    """What is used here is so when a function is called, and may be bound later."""
    return any(frame.kind in ("function", "lambda") for frame in state)


def valueless(state: State) -> frozenset[str]:
    """Names that are of a function around, and have no value."""
    found: frozenset[str] = _NONE
    for frame in state:
        if frame.kind in ("function", "lambda"):
            found = (found - frame.names) | frame.hidden
    inner = state[scope_at(state)]
    return found | (inner.pending - inner.names - inner.outside if inner.kind == "function" else _NONE)


def _takes(state: State) -> int | None:
    for i in range(len(state) - 1, -1, -1):
        frame = state[i]
        if frame.kind == "brackets" and not frame.progress:
            return i
        if frame.kind in ("module", "class", "function"):
            return None
    return None


def owe(state: State, names: frozenset[str]) -> State:
    """Behind the use of names that are not there: what binds them is still to come."""
    if not names:
        return state
    at = _takes(state)
    if at is None:
        at = next(i for i in range(scope_at(state), -1, -1) if state[i].kind != "class")
        if state[at].kind == "function":
            state = changed(state, at, seen=state[at].seen | (names - state[at].outside))
        at = next(enclosing(state[:at], "function", "module"), 0)
    return changed(state, at, owed=state[at].owed | names)


def takes(state: State) -> int | None:
    """The brackets whose comprehension may bind what is used here."""
    return _takes(state)


def misuse(state: State, names: frozenset[str]) -> State:
    """Behind calls of functions with keywords that they do not have: a comprehension must bind their names."""
    at = _takes(state) if names else None
    return state if at is None else changed(state, at, misused=state[at].misused | names)


def rest_misused(state: State) -> frozenset[str]:
    """What would be misused if the innermost brackets ended here."""
    frame = state[-1]
    return frame.misused - frame.names - frame.pending if frame.kind == "loops" else frame.misused


# Names that are bound


def bind(state: State, names: frozenset[str], module: str = "") -> State:
    """Names are bound in the innermost scope, or where it has declared that they are."""
    at = scope_at(state)
    frame = state[at]
    declared = names & frame.outside
    if declared:
        outer = state[0]
        objects = without(outer.objects, declared)
        state = changed(state, 0, names=outer.names | declared, hidden=outer.hidden - declared, objects=objects)
        state = _paid(state, 0, declared)
        names -= declared
    rest = frozenset(pair for pair in frame.modules if pair[0] not in names)
    kept = rest | {(name, module) for name in names} if module else rest
    frame = state[at]
    objects = without(frame.objects, names)
    bound, hidden = frame.names | names, frame.hidden - names
    state = changed(state, at, names=bound, hidden=hidden, modules=kept, objects=objects)
    return _paid(state, at, names)


def _paid(state: State, at: int, names: frozenset[str]) -> State:
    frame = state[at]
    paid = frame.owed & names
    return changed(state, at, owed=frame.owed - paid, kept=frame.kept | paid) if paid else state


def hide(state: State, name: str) -> State:
    """A name that is of the innermost scope has no value."""
    at = scope_at(state)
    frame = state[at]
    kept = frozenset(pair for pair in frame.modules if pair[0] != name)
    objects = without(frame.objects, frozenset([name]))
    rest, hidden = frame.names - {name}, frame.hidden | {name}
    return changed(state, at, names=rest, hidden=hidden, modules=kept, objects=objects)


def commit(state: State) -> State:
    """What the statement binds is bound."""
    at = scope_at(state)
    pending = state[at].pending
    return bind(changed(state, at, pending=_NONE), pending) if pending else state


def assign(state: State, names: frozenset[str]) -> State:
    """Names are bound by `:=`, and so for comprehensions around that are behind their `for`."""
    if not names:
        return state
    inner = scope_at(state)
    state = bind(state, names)
    for i in range(inner + 1, len(state)):
        frame = state[i]
        if frame.kind == "loops":
            state = changed(state, i, names=frame.names | names)
        if frame.kind in ("loops", "brackets"):
            state = changed(state, i, assigned=state[i].assigned | names)
    return state


# Frames that end


def pop_lambdas(state: State) -> State:
    """An expression has ended, and so have lambdas that end with it."""
    while state[-1].kind == "lambda":
        state = state[:-1]
    return state


def end_line(state: State) -> State:
    """Behind a line, which may be the first one of a block."""
    is_first = state[-1].kind in BLOCKS and state[-1].progress == FRESH
    return changed(state, len(state) - 1, progress=ENDED) if is_first else state


def begin_lines(state: State) -> State:
    """Where lines of a block begin."""
    return changed(state, len(state) - 1, progress=OPEN)


def settled(state: State) -> State:
    """Behind a block of one line, if it has ended."""
    while state[-1].kind in BLOCKS and state[-1].progress == ENDED:
        state = pop_block(state)
    return state


def pop_block(state: State) -> State:
    """Behind the innermost block."""
    *_, frame = state
    state = state[:-1]
    if frame.kind == "class":
        return end_class(state, bind(state, frozenset([frame.name])), frame)
    if frame.kind == "block" and frame.name:
        return hide(state, frame.name)
    if frame.kind == "function" and frame.owed:
        at = next(enclosing(state, "function", "module"))
        outer = state[at]
        there = frame.owed & outer.names
        return changed(state, at, owed=outer.owed | (frame.owed - there), kept=outer.kept | there)
    return state


def rest_owed(state: State) -> frozenset[str]:
    """What would be owed if the innermost brackets ended here."""
    frame = state[-1]
    bound = frame.names | frame.pending if frame.kind == "loops" else _NONE
    return frame.owed - bound


def close(state: State) -> State:
    """Behind the innermost brackets."""
    *_, frame = state
    owed, comprehends = rest_owed(state), frame.kind == "loops"
    own = (frame.names | frame.pending) - frame.assigned if comprehends else _NONE
    state = state[:-1]
    if not comprehends:
        state = assign(state, frame.pending)
    if frame.assigned:
        for i in enclosing(state, "brackets", "loops"):
            state = changed(state, i, assigned=state[i].assigned | frame.assigned)
            break
    for name in sorted(frame.seen - own):
        state = note(state, name)
    return owe(state, owed)


def separate(state: State) -> State:
    """Behind a comma between the innermost brackets."""
    *_, frame = state
    if frame.kind != "brackets":
        return state
    state = changed(state, len(state) - 1, progress=1, owed=_NONE, pending=_NONE)
    return owe(assign(state, frame.pending), frame.owed)


def begin_loop(state: State) -> State:
    """Behind a `for` between brackets."""
    at = len(state) - 1
    frame = state[at]
    if frame.kind == "loops":
        return changed(state, at, names=frame.names | frame.pending, pending=_NONE, progress=0)
    state = assign(changed(state, at, pending=_NONE), frame.pending)
    frame = state[at]
    scope = state[scope_at(state)]
    # A comprehension does not see names of the class around it.
    lost = frame.seen & scope.names if scope.kind == "class" else _NONE
    return changed(state, at, kind="loops", progress=0, seen=frame.seen - lost, owed=frame.owed | lost)


def ended(state: State) -> Frame:
    """The module, if the text ended here."""
    state = commit(pop_lambdas(settled(state)))
    while len(state) > 1:
        state = pop_block(state)
    return state[0]


def unpaid(state: State) -> frozenset[str]:
    """What would still be owed if the text ended here."""
    return ended(state).owed
