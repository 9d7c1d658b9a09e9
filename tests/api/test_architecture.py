"""The shape of the package: which module may import which, and what is public."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from function_lengths import cpp_functions, python_functions
from paths import ROOT

import derivable as dv
from derivable import errors

PACKAGE = Path(dv.__file__).parent

RANKS = {
    "errors": 0,
    "_kernel": 1,
    "support": 2,
    "encodings": 3,
    "limits": 3,
    "values": 3,
    "expr": 3,
    "meaning": 3,
    "rules": 4,
    "speculator": 4,
    "automata": 6,
    "lowering": 7,
    "frontends": 8,
    "recursion": 9,
    "combining": 10,
    "grammar": 11,
    "tools": 10,
    "vocabularies": 10,
    "vocabulary": 11,
    "references": 12,
    "index": 12,
    "warm": 12,
    "explanation": 12,
    "matcher": 13,
    "trees": 13,
    "canonical": 14,
    "matchers": 15,
    "batch": 16,
    "apply": 15,
    "constraint": 16,
    "mask_kernel": 15,
    "mask_table": 17,
    "compile": 17,
    "compiler": 18,
    "report": 18,
    "lint": 19,
    "testing": 19,
    "tiny": 17,
    "analysis": 18,
    "decoding": 18,
    "": 19,  # `derivable` itself, which gathers what is public
    "compat": 20,
    "integrations": 21,
    "cli": 22,
    "__main__": 23,
}
"""The rank of every module, or of the folder it lies in. A module may import modules of lower rank and neighbours in
its own folder: also within functions, and for type checking."""

SCHEMA_ROOMS = {"texts": 0, "reading": 1, "keywords": 2, "cases": 3, "emit": 4, "translate": 5, "references": 5, "": 6}
"""The floors of the front end for JSON Schema, by the rules of `RANKS`; "" is what gathers them."""

PUBLIC = [
    "MISSING",
    "ArgumentError",
    "ArtifactError",
    "ArtifactStore",
    "BitmaskShapeError",
    "Cache",
    "Compiler",
    "Constraint",
    "DerivableError",
    "Explanation",
    "Generation",
    "Grammar",
    "GrammarError",
    "GrammarSyntaxError",
    "Indentation",
    "JavaScriptNames",
    "Language",
    "Lexing",
    "LimitError",
    "Limits",
    "MaskTable",
    "Matcher",
    "MatcherError",
    "Meaning",
    "MeaningError",
    "ModelError",
    "Names",
    "Partial",
    "PythonNames",
    "PythonStyle",
    "RollbackError",
    "Speculator",
    "Stream",
    "Template",
    "Terminal",
    "TokenRejectedError",
    "Trace",
    "UnsupportedFeatureError",
    "Vocabulary",
    "VocabularyError",
    "advance",
    "allocate_bitmask",
    "apply_bitmask",
    "apply_mask_ids",
    "cache",
    "compile",
    "compile_async",
    "fill_bitmasks",
    "fill_mask_ids",
    "fill_tree",
    "generate",
    "sequence_bitmask",
    "warn_of_slow_masks",
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


DOTTED = {dotted(module): module for module in MODULES} | {"derivable._kernel": "_kernel"}


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


def anywhere(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """All imports, also those in functions and for type checking."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node


def imported(
    module: str, source: str, which: Callable[[list[ast.stmt]], Iterator[ast.Import | ast.ImportFrom]] = at_import
) -> set[str]:
    """The modules of the package that `module` imports, by default when it is imported itself, as `derivable.x.y`."""
    found: set[str] = set()
    for node in which(ast.parse(source).body):
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
            found.add(inner if inner in DOTTED else base)
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
    assert imported("a.py", "def f():\n    from .b import c\nimport derivable.d", anywhere) == {
        "derivable.b",
        "derivable.d",
    }
    assert imported("a/b.py", "from ..errors import e\nfrom .c import d") == {"derivable.errors", "derivable.a.c"}
    assert imported("a/__init__.py", "from .c import d") == {"derivable.a.c"}
    assert imported("cli/x.py", "from . import app, main\nfrom .. import rules") == {
        "derivable.cli",
        "derivable.cli.app",
        "derivable.rules",
    }


def test_every_module_has_a_rank() -> None:
    units = {unit(dotted(module)) for module in MODULES} | {"_kernel"}
    assert units == set(RANKS)
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert {name for name in folders - NO_PYTHON if name not in RANKS} == set()


@pytest.mark.parametrize("module", MODULES)
def test_no_import_goes_upwards(module: str) -> None:
    own = unit(dotted(module))
    source = (PACKAGE / module).read_text(encoding="utf-8")
    for name in imported(module, source, anywhere):
        other = unit(name)
        assert other in RANKS, f"{module} imports {name}, which has no rank"
        if other != own:
            assert RANKS[other] < RANKS[own], f"{module} (rank {RANKS[own]}) imports {name} (rank {RANKS[other]})"


def schema_room(dotted_name: str) -> str | None:
    """The room of JSON Schema's front end that a module is in; `None`: it is elsewhere."""
    _, found, inner = f"{dotted_name}.".partition("derivable.frontends.json_schema.")
    return inner.split(".")[0] if found else None


@pytest.mark.parametrize("module", [module for module in MODULES if module.startswith("frontends/json_schema/")])
def test_no_import_goes_upwards_in_json_schema(module: str) -> None:
    own = schema_room(dotted(module))
    assert own is not None
    for name in imported(module, (PACKAGE / module).read_text(encoding="utf-8"), anywhere):
        other = schema_room(name)
        if other is not None and other != own:
            assert SCHEMA_ROOMS[other] < SCHEMA_ROOMS[own], f"{module} imports {name}, which is not below it"


def circles() -> list[list[str]]:
    """The modules that import one another, at once or later, in groups of two and more."""
    imports = {}
    for name in DOTTED.keys() - {"derivable._kernel"}:
        source = (PACKAGE / DOTTED[name]).read_text(encoding="utf-8")
        imports[name] = imported(DOTTED[name], source, anywhere) - {name, "derivable._kernel"}
    reached: dict[str, set[str]] = {}
    for name in imports:
        reached[name], work = set(), [name]
        while work:
            for other in imports[work.pop()]:
                if other not in reached[name]:
                    reached[name].add(other)
                    work.append(other)
    groups = {frozenset({name, *(o for o in found if name in reached[o])}) for name, found in reached.items()}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def test_no_modules_import_one_another() -> None:
    """All imports count, also those in functions and for type checking."""
    assert circles() == []


def test_grammar_imports_its_front_ends_only_when_called() -> None:
    trees = [ast.parse((PACKAGE / file).read_text(encoding="utf-8")) for file in ("grammar.py", "combining.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    everywhere = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    first = [node for tree in trees for node in at_import(tree.body)]
    at_once = {node.module or "" for node in first if isinstance(node, ast.ImportFrom)}
    front_ends = {name for name in everywhere if name.startswith("frontends")}
    names = ("regex", "gbnf", "ebnf", "dialects", "choices", "with_names", "combine", "free_text", "structural_tag")
    assert {f"frontends.{name}" for name in names} <= front_ends
    assert not front_ends & at_once


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_docstring(module: str) -> None:
    assert ast.get_docstring(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))), module


# How long files and functions are


SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("src", "tests", "benchmarks", "tools", "training")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".cpp", ".hpp")
)
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 500, 80
LONGER = {
    "training/generators/reasoning.py problem": 87,
    "training/generators/tasks.py task": 264,
    "training/train.py main": 104,
}
"""Functions over the cap, with the lines they have: none may grow, and what is split leaves the list."""


def functions(file: str) -> Iterator[tuple[str, int]]:
    source = (ROOT / file).read_text(encoding="utf-8")
    yield from python_functions(source) if file.endswith(".py") else cpp_functions(source)


@pytest.mark.parametrize("file", SOURCES)
def test_files_and_functions_are_short(file: str) -> None:
    assert (ROOT / file).read_text(encoding="utf-8").count("\n") <= MOST_LINES
    for name, lines in functions(file):
        assert lines <= LONGER.get(f"{file} {name}", MOST_LINES_OF_A_FUNCTION), name


def test_no_function_is_said_to_be_longer_than_it_is() -> None:
    files = {key.split()[0] for key in LONGER}
    found = {f"{file} {name}": lines for file in files for name, lines in functions(file)}
    assert {key: found.get(key) for key in LONGER} == LONGER


def test_the_reader_of_functions() -> None:
    python = 'def a():\n    """One\n    two."""\n    def b():\n        return 1\n    return b\n'
    assert list(python_functions(python)) == [("a", 4), ("b", 2)]
    cpp = """
#define OPEN {
namespace a {  // {
struct S : public T<int> {
    S() : x_{'{'}, y(1'000) {}
    bool operator==(const S& o) const {
        return o.x_ == x_;
    }
    int x_ = 0, y = 1;
};
static const int table[] = {1, 2};
template <typename T>
T long_one(T t,
           int n) {
    auto inner = [&](int i) {
        if (i) { return "}"; }
        return "\\"{";
    };
    struct Local {
        int f() { return 1; }
    };
    return t;
}
}  // namespace a
"""
    assert list(cpp_functions(cpp)) == [("S", 1), ("operator==", 3), ("long_one", 12)]


# What is public


def test_the_public_names() -> None:
    assert dv.__all__ == PUBLIC
    assert [name for name in PUBLIC if not hasattr(dv, name)] == []


def test_the_reference_has_every_public_name() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(
        re.findall(r"^\.\. (?:autoclass|autofunction|autodata|py:data):: derivable\.(\w+)$", page, re.MULTILINE)
    )
    assert listed | set(errors.__all__) == set(PUBLIC)  # errors: by their module


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "Lexing"])  # a `Literal` can hold none
def test_every_public_name_has_a_docstring(name: str) -> None:
    value = getattr(dv, name)
    assert value.__doc__ and not value.__doc__.startswith(f"{name}("), name  # not the one a dataclass makes up
    if inspect.isclass(value):
        for attribute, member in vars(value).items():
            if not attribute.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
                assert inspect.getdoc(getattr(value, attribute)), f"{name}.{attribute}"


def test_editors_show_what_the_kernel_says_of_matchers() -> None:
    """The stub repeats the docstrings of the compiled class, which editors cannot read, word for word."""
    tree = ast.parse((PACKAGE / "_kernel.pyi").read_text(encoding="utf-8"))
    stub = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Matcher")
    shown = {node.name: ast.get_docstring(node) or "" for node in stub.body if isinstance(node, ast.FunctionDef)}
    for name, text in shown.items():
        if name != "__init__":
            told = re.sub(rf"^{name}\(.*\n\n", "", getattr(dv._kernel.Matcher, name).__doc__)
            assert text.split() == told.split(), name
    assert shown.keys() == {name for name in vars(dv._kernel.Matcher) if not name.startswith("_")} | {"__init__"}


def test_the_lexing_policies_are_documented() -> None:
    tree = ast.parse((PACKAGE / "rules.py").read_text(encoding="utf-8")).body
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


def test_importing_the_library_does_not_import_what_a_first_mask_does_not_need() -> None:
    later = ("numpy", "logging", "uuid", "concurrent.futures", "asyncio")
    program = f"import sys, derivable; print([name for name in {later} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
