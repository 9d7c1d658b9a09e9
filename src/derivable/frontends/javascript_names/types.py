"""Types: the names that they have in TypeScript beside those of values, and what their syntax does to scopes.

Source: The TypeScript Handbook, "Declaration Merging" and "Conditional Types".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ...meaning import Names
from ..frames import changed
from .frames import SIGNS, Frame, State, innermost, scope_at
from .meaning import NEVER_DECLARED, SLOTS, ScopesMeaning
from .reading import READERS, owe_types
from .scopes import bind, is_signature, pop, pop_expression, unbindable, visible, waiting

__all__ = ["TypesMeaning"]

_PRIMITIVE = frozenset(
    ["any", "unknown", "never", "string", "number", "boolean", "bigint", "symbol", "object", "undefined"]
)
_SPACES = frozenset(["Intl", "Reflect", "WebAssembly", "CSS", "globalThis"])
_ANY = Names((), others=True, marked=())

_TEXTS = {
    **dict.fromkeys(("open_enum", "open_namespace"), "{"),
    **dict.fromkeys(("open_types", "open_type_parameters"), "<"),
    "close_types": ">",
    "close_two": ">>",
    "close_three": ">>>",
    "type_arrow": "=>",
    "type_question": "?",
    "type_colon": ":",
    "type_extends": "extends",
    "using_word": "using",
    "plain_const": "const",
    "infer_word": "infer",
    "type_word": "type",
    "type_name": "type",
}
_NAMES = (
    *("head_name", "alias_name", "interface_name", "enum_name", "enum_member", "namespace_name"),
    *("equal_import", "renamed", "predicate", "inferred", "type_used", "space_used", "queried", "mapped"),
    "type_parameter",
)
_TYPES = {"type_used": "any", "space_used": "Intl"}


class TypesMeaning(ScopesMeaning):
    """What each name of a text in TypeScript may be."""

    @classmethod
    def roles(cls) -> Collection[str]:
        return (*SLOTS, *_NAMES, *_TEXTS)

    @classmethod
    def texts(cls) -> Mapping[str, str]:
        return {**_TEXTS, **_TYPES}

    @classmethod
    def readers(cls) -> dict[str, Callable[[State, str], State]]:
        return READERS | _READERS

    def _grows(self) -> dict[str, str]:
        return super()._grows() | {"type_used": "\ntype =0", "space_used": "\nnamespace {}", "queried": "\nvar "}

    def _names(self, state: State, role: str) -> Names | None:
        match role:
            case "type_used" | "space_used":
                there = self._visible_types(state, "" if role == "type_used" else ".")
                return self._any(state, frozenset()) if self._later else self._listed(there)
            case "queried":
                there = visible(state, self._known) | waiting(state) | self._visible_types(state, ".")
                return self._any(state, frozenset()) if self._later else self._listed(there)
            case "predicate":
                at = innermost(state, "head", "signature")
                return self._listed(state[at].names | state[at].pending if at >= 0 else frozenset())
            case "inferred" | "mapped" | "type_parameter":
                own = state[_owner(state)].types if role == "type_parameter" else frozenset()
                return self._any(state, _PRIMITIVE | own)
            case "infer_word":
                return _ANY if innermost(state, "extends") >= 0 else Names(())
            case "renamed":
                return self._listed(visible(state, self._known) | self._visible_types(state, "."))
            case "enum_member":
                return self._any(state, state[-1].names)
        if role in _TEXTS:
            return _ANY
        if role in _NAMES:
            return self._any(state, NEVER_DECLARED | _PRIMITIVE | _not_declarable(state, role))
        return super()._names(state, role)

    def _unbindable(self, state: State, kind: str) -> frozenset[str]:
        types = state[scope_at(state)].types
        found = super()._unbindable(state, kind)
        if kind == "function":
            return found - {name[:-1] for name in types if name.endswith("(")}
        if kind == "class":
            return found | _PRIMITIVE | (_plain(types) - _extendable(types))
        return found | _PRIMITIVE | _plain(types) if kind == "import" else found

    def _visible_types(self, state: State, sign: str) -> frozenset[str]:
        there = frozenset().union(*(frame.types for frame in state))
        if sign:
            return frozenset(name[:-1] for name in there if name.endswith(sign)) | (_SPACES & self._known)
        return frozenset(name for name in there if name[-1] not in SIGNS) | _PRIMITIVE | self._types

    def read(self, state: State, slot: str, text: str) -> State:
        role = self._roles[slot]
        if role in ("type_used", "space_used"):
            sign = "" if role == "type_used" else "."
            if text in self._visible_types(state, sign):
                return state
            return owe_types(state, scope_at(state), text + sign)
        if role == "queried":
            there = visible(state, self._known) | waiting(state) | self._visible_types(state, ".")
            at = scope_at(state)
            return state if text in there else changed(state, at, owed=state[at].owed | {text})
        return super().read(state, slot, text)


def _plain(types: frozenset[str]) -> frozenset[str]:
    """Names of types, without what else is known of names."""
    return frozenset(name for name in types if name[-1] not in SIGNS)


def _extendable(types: frozenset[str]) -> frozenset[str]:
    """Interfaces and classes."""
    return frozenset(name[:-1] for name in types if name.endswith("{"))


def _not_declarable(state: State, role: str) -> frozenset[str]:
    around = state[:-1] if state[-1].kind == "head" else state
    scope = around[scope_at(around)]
    types = _plain(scope.types)
    match role:
        case "interface_name":
            return types - _extendable(scope.types)
        case "alias_name":
            return types
        case "head_name":
            return unbindable(around, "function") - {name[:-1] for name in scope.types if name.endswith("(")}
        case "namespace_name":
            spaces = frozenset(name[:-1] for name in scope.types if name.endswith("."))
            own = (_extendable(scope.types) | spaces) & scope.names
            return unbindable(around, "function") - own
    return unbindable(around, "function") | types  # enum_name, equal_import


def _owner(state: State) -> int:
    """What the type parameters that are listed here belong to."""
    return innermost(state, "head", "title", "alias")


def _with_types(state: State, at: int, *names: str) -> State:
    frame = state[at]
    owed = frame.owed_types.difference(names, [f"{name}?" for name in names])
    return changed(state, at, types=frame.types.union(names), owed_types=owed)


def _declared(*signs: str, kind: str = "") -> Callable[[State, str], State]:
    """Declares a type, a namespace (`.`) and a value (`kind`)."""

    def read(state: State, text: str) -> State:
        state = _with_types(state, scope_at(state), *(text + sign for sign in signs))
        return bind(state, frozenset([text]), kind) if kind else state

    return read


def _begun(flag: str, *signs: str) -> Callable[[State, str], State]:
    def read(state: State, text: str) -> State:
        return (*_declared(*signs)(state, text), Frame("alias", flags=frozenset([flag] if flag else ())))

    return read


def _head_name(state: State, text: str) -> State:
    below = bind(state[:-1], frozenset([text]), "function")
    return (*_with_types(below, scope_at(below), f"{text}("), state[-1])


def _function_name(state: State, text: str) -> State:
    at = scope_at(state[:-1])
    state = changed(state, at, types=state[at].types - {f"{text}("})
    return READERS["function_name"](state, text)


def _class_name(state: State, text: str) -> State:
    below = _declared("", "{")(state[:-1], text)
    return READERS["class_name"]((*below, state[-1]), text)


def _own_name(state: State, text: str) -> State:
    state = READERS["own_name"](state, text)
    return _with_types(state, len(state) - 1, text) if state[-1].kind == "title" else state


def _enum_member(state: State, text: str) -> State:
    return changed(state, len(state) - 1, names=state[-1].names | {text})


def _open_enum(state: State, text: str) -> State:
    return (*state, Frame("enum"))


def _open_namespace(state: State, text: str) -> State:
    return (*state, Frame("function", flags=frozenset(["static"])))


# Type parameters


def _open_type_parameters(state: State, text: str) -> State:
    is_begun = state[-1].kind in ("title", "alias") or (state[-1].kind == "head" and not state[-1].progress)
    return (*state, Frame("brackets")) if is_begun else (*state, Frame("head"), Frame("brackets"))


def _type_parameter(state: State, text: str) -> State:
    return _with_types(state, _owner(state), text)


def _open_types(state: State, text: str) -> State:
    return (*state, Frame("brackets"))


def _close_types(count: int) -> Callable[[State, str], State]:
    def read(state: State, text: str) -> State:
        for _ in range(count):
            state = pop(pop_expression(state))
        return state

    return read


def _mapped(state: State, text: str) -> State:
    return _with_types(state, len(state) - 2, text)


# Types of functions, and conditional types


def _behind_signatures(state: State) -> State:
    while state[-1].kind == "signature":
        state = pop(state)
    return state


def _type_arrow(state: State, text: str) -> State:
    while not is_signature(state[-1]):
        state = pop(state)
    return changed(state, len(state) - 1, kind="signature")


def _type_question(state: State, text: str) -> State:
    state = _behind_signatures(state)
    return changed(state, len(state) - 1, kind="branch", types=state[-1].pending, pending=frozenset())


def _type_colon(state: State, text: str) -> State:
    return pop(_behind_signatures(state))


def _inferred(state: State, text: str) -> State:
    at = innermost(state, "extends")
    return changed(state, at, pending=state[at].pending | {text})


# Modules


def _typed(flag: str) -> Callable[[State, str], State]:
    def read(state: State, text: str) -> State:
        at = innermost(state, "import")
        return changed(state, at, flags=state[at].flags | {flag})

    return read


def _imported(role: str) -> Callable[[State, str], State]:
    def read(state: State, text: str) -> State:
        at = innermost(state, "import")
        signs = ("",) if role != "namespace_import" else ()
        names = [text + sign for sign in (*signs, ".")]
        state = READERS[role](changed(state, at, types=state[at].types.union(names)), text)
        frame = state[at]
        if not frame.flags & {"type", "name"}:
            return state
        hidden = {"hoisted": frame.hoisted | {text}, "pending": frame.pending - {text}}
        return changed(state, at, flags=frame.flags - {"name"}, **hidden)

    return read


def _module_text(state: State, text: str) -> State:
    frame = state[-1]
    state = _with_types(state[:-1], scope_at(state[:-1]), *frame.types)
    at = scope_at(state)
    # What is imported as a type is no value, but no other one may have its name.
    state = changed(state, at, hoisted=state[at].hoisted | frame.hoisted)
    return bind(state, frame.pending, "import")


_READERS: dict[str, Callable[[State, str], State]] = {
    "alias_name": _begun("", ""),
    "interface_name": _begun("interface", "", "{"),
    "head_name": _head_name,
    "function_name": _function_name,
    "class_name": _class_name,
    "own_name": _own_name,
    "enum_name": _declared("", ".", kind="const"),
    "namespace_name": _declared(".", kind="function"),
    "equal_import": _declared("", ".", kind="import"),
    "enum_member": _enum_member,
    "open_enum": _open_enum,
    "open_namespace": _open_namespace,
    "using_word": lambda state, text: (*state, Frame("const")),
    "open_type_parameters": _open_type_parameters,
    "type_parameter": _type_parameter,
    "open_types": _open_types,
    "close_types": _close_types(1),
    "close_two": _close_types(2),
    "close_three": _close_types(3),
    "mapped": _mapped,
    "type_arrow": _type_arrow,
    "type_extends": lambda state, text: (*_behind_signatures(state), Frame("extends")),
    "type_question": _type_question,
    "type_colon": _type_colon,
    "inferred": _inferred,
    "type_word": _typed("type"),
    "type_name": _typed("name"),
    "default_import": _imported("default_import"),
    "namespace_import": _imported("namespace_import"),
    "imported": _imported("imported"),
    "import_alias": _imported("import_alias"),
    "module_text": _module_text,
}
