"""How many lines the functions of a file have, in Python and in C++."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

__all__ = ["cpp_functions", "python_functions"]


def python_functions(source: str) -> Iterator[tuple[str, int]]:
    """Every function of a module with its lines, without those of its docstring; a function within counts in both."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node, clean=False) is not None
            described = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1 - described


_SKIPPED = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
    r"|^#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
"""Comments, literals and lines of the preprocessor: what may hold a brace that opens nothing. A `'` between digits only
groups them."""

_SCOPE = re.compile(r"(template\s*<.*>\s*)?(inline\s+)?(namespace|class|struct|enum|union|extern)\b", re.DOTALL)


def cpp_functions(source: str) -> Iterator[tuple[str, int]]:
    """Every function of a C++ file with its lines, from its signature to its closing brace.

    Braces are counted, and one is a function's where it stands in namespaces and classes alone, behind parentheses.
    Lambdas and local classes count as lines of the function that holds them.
    """
    code = _SKIPPED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)
    opened: list[tuple[str, int, str]] = []  # of each brace: what it opens, where that begins, its head
    begin = 0  # of the statement that is being read
    for at, character in enumerate(code):
        if character == "{":
            head = code[begin:at].strip()
            start = begin + len(code[begin:at]) - len(code[begin:at].lstrip())
            within = all(kind == "scope" for kind, _, _ in opened)
            kind = "inner"
            if within and _SCOPE.match(head) and not head.endswith(")"):
                kind = "scope"
            elif within and code[at - 1].isspace() and re.search(r"\)[^=]*$", head):
                kind = "function"  # `member{` of an initializer list has no space
            opened.append((kind, start, head))
            begin = at + 1
        elif character == "}":
            kind, start, head = opened.pop()
            if kind == "function":
                names = re.findall(r"([\w:~]+|operator\S+)\s*\(", head)
                yield (names or ["?"])[0], source.count("\n", start, at) + 1
            begin = start if kind == "inner" else at + 1
        elif character == ";":
            begin = at + 1
    assert not opened, opened
