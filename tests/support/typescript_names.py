"""What the TypeScript compiler, which comes with Bokeh, and V8 say of the names in a text."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from references import TYPESCRIPT

__all__ = ["name_errors", "syntax_errors"]

# Of names that are not there, that are there twice, or that are used before they are declared; of jumps and labels, and
# of what is assigned to a constant. "Only a type" and "only a value" are among them.
_CODES = [
    *(2304, 2552, 2503, 2580, 2581, 2582, 2583, 2584, 2591, 2592, 2662, 2663, 2693, 2749, 18004, 2728),
    *(2300, 2451, 2492, 2481, 2440, 2395, 2567, 2813, 2814, 2432),
    *(2448, 2449, 2450, 2372, 2373, 2506),
    *(2588, 2632, 2539, 2628, 2702, 1225, 1361, 1362),
    *(1104, 1105, 1107, 1108, 1114, 1115, 1116, 1308, 1163),
    *(1111, 2339, 18016),
]

# All texts are modules of one program, so the libraries are read once.
_CHECK = (
    TYPESCRIPT
    + r"""
const {texts, libraries, codes} = JSON.parse(fs.readFileSync(0, "utf8"));
const lib = process.argv[2];
const files = new Map(texts.map((text, i) => [`/t${i}.ts`, text]));
const all = [...files.keys()];
files.set("/modules.d.ts", "declare module '*';");
const read = (file) => files.has(file) ? files.get(file)
    : file.startsWith(lib) && fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined;
const options = {
    target: 99, module: 99, moduleDetection: 3, noEmit: true, noResolve: true,
    lib: libraries, types: [], strict: false, noImplicitAny: false, allowUnreachableCode: true, allowUnusedLabels: true,
    experimentalDecorators: false,
};
const host = {
    fileExists: (file) => read(file) !== undefined, readFile: read, getDefaultLibLocation: () => lib,
    getDefaultLibFileName: () => lib + "/lib.es5.d.ts", writeFile: () => {}, getCurrentDirectory: () => "/",
    getCanonicalFileName: (file) => file, useCaseSensitiveFileNames: () => true, getNewLine: () => "\n",
    getSourceFile: (file, version) => {
        const text = read(file);
        return text === undefined ? undefined : ts.createSourceFile(file, text, version, true);
    },
};
const program = ts.createProgram([...files.keys()], options, host);
const message = (d) => ts.flattenDiagnosticMessageText(d.messageText, " ");
const shown = (d) => `${d.code} ${message(d)} @${d.start}`;
console.log(JSON.stringify(all.map((file) => {
    const source = program.getSourceFile(file);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.filter((d) => codes.includes(d.code) && (d.code !== 2339 || message(d).includes("'#"))).map(shown);
})));
"""
)


def name_errors(texts: list[str], libraries: tuple[str, ...] = ("esnext",)) -> list[list[str]]:
    """What is wrong with the names of each text; skips the test where Node.js or Bokeh is not installed."""
    node, bokeh = shutil.which("node"), importlib.util.find_spec("bokeh")
    if node is None or bokeh is None or bokeh.origin is None:
        pytest.skip("node, or bokeh, which brings the TypeScript compiler, is not installed")
    if not importlib.metadata.version("bokeh").startswith("3.9."):
        pytest.skip("bokeh is not the version that has TypeScript 5.9")
    static = Path(bokeh.origin).parent / "server" / "static"
    given = {"texts": texts, "codes": _CODES}
    data = json.dumps(given | {"libraries": [f"lib.{name}.d.ts" for name in libraries]})
    command = [node, "-e", _CHECK, str(static / "js" / "compiler.js"), str(static / "lib")]
    out = subprocess.run(command, input=data, capture_output=True, text=True, check=True, timeout=900)
    return [list(map(str, each)) for each in json.loads(out.stdout)]


_SYNTAX = """
const vm = require("vm");
const message = (make) => { try { make(); return ""; } catch (e) { return e.message; } };
console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(0, "utf8")).map((text) => {
    const asModule = message(() => new vm.SourceTextModule(text, {identifier: "text"}));
    return asModule && message(() => new vm.Script(text)) && asModule;
})));
"""


def syntax_errors(texts: list[str]) -> list[str]:
    """What V8 says where a text is neither a script nor a module; skips the test where Node.js is not installed."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    command = [node, "--experimental-vm-modules", "-e", _SYNTAX]
    out = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True, timeout=900)
    return list(map(str, json.loads(out.stdout)))
