"""What each name of a text in JavaScript may be: a `Meaning` whose states are scopes (`scopes`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from functools import lru_cache
from typing import Any

from ...meaning import Meaning, Names
from ..frames import enclosing, frames_of, plain
from . import reading
from .frames import MODULE, SIGNS, Frame, State, innermost, is_deferred
from .modules import Modules
from .scopes import constants, settled, unbindable, unpaid, visible, waiting

__all__ = ["SLOTS", "ScopesMeaning"]

_ANY = Names((), others=True, marked=())
_NO_NAMES = Names(())
NEVER_DECLARED = frozenset(["arguments", "eval", "undefined", "NaN", "Infinity"])
_READ_ONLY = frozenset(["undefined", "NaN", "Infinity", "arguments", "eval"])

_NAMES = (
    *("used", "constant", "bound", "arrow_parameter", "function_name", "class_name", "own_name"),
    *("label", "function_label", "break_label", "continue_label", "private_key", "PRIVATE_NAME"),
    *("default_import", "namespace_import", "imported", "import_alias", "foreign_name", "exported"),
)
_WHERE = {
    **dict.fromkeys(("RETURN", "AWAIT", "YIELD", "BREAK", "CONTINUE"), ""),
    "break_to": "break",
    "continue_to": "continue",
    "new_target": "target",
    "RBRACE": "}",
}
"""What may stand in some places only, and how it is written, if that is not its name."""

_REST = {
    **dict.fromkeys(("open_block", "open_class", "open_switch", "open_pattern", "LBRACE"), "{"),
    "open_parameters": "(",
    "open_list_pattern": "[",
    "LPAR": "(",
    "LSQB": "[",
    "RPAR": ")",
    "RSQB": "]",
    **dict.fromkeys(("TEMPLATE_HEAD", "RAW_HEAD"), "`${"),
    **dict.fromkeys(("TEMPLATE_MIDDLE", "RAW_MIDDLE"), "}${"),
    **dict.fromkeys(("TEMPLATE_TAIL", "RAW_TAIL"), "}`"),
    "SEMICOLON": ";",
    "COMMA": ",",
    "EQUAL": "=",
    "field_equals": "=",
    "static_equals": "=",
    "generator": "*",
    **dict.fromkeys(("LINE", "MEMBER_LINE", "STOP_LINE", "HEAD_LINE"), "\n"),
    "question": "?",
    "else_colon": ":",
    "case_colon": ":",
    "arrow": "=>",
    "async_word": "async",
    "getter": "get",
    "setter": "set",
    "import_word": "import",
    "export_word": "export",
    **dict.fromkeys(("FUNCTION", "CLASS", "VAR", "LET", "CONST", "IF", "ELSE", "FOR", "WHILE", "DO", "TRY"), ""),
    **dict.fromkeys(("CATCH", "FINALLY"), ""),
}
"""What begins or ends something, and a text that it may have."""

_TEXTS = {"foreign_text": "'m'", "module_text": "'m'"}
SLOTS = (*_NAMES, *_WHERE, *_REST, *_TEXTS)
"""Rules and terminals of the grammar, without what Lark puts before those that it imports."""

IMPORTED = "javascript__"
_GOES_ON = ("ELSE", "CATCH", "FINALLY", "SEMICOLON", "WHILE")
_DECLARING = {"function_name": "function", "class_name": "class", "own_name": "own"} | dict.fromkeys(
    ("default_import", "namespace_import", "imported", "import_alias"), "import"
)


class ScopesMeaning(Meaning):
    """
    Args:
        known: names that are always there.
        imports: modules that may be imported, with their names; `None`: any, and nothing is known of them.
        later: functions may use what is declared behind them.
        slots: those that the grammar has.
        types: names of types that are always there.
    """

    def __init__(
        self,
        known: frozenset[str],
        imports: Modules | None,
        later: bool,
        slots: Collection[str],
        types: frozenset[str] = frozenset(),
    ) -> None:
        self._roles = {slot: role for slot in slots if (role := slot.removeprefix(IMPORTED)) in self.roles()}
        self.slots = self.free = tuple(self._roles)
        self._known, self._imports, self._later, self._types = known, imports, later, types
        self._listed = lru_cache(maxsize=256)(Names)
        self._others = lru_cache(maxsize=256)(self._any_but)
        # A short name may always be declared; and what is always there may be read.
        shortest = min(known, key=lambda name: (len(name), name), default="tmp")
        path = min(imports.having(frozenset()), key=len, default="m") if imports else "m"
        texts = {role: text or role.lower() for role, text in {**_WHERE, **_REST, **_TEXTS, **self.texts()}.items()}
        texts |= {
            "used": shortest,
            "constant": shortest,
            "private_key": "#tmp",
            "PRIVATE_NAME": "#tmp",
            "module_text": f"'{path}'",
        }
        self.longest: Mapping[str, list[str]] = {slot: [texts.get(role, "tmp")] for slot, role in self._roles.items()}
        grows = self._grows()
        self.growth = {slot: grows[role] for slot, role in self._roles.items() if role in grows}
        self._reads: dict[str, Callable[[State, str], State]] = self.readers()

    def __repr__(self) -> str:
        return f"ScopesMeaning({len(self._known)} names, imports={self._imports})"

    @classmethod
    def roles(cls) -> Collection[str]:
        """Slots, without what Lark puts before the names of what it imports."""
        return SLOTS

    @classmethod
    def texts(cls) -> Mapping[str, str]:
        """Texts that slots may have which are not in `SLOTS`."""
        return {}

    @classmethod
    def readers(cls) -> dict[str, Callable[[State, str], State]]:
        """What is behind a slot, by slot."""
        return reading.READERS

    def _grows(self) -> dict[str, str]:
        """What a name in a slot may add to what is missing."""
        return {"used": "\nvar ", "exported": "\nvar =0", "PRIVATE_NAME": " ;"}

    def start(self) -> State:
        return (MODULE,)

    # Which names there are

    def names(self, state: State, slot: str) -> Names | None:
        role = self._roles[slot]
        if role in _REST:
            return _ANY
        return self._names(settled(state), role)

    def _names(self, state: State, role: str) -> Names | None:
        match role:
            case "used":
                return self._assignable(state)
            case "constant":
                return self._listed((constants(state) | _READ_ONLY) & visible(state, self._known))
            case "bound" | "arrow_parameter":
                return self._any(state, self._not_bound(state, role))
            case "label" | "function_label":
                return self._any(state, frozenset(reading.labels(state)))
            case "break_label" | "continue_label":
                return self._listed(frozenset(reading.labels(state, loops=role == "continue_label")))
            case "private_key":
                return self._private_key(state)
            case "PRIVATE_NAME":
                return self._private(state)
            case "exported":
                return self._any(state, frozenset()) if self._later else self._listed(_declared_in(state[0]))
            case "foreign_name" | "foreign_text" | "module_text":
                return self._of_modules(state, role)
        if role in _DECLARING:
            return self._declared(state, role)
        return _ANY if reading.may_stand(state, role) else _NO_NAMES

    def _any_but(self, known: frozenset[str], banned: frozenset[str]) -> Names:
        return Names(banned, others=True, marked=(self._listed(known),))

    def _any(self, state: State, banned: frozenset[str]) -> Names:
        """Any name but some. Those that are there already, or are awaited, mean something."""
        return self._others(visible(state, self._known) | _mentioned(state), banned)

    def _assignable(self, state: State) -> Names:
        """What may be read, and assigned to."""
        banned = constants(state) | _READ_ONLY
        if self._later and is_deferred(state):
            return self._any(state, waiting(state) | banned)
        return self._listed(visible(state, self._known) - banned)

    def _not_bound(self, state: State, role: str) -> frozenset[str]:
        at = innermost(state, "let", "const", "var", "head", "catch")
        if role == "arrow_parameter" or at < 0:
            return NEVER_DECLARED
        top = state[at]
        if top.kind in ("head", "catch"):
            return NEVER_DECLARED | top.names | top.pending | top.seen
        return NEVER_DECLARED | top.pending | self._unbindable(state[:at], top.kind)

    def _declared(self, state: State, role: str) -> Names:
        kind = _DECLARING[role]
        if kind == "own":
            return self._any(state, NEVER_DECLARED)
        around = state[:-1] if state[-1].kind in ("head", "title") else state
        banned = NEVER_DECLARED | self._unbindable(around, kind)
        if kind == "import":
            frame = state[innermost(state, "import")]
            banned |= frame.pending | frame.hoisted
        if role not in ("default_import", "imported") or self._imports is None:
            return self._any(state, banned)
        wanted = state[innermost(state, "import")].seen
        if role == "default_import":
            return self._any(state, banned) if self._imports.having(wanted | {"default"}) else _NO_NAMES
        members = self._imports.members(wanted)
        return self._any(state, banned) if members is None else self._listed(members - banned)

    def _unbindable(self, state: State, kind: str) -> frozenset[str]:
        return unbindable(state, kind)

    def _of_modules(self, state: State, role: str) -> Names:
        if self._imports is None:
            return _ANY
        wanted = state[-1].seen if state[-1].kind == "import" else frozenset()
        if role == "foreign_name":
            members = self._imports.members(state[innermost(state, "import")].seen)
            return _ANY if members is None else self._listed(members)
        if role == "foreign_text":
            return _NO_NAMES
        return self._listed(frozenset(f"{q}{path}{q}" for path in self._imports.having(wanted) for q in "'\""))

    def _private_key(self, state: State) -> Names:
        here = state[innermost(state, "class")].private
        accessor = {"get", "set"} & state[-1].flags if state[-1].kind == "head" else frozenset()
        other = {"get": "set", "set": "get"}[min(accessor)] if accessor else ""
        banned = frozenset(name.partition(":")[0] for name in here if not other or not name.endswith(f":{other}"))
        known = frozenset(each for frame in state for each in frame.owed_private) | banned
        return self._others(known | {each.partition(":")[0] for each in here}, banned | {"#constructor"})

    def _private(self, state: State) -> Names:
        classes = [state[i] for i in enclosing(state, "class")]
        known = frozenset(name.partition(":")[0] for frame in classes for name in frame.private)
        if not classes or not self._later:
            return self._listed(known)
        owed = frozenset().union(*(frame.owed_private for frame in classes))
        return self._others(known | owed, frozenset(["#constructor"]))

    # What they do

    def read(self, state: State, slot: str, text: str) -> State:
        role = self._roles[slot]
        if role not in _GOES_ON:
            state = settled(state)
        if role in ("used", "constant"):
            return reading.read_name(state, text, visible(state, self._known))
        reader = self._reads.get(role)
        return state if reader is None else reader(state, text)

    def may_end(self, state: State) -> bool:
        return not any(unpaid(state))

    def missing(self, state: State) -> list[str]:
        private = [f" {name};" for i in enclosing(state, "class") for name in sorted(_unpaid_private(state, i))]
        values, types = unpaid(state)
        return private + [f"\nvar {name}" for name in sorted(values)] + [_declaring(name) for name in sorted(types)]

    def to_plain(self, state: State) -> Hashable:
        return plain(state)

    def from_plain(self, value: Any) -> State:
        return frames_of(value, Frame)


def _declaring(name: str) -> str:
    """A declaration of what is owed as a type, a namespace or anything."""
    plain = name.rstrip(".?")
    return f"\nnamespace {plain}{{}}" if name.endswith(".") else f"\n{'var' if name != plain else 'type'} {plain}=0"


def _unpaid_private(state: State, at: int) -> frozenset[str]:
    return state[at].owed_private - {name.partition(":")[0] for name in state[at].private}


def _declared_in(frame: Frame) -> frozenset[str]:
    return frame.names | {name.rstrip(SIGNS) for name in frame.types}


def _mentioned(state: State) -> frozenset[str]:
    """Names that something is known of, although they are not there."""
    found: set[str] = set()
    for frame in state:
        found |= frame.owed | frame.seen | frame.hoisted | frame.pending | frame.names
        if frame.types or frame.owed_types:
            found |= {name.rstrip(SIGNS) for name in frame.types | frame.owed_types}
        if frame.name:
            found.add(frame.name)
    return frozenset(found)
