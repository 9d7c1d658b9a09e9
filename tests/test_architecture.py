"""The shape of the package: which module may import which, and what is public."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import derivable as dv
from derivable import errors

PACKAGE = Path(dv.__file__).parent

RANKS = {
    "arguments": 1,
    "caches": 2,
    "collector": 2,
    "errors": 0,
    "limits": 2,
    "expr": 3,
    "grammar": 4,
    "show": 4,
    "spelled": 5,
    "words": 4,
    "_kernel": 5,
    "endings": 5,
    "automata": 6,
    "indentation": 6,
    "process": 6,
    "counted": 6,
    "leaves": 7,
    "lowering": 8,
    "frontends": 9,
    "tools": 10,
    "vocabularies": 10,
    "vocabulary": 11,
    "index": 12,
    "matcher": 13,
    "compile": 14,
    "tiny": 15,
    "decoding": 16,
    "": 17,  # `derivable` itself, which gathers what is public
    "integrations": 18,
    "demo": 18,
    "cli": 19,
}
"""The rank of every module, or of the folder it lies in. A module may import modules of lower rank and neighbours in
its own folder; what would go upwards is imported inside a function, or for type checking only."""

PUBLIC = [
    "ArgumentError",
    "ArtifactError",
    "BitmaskShapeError",
    "Cache",
    "Constraint",
    "DerivableError",
    "Explanation",
    "Grammar",
    "GrammarError",
    "GrammarSyntaxError",
    "Indentation",
    "Lexing",
    "LimitError",
    "Limits",
    "Matcher",
    "MatcherError",
    "RollbackError",
    "Terminal",
    "TokenRejectedError",
    "UnsupportedFeatureError",
    "Vocabulary",
    "VocabularyError",
    "allocate_bitmask",
    "apply_bitmask",
    "cache",
    "compile",
    "fill_bitmasks",
]
"""What users may rely on. A name added or removed here is a change of the public interface."""

NO_PYTHON = {"examples", "library", "__pycache__"}
"""Folders of data, without modules to rank."""

MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def unit(dotted: str) -> str:
    """The ranked name of a module given as `derivable.x.y`."""
    return [*dotted.split("."), ""][1]


def dotted(module: str) -> str:
    """`frontends/gbnf.py` as `derivable.frontends.gbnf`."""
    return ".".join(["derivable", *module.removesuffix(".py").split("/")]).removesuffix(".__init__")


def at_import(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when the module is imported: not those in functions or under `if TYPE_CHECKING`."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from at_import(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for name in ("body", "orelse", "finalbody"):
                yield from at_import(getattr(node, name, []))
            for handler in getattr(node, "handlers", []):
                yield from at_import(handler.body)


def imported(module: str, source: str) -> set[str]:
    """The modules of the package that `module` imports when it is imported itself, as `derivable.x.y`."""
    found: set[str] = set()
    for node in at_import(ast.parse(source).body):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
            continue
        base = node.module or ""
        if node.level:
            package = dotted(module).split(".")
            package = package if module.endswith("__init__.py") else package[:-1]
            above = package[: len(package) - node.level + 1]
            base = ".".join([*above, *([node.module] if node.module else [])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            found.add(inner if unit(inner) in RANKS and base == "derivable" and unit(inner) else base)
    return {name for name in found if name.split(".")[0] == "derivable"}


def test_the_reader_of_imports() -> None:
    source = (
        "import os, derivable.tiny\nfrom . import _kernel, Matcher\nfrom .frontends.gbnf import x\n"
        "if TYPE_CHECKING:\n    from .cli import y\nelse:\n    from .expr import z\n"
        "try:\n    from derivable.limits import Limits\nexcept ImportError:\n    from .errors import q\n"
        "class A:\n    from .matcher import m\n    def f(self):\n        from .compile import c\n"
    )
    assert imported("grammar.py", source) == {
        "derivable",
        "derivable._kernel",
        "derivable.errors",
        "derivable.expr",
        "derivable.frontends.gbnf",
        "derivable.limits",
        "derivable.matcher",
        "derivable.tiny",
    }
    assert imported("a/b.py", "from ..errors import e\nfrom .c import d") == {"derivable.errors", "derivable.a.c"}
    assert imported("a/__init__.py", "from .c import d") == {"derivable.a.c"}


def test_every_module_has_a_rank() -> None:
    units = {unit(dotted(module)) for module in MODULES} | {"_kernel"}
    assert units == set(RANKS)
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert {name for name in folders - NO_PYTHON if name not in RANKS} == set()


@pytest.mark.parametrize("module", MODULES)
def test_no_import_goes_upwards(module: str) -> None:
    own = unit(dotted(module))
    for name in imported(module, (PACKAGE / module).read_text(encoding="utf-8")):
        other = unit(name)
        assert other in RANKS, f"{module} imports {name}, which has no rank"
        if other != own:
            assert RANKS[other] < RANKS[own], f"{module} (rank {RANKS[own]}) imports {name} (rank {RANKS[other]})"


def test_grammar_imports_its_front_ends_only_when_called() -> None:
    tree = ast.parse((PACKAGE / "grammar.py").read_text(encoding="utf-8"))
    everywhere = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    at_once = {node.module or "" for node in at_import(tree.body) if isinstance(node, ast.ImportFrom)}
    front_ends = {name for name in everywhere if name.startswith("frontends")}
    names = ("regex", "gbnf", "ebnf", "lark", "choices", "builtin", "combine", "free_text", "structural_tag")
    assert {f"frontends.{name}" for name in names} <= front_ends
    assert not front_ends & at_once


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_docstring(module: str) -> None:
    assert ast.get_docstring(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))), module


# What is public


def test_the_public_names() -> None:
    assert dv.__all__ == PUBLIC
    assert [name for name in PUBLIC if not hasattr(dv, name)] == []


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "Lexing"])  # a `Literal` can hold none
def test_every_public_name_has_a_docstring(name: str) -> None:
    value = getattr(dv, name)
    assert value.__doc__ and not value.__doc__.startswith(f"{name}("), name  # not the one a dataclass makes up
    if inspect.isclass(value):
        for attribute, member in vars(value).items():
            if not attribute.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
                assert inspect.getdoc(getattr(value, attribute)), f"{name}.{attribute}"


def test_the_lexing_policies_are_documented() -> None:
    tree = ast.parse((PACKAGE / "grammar.py").read_text(encoding="utf-8")).body
    at = next(i for i, node in enumerate(tree) if ast.unparse(node).startswith("Lexing = "))
    text = tree[at + 1]
    assert isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    assert all(f"`{policy}`" in text.value.value for policy in ("scannerless", "longest", "basic"))


def drawn_tree() -> dict[str, str | None]:
    """Error class to parent, as the docstring of `errors` draws it."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    drawing = (errors.__doc__ or "").split("```")[1]
    for line in drawing.strip().splitlines():
        name = line.lstrip("│├└─ ").split()[0]
        depth = (len(line) - len(line.lstrip("│├└─ "))) // 4
        path[depth:] = [name]
        parents[name] = path[depth - 1] if depth else None
    return parents


def test_the_drawing_of_the_error_tree_is_the_tree() -> None:
    classes = {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, BaseException) and not name.startswith("_")
    }
    bases = {name: None if name == "DerivableError" else value.__bases__[0].__name__ for name, value in classes.items()}
    assert drawn_tree() == bases
    assert sorted(errors.__all__) == sorted(classes)
    assert set(classes) <= set(PUBLIC)
    assert errors.DerivableError.__bases__ == (Exception,)
