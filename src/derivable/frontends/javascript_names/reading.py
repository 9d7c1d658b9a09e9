"""What each lexeme of a text in JavaScript does to the scopes around it, by its role."""

from __future__ import annotations

from collections.abc import Callable

from ..frames import changed, enclosing
from .frames import (
    CLOSING,
    ENDED,
    ENDED_DO,
    HEADER,
    OPEN,
    STATEMENTS,
    Frame,
    State,
    innermost,
)
from .scopes import bind, commit, declare_var, is_signature, mark_ended, note, owe, pop, pop_expression, settled

__all__ = ["READERS", "labels", "may_stand", "owe_types", "read_name"]

_NONE: frozenset[str] = frozenset()
_DECLARATIONS = ("let", "const", "var")
_TAKES_BRACKETS = (
    "signature",
    "extends",
    "branch",
    "arrow",
    "choice",
    "brackets",
    "pattern",
    "head",
    "catch",
    *_DECLARATIONS,
)
_CURLY = ("brackets", "pattern", "block", "function", "class", "switch", "enum")


def _top(state: State, **fields: object) -> State:
    return changed(state, len(state) - 1, **fields)


def _pushed(kind: str) -> Callable[[State, str], State]:
    return lambda state, text: (*state, Frame(kind))


# Where things may stand


def _function_around(state: State) -> Frame | None:
    """The innermost function, value of a field, or list of parameters."""
    for i in enclosing(state, "function", "arrow", "head"):
        if state[i].kind != "head" or state[i].progress:
            return state[i]
    return None


def labels(state: State, *, loops: bool = False) -> list[str]:
    """Labels around, or those of loops."""
    found, is_loop = [], False
    for frame in reversed(state):
        if frame.kind == "label":
            if is_loop or not loops:
                found.append(frame.name)
        elif frame.kind in ("function", "arrow", "class"):
            break
        else:
            is_loop = frame.kind in ("for", "loop", "do")
    return found


def may_stand(state: State, role: str) -> bool:
    """A word, or the end of a block, may stand here."""
    around = _function_around(state)
    match role:
        case "RETURN":
            return around is not None and around.kind == "function" and "static" not in around.flags
        case "AWAIT":
            return around is None or (around.kind != "head" and "async" in around.flags)
        case "YIELD":
            return around is not None and around.kind == "function" and "generator" in around.flags
        case "new_target":
            return any(
                (state[i].kind == "function" and "arrow" not in state[i].flags) or "field" in state[i].flags
                for i in enclosing(state, "function", "arrow")
            )
        case "BREAK" | "CONTINUE":
            kinds = ("for", "loop", "do", "switch") if role == "BREAK" else ("for", "loop", "do")
            return innermost(state, *kinds) > innermost(state, "function", "arrow")
        case "break_to" | "continue_to":
            return bool(labels(state, loops=role == "continue_to"))
        case "RBRACE":
            at = innermost(state, *_CURLY)
            frame = state[at]
            if frame.kind != "class" or innermost(state[:at], "class") >= 0:
                return True
            return not frame.owed_private - {name.partition(":")[0] for name in frame.private}
    return True


# Names


def read_name(state: State, text: str, there: frozenset[str]) -> State:
    return note(state, text) if text in there else owe(state, text)


def _bound(state: State, text: str) -> State:
    at = innermost(state, *_DECLARATIONS, "head", "catch")
    frame = state[at]
    if frame.kind == "var":
        return (*declare_var(state[:at], frozenset([text])), *state[at:])
    flags = frame.flags
    if frame.kind == "catch" and any(each.kind == "pattern" for each in state[at:]):
        flags |= {"wide"}  # a pattern, whose names no `var` may have
    return changed(state, at, pending=frame.pending | {text}, flags=flags)


def _arrow_parameter(state: State, text: str) -> State:
    state = state if _is_fresh_head(state) else (*state, Frame("head"))
    return _top(state, names=frozenset([text]), progress=2)


def _function_name(state: State, text: str) -> State:
    return (*bind(state[:-1], frozenset([text]), "function"), state[-1])


def _class_name(state: State, text: str) -> State:
    return _top(state, name=text, flags=state[-1].flags | {"declares"})


def _own_name(state: State, text: str) -> State:
    return _top(state, name=text)


def _label(state: State, text: str) -> State:
    return (*state, Frame("label", name=text))


def _private_key(state: State, text: str) -> State:
    at = innermost(state, "class")
    frame = state[at]
    accessor = {"get", "set"} & state[-1].flags if state[-1].kind == "head" else _NONE
    key = text if not accessor else f"{text}:{min(accessor)}"
    both = {f"{text}:get", f"{text}:set"} <= frame.private | {key}
    private = frame.private | {key}
    if both:
        private = (private - {f"{text}:get", f"{text}:set"}) | {text}
    return changed(state, at, private=private)


def _private_name(state: State, text: str) -> State:
    at = innermost(state, "class")
    for i in enclosing(state, "class"):
        if {text, f"{text}:get", f"{text}:set"} & state[i].private:
            return state
    return changed(state, at, owed_private=state[at].owed_private | {text})


# Functions and classes


def _is_fresh_head(state: State) -> bool:
    return state[-1].kind == "head" and state[-1].progress == 0


def _flagged(*flags: str) -> Callable[[State, str], State]:
    def read(state: State, text: str) -> State:
        state = state if _is_fresh_head(state) else (*state, Frame("head"))
        return _top(state, flags=state[-1].flags.union(flags))

    return read


def _open_parameters(state: State, text: str) -> State:
    state = state if _is_fresh_head(state) else (*state, Frame("head"))
    return (*_top(state, progress=1), Frame("brackets"))


def _without_debts(state: State) -> State:
    """Of a list of parameters that has ended: what it owes is not declared by the body."""
    head = state[-1]
    below = pop(state)
    return (*below, head._replace(owed=_NONE, owed_types=_NONE, seen=_NONE))


def _arrow(state: State, text: str) -> State:
    *below, head = _without_debts(commit(_to_head(state)))
    return (*below, Frame("arrow", names=head.names, types=head.types, flags=head.flags | {"arrow"}))


def _to_head(state: State) -> State:
    """Behind the type that a function returns, if there is one."""
    while state[-1].kind in ("signature", "branch") or (is_signature(state[-1]) and is_signature(state[-2])):
        state = pop(state)
    return state


def _open_block(state: State, text: str) -> State:
    state = _to_head(state)
    top = state[-1]
    if top.kind == "arrow":
        return _top(state, kind="function")
    if top.kind == "head":
        *below, head = _without_debts(commit(state))
        return (*below, Frame("function", names=head.names, types=head.types, name=head.name, flags=head.flags))
    if top.kind == "catch":
        *below, head = commit(state)
        return (*below, head._replace(kind="block", progress=OPEN, flags=_NONE, seen=_NONE))
    if top.kind == "class":
        return (*state, Frame("function", flags=frozenset(["static"])))
    return (*state, Frame("block"))


def _open_class(state: State, text: str) -> State:
    return _top(state, kind="class", pending=_NONE)


def _field_equals(state: State, text: str) -> State:
    return (*state, Frame("arrow", flags=frozenset(["field"])))


def _static_equals(state: State, text: str) -> State:
    return (*state, Frame("arrow", flags=frozenset(["field", "static"])))


# Brackets


def _open(state: State, text: str) -> State:
    top = state[-1]
    needed = top.kind in _TAKES_BRACKETS or (top.kind in STATEMENTS and top.progress in (HEADER, CLOSING))
    return (*state, Frame("brackets")) if needed else state


def _close(state: State, text: str) -> State:
    state = pop_expression(state)
    if state[-1].kind in _DECLARATIONS:  # of a `for`
        state = pop(state)
    if state[-1].kind not in ("brackets", "pattern"):
        return state
    state = pop(state)
    top = state[-1]
    if top.kind == "head" and top.progress == 1:
        return _top(commit(state), progress=2)
    if top.kind == "for" and top.progress == HEADER:
        return _top(state, progress=OPEN)
    if top.kind == "do" and top.progress == CLOSING:
        return mark_ended(pop(state), ENDED_DO)
    return state


def _close_curly(state: State, text: str) -> State:
    state = pop_expression(state)
    while state[-1].kind not in _CURLY:
        state = pop(state)
    frame = state[-1]
    state = pop(state)
    if state[-1].kind == "alias" and "interface" in state[-1].flags:
        return pop(state)
    if frame.kind in ("block", "switch"):
        return mark_ended(state)
    if frame.kind == "class" and "declares" in frame.flags:
        return bind(state, frozenset([frame.name]), "class")
    return state


def _middle(state: State, text: str) -> State:
    return pop_expression(state)


def _comma(state: State, text: str) -> State:
    state = pop_expression(state)
    if state[-1].kind in _DECLARATIONS:
        return commit(state)
    if state[-1].kind == "pattern":
        at = innermost(state, *_DECLARATIONS, "head", "catch")
        return changed(state, at, reached=state[at].pending)
    if _is_parameter(state):
        return (*commit(state[:-1]), state[-1])
    return state


def _is_parameter(state: State) -> bool:
    """Right between the brackets of a list of parameters."""
    return state[-1].kind == "brackets" and state[-2].kind == "head" and state[-2].progress == 1


def _equals(state: State, text: str) -> State:
    """The value of a pattern is found before any of its names has one."""
    if _is_parameter(state):
        return changed(state, len(state) - 2, reached=_NONE)
    return _top(state, reached=_NONE) if state[-1].reached else state


# Statements


def _stop(state: State, text: str) -> State:
    if state[-1].kind in STATEMENTS and state[-1].progress == ENDED_DO:
        return mark_ended(state)
    state = pop_expression(settled(state))
    while state[-1].kind in (*_DECLARATIONS, "import", "title", "head", "alias"):
        state = pop(state)
    return mark_ended(state)


def _within_statement(kind: str) -> Callable[[State, str], State]:
    """`if` and `try` matter where something ends with the statement that they are part of."""
    return lambda state, text: (*state, Frame(kind)) if state[-1].kind in STATEMENTS else state


def _for(state: State, text: str) -> State:
    return (*state, Frame("for", progress=HEADER))


def _while(state: State, text: str) -> State:
    state = settled(state)
    if state[-1].kind == "do" and state[-1].progress == ENDED:
        return _top(state, progress=CLOSING)
    return (*state, Frame("loop"))


def _else(state: State, text: str) -> State:
    while state[-1].kind in STATEMENTS:
        if state[-1].kind == "if" and "else" not in state[-1].flags:
            return _top(state, progress=OPEN, flags=frozenset(["else"]))
        state = pop(state)
    return state


def _catch(state: State, text: str) -> State:
    return (*_finally(state, text), Frame("catch"))


def _finally(state: State, text: str) -> State:
    return _top(state, progress=OPEN) if state[-1].kind == "try" else state


# Modules


def _imported(state: State, text: str) -> State:
    return _import_alias(_foreign_name(state, text), text)


def _default_import(state: State, text: str) -> State:
    return _import_alias(_foreign_name(state, "default"), text)


def _import_alias(state: State, text: str) -> State:
    at = innermost(state, "import")
    return changed(state, at, pending=state[at].pending | {text})


def _foreign_name(state: State, text: str) -> State:
    at = innermost(state, "import")
    return changed(state, at, seen=state[at].seen | {text})


def _module_text(state: State, text: str) -> State:
    return bind(state[:-1], state[-1].pending, "import")


def _exported(state: State, text: str) -> State:
    scope = state[0]
    return state if {text, f"{text}."} & (scope.names | scope.types) else owe_types(state, 0, f"{text}?")


def owe_types(state: State, at: int, text: str) -> State:
    """A name is owed in a frame: of a type; with `.` of a namespace, with `?` of either or of a value."""
    return changed(state, at, owed_types=state[at].owed_types | {text})


_BRACKETS = dict.fromkeys(("LPAR", "LSQB", "TEMPLATE_HEAD", "RAW_HEAD"), _open)
_ENDS = dict.fromkeys(("RPAR", "RSQB", "TEMPLATE_TAIL", "RAW_TAIL"), _close)
_STOPS = dict.fromkeys(("SEMICOLON", "LINE", "MEMBER_LINE", "STOP_LINE", "HEAD_LINE"), _stop)


def _question(state: State, text: str) -> State:
    return (*state, Frame("choice")) if state[-1].kind in ("arrow", "choice") else state


def _else_colon(state: State, text: str) -> State:
    while state[-1].kind == "arrow":
        state = pop(state)
    return state[:-1] if state[-1].kind == "choice" else state


READERS: dict[str, Callable[[State, str], State]] = {
    **_BRACKETS,
    **_ENDS,
    **_STOPS,
    "bound": _bound,
    "arrow_parameter": _arrow_parameter,
    "function_name": _function_name,
    "class_name": _class_name,
    "own_name": _own_name,
    "label": _label,
    "private_key": _private_key,
    "PRIVATE_NAME": _private_name,
    "async_word": _flagged("async"),
    "generator": _flagged("generator"),
    "getter": _flagged("get"),
    "setter": _flagged("set"),
    "FUNCTION": _flagged(),
    "CLASS": _pushed("title"),
    "open_parameters": _open_parameters,
    "arrow": _arrow,
    "open_block": _open_block,
    "open_class": _open_class,
    "open_switch": _pushed("switch"),
    "LBRACE": _pushed("brackets"),
    "open_pattern": _pushed("pattern"),
    "open_list_pattern": _pushed("pattern"),
    "EQUAL": _equals,
    "field_equals": _field_equals,
    "static_equals": _static_equals,
    "RBRACE": _close_curly,
    "TEMPLATE_MIDDLE": _middle,
    "RAW_MIDDLE": _middle,
    "case_colon": _middle,
    "COMMA": _comma,
    "question": _question,
    "else_colon": _else_colon,
    "VAR": _pushed("var"),
    "LET": _pushed("let"),
    "CONST": _pushed("const"),
    "IF": _within_statement("if"),
    "TRY": _within_statement("try"),
    "ELSE": _else,
    "FOR": _for,
    "WHILE": _while,
    "DO": _pushed("do"),
    "CATCH": _catch,
    "FINALLY": _finally,
    "import_word": _pushed("import"),
    "export_word": _pushed("import"),
    "imported": _imported,
    "default_import": _default_import,
    "namespace_import": _import_alias,
    "import_alias": _import_alias,
    "foreign_name": _foreign_name,
    "module_text": _module_text,
    "exported": _exported,
}
