"""What is known at a place of a text in Python: the frames around it, the module first.

A frame is a scope (module, class, function, lambda), a block that is no scope, the head of a definition, or a pair of
brackets, which may become a comprehension.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BLOCKS", "ENDED", "FRESH", "MODULE", "OPEN", "Frame", "Known", "State", "scope_at", "without"]

_NONE: frozenset[str] = frozenset()
SCOPES = ("module", "class", "function", "lambda")
BLOCKS = ("class", "function", "block")
FRESH, ENDED, OPEN = 0, 1, 2


class Known(NamedTuple):
    """A function or a class of the text, or the first parameter of a method: of which `name` stands for it.

    Attributes:
        name: as it is written.
        kind: `function`, `class`, `self`, or `cls`, the first parameter of a class method.
        keywords: parameters that may be given by keyword; `None`: that is not known.
        members: attributes of a class, inherited ones too; `None`: that is not known.
        bases: classes that it inherits from, near and far.
        owed: attributes that its methods read and that it does not have yet.
    """

    name: str
    kind: str
    keywords: frozenset[str] | None = None
    members: frozenset[str] | None = None
    bases: frozenset[str] = _NONE
    owed: frozenset[str] = _NONE


class Frame(NamedTuple):
    """What is known within a frame.

    Attributes:
        kind: `module`, `class`, `function`, `lambda`; `block`; `def`, `type`, `parameters`, `except`, `loop`, `async`
            (heads, before their colon); `decorated` (behind decorators, before their heads); `brackets`; `loops`
            (brackets behind the `for` of a comprehension); `path` (a module was named last); `known` (a name was named
            last whose object is known).
        names: bound here. Of a head, parameters. Of decorators, names that they begin with.
        modules: those of them that are modules whose names are known, with their names.
        pending: that the statement binds when it ends, or that `:=` binds when its expression ends. Of loops, targets.
        seen: names of scopes around that were used here. They may not be bound here any more.
        owed: names that were used and must still be bound: of brackets, by the `for` of a comprehension; of a module or
            function, by whatever comes later, for functions within it used them. Of a class, attributes that its
            methods have read and that it did not have.
        kept: names that functions within it use. They may not be deleted any more.
        hidden: names that were deleted, or declared without a value.
        outside: names that were declared global.
        assigned: names that `:=` has bound between the brackets.
        name: of the class or function, or the one that an `except` binds. Of brackets of a call, what is called.
        progress: of a block: its first line goes on, has ended, or lines of its own have begun. Of brackets: 0, or 1 if
            they cannot become a comprehension. Of loops: 0 in what is iterated over, else 1.
        flags: `async`, `loop`. Of a path, the module that an alias of it stands for. Of a head, `decorated`, `free` (no
            attribute behind its first parameter is checked), `any` (it has `**`); of a class or its head, `open` (its
            attributes are not known), `checked` (they are), `plain` (it inherits nothing, and no decorator changes it).
            Of brackets, `bases`, `called` (a function whose keywords are known).
        members: of a class whose attributes are checked, those that it has beside its names. Of brackets of a call,
            keywords that may be given.
        given: of a class, attributes that the statement sets when it ends. Of brackets, keywords that were given. Of a
            head, parameters that may be given by keyword.
        bases: of a class or its head, classes of the text that it inherits from.
        misused: of brackets, functions that were called with keywords which they do not have: the `for` of a
            comprehension must bind these names.
        objects: of a scope, functions and classes that are bound here and known; of a method, its first parameter.
    """

    kind: str
    names: frozenset[str] = _NONE
    modules: frozenset[tuple[str, str]] = frozenset()
    pending: frozenset[str] = _NONE
    seen: frozenset[str] = _NONE
    owed: frozenset[str] = _NONE
    kept: frozenset[str] = _NONE
    hidden: frozenset[str] = _NONE
    outside: frozenset[str] = _NONE
    assigned: frozenset[str] = _NONE
    name: str = ""
    progress: int = FRESH
    flags: frozenset[str] = _NONE
    members: frozenset[str] = _NONE
    given: frozenset[str] = _NONE
    bases: frozenset[str] = _NONE
    misused: frozenset[str] = _NONE
    objects: frozenset[Known] = frozenset()


State = tuple[Frame, ...]
MODULE = Frame("module", progress=OPEN)


def scope_at(state: State) -> int:
    """Where the innermost scope is; comprehensions are none."""
    return next(i for i in range(len(state) - 1, -1, -1) if state[i].kind in SCOPES)


def without(objects: frozenset[Known], names: frozenset[str]) -> frozenset[Known]:
    """Those that are still known when names are bound anew."""
    return frozenset([known for known in objects if known.name not in names]) if objects else objects
