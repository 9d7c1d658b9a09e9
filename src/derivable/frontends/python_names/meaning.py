"""What each name of a text in Python may be: a `Meaning` whose states are scopes (`scopes`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from functools import lru_cache
from typing import Any

from ...meaning import Meaning, Names
from ..frames import changed, enclosing, frames_of, plain
from .modules import Modules
from .scopes import (
    awaits_loops,
    begin_lines,
    begin_loop,
    bind,
    close,
    commit,
    end_line,
    hide,
    is_deferred,
    modules,
    note,
    owe,
    pop_block,
    pop_lambdas,
    rest_owed,
    separate,
    settled,
    unpaid,
    valueless,
    visible,
)
from .states import MODULE, Frame, State, scope_at

__all__ = ["ANY", "NAMES", "SLOTS", "ScopesMeaning", "without_brackets"]

ANY = Names((), others=True, marked=())
_NO_NAMES = Names(())
_WORDS = {"match_word": Names(["match"]), "case_word": Names(["case"]), "wildcard": Names(["_"])}
_NEVER_BOUND = frozenset(["__debug__"])

NAMES = (
    *("used", "pattern_name", "updated", "deleted", "module_name", "submodule", "member"),
    *(
        "bound",
        "initialized",
        "declared",
        "walrus",
        "captured",
        "handler_name",
        "comp_bound",
        "global_name",
        "nonlocal_name",
    ),
    *("function_name", "class_name", "parameter", "lambda_parameter"),
    *("package", "subpackage", "renamed_package", "renamed_subpackage", "from_package", "from_submodule"),
    *("imported", "renamed", "alias"),
    *("match_word", "case_word", "wildcard"),
)
_OPEN = ("open_round", "open_square", "open_curly", "open_subscript", "open_other")
_CLOSE = ("close_round", "close_square", "close_curly")
_LINES = ("_NEWLINE", "_INDENT", "_DEDENT")
_REST = (
    *("semicolon", "block_colon", "as_word", "raise_from", "equals", "item_comma", "comma"),
    *("dict_colon", "slice_colon"),
    *("return_word", "yield_word", "await_word", "async_def", "async_word", "comp_async"),
    *("global_word", "nonlocal_word"),
    *("break_word", "continue_word", "while_word", "for_word", "lambda_word", "lambda_colon"),
    *("unpack", "unpack_pairs", "keyword", "comp_for", "comp_if", "import_star", "relative"),
)

SLOTS = (*NAMES, *_OPEN, *_CLOSE, *_LINES, *_REST)
"""Rules and terminals of the grammar."""


class ScopesMeaning(Meaning):
    """
    Args:
        known: names that are always there.
        imports: modules that may be imported, with their names; `None`: any, and nothing is known of them.
        later: functions may use what is bound behind them.
        slots: those that the grammar has.
    """

    all_slots: tuple[str, ...] = SLOTS
    all_names: tuple[str, ...] = NAMES

    def __init__(
        self, known: frozenset[str], imports: Modules | None, later: bool, slots: Collection[str] = SLOTS
    ) -> None:
        self.slots = self.free = tuple([slot for slot in self.all_slots if slot in slots])
        self._known, self._imports, self._later = known, imports, later
        self._listed = lru_cache(maxsize=256)(Names)
        self._others = lru_cache(maxsize=256)(self._any_but)
        # A short name may always be given; and what is always there may be used.
        self.longest: Mapping[str, list[str]] = {slot: ["tmp"] for slot in self.all_names} | {
            "used": [min(known, key=lambda name: (len(name), name), default="tmp")],
            "match_word": ["match"],
            "case_word": ["case"],
            "wildcard": ["_"],
            "keyword": ["tmp"],
        }
        self.growth: Mapping[str, str] = {"used": " for  in()"}
        readers = {slot: getattr(self, f"_read_{slot.strip('_').lower()}", None) for slot in self.slots}
        self._reads: dict[str, Callable[[State, str], State]] = {slot: each for slot, each in readers.items() if each}

    def __repr__(self) -> str:
        return f"ScopesMeaning({len(self._known)} names, imports={self._imports})"

    # Which names there are

    def start(self) -> State:
        return (MODULE,)

    def names(self, state: State, slot: str) -> Names:
        state = settled(state)
        if slot not in _PATHS:
            state = _without_path(state)
        match slot:
            case "used" | "pattern_name":
                return self._used(state, slot)
            case "bound" | "initialized" | "declared" | "function_name" | "class_name" | "handler_name" | "captured":
                return self._any(state, self._unbindable(state, slot))
            case "walrus":
                return self._walrus(state)
            case "updated":
                scope = state[scope_at(state)]
                return self._listed(scope.names | (scope.outside & state[0].names))
            case "deleted":
                scope = state[scope_at(state)]
                return self._listed(scope.names - scope.kept)
            case "comp_bound":
                assigned = frozenset().union(*(state[i].assigned for i in enclosing(state, "brackets", "loops")))
                return self._any(state, assigned | _NEVER_BOUND)
            case "parameter" | "lambda_parameter":
                head = state[next(enclosing(state, "def" if slot == "parameter" else "parameters"))]
                return self._any(state, head.names | _NEVER_BOUND)
            case "global_name" | "nonlocal_name":
                return self._declarable(state, slot)
            case "comma" | "close_round" | "close_square" | "close_curly" | "comp_for":
                return self._may_end_part(pop_lambdas(state), slot)
            case "module_name":
                return self._listed(frozenset(modules(state)))
            case "keyword":
                return ANY
            case "match_word" | "case_word" | "wildcard":
                return _WORDS[slot]
        if slot in NAMES or slot in ("import_star", "relative"):
            return self._of_imports(state, slot)
        return ANY if self._may_stand(state, slot) else _NO_NAMES

    def _any_but(self, known: frozenset[str], banned: frozenset[str]) -> Names:
        return Names(banned, others=True, marked=(self._listed(known),))

    def _any(self, state: State, banned: frozenset[str]) -> Names:
        """Any name but some. Those that are there already mean something."""
        owed = frozenset().union(*(state[i].owed for i in enclosing(state, "brackets", "loops")))
        return self._others(visible(state, self._known) | owed, banned)

    def _used(self, state: State, slot: str) -> Names:
        if slot == "pattern_name":
            return self._listed(visible(state, self._known) - frozenset(modules(state)) - {"_"})
        apart = self._apart(state)
        if awaits_loops(state):
            return self._any(state, apart)
        if self._later and is_deferred(state):
            return self._any(state, apart | valueless(state))
        return self._listed(visible(state, self._known) - apart)

    def _apart(self, state: State) -> frozenset[str]:
        """Names that stand in a slot of their own."""
        return frozenset(modules(state))

    def _unbindable(self, state: State, slot: str) -> frozenset[str]:
        scope = state[scope_at(state)]
        banned = scope.seen if scope.kind == "function" else frozenset()
        banned |= scope.kept if slot == "handler_name" else frozenset()
        banned |= {"_"} if slot == "captured" else frozenset()
        return banned | _NEVER_BOUND | (scope.outside if slot in ("initialized", "declared") else frozenset())

    def _walrus(self, state: State) -> Names:
        inner = scope_at(state)
        around = state[inner + 1 :]
        loops = [frame for frame in around if frame.kind == "loops"]
        if any(not frame.progress for frame in loops) or (
            state[inner].kind == "class" and any(f.kind in ("brackets", "loops") for f in around)
        ):
            return _NO_NAMES
        targets = frozenset().union(*(frame.names | frame.pending for frame in loops))
        return self._any(state, self._unbindable(state, "walrus") | targets)

    def _declarable(self, state: State, slot: str) -> Names:
        at = scope_at(state)
        scope = state[at]
        above = [state[i].names for i in enclosing(state[:at], "function", "lambda")]
        own = scope.names | scope.seen | scope.hidden | scope.outside
        if slot == "nonlocal_name":
            return self._listed(frozenset().union(*above) - own)
        return self._any(state, own.union(*above) | _NEVER_BOUND)

    def _may_end_part(self, state: State, slot: str) -> Names:
        frame = state[-1]
        if slot == "comp_for":
            return ANY if frame.kind == "loops" or not frame.progress else _NO_NAMES
        if frame.kind not in ("brackets", "loops"):
            return ANY
        rest = frame.owed if slot == "comma" else rest_owed(state)
        if not rest:
            return ANY
        around = self._without_top(state, slot)
        is_later = self._later and is_deferred(around) and rest.isdisjoint(valueless(around))
        return ANY if is_later or awaits_loops(around) else _NO_NAMES

    @staticmethod
    def _without_top(state: State, slot: str) -> State:
        return changed(state, len(state) - 1, progress=1) if slot == "comma" else state[:-1]

    def _may_stand(self, state: State, slot: str) -> bool:
        at = scope_at(state)
        scope = state[at]
        in_loops = any(frame.kind == "loops" for frame in state[at:])
        match slot:
            case "return_word" | "global_word":
                return scope.kind == "function"
            case "nonlocal_word":
                return scope.kind == "function" and not self._declarable(state, "nonlocal_name").is_empty
            case "yield_word":
                return scope.kind in ("function", "lambda") and not in_loops
            case "await_word" | "async_word" | "comp_async":
                return scope.kind == "function" and "async" in scope.flags
            case "break_word" | "continue_word":
                return any("loop" in frame.flags for frame in state[at:])
        return True

    def _of_imports(self, state: State, slot: str) -> Names:
        """What may be imported, and names of modules."""
        imports, path = self._imports, self._path(state)
        unbindable = self._unbindable(state, slot)
        if slot == "import_star":
            in_module = scope_at(state) == 0
            return ANY if in_module and imports is not None and imports.public(path) else _NO_NAMES
        if slot == "alias":
            return self._any(state, unbindable)
        if slot == "relative":
            return ANY if imports is None else _NO_NAMES
        binds = slot in ("package", "imported")
        if imports is None:
            return _NO_NAMES if slot in ("submodule", "member") else self._any(state, unbindable) if binds else ANY
        match slot:
            case "package" | "renamed_package" | "from_package":
                there = imports.packages("")
            case "subpackage" | "renamed_subpackage" | "from_submodule" | "submodule":
                there = imports.packages(path)
            case _:
                there = imports.members(path)
        return self._listed(there - unbindable if binds else there)

    @staticmethod
    def _path(state: State) -> str:
        """The module that was named last: the head of the list of an import, or behind a dot."""
        return state[-1].name if state[-1].kind == "path" else ""

    # What they do

    def read(self, state: State, slot: str, text: str) -> State:
        if slot != "_INDENT":
            state = settled(state)
        reader = self._reads.get(slot)
        if slot not in _PATHS:
            state = _without_path(state)
        return state if reader is None else reader(state, text)

    def _read_newline(self, state: State, text: str) -> State:
        return end_line(commit(pop_lambdas(state)))

    def _read_indent(self, state: State, text: str) -> State:
        return begin_lines(state)

    def _read_dedent(self, state: State, text: str) -> State:
        return pop_block(state)

    def _read_semicolon(self, state: State, text: str) -> State:
        return commit(pop_lambdas(state))

    _read_item_comma = _read_semicolon

    def _read_as_word(self, state: State, text: str) -> State:
        return pop_lambdas(state)

    _read_raise_from = _read_equals = _read_dict_colon = _read_slice_colon = _read_as_word

    def _read_block_colon(self, state: State, text: str) -> State:
        state = commit(pop_lambdas(state))
        head = state[-1]
        match head.kind:
            case "def":
                state = bind(state[:-1], frozenset([head.name]))
                return (*state, Frame("function", names=head.names, name=head.name, flags=head.flags))
            case "type":
                return (*state[:-1], Frame("class", name=head.name))
            case "except":
                return (*bind(state[:-1], frozenset([head.name])), Frame("block", name=head.name))
            case "loop":
                return (*state[:-1], Frame("block", flags=frozenset(["loop"])))
        return (*state, Frame("block"))

    def _read_while_word(self, state: State, text: str) -> State:
        return (*state, Frame("loop"))

    _read_for_word = _read_while_word

    def _read_used(self, state: State, text: str) -> State:
        if text in visible(state, self._known):
            return note(state, text)
        return owe(state, frozenset([text]))

    _read_pattern_name = _read_used

    def _read_bound(self, state: State, text: str) -> State:
        at = scope_at(state)
        return changed(state, at, pending=state[at].pending | {text})

    _read_initialized = _read_bound

    def _read_declared(self, state: State, text: str) -> State:
        return state if text in state[scope_at(state)].names else hide(state, text)

    def _read_deleted(self, state: State, text: str) -> State:
        return hide(state, text)

    def _read_captured(self, state: State, text: str) -> State:
        return bind(state, frozenset([text]))

    def _read_alias(self, state: State, text: str) -> State:
        frame = state[-1]
        module = "".join(frame.flags) if frame.kind == "path" else ""
        state = bind(_without_path(state), frozenset([text]), module)
        return _at_path(state, frame.name) if frame.kind == "path" else state

    def _read_walrus(self, state: State, text: str) -> State:
        at = len(state) - 1
        if state[at].kind != "brackets":
            at = scope_at(state)
        return changed(state, at, pending=state[at].pending | {text})

    def _read_comp_bound(self, state: State, text: str) -> State:
        return changed(state, len(state) - 1, pending=state[-1].pending | {text})

    def _read_comp_for(self, state: State, text: str) -> State:
        return begin_loop(pop_lambdas(state))

    def _read_comp_if(self, state: State, text: str) -> State:
        state = pop_lambdas(state)
        frame = state[-1]
        return changed(state, len(state) - 1, names=frame.names | frame.pending, pending=frozenset(), progress=1)

    def _read_comma(self, state: State, text: str) -> State:
        return separate(pop_lambdas(state))

    def _read_open_round(self, state: State, text: str) -> State:
        return (*state, Frame("brackets"))

    _read_open_square = _read_open_curly = _read_open_round

    def _read_open_other(self, state: State, text: str) -> State:
        return (*state, Frame("brackets", progress=1))

    _read_open_subscript = _read_open_other

    def _read_close_round(self, state: State, text: str) -> State:
        return close(pop_lambdas(state))

    _read_close_square = _read_close_curly = _read_close_round

    def _read_unpack(self, state: State, text: str) -> State:
        return changed(state, len(state) - 1, progress=1) if state[-1].kind == "brackets" else state

    _read_unpack_pairs = _read_keyword = _read_yield_word = _read_unpack

    def _read_global_name(self, state: State, text: str) -> State:
        at = scope_at(state)
        return changed(state, at, outside=state[at].outside | {text})

    def _read_nonlocal_name(self, state: State, text: str) -> State:
        at = scope_at(state)
        return changed(state, at, names=state[at].names | {text})

    def _read_async_def(self, state: State, text: str) -> State:
        return (*state, Frame("async"))

    def _read_function_name(self, state: State, text: str) -> State:
        flags = frozenset(["async"]) if state[-1].kind == "async" else frozenset()
        return (*(state[:-1] if flags else state), Frame("def", name=text, flags=flags))

    def _read_class_name(self, state: State, text: str) -> State:
        return (*state, Frame("type", name=text))

    def _read_handler_name(self, state: State, text: str) -> State:
        return (*state, Frame("except", name=text))

    def _read_parameter(self, state: State, text: str) -> State:
        state = pop_lambdas(state)
        at = next(enclosing(state, "def"))
        return changed(state, at, names=state[at].names | {text})

    def _read_lambda_word(self, state: State, text: str) -> State:
        return (*state, Frame("parameters"))

    def _read_lambda_parameter(self, state: State, text: str) -> State:
        state = pop_lambdas(state)
        return changed(state, len(state) - 1, names=state[-1].names | {text})

    def _read_lambda_colon(self, state: State, text: str) -> State:
        state = pop_lambdas(state)
        return (*state[:-1], Frame("lambda", names=state[-1].names))

    # What is imported

    def _read_package(self, state: State, text: str) -> State:
        known = self._imports is not None
        return _at_path(bind(state, frozenset([text]), text if known else ""), text)

    def _read_renamed_package(self, state: State, text: str) -> State:
        return _at_path(state, text, text if self._imports is not None else "")

    def _read_from_package(self, state: State, text: str) -> State:
        return _at_path(state, text)

    def _read_subpackage(self, state: State, text: str) -> State:
        return _at_path(state, f"{self._path(state)}.{text}") if self._imports is not None else state

    _read_from_submodule = _read_submodule = _read_subpackage

    def _read_renamed_subpackage(self, state: State, text: str) -> State:
        inner = f"{self._path(state)}.{text}"
        return _at_path(state, inner, inner) if self._imports is not None else state

    def _module_in(self, path: str, name: str) -> str:
        """The module of that name in a package, if it is one whose names are known."""
        inner = f"{path}.{name}"
        return inner if self._imports is not None and self._imports.is_module(inner) else ""

    def _read_renamed(self, state: State, text: str) -> State:
        path = self._path(state)
        return _at_path(state, path, self._module_in(path, text))

    def _read_module_name(self, state: State, text: str) -> State:
        return _at_path(note(state, text), modules(state)[text])

    def _read_imported(self, state: State, text: str) -> State:
        path = self._path(state)
        return _at_path(bind(_without_path(state), frozenset([text]), self._module_in(path, text)), path)

    def _read_import_star(self, state: State, text: str) -> State:
        names = self._imports.public(self._path(state)) if self._imports is not None else None
        return bind(_without_path(state), names or frozenset())

    def may_end(self, state: State) -> bool:
        return not unpaid(state)

    def missing(self, state: State) -> list[str]:
        """Loops that bind what comprehensions owe, inner ones first."""
        found = []
        for i in enclosing(state, "brackets", "loops"):
            frame = state[i]
            owed = self._awaited(state, i) - frame.names - frame.pending
            if owed:
                found.append(f" for {','.join(sorted(owed))} in()")
        return found + [f"\n{name}=0" for name in sorted(unpaid(without_brackets(state)))]

    def _awaited(self, state: State, at: int) -> frozenset[str]:
        """What the `for` of these brackets must bind, or may have to."""
        return state[at].owed

    def to_plain(self, state: State) -> Hashable:
        return plain(state)

    def from_plain(self, value: Any) -> State:
        return frames_of(value, Frame)


_PATHS = (
    *("subpackage", "renamed_package", "renamed_subpackage", "from_submodule", "imported", "renamed", "import_star"),
    *("submodule", "member", "alias"),
)


def without_brackets(state: State) -> State:
    return tuple([frame for frame in state if frame.kind in ("module", "class", "function", "lambda", "block")])


def _without_path(state: State) -> State:
    return state[:-1] if state[-1].kind == "path" else state


def _at_path(state: State, path: str, renamed: str = "") -> State:
    """`renamed`: the module that an alias stands for."""
    return (*_without_path(state), Frame("path", name=path, flags=frozenset([renamed] if renamed else ())))
