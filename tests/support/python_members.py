"""What docs/python_names.md says of attributes and keywords, asked of `ast` when a program is complete."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

__all__ = ["wrong_attributes", "wrong_keywords"]

Function = ast.FunctionDef | ast.AsyncFunctionDef
_OF_OBJECT = set(dir(object)) | {"__dict__", "__module__", "__weakref__", "__annotations__"}
_KEEP_SELF = {"property", "classmethod", "cached_property", "abstractmethod", "override"}
_KEEP_CLASS = {"dataclass", "dataclasses", "total_ordering", "final"}
_BY_TEXT = {"setattr", "vars", "exec"}


def wrong_attributes(text: str, later: bool = True) -> list[str]:
    """Attributes that a method reads and its class does not have where it reads them, or (`later`) in all the text."""
    tree = ast.parse(text)
    classes = [_Class(node) for node in _in_block(tree.body) if isinstance(node, ast.ClassDef)]
    bound = Counter(name for name, _ in _bound(tree.body))
    for each in classes:
        each.inherit([other for other in classes if bound[other.node.name] == 1 and other.node in tree.body])
    anywhere = {node.attr for node in ast.walk(tree) if _is_set(node)}
    found = []
    for each in classes:
        heirs = [other for other in classes if each in other.lineage()]
        is_open = bound[each.node.name] > 1 or not all(other.is_checked for other in heirs)
        if not each.is_checked or (later and (is_open or _BY_TEXT & _names(tree))):
            continue
        for node, has_type in each.reads:
            there = _OF_OBJECT | (set(dir(type)) if has_type else set())
            there |= {name for base in each.lineage()[1:] for name, _ in base.has}
            if later:
                there |= anywhere | {name for other in (each, *heirs) for name, _ in other.has}
            else:
                there |= {name for name, at in each.has if at <= _begin(node)}
            if node.attr not in there:
                found.append(f"{each.node.name}: {node.attr} in line {node.lineno}")
    return found


class _Class:
    """A class of the module.

    Attributes:
        has: attributes, and where they are there.
        reads: of methods, behind their first parameter, and whether that is the class.
        is_checked: nothing speaks against it.
    """

    def __init__(self, node: ast.ClassDef) -> None:
        self.node = node
        self.bases: list[_Class] = []
        self.is_checked = not node.keywords and all(_first(each) in _KEEP_CLASS for each in node.decorator_list)
        self.is_checked &= "mixin" not in node.name.lower()
        self.has = list(_bound(node.body))
        self.reads: list[tuple[ast.Attribute, bool]] = []
        names = {name for name, _ in self.has}
        self.is_checked &= not names & {"__getattr__", "__getattribute__"}
        self._augmented: set[ast.AST] = set()
        for statement in _statements(node):
            if isinstance(statement, ast.AugAssign):
                self._augmented.add(statement.target)
            # Each part of a `with` is done when the next one begins.
            items = statement.items if isinstance(statement, ast.With | ast.AsyncWith) else []
            for part in [item.optional_vars for item in items] or [statement]:
                for inner in [] if part is None else _own_parts(part):
                    if isinstance(inner, ast.Attribute) and _is_set(inner) and inner not in self._augmented:
                        self.has.append((inner.attr, _end(part)))
        for method in _in_block(node.body):
            if isinstance(method, Function):
                self._look_into(method, {_first(each) for each in method.decorator_list}, names)

    def _look_into(self, method: Function, decorators: set[str], names: set[str]) -> None:
        # The whole class is left where something sets attributes by their names: more than the masks leave.
        self.is_checked &= not (_BY_TEXT | {"object"}) & _names(method)
        parameters = [each.arg for each in (*method.args.posonlyargs, *method.args.args)]
        if not parameters or not decorators <= _KEEP_SELF | names:
            return
        bound = {name for name, _ in _bound(method.body, nested=True)}
        for node in ast.walk(method):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == parameters[0]:
                self.is_checked &= node.attr != "__dict__"
                if parameters[0] not in bound and (not _is_set(node) or node in self._augmented):
                    self.reads.append((node, "classmethod" in decorators))

    def inherit(self, known: list[_Class]) -> None:
        for base in self.node.bases:
            named = [
                each
                for each in known
                if isinstance(base, ast.Name) and base.id == each.node.name and _end(each.node) <= _begin(self.node)
            ]
            self.bases += named
            if not named and not (isinstance(base, ast.Name) and base.id == "object"):
                self.is_checked = False
        self.is_checked &= all(each.is_checked for each in self.bases)

    def lineage(self) -> list[_Class]:
        """It, and what it inherits from."""
        return [self, *(each for base in self.bases for each in base.lineage())]


def wrong_keywords(text: str) -> list[str]:
    """Keywords that a function or class of the module does not have, where it is called in the module's own lines."""
    tree = ast.parse(text)
    bound = Counter(name for name, _ in _bound(tree.body, nested=True))
    takes: dict[str, tuple[tuple[int, int], set[str]]] = {}
    for node in tree.body:
        made = _initializer(node) if isinstance(node, ast.ClassDef) else node
        if not isinstance(made, Function) or bound[node.name] != 1 or node.decorator_list or made.decorator_list:  # type: ignore[attr-defined]
            continue
        if made.args.kwarg is None:
            own = [each.arg for each in (*made.args.posonlyargs, *made.args.args)][:1] if made is not node else []
            names = {each.arg for each in (*made.args.args, *made.args.kwonlyargs)} - set(own)
            takes[node.name] = _end(node), names  # type: ignore[attr-defined]
    found = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in takes:
            end, names = takes[call.func.id]
            wrong = [each.arg for each in call.keywords if each.arg is not None and each.arg not in names]
            found += [f"{call.func.id}: {each} in line {call.lineno}" for each in wrong if end <= _begin(call)]
    return found


def _initializer(node: ast.ClassDef) -> ast.stmt | None:
    names = [name for name, _ in _bound(node.body)]
    if any(not isinstance(each, ast.Name) or each.id != "object" for each in node.bases) or node.keywords:
        return None
    if names.count("__init__") != 1 or "__new__" in names:
        return None
    return next((each for each in node.body if isinstance(each, Function) and each.name == "__init__"), None)


def _begin(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Behind a statement, or behind the head of one that has a block."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and not isinstance(node, ast.ClassDef | Function):
        return _begin(body[0])
    assert node.end_lineno is not None and node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def _first(decorator: ast.expr) -> str:
    """The name that a decorator begins with."""
    while not isinstance(decorator, ast.Name):
        parts = list(ast.iter_child_nodes(decorator))
        if not parts or not isinstance(parts[0], ast.expr):
            return ""
        decorator = parts[0]
    return decorator.id


def _is_set(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    return (each for each in ast.walk(node) if isinstance(each, ast.stmt) and each is not node)


def _own_parts(statement: ast.expr | ast.stmt) -> Iterator[ast.AST]:
    """What is in a statement, and in none within it."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        yield node
        todo += [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.stmt)]


def _in_block(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a scope, also those in blocks."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.ClassDef | Function):
            continue
        for inner in ("body", "orelse", "finalbody"):
            yield from _in_block(getattr(statement, inner, []))
        for part in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
            yield from _in_block(part.body)


def _bound(body: list[ast.stmt], nested: bool = False) -> Iterator[tuple[str, tuple[int, int]]]:
    """Names that are bound in a scope (`nested`: or within it), and where."""
    for statement in body if not nested else [each for one in body for each in (one, *_statements(one))]:
        for each in [statement] if nested else _in_block([statement]):
            if isinstance(each, ast.ClassDef):
                yield each.name, _end(each)
            elif isinstance(each, Function):
                yield each.name, _begin(each.body[0])
                if nested:
                    yield from (
                        (argument.arg, _begin(each))
                        for argument in ast.walk(each.args)
                        if isinstance(argument, ast.arg)
                    )
                continue
            for node in _own_parts(each):
                name = (
                    getattr(node, "name", None)
                    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar)
                    else None
                )
                if isinstance(node, ast.alias):
                    name = (node.asname or node.name).partition(".")[0]
                if isinstance(node, ast.MatchMapping):
                    name = node.rest
                if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                    name = node.id
                if isinstance(name, str):
                    yield name, _end(each)
