# ruff: noqa: E501 (templates of sentences stay on one line)
"""Small programs in C, Go, Java and Python.

A task (sum an array, print a greeting, sort, ...) is built once as a few statement objects; each language has
a renderer here.
"""

from __future__ import annotations

import re

from .common import Rng, capital
from .statements import (
    Array,
    Assign,
    Comment,
    Declare,
    For,
    If,
    Print,
    Return,
    Statement,
    Task,
    While,
)
from .tasks import task


def _braced(statements: list[Statement], language: str, level: int, tight: bool) -> str:
    """Statements of a brace language. ``tight`` is DOMINO's C subset: no blank between ``)`` and ``{``."""
    pad = "    " * level if language != "go" else "\t" * level
    lines: list[str] = []

    def block(head: str, body: list[Statement], opening: str = " {") -> str:
        return f"{pad}{head}{opening}\n{_braced(body, language, level + 1, tight)}{pad}}}"

    end = "" if language == "go" else ";"
    bare = language == "go"
    for item in statements:
        match item:
            case Declare(name, value):
                lines.append(f"{pad}{name} := {value}" if bare else f"{pad}int {name} = {value};")
            case Array(name, size):
                shape = {
                    "c": f"int {name}[{size}];",
                    "java": f"int[] {name} = new int[{size}];",
                    "go": f"{name} := make([]int, {size})",
                }[language]
                lines.append(pad + shape)
            case Assign(target, value):
                lines.append(f"{pad}{target} = {value}{end}")
            case For(var, start, stop, body):
                if bare:
                    lines.append(block(f"for {var} := {start}; {var} < {stop}; {var}++", body))
                elif tight:
                    lines.append(block(f"for(int {var} = {start}; {var} < {stop}; {var} = {var} + 1)", body, "{"))
                else:
                    step = f"{var} = {var} + 1" if language == "c" else f"{var}++"
                    lines.append(block(f"for (int {var} = {start}; {var} < {stop}; {step})", body))
            case While(condition, body):
                head = f"for {condition}" if bare else f"while({condition})" if tight else f"while ({condition})"
                lines.append(block(head, body, "{" if tight else " {"))
            case If(condition, then, otherwise):
                head = f"if {condition}" if bare else f"if({condition})" if tight else f"if ({condition})"
                text = block(head, then, "{" if tight else " {")
                if otherwise:
                    text += f"{'' if tight else ' '}else{'' if tight else ' '}{{\n"
                    text += f"{_braced(otherwise, language, level + 1, tight)}{pad}}}"
                lines.append(text)
            case Return(value):
                lines.append(f"{pad}return {value}{end}")
            case Print(text, value):
                if language == "c":
                    call = f'printf("{text}%d\\n", {value});' if value else f'printf("{text}\\n");'
                elif language == "java":
                    join = f'"{text}" + {value}' if text and value else value or f'"{text}"'
                    call = f"System.out.println({join});"
                else:
                    call = (
                        "fmt.Println("
                        + ", ".join(part for part in (f'"{text.rstrip()}"' if text else "", value) if part)
                        + ")"
                    )
                lines.append(pad + call)
            case Comment(text):
                lines.append(f"{pad}// {text}")
    return "".join(line + "\n" for line in lines)


def _python(statements: list[Statement], level: int) -> str:
    """Statements in Python."""
    pad = "    " * level
    text = ""
    for item in statements:
        match item:
            case Declare(name, value) | Assign(name, value):
                text += f"{pad}{name} = {_pythonic(value)}\n"
            case Array(name, size):
                text += f"{pad}{name} = [0] * {size}\n"
            case For(var, start, stop, body):
                bounds = stop if start == "0" else f"{start}, {stop}"
                text += f"{pad}for {var} in range({bounds}):\n{_python(body, level + 1)}"
            case While(condition, body):
                text += f"{pad}while {_pythonic(condition)}:\n{_python(body, level + 1)}"
            case If(condition, then, otherwise):
                text += f"{pad}if {_pythonic(condition)}:\n{_python(then, level + 1)}"
                if otherwise:
                    text += f"{pad}else:\n{_python(otherwise, level + 1)}"
            case Return(value):
                text += f"{pad}return {_pythonic(value)}\n"
            case Print(words_, value):
                parts = [part for part in (f'"{words_.rstrip()}"' if words_ else "", value) if part]
                text += f"{pad}print({', '.join(parts)})\n"
            case Comment(words_):
                text += f"{pad}# {words_}\n"
    return text


def _pythonic(expression: str) -> str:
    return expression.replace("/", "//").replace("&&", "and").replace("||", "or")


def render(task: Task, language: str, rng: Rng) -> str:
    """The whole program in ``language``: ``c``, ``go``, ``java`` or ``python``."""
    parts: list[str] = []
    tight = language == "c" and rng.random() < 0.35
    for function in task.functions:
        main = function.name == "main"
        if language == "python":
            body = _python(function.body, 1)
            if main and rng.random() < 0.5:
                parts.append(_python(function.body, 0))
            else:
                parts.append(
                    f"def {function.name}({', '.join(function.params)}):\n{body}" + ("\n\nmain()\n" if main else "")
                )
            continue
        if language == "c":
            head = f"int {function.name}({', '.join('int ' + name for name in function.params)})"
            body = _braced(function.body + ([Return("0")] if main else []), "c", 1, tight)
            parts.append(f"{head} {{\n{body}}}\n")
        elif language == "java":
            name = re.sub(r"_(\w)", lambda m: m[1].upper(), function.name)
            params = "String[] args" if main else ", ".join("int " + param for param in function.params)
            head = f"    public static {'void' if main else 'int'} {name}({params})"
            parts.append(f"{head} {{\n{_braced(function.body, 'java', 2, False)}    }}\n")
        else:
            name = re.sub(r"_(\w)", lambda m: m[1].upper(), function.name)
            params = f"{', '.join(function.params)} int" if function.params else ""
            head = f"func {name}({params}){'' if main else ' int'}"
            parts.append(f"{head} {{\n{_braced(function.body, 'go', 1, False)}}}\n")
    if language == "c":
        include = "" if tight or rng.random() < 0.6 else "#include <stdio.h>\n\n"
        return include + ("" if tight and len(parts) == 1 else "\n" * (not tight)).join(parts)
    if language == "python":
        return "\n\n".join(parts)
    text = "\n".join(parts)
    if language == "java":
        name = rng.choice(["Main", "Program", "Example", "Solution", "Demo"])
        return f"public class {name} {{\n{_camel(text, task)}}}\n"
    has_main = any(function.name == "main" for function in task.functions)
    package = "main" if has_main else rng.choice(["main", "util", "example"])
    imports = 'import "fmt"\n\n' if "fmt." in text else ""
    return f"package {package}\n\n{imports}{_camel(text, task)}"


def _camel(text: str, task: Task) -> str:
    """Function names with underscores, in camel case, also where they are called."""
    for function in task.functions:
        if "_" in function.name:
            text = text.replace(function.name, re.sub(r"_(\w)", lambda m: m[1].upper(), function.name))
    return text


LANGUAGES = {"c": "C", "go": "Go", "java": "Java", "python": "Python"}


def program(rng: Rng, language: str) -> str:
    """A prompt, a fenced (or bare) program."""
    job = task(rng)
    name = LANGUAGES[language]
    text = render(job, language, rng)
    whole = any(function.name == "main" for function in job.functions)
    noun = "program" if whole else rng.choice(["function", "function", "program"])
    gerund = job.description
    prompt = rng.choice(
        [
            f"A {name} {noun} that {gerund}:",
            f"A {name} {noun} that {gerund}:",
            f"The following is a {noun} that {gerund} in {name}:",
            f"Write a {name} {noun} that {gerund}.",
            f"A {name} main function that {gerund}:" if whole else f"A {name} {noun} that {gerund}:",
            "A C implementation of a simple bubble sort:"
            if "bubble" in gerund and language == "c"
            else f"A {name} {noun} that {gerund}:",
        ]
    )
    if rng.random() < 0.75:
        return f"{prompt}\n```{language}\n{text.rstrip()}\n```"
    if rng.random() < 0.4 and language != "python":
        return f"// {capital(gerund)}\n{text.rstrip()}"
    return f"{prompt}\n{text.rstrip()}"


def c_program(rng: Rng) -> str:
    """A C program."""
    return program(rng, "c")


def go_program(rng: Rng) -> str:
    """A Go program, or (one in four) a struct with a method."""
    if rng.random() < 0.25:
        return _go_struct(rng)
    return program(rng, "go")


def java_program(rng: Rng) -> str:
    """A Java program, or (one in three) a class with fields and getters."""
    if rng.random() < 0.35:
        return _java_class(rng)
    return program(rng, "java")


def python_program(rng: Rng) -> str:
    """A Python program, or (one in four) a small class."""
    if rng.random() < 0.25:
        return _python_class(rng)
    return program(rng, "python")


_FIELDS = [
    ("name", "str"),
    ("age", "int"),
    ("price", "int"),
    ("count", "int"),
    ("city", "str"),
    ("email", "str"),
    ("size", "int"),
    ("color", "str"),
    ("title", "str"),
    ("id", "int"),
]
_CLASSES = ["Person", "Product", "Order", "Book", "Account", "Item", "Student", "Car", "Point", "Customer"]


def _java_class(rng: Rng) -> str:
    name, fields = rng.choice(_CLASSES), rng.sample(_FIELDS, rng.randint(1, 3))
    kinds = {"str": "String", "int": "int"}
    text = f"public class {name} {{\n" + "".join(f"    private {kinds[kind]} {field};\n" for field, kind in fields)
    params = ", ".join(f"{kinds[kind]} {field}" for field, kind in fields)
    text += f"\n    public {name}({params}) {{\n" + "".join(f"        this.{f} = {f};\n" for f, _ in fields) + "    }\n"
    for field_, kind in fields:
        text += f"\n    public {kinds[kind]} get{capital(field_)}() {{\n        return {field_};\n    }}\n"
    listed = " and ".join(f for f, _ in fields)
    return f"A Java class {name} with {listed}:\n```java\n{text}}}\n```"


def _go_struct(rng: Rng) -> str:
    name, fields = rng.choice(_CLASSES), rng.sample(_FIELDS, rng.randint(1, 3))
    kinds = {"str": "string", "int": "int"}
    short = name[0].lower()
    text = f"type {name} struct {{\n" + "".join(f"\t{capital(field)} {kinds[kind]}\n" for field, kind in fields) + "}\n"
    for field_, kind in fields[:2]:
        text += f"\nfunc ({short} *{name}) Get{capital(field_)}() {kinds[kind]} {{\n\treturn {short}.{capital(field_)}\n}}\n"
    listed = " and ".join(f for f, _ in fields)
    return f"A Go struct {name} with {listed}:\n```go\npackage main\n\n{text}```"


def _python_class(rng: Rng) -> str:
    name, fields = rng.choice(_CLASSES), rng.sample(_FIELDS, rng.randint(1, 3))
    text = f"class {name}:\n    def __init__(self, {', '.join(f for f, _ in fields)}):\n"
    text += "".join(f"        self.{f} = {f}\n" for f, _ in fields)
    for field_, _ in fields[:2]:
        text += f"\n    def get_{field_}(self):\n        return self.{field_}\n"
    listed = " and ".join(f for f, _ in fields)
    return f"A Python class {name} with {listed}:\n```python\n{text}```"
