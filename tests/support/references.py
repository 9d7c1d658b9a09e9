"""The real implementations that the built-in grammars are measured against: texts in, "is this syntax?" out.

Each entry of `REFERENCES` makes a function over a list of texts, or skips the test where the implementation is not
installed. None of them looks further than syntax, except gcc, which has no such mode.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import json
import re
import shutil
import sqlite3
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

__all__ = ["REFERENCES", "TYPESCRIPT", "Reference"]

Reference = Callable[[list[bytes]], list[bool]]

_JAVA = """
import java.nio.charset.StandardCharsets; import java.nio.file.*; import java.util.*; import javax.tools.*;
public class Check {
    // What javac's parser refuses beyond a context-free grammar: `docs/library.md`.
    static final Set<String> BEYOND = Set.of("repeated.modifier", "enum.constant.not.expected",
        "invalid.meth.decl.ret.type.req", "fp.number.too.large", "fp.number.too.small");
    static boolean counts(Diagnostic<?> d) {
        return d.getKind() == Diagnostic.Kind.ERROR && !BEYOND.contains(d.getCode().replace("compiler.err.", ""));
    }
    public static void main(String[] names) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        for (String name : Files.readAllLines(Path.of(names[0]))) {
            String text = Files.readString(Path.of(name), StandardCharsets.UTF_8);
            boolean[] bad = {false};
            SimpleJavaFileObject file = new SimpleJavaFileObject(Path.of(name).toUri(), JavaFileObject.Kind.SOURCE) {
                public CharSequence getCharContent(boolean ignore) { return text; }
            };
            var task = (com.sun.source.util.JavacTask) compiler.getTask(null, null,
                d -> {
                    if (counts(d)) System.err.println(Path.of(name).getFileName() + " " + d.getCode());
                    bad[0] |= counts(d);
                }, null, null, List.of(file));
            // Annotations and modifiers with nothing behind them are dropped by javac without a word.
            for (var unit : task.parse())
                bad[0] |= unit.getPackage() == null && unit.getImports().isEmpty() && unit.getTypeDecls().isEmpty()
                    && !text.replaceAll("(?s)/\\\\*.*?\\\\*/|//[^\\n\\r]*|[;\\\\s]", "").isEmpty();
            System.out.println(bad[0] ? "bad" : "ok");
        }
    }
}
"""
_NODE = """
const vm = require("vm");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const parses = (make) => {
    try { make(); return true; } catch (e) { if (e instanceof SyntaxError) return false; throw e; }
};
console.log(JSON.stringify(texts.map(
    (t) => parses(() => new vm.Script(t)) || parses(() => new vm.SourceTextModule(t, {identifier: "text"})))));
"""
# Bokeh's wheel has the TypeScript compiler in a bundle of scripts. Its function is found by a name that it exports, and
# returned instead of the call that ends the bundle. 3 and 99 are TypeScript, and the newest of its versions.
TYPESCRIPT = r"""
const fs = require("fs");
const bundle = fs.readFileSync(process.argv[1], "utf8").split("/*! Bundled license")[0].trimEnd();
const before = bundle.slice(0, bundle.indexOf("createSourceFile:()=>"));
const name = [...before.matchAll(/var ([\w$]+)=[\w$]+\(\(/g)].pop()[1];
const body = bundle.replace(/[\w$]+\(\);$/, () => `return ${name}()`);
const own = Object.create(process, {argv: {value: ["node", ""]}});
const ts = new Function("require", "module", "exports", "process", body)(require, {}, {}, own);
"""
_IS_TYPESCRIPT = (
    TYPESCRIPT
    + r"""
const texts = JSON.parse(fs.readFileSync(0, "utf8"));
const isSyntax = (t) => ts.createSourceFile("text.ts", t, 99, false, 3).parseDiagnostics.length === 0;
console.log(JSON.stringify(texts.map(isSyntax)));
"""
)


def _tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@contextmanager
def _files(texts: list[bytes], suffix: str) -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"t{i}{suffix}" for i in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_bytes(text)
        yield [str(path) for path in paths]


def _each(*command: str) -> Reference:
    """A command that reads one text from its input and succeeds if it is syntax."""

    def run(text: bytes) -> bool:
        return subprocess.run(command, input=text, capture_output=True, timeout=60).returncode == 0

    def check(texts: list[bytes]) -> list[bool]:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(run, texts))

    return check


def _json() -> Reference:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    def check(text: bytes) -> bool:
        try:
            json.loads(text.decode("utf-8"), parse_constant=refuse)
        except ValueError:
            return False
        return True

    return lambda texts: [check(text) for text in texts]


def _xml() -> Reference:
    return _each(_tool("xmllint"), "--noout", "--nonet", "--huge", "-")


def _html() -> Reference:
    """A page, or what stands in the body of one."""
    html5lib = pytest.importorskip("html5lib", reason="html5lib is not installed")

    def check(text: bytes) -> bool:
        parser, read = html5lib.HTMLParser(), text.decode()
        (
            parser.parse
            if re.match(r"\s*(?:<!--.*?-->\s*)*<(?:!DOCTYPE|html)", read, re.I | re.S)
            else parser.parseFragment
        )(read)
        return not parser.errors

    return lambda texts: [check(text) for text in texts]


def _python() -> Reference:
    def check(text: bytes) -> bool:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(text)
        except (SyntaxError, ValueError):
            return False
        return True

    return lambda texts: [check(text) for text in texts]


class _Anything(dict):
    """A table in which nothing is defined yet, whatever was."""

    def __contains__(self, key: object) -> bool:
        return False


def _toml() -> Reference:
    """`tomllib`, but for what a document may not say twice."""
    tomllib = pytest.importorskip("tomllib", reason="this Python has no tomllib")
    parser = tomllib._parser

    def check(text: bytes) -> bool:
        with (
            patch.object(parser.Flags, "is_", lambda *_: False),
            patch.object(parser.NestedDict, "get_or_create_nest", lambda *_, **__: _Anything()),
            patch.object(parser.NestedDict, "append_nest_to_list", lambda *_: None),
        ):
            try:
                tomllib.loads(text.decode())
            except ValueError:
                return False
        return True

    return lambda texts: [check(text) for text in texts]


def _yaml() -> Reference:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

    def check(text: bytes) -> bool:
        try:
            yaml.safe_load(text.decode())
        except (yaml.YAMLError, ValueError):
            return False
        return True

    return lambda texts: [check(text) for text in texts]


def _java() -> Reference:
    java = _tool("java")
    _tool("javac")

    def check(texts: list[bytes]) -> list[bool]:
        with _files(texts, ".java") as names, _files([_JAVA.encode(), "\n".join(names).encode()], ".java") as own:
            out = subprocess.run([java, *own], capture_output=True, text=True, check=True, timeout=600)
        return [line == "ok" for line in out.stdout.splitlines()]

    return check


def _go() -> Reference:
    gofmt = _tool("gofmt")

    def check(texts: list[bytes]) -> list[bool]:
        with _files(texts, ".go") as names:
            out = subprocess.run([gofmt, "-e", "-l", *names], capture_output=True, text=True, timeout=600)
        bad = set(re.findall(r"/t(\d+)\.go:\d+", out.stderr))
        return [str(i) not in bad for i in range(len(texts))]

    return check


def _c() -> Reference:
    return _each(_tool("gcc"), "-std=c11", "-pedantic", "-w", "-fsyntax-only", "-x", "c", "-")


def _sql() -> Reference:
    if sqlite3.sqlite_version_info < (3, 39):
        pytest.skip("SQLite is older than 3.39")
    syntax = re.compile("syntax error|unrecognized token|incomplete input|join type|clause is required")

    def check(text: bytes) -> bool:
        connection = sqlite3.connect(":memory:")
        # ATTACH and VACUUM INTO would leave files behind; what is refused here has been parsed already.
        connection.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK
        )
        try:
            return all(is_syntax(connection, statement) for statement in statements(text.decode("utf-8")))
        except UnicodeDecodeError:
            return False
        finally:
            connection.close()

    def is_syntax(connection: sqlite3.Connection, statement: str) -> bool:
        try:
            connection.executescript(statement)
        except (sqlite3.Error, sqlite3.Warning) as error:
            return not syntax.search(str(error))
        return True

    def statements(text: str) -> Iterator[str]:
        """One by one: behind one that fails (there are no tables) SQLite reads no further."""
        begin = 0
        for end in (i + 1 for i, char in enumerate(text) if char == ";"):
            if sqlite3.complete_statement(text[begin:end]):
                yield text[begin:end]
                begin = end
        yield text[begin:]

    return lambda texts: [check(text) for text in texts]


def _node(*arguments: str) -> Reference:
    node = _tool("node")

    def check(texts: list[bytes]) -> list[bool]:
        data = json.dumps([text.decode("utf-8", "replace") for text in texts])
        out = subprocess.run([node, *arguments], input=data, capture_output=True, text=True, check=True, timeout=600)
        return list(json.loads(out.stdout))

    return check


def _javascript() -> Reference:
    return _node("--experimental-vm-modules", "-e", _NODE)


def _typescript() -> Reference:
    bokeh = importlib.util.find_spec("bokeh")
    if bokeh is None or bokeh.origin is None:
        pytest.skip("bokeh, which brings the TypeScript compiler, is not installed")
    if not importlib.metadata.version("bokeh").startswith("3.9."):
        pytest.skip("bokeh is not the version that has TypeScript 5.9")
    return _node("-e", _IS_TYPESCRIPT, str(Path(bokeh.origin).parent / "server" / "static" / "js" / "compiler.js"))


def _postgresql() -> Reference:
    parser = pytest.importorskip("pglast.parser", reason="pglast is not installed")
    if parser.get_postgresql_version()[0] != 18:
        pytest.skip("pglast is not of PostgreSQL 18")

    def check(text: bytes) -> bool:
        if b"\x00" in text:  # where the parser, written in C, would stop reading
            return False
        try:
            parser.parse_sql_json(text.decode("utf-8"))
        except (UnicodeDecodeError, parser.ParseError):
            return False
        return True

    return lambda texts: [check(text) for text in texts]


REFERENCES: dict[str, Callable[[], Reference]] = {
    "json": _json,
    "xml": _xml,
    "html": _html,
    "python": _python,
    "toml": _toml,
    "yaml": _yaml,
    "java": _java,
    "go": _go,
    "c": _c,
    "sql": _sql,
    "postgresql": _postgresql,
    "javascript": _javascript,
    "typescript": _typescript,
}
