"""What each name may be where attributes behind `self.` and keywords of calls are checked, too."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

from ...meaning import Names
from ..frames import changed, enclosing
from .meaning import ANY, NAMES, SLOTS, ScopesMeaning, without_brackets
from .modules import Modules
from .objects import (
    begin_class,
    class_at,
    class_opened,
    decorated,
    first_parameter,
    forget,
    function_of,
    has_any,
    in_bases,
    inherit,
    members_of,
    objects_of,
    on_others,
    set_attributes,
    with_object,
)
from .scopes import (
    awaits_loops,
    bind,
    commit,
    ended,
    misuse,
    note,
    pop_lambdas,
    rest_misused,
    settled,
    takes,
    valueless,
)
from .states import Frame, Known, State, scope_at

__all__ = ["MembersMeaning"]

_NONE: frozenset[str] = frozenset()
_OF_KNOWN = ("own_attribute", "own_set", "open_call")
_PARAMETERS = ("star_parameter", "keywords_parameter")
_MORE_NAMES = ("known_name", "own_attribute", "own_set", "set_attribute", *_PARAMETERS)
_REST = ("open_call", "open_bases", "slash", "at_sign")
_HIDE_BASES = (
    *("open_round", "open_square", "open_curly", "open_subscript", "open_call", "own_attribute", "module_name"),
    *("unpack", "unpack_pairs", "keyword", "lambda_word"),
)
"""Read directly between the brackets of a class, they make its base something else than a class by its name."""

_OPENERS = frozenset(["setattr", "vars", "exec", "object"])
"""Who uses them may set attributes by their names, as texts."""


class MembersMeaning(ScopesMeaning):
    """
    Args:
        known, imports, later, slots: as of `ScopesMeaning`.
        attributes: those behind `self.` are ones that the class has.
        keywords: those of a call are parameters of what is called.
        block: what stands between the colon of a class and its only statement.
    """

    all_slots = (*SLOTS, *_MORE_NAMES, *_REST)
    all_names = (*NAMES, *_MORE_NAMES)

    def __init__(
        self,
        known: frozenset[str],
        imports: Modules | None,
        later: bool,
        slots: Collection[str],
        *,
        attributes: bool,
        keywords: bool,
        block: str = "",
    ) -> None:
        super().__init__(known, imports, later, slots)
        self._attributes, self._keywords, self._block = attributes, keywords, block
        # A class that is begun may have to be inherited from, once, to give it what it lacks; see `missing`.
        # And a name that is called in brackets may have to be bound by a `for`.
        more = {"class_name": self._heir("", _NONE), "own_attribute": "=", "known_name": " for  in()"}
        self.growth = {**self.growth, **more}

    # Which names there are

    def names(self, state: State, slot: str) -> Names:
        if slot in _OF_KNOWN:
            return self._readable(state) if slot == "own_attribute" else ANY
        state = _without_known(state)
        match slot:
            case "known_name":
                return self._listed(frozenset(self._objects(settled(state))))
            case "set_attribute" | "open_bases" | "slash" | "at_sign":
                return ANY
            case "keyword":
                return self._keyword(settled(state))
        return super().names(state, "parameter" if slot in _PARAMETERS else slot)

    def _objects(self, state: State) -> dict[str, Known]:
        found = objects_of(state)
        for name in valueless(state) & found.keys():
            del found[name]
        return found

    def _apart(self, state: State) -> frozenset[str]:
        return super()._apart(state) | frozenset(self._objects(state))

    def _readable(self, state: State) -> Names:
        known = self._known_last(state)
        at = class_at(state)
        if known is None or known.kind not in ("self", "cls") or at is None or has_any(state[at]):
            return ANY
        there = members_of(state[at], known.kind)
        return self._others(there | state[at].owed, _NONE) if self._later else self._listed(there)

    def _may_end_part(self, state: State, slot: str) -> Names:
        frame = state[-1]
        owes = slot != "comp_for" and frame.misused and rest_misused(state)
        if owes and not awaits_loops(self._without_top(state, slot)):
            return Names(())
        return super()._may_end_part(state, slot)

    def _known_last(self, state: State) -> Known | None:
        return self._objects(state[:-1]).get(state[-1].name) if state[-1].kind == "known" else None

    def _keyword(self, state: State) -> Names:
        brackets = state[-1]
        if not self._keywords or brackets.kind != "brackets":
            return ANY
        if "called" in brackets.flags:
            if awaits_loops(state[:-1]):  # whose `for` may bind the name of what is called
                return self._others(brackets.members, brackets.given)
            return self._listed(brackets.members - brackets.given)
        return self._others(_NONE, brackets.given)

    # What they do

    def read(self, state: State, slot: str, text: str) -> State:
        if slot not in _OF_KNOWN:
            state = _without_known(state)
        if slot in _HIDE_BASES:
            around = _without_known(state)
            if in_bases(around):
                state = (*inherit(around, None), *state[len(around) :])
        return super().read(state, slot, text)

    def _read_newline(self, state: State, text: str) -> State:
        return super()._read_newline(set_attributes(state), text)

    def _read_semicolon(self, state: State, text: str) -> State:
        return super()._read_semicolon(set_attributes(state), text)

    _read_item_comma = _read_semicolon

    def _read_at_sign(self, state: State, text: str) -> State:
        *_, frame = state
        if frame.kind != "decorated":
            return (*state, Frame("decorated"))
        names = frame.names if frame.progress else frame.names | {"@"}
        return (*state[:-1], frame._replace(names=names, progress=0))

    def _read_function_name(self, state: State, text: str) -> State:
        *state_before, head = super()._read_function_name(state, text)
        return decorated(tuple(state_before), head)

    def _read_class_name(self, state: State, text: str) -> State:
        return decorated(state, Frame("type", name=text))

    def _read_open_bases(self, state: State, text: str) -> State:
        return (*state, Frame("brackets", progress=1, flags=frozenset(["bases"])))

    def _read_parameter(self, state: State, text: str) -> State:
        state = super()._read_parameter(state, text)
        at = next(enclosing(state, "def"))
        head = state[at]
        if len(head.names) > 1:
            return changed(state, at, given=head.given | {text})
        kind = "cls" if "cls" in head.flags else "self"
        return changed(state, at, given=head.given | {text}, objects=frozenset([Known(text, kind)]))

    def _read_star_parameter(self, state: State, text: str) -> State:
        return super()._read_parameter(state, text)

    def _read_keywords_parameter(self, state: State, text: str) -> State:
        state = super()._read_parameter(state, text)
        at = next(enclosing(state, "def"))
        return changed(state, at, flags=state[at].flags | {"any"})

    def _read_slash(self, state: State, text: str) -> State:
        state = pop_lambdas(state)
        at = next(enclosing(state, "def"))
        return changed(state, at, given=_NONE)

    def _read_block_colon(self, state: State, text: str) -> State:
        state = commit(pop_lambdas(set_attributes(state)))
        head = state[-1]
        if head.kind == "type":
            return begin_class(state[:-1], head, self._attributes)
        if head.kind != "def":
            return super()._read_block_colon(state, text)
        outer = state[:-1]
        known = function_of(outer, head) if self._keywords else None
        own = first_parameter(outer, head) if self._attributes else frozenset()
        outer = bind(outer, frozenset([head.name]))
        if known is not None:
            outer = with_object(outer, known)
        flags = head.flags & {"async"}
        return (*outer, Frame("function", names=head.names, name=head.name, flags=flags, objects=own))

    def _read_used(self, state: State, text: str) -> State:
        state = _begun(state, text)
        if in_bases(state) and text != "object":
            state = inherit(state, None)
        elif self._attributes and text in _OPENERS and (text != "object" or state[scope_at(state)].kind == "function"):
            state = class_opened(state, text)
        return super()._read_used(state, text)

    def _read_module_name(self, state: State, text: str) -> State:
        return super()._read_module_name(_begun(state, text), text)

    def _read_known_name(self, state: State, text: str) -> State:
        known = self._objects(state)[text]
        state = _begun(state, text)
        if in_bases(state):
            state = inherit(state, known)
        return (*note(state, text), Frame("known", name=text))

    def _read_own_attribute(self, state: State, text: str) -> State:
        known = self._known_last(state)
        state = _without_known(state)
        at = class_at(state)
        if known is None or known.kind not in ("self", "cls") or at is None:
            return state
        if text == "__dict__":
            return class_opened(state, text)
        frame = state[at]
        if has_any(frame) or text in members_of(frame, known.kind):
            return state
        # `self.x = self.x + 1` needs an x of its own.
        given = frame.given - {text} if state[scope_at(state)].kind == "function" else frame.given
        return changed(state, at, owed=frame.owed | {text}, given=given)

    def _read_own_set(self, state: State, text: str) -> State:
        known = self._known_last(state)
        state = _without_known(state)
        at = class_at(state)
        if known is None or known.kind not in ("self", "cls") or at is None:
            return on_others(state, text) if self._attributes else state
        return changed(state, at, given=state[at].given | {text})

    def _read_set_attribute(self, state: State, text: str) -> State:
        return on_others(state, text) if self._attributes else state

    def _read_open_call(self, state: State, text: str) -> State:
        known = self._known_last(state)
        state = _without_known(state)
        if not self._keywords or known is None or known.keywords is None:
            return (*state, Frame("brackets"))
        called = frozenset(["called"])
        return (*state, Frame("brackets", name=known.name, flags=called, members=known.keywords))

    def _read_keyword(self, state: State, text: str) -> State:
        state = super()._read_keyword(state, text)
        *_, frame = state
        if not self._keywords or frame.kind != "brackets":
            return state
        state = changed(state, len(state) - 1, given=frame.given | {text})
        if "called" not in frame.flags or text in frame.members:
            return state
        return (*misuse(state[:-1], frozenset([frame.name])), state[-1])

    def _read_comma(self, state: State, text: str) -> State:
        state = pop_lambdas(state)
        if state[-1].kind != "brackets":
            return super()._read_comma(state, text)
        rest, at = state[-1].misused, len(state) - 1
        return misuse(super()._read_comma(changed(state, at, misused=_NONE), text), rest)

    def _read_close_round(self, state: State, text: str) -> State:
        state = pop_lambdas(state)
        return misuse(super()._read_close_round(state, text), rest_misused(state))

    _read_close_square = _read_close_curly = _read_close_round

    def _read_global_name(self, state: State, text: str) -> State:
        return super()._read_global_name(forget(state, text), text)

    def _read_nonlocal_name(self, state: State, text: str) -> State:
        return super()._read_nonlocal_name(forget(state, text), text)

    # The end

    def may_end(self, state: State) -> bool:
        module = ended(set_attributes(_without_known(state)))
        return not module.owed and not any(known.owed for known in module.objects)

    def missing(self, state: State) -> list[str]:
        named = [state[-1].name] if self._keywords and state[-1].kind == "known" and awaits_loops(state) else []
        state = set_attributes(_without_known(state))
        found = [*(f" for {name} in()" for name in named), *super().missing(state)]
        if not self._attributes:
            return found
        found += [
            self._heir(known.name, known.owed)
            for known in sorted(ended(without_brackets(state)).objects, key=lambda known: known.name)
            if known.owed
        ]
        # Room for those that classes in progress may still need.
        begun = [
            frame for frame in state if frame.kind == "type" or (frame.kind == "class" and "checked" in frame.flags)
        ]
        return found + [self._heir(frame.name, _NONE) for frame in begun]

    def _awaited(self, state: State, at: int) -> frozenset[str]:
        frame = state[at]
        called = [
            each.name for i, each in enumerate(state) if i > at and "called" in each.flags and takes(state[:i]) == at
        ]
        return frame.owed | frame.misused | frozenset(called)

    def _heir(self, name: str, owed: frozenset[str]) -> str:
        """A class that has what another one lacks."""
        return f"\nclass _({name}):{self._block}{'='.join([*sorted(owed), '0'])}"

    def to_plain(self, state: State) -> Hashable:
        return tuple([(*frame[:-1], frozenset(map(tuple, frame.objects))) for frame in state])

    def from_plain(self, value: Any) -> State:
        state = super().from_plain(value)
        return tuple([frame._replace(objects=frozenset([Known(*each) for each in frame.objects])) for frame in state])


def _without_known(state: State) -> State:
    return state[:-1] if state[-1].kind == "known" else state


def _begun(state: State, text: str) -> State:
    """What a decorator begins with is told."""
    *_, frame = state
    if frame.kind != "decorated" or frame.progress:
        return state
    return (*state[:-1], frame._replace(names=frame.names | {text}, progress=1))
