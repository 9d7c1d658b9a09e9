"""Which functions and classes of a text in Python are known, and which attributes a class has.

Classes of the module are followed, not those within functions or other classes. A class whose attributes are not known
is `open`: it has a base, a keyword or a decorator of which the text does not say what it does.
"""

from __future__ import annotations

from ..frames import changed, enclosing
from .states import Frame, Known, State, scope_at, without

__all__ = [
    "begin_class",
    "class_at",
    "class_opened",
    "decorated",
    "end_class",
    "first_parameter",
    "forget",
    "function_of",
    "has_any",
    "in_bases",
    "inherit",
    "members_of",
    "objects_of",
    "on_others",
    "set_attributes",
    "with_object",
]

_NONE: frozenset[str] = frozenset()
_OBJECT = frozenset(dir(object)) | {"__dict__", "__module__", "__weakref__", "__annotations__"}
_CLASS = frozenset(dir(type)) | {"__annotations__"}
_READERS = frozenset(["__getattr__", "__getattribute__"])
_KEEP_SELF = frozenset(["property", "classmethod", "cached_property", "abstractmethod", "override"])
_KEEP_CLASS = frozenset(["dataclass", "dataclasses", "total_ordering", "final"])


# Names whose objects are known


def objects_of(state: State) -> dict[str, Known]:
    """Functions, classes and first parameters of methods, by the names that stand for them."""
    found: dict[str, Known] = {}
    inner = scope_at(state)
    for i, frame in enumerate(state):
        if frame.kind in ("module", "function", "lambda", "loops") or (frame.kind == "class" and i == inner):
            for name in found.keys() & (frame.names | frame.hidden):
                del found[name]
            for known in frame.objects:
                found[known.name] = known
    return found


def with_object(state: State, known: Known) -> State:
    """It is bound in the innermost scope."""
    at = scope_at(state)
    return changed(state, at, objects=state[at].objects | {known})


def forget(state: State, name: str) -> State:
    """A scope may bind the name of another one, or have it bound there."""
    for i, frame in enumerate(state):
        if any(known.name == name for known in frame.objects):
            state = changed(state, i, objects=without(frame.objects, frozenset([name])))
    return state


def _is_bound_once(state: State, name: str) -> bool:
    """What is bound next, whatever conditions hold, and was not bound before."""
    at = scope_at(state)
    scope = state[at]
    return len(state) == at + 1 and name not in scope.names | scope.hidden | scope.pending | scope.outside


# Functions


def function_of(state: State, head: Frame) -> Known | None:
    """What is known of the function that a head makes, before it is bound."""
    scope = state[scope_at(state)]
    if not head.flags.isdisjoint(["decorated", "any"]) or not _is_bound_once(state, head.name):
        return None
    if scope.kind != "class":
        return Known(head.name, "function", head.given)
    # Of the others nobody asks. The first parameter is given by Python.
    first = frozenset([known.name for known in head.objects])
    return Known(head.name, "function", head.given - first) if head.name == "__init__" else None


def first_parameter(state: State, head: Frame) -> frozenset[Known]:
    """What stands for the object, or for its class, in a method whose attributes are checked."""
    at = class_at(state)
    return head.objects if at is not None and at == scope_at(state) and "free" not in head.flags else frozenset()


def decorated(state: State, head: Frame) -> State:
    """The head of a definition in the place of its decorators."""
    if state[-1].kind != "decorated":
        return (*state, head)
    *_, frame = state
    state = state[:-1]
    names = frame.names if frame.progress else frame.names | {"@"}
    flags = head.flags | {"decorated"}
    if head.kind == "type":
        return (*state, head._replace(flags=flags if names <= _KEEP_CLASS else flags | {"open"}))
    if not names <= _KEEP_SELF | state[scope_at(state)].names:  # as x.setter is, where x is a property
        flags |= {"free"}
    return (*state, head._replace(flags=flags | {"cls"} if "classmethod" in names else flags))


# Classes


def in_bases(state: State) -> bool:
    """Directly in the brackets behind the name of a class."""
    return state[-1].kind == "brackets" and "bases" in state[-1].flags


def inherit(state: State, known: Known | None) -> State:
    """A base is named, or something that is no name of a class which is known."""
    at = next(enclosing(state, "type"))
    head = state[at]
    if known is None or known.kind != "class" or known.members is None:
        bases = _NONE if known is None or known.kind != "class" else known.bases | {known.name}
        return changed(state, at, flags=head.flags | {"open"}, bases=head.bases | bases)
    return changed(state, at, members=head.members | known.members, bases=head.bases | known.bases | {known.name})


def begin_class(state: State, head: Frame, checks: bool) -> State:
    """Behind the colon of a class."""
    is_open = "open" in head.flags
    flags = _NONE if is_open or head.bases or "decorated" in head.flags else frozenset(["plain"])
    # Of what is within functions or classes nobody could say later what it lacks. A mixin lacks what others bring.
    if is_open or not checks or scope_at(state) > 0 or "mixin" in head.name.lower():
        return (*state, Frame("class", name=head.name, flags=flags, bases=head.bases))
    members = head.members | _OBJECT
    return (*state, Frame("class", name=head.name, flags=flags | {"checked"}, members=members, bases=head.bases))


def class_at(state: State) -> int | None:
    """Where the class is whose attributes are checked."""
    at = next((i for i, frame in enumerate(state) if frame.kind == "class"), None)
    return None if at is None or "checked" not in state[at].flags else at


def has_any(frame: Frame) -> bool:
    """A class that makes the attributes that it is asked for."""
    return not frame.names.isdisjoint(_READERS)


def members_of(frame: Frame, kind: str = "self") -> frozenset[str]:
    """Attributes that a class in progress has so far; what is declared in its body is there, too."""
    found = frame.members | frame.names | frame.hidden
    return found | _CLASS if kind == "cls" else found


def end_class(before: State, state: State, frame: Frame) -> State:
    """Behind a class. `before`: it was bound."""
    is_checked = "checked" in frame.flags and not has_any(frame)
    members = members_of(frame) if is_checked else None
    state = _paid(state, frame.bases, members)
    is_once = _is_bound_once(before, frame.name)
    keywords = None
    if is_once and "plain" in frame.flags and "__new__" not in frame.names:
        keywords = next((known.keywords for known in frame.objects if known.name == "__init__"), None)
    owed = frame.owed - members if members is not None else _NONE
    if keywords is None and members is None:
        return state
    return with_object(state, Known(frame.name, "class", keywords, members if is_once else None, frame.bases, owed))


def _paid(state: State, bases: frozenset[str], members: frozenset[str] | None) -> State:
    """A class has what its bases lack; `None`: it may have anything."""
    if not bases:
        return state
    objects = [
        known._replace(owed=_NONE if members is None else known.owed - members) if known.name in bases else known
        for known in state[0].objects
    ]
    return changed(state, 0, objects=frozenset(objects))


# Attributes


def set_attributes(state: State) -> State:
    """What the statement sets is set."""
    at = class_at(state)
    if at is None or not state[at].given:
        return state
    frame = state[at]
    members, owed = frame.members | frame.given, frame.owed - frame.given
    return changed(state, at, members=members, owed=owed, given=_NONE)


def on_others(state: State, name: str) -> State:
    """An attribute is set on anything: it may be an object of the class in progress, or of any before."""
    at = class_at(state)
    if at is not None:
        frame = state[at]
        state = changed(state, at, members=frame.members | {name}, owed=frame.owed - {name})
    if any(name in known.owed for known in state[0].objects):
        objects = [known._replace(owed=known.owed - {name}) for known in state[0].objects]
        state = changed(state, 0, objects=frozenset(objects))
    return state


def class_opened(state: State, text: str) -> State:
    """Attributes may be set by their names, as texts."""
    at = class_at(state)
    if at is not None:
        frame = state[at]
        state = changed(state, at, flags=frame.flags - {"checked"}, owed=_NONE, given=_NONE, members=_NONE)
    if text != "object" and any(known.owed for known in state[0].objects):
        state = changed(state, 0, objects=frozenset([known._replace(owed=_NONE) for known in state[0].objects]))
    return state
