"""What surrounds a place of a text in JavaScript: scopes, statements, brackets, and what is begun.

A state is the frames around a place, the module first.

Source: ECMA-262, chapters 8.2 "Scope Analysis", 9.1 "Environment Records" and 14 "Statements and Declarations".
"""

from __future__ import annotations

from typing import NamedTuple

from ..frames import enclosing

__all__ = [
    "CLOSING",
    "ENDED",
    "ENDED_DO",
    "HEADER",
    "MODULE",
    "OPEN",
    "SIGNS",
    "STATEMENTS",
    "Frame",
    "State",
    "innermost",
    "is_boundary",
    "is_deferred",
    "is_later",
    "scope_at",
]

_NONE: frozenset[str] = frozenset()
_SCOPES = ("module", "function", "arrow", "block", "for", "switch", "head", "catch", "enum")
STATEMENTS = ("for", "loop", "do", "if", "try", "label")
"""Frames that end with a statement, and so at its `;`, its line break or the `}` of its block."""

OPEN, ENDED, ENDED_DO, HEADER, CLOSING = range(5)
"""How far a statement is: it goes on, has ended, has ended but for a `;` that `do ... while (...)` may have behind it;
of a `for`, in its brackets; of a `do`, behind its `while`."""


class Frame(NamedTuple):
    """What is known within a frame.

    Attributes:
        kind: scopes: `module`, `function`, `arrow` (what is behind `=>` or the `=` of a field), `block`, `switch`,
            `for`, `enum`. Statements: `for`, `loop`, `do`, `if`, `try`, `label`. What is begun: `head` (of a function),
            `catch`, `title` (of a class), `let`, `const`, `var` (a declaration), `import`, `alias` (of a type, or an
            interface). `class`, its body. `brackets`; `pattern`; `choice` (`a ? b`, until the colon). Of types:
            `signature` (behind the `=>` of a function's), `extends` and `branch` (of a conditional one, before its `?`
            and behind).
        names: declared here; of a head, parameters.
        consts: those of them that are not assigned to.
        lexical: those of them that no `var` may have, and what is declared twice.
        hoisted: names of `var` that go through this block to the function.
        pending: declared here when what is begun has ended.
        reached: those of them that what follows in the pattern may read.
        seen: read here, before they were declared here. `let` may not declare them any more.
        owed: read here, and still to be declared, here or further out.
        types: names of types that are declared here, and what is known of names, by the sign behind them (`types`).
        owed_types: those that were used, and are still to be declared, here or further out.
        name: of a label, a class, or a function's own.
        private: private names of a class; with `:get` or `:set` if only that was written.
        owed_private: those that were used, and are still to be declared.
        progress: of a statement; of a head: 0 before its parameters, 1 within, 2 behind.
        flags: `async`, `generator`, `arrow`, `field`, `static`, `get`, `set`, `else`, `declares`, `wide`, `type`,
            `interface`.
    """

    kind: str
    names: frozenset[str] = _NONE
    consts: frozenset[str] = _NONE
    lexical: frozenset[str] = _NONE
    hoisted: frozenset[str] = _NONE
    pending: frozenset[str] = _NONE
    reached: frozenset[str] = _NONE
    seen: frozenset[str] = _NONE
    owed: frozenset[str] = _NONE
    types: frozenset[str] = _NONE
    owed_types: frozenset[str] = _NONE
    name: str = ""
    private: frozenset[str] = _NONE
    owed_private: frozenset[str] = _NONE
    progress: int = OPEN
    flags: frozenset[str] = _NONE


State = tuple[Frame, ...]
SIGNS = ".{(?"
"""What may stand behind a name among types: it is a namespace; an interface or a class, which interfaces add to; a
function that has no body yet; or what is owed may be anything."""

MODULE = Frame("module")


def innermost(state: State, *kinds: str) -> int:
    """Where the innermost frame of some kinds is; -1: nowhere."""
    return next(enclosing(state, *kinds), -1)


def scope_at(state: State) -> int:
    """Where the innermost frame is that names are declared in."""
    return next(enclosing(state, *_SCOPES))


def is_boundary(frame: Frame) -> bool:
    """What is inside runs at another time, or in another place, than what is around: a function, its parameters, or
    the value of a field."""
    return frame.kind in ("function", "arrow") or (frame.kind == "head" and frame.progress > 0)


def is_later(frame: Frame) -> bool:
    """What is inside runs when it is called, and not at once."""
    return is_boundary(frame) and "static" not in frame.flags


def is_deferred(state: State) -> bool:
    """What is read here is so when a function is called, and may be declared later."""
    return any(map(is_later, state))
