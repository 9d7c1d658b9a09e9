"""The command line, run in this process; `test_real_process` runs it as a user would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from embedded_model import needs_weights
from paths import ROOT

import derivable as dv
from derivable import cli
from derivable.cli import cases
from derivable.tiny import tokenizer_path

testing = pytest.importorskip("typer.testing")

EXAMPLES = cases.EXAMPLES
JSON = str(EXAMPLES / "json.lark")
DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
LLAMA_3 = ROOT.parent / "shared" / "data" / "tokenizers" / "llama-3"


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    result = testing.CliRunner().invoke(cli.app, list(arguments), env={"COLUMNS": "100"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


# --- check


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["2026-11-20", "-r", DATE], 0, ["✔ in the language", "the end"]),
        (["2026-1", "-r", DATE], 1, ["a prefix", "'0'-'9'"]),
        (["", "-r", "a*"], 0, ["in the language", "'a', or the end"]),
        (["yes", "-c", "yes,no"], 0, ["in the language"]),
        (["ye", "--choices", "yes,no"], 1, ["a prefix", "'s'"]),
        (['{"a": tru', "-g", JSON], 1, ["a prefix", "'e'", "TRUE"]),
        (["[1, 2,, 3]", "-g", JSON], 1, ["b','", "byte 6", "STRING", "NUMBER"]),
        (["1 + 2 = 3", "-g", str(EXAMPLES / "arithmetic.gbnf")], 0, ["in the language"]),
        (["12", "-g", str(EXAMPLES / "arithmetic.gbnf"), "--start", "number"], 0, ["in the language"]),
        (["é", "-r", "[à-ü]"], 0, ["in the language"]),
    ],
)
def test_check(arguments: list[str], code: int, shown: list[str]) -> None:
    assert run("check", *arguments)[0] == code
    assert all(part in run("check", *arguments)[1] for part in shown)


def test_check_points_at_the_byte() -> None:
    _, output, _ = run("check", 'first\n{"é": 世,\t2}', "-r", r'first\n\{"é": [0-9]+\}')
    lines = output.splitlines()
    assert "line 2, column 7" in lines[0] and "byte 13" in lines[0]
    assert lines[1] == '  {"é": 世, 2}'
    assert lines[2].index("^") == lines[1].index("世")


def test_check_long_files(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_bytes(b"ab" * 10_000 + b"x" + b"ab" * 50)
    code, output, _ = run("check", "--file", str(file), "-r", "(ab)*")
    assert code == 1 and "byte 20000 " in output
    file.write_bytes(b"ab" * 10_000)
    assert run("check", "--file", str(file), "-r", "(ab)*")[0] == 0


def test_check_does_not_count_the_newline_of_editors(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"

    def checked(data: bytes, pattern: str) -> tuple[int, str]:
        file.write_bytes(data)
        code, output, _ = run("check", "--file", str(file), "-r", pattern)
        return code, output.splitlines()[0]

    assert checked(b"ab\n", "(ab)+") == (0, "✔ in the language, without the newline at the end of the file")
    assert checked(b"ab\r\n", "(ab)+")[0] == 0
    assert checked(b"ab\n", "(ab)+\n?") == (0, "✔ in the language")
    assert checked(b"ab\n", "ab(\nc)?")[0] == 0  # a beginning with it, complete without it
    assert checked(b"a\n", "ab")[1].startswith("… a prefix of the language, not complete, without the newline")
    for data in (b"ab\n\n", b"ab\r", b"ax\n", b"ab \n"):
        assert checked(data, "(ab)+")[1].startswith("✘ not in the language")
    assert run("check", "ab\n", "-r", "(ab)+")[0] == 1  # only of files


def test_warnings_of_a_schema_go_to_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"type": "object", "requierd": ["a"]}', encoding="utf-8")
    code, output, error = run("check", "{}", "-g", str(path))
    assert code == 0 and "warning" not in output
    assert "warning: #/requierd: 'requierd' is no keyword of JSON Schema" in error and "'required'" in error


def test_examples_are_what_they_say() -> None:
    for text in ('{"a": [1, -2.5e3, {}, [], ""]}', " null ", '"\\u00e9é"'):
        json.loads(text)
        assert run("check", text, "-g", JSON)[0] == 0
    for text in ("{'a': 1}", "[01]", "[1,]", '"\t"'):
        assert run("check", text, "-g", JSON)[0] == 1
    select = str(EXAMPLES / "select.lark")
    assert run("check", "SELECT name, age FROM users WHERE age > 30 AND city = 'Rome';", "-g", select)[0] == 0
    assert run("check", "SELECT price FROM users;", "-g", select)[0] == 1


# --- mask and vocab


@needs_weights
def test_mask() -> None:
    code, output, _ = run("mask", "20", "-r", DATE, "--limit", "3")
    vocabulary = dv.Vocabulary.from_tokenizer_json(tokenizer_path())
    m = dv.compile(dv.Grammar.from_regex(DATE), vocabulary).matcher()
    m.advance_bytes(b"20")
    allowed = m.allowed_tokens().tolist()
    assert code == 0
    assert f"{len(allowed):,} of {vocabulary.size:,} tokens allowed, end of text not allowed" in output
    for token in allowed[:3]:
        assert re.search(rf'{token} +"{(vocabulary.token_bytes(token) or b"").decode()}"', output)
    assert f"and {len(allowed) - 3:,} more" in output


@needs_weights
def test_mask_at_the_end() -> None:
    code, output, _ = run("mask", "2026-11-20", "-r", DATE)
    assert code == 0 and "1 of " in output and "end of text <|end|>" in output


@needs_weights
def test_mask_after_an_impossible_text() -> None:
    code, _, error = run("mask", "20x", "-r", DATE)
    assert code == 2 and "b'x'" in error and "byte 2" in error
    assert "derivable mask 20 ..." in error and "derivable check 20x ..." in error and "allowed_tokens" not in error


@needs_weights
def test_vocab() -> None:
    for arguments in ([], [str(tokenizer_path())]):
        code, output, _ = run("vocab", *arguments)
        assert code == 0 and "3,072" in output and "<|end|> (1)" in output and "single bytes" in output


@pytest.mark.skipif(not LLAMA_3.exists(), reason="../shared/data/tokenizers is not there")
def test_another_tokenizer() -> None:
    assert "128,256" in run("vocab", str(LLAMA_3))[1]
    assert "of 128,256 tokens" in run("mask", "", "-r", DATE, "--tokenizer", str(LLAMA_3))[1]


# --- errors


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["check", "x", "-r", "(a"], ["GrammarSyntaxError", "^"]),
        (["check", "x", "-r", "(a)?(?(1)b|c)"], ["UnsupportedFeatureError"]),
        (["check", "x", "-r", "a", "-c", "b"], ["only one of"]),
        (["check", "x"], ["give a grammar"]),
        (["check", "-r", "a"], ["either TEXT or --file"]),
        (["check", "x", "-r", "a", "--start", "b"], ["--start"]),
        (["check", "x", "-g", "/absent.lark"], ["does not exist"]),
        (["check", "x", "-g", __file__], ["GrammarError", ".gbnf"]),
        (["check", "x", "-g", JSON, "--start", "absent"], ["GrammarError", "absent"]),
        (["generate", "x", "--model", "/absent"], ["DerivableError", "/absent"]),
        (["vocab", JSON], ["VocabularyError", "JSON"]),
    ],
)
def test_errors(arguments: list[str], shown: list[str]) -> None:
    code, _, error = run(*arguments)
    assert code == 2
    assert all(part in error for part in shown) and "Traceback" not in error


def test_grammar_files_must_be_utf8(tmp_path: Path) -> None:
    file = tmp_path / "g.lark"
    file.write_bytes(b'start: "\xff"')
    code, _, error = run("check", "x", "-g", str(file))
    assert code == 2 and "UTF-8" in error


@pytest.mark.parametrize("command", [[], ["generate"], ["check"], ["mask"], ["vocab"], ["demo"]])
def test_help(command: list[str]) -> None:
    code, output, _ = run(*command, "--help")
    assert code == 0 and "Usage" in output
    assert run("--version")[1].strip() == f"derivable {dv.__version__}"


# --- generate and demo


@needs_weights
def test_generate_writes_only_the_text() -> None:
    code, output, error = run("generate", "Date: ", "-r", DATE, "--seed", "3")
    assert code == 0
    assert re.fullmatch(DATE + "\n", output)
    assert "tokens/s" in error and "interventions" in error.replace("intervention ", "interventions ")
    assert "complete" in error
    assert run("generate", "Date: ", "-r", DATE, "--seed", "3")[1] == output


@needs_weights
def test_generate_choices_and_files() -> None:
    assert run("generate", "Is water wet? Answer: ", "-c", "yes,no", "-T", "0")[1] in ("yes\n", "no\n")
    code, output, _ = run("generate", "12 + 3 = 15\n", "-g", str(EXAMPLES / "arithmetic.gbnf"), "--start", "number")
    assert code == 0 and output.strip().isdigit()


@needs_weights
def test_generate_cut_off() -> None:
    code, output, error = run("generate", "A person as JSON:\n", "-g", JSON, "-n", "4", "--no-finish")
    assert code == 1 and "incomplete" in error
    assert run("check", output[:-1], "-g", JSON)[1].startswith("…")


@needs_weights
def test_generate_compare() -> None:
    code, output, _ = run("generate", "Date: ", "-r", DATE, "--compare", "-n", "30")
    assert code == 0 and "unconstrained" in output
    assert re.search(rf"│ {DATE} ", output)
    assert run("generate", "Date: ", "--compare")[0] == 2


@needs_weights
def test_generate_without_a_grammar() -> None:
    code, output, error = run("generate", "Date: ", "-n", "5")
    assert code in (0, 1) and output and "mask" not in error


@needs_weights
def test_demo() -> None:
    code, output, _ = run("demo")
    assert code == 0, output
    assert f"{len(cases.CASES)} of {len(cases.CASES)} constrained texts valid" in output
    assert "✘" in output  # at least one of the unconstrained texts is not what was asked for


@needs_weights
def test_demo_fails_when_a_text_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    wrong = replace(cases.CASES[0], check=lambda text: False)
    monkeypatch.setattr(cases, "CASES", [wrong])
    code, output, _ = run("demo")
    assert code == 1 and "0 of 1" in output


def test_demo_checkers() -> None:
    assert cases.is_json("[1]") and not cases.is_json("[1,]")
    assert cases.is_equation("(1 + 2) * 3 = -9") and not cases.is_equation("1 + = 2")
    assert not cases.is_equation("1 + 2") and not cases.is_equation("a + 1 = 2") and not cases.is_equation("1 / 2 = 0")
    assert cases.runs_as_sql("SELECT name FROM users WHERE age > 3;") and not cases.runs_as_sql("SELECT x FROM users;")
    assert cases.is_xml("<a><b>1</b></a>") and not cases.is_xml("<a>")


@needs_weights
def test_real_process() -> None:
    """A pipe with a narrow encoding: text comes out, nothing crashes."""
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "60"}
    command = [sys.executable, "-m", "derivable.cli"]
    done = subprocess.run([*command, "generate", "Date: ", "-r", DATE], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and re.fullmatch(DATE, done.stdout.strip())
    done = subprocess.run([*command, "check", "é", "-r", "a"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    done = subprocess.run([*command, "check", "é", "-r", "("], env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_order_models() -> None:
    pytest.importorskip("pydantic")
    customer = '{"name": "Ann Lee", "email": "ann@example.org"}'
    items = '[{"product": "pen", "quantity": 2}]'
    order = f'{{"order_id": 1234, "customer": {customer}, "items": {items}, "status": "open"}}'
    assert cases.is_order(order) and not cases.is_order(order.replace("open", "lost")) and not cases.is_order("{}")


@pytest.mark.parametrize(
    ("name", "text", "inside", "outside"),
    [
        ("a.ebnf", 'root ::= Regex("[0-9]+")\n"k"?', "12k", "k"),
        ("a.json", '{"type": "array", "items": {"type": "null"}}', "[null]", "[1]"),
        (
            "b.json",
            '{"structures": [{"begin": "<f>", "schema": {"const": 1}, "end": ";"}], "triggers": ["<"]}',
            "a<f>1;",
            "<f>2",
        ),
    ],
)
def test_check_with_other_files(tmp_path: Path, name: str, text: str, inside: str, outside: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert run("check", inside, "-g", str(path))[0] == 0
    assert run("check", outside, "-g", str(path))[0] == 1
    if name == "a.json":
        assert run("check", "[ null ,null]", "-g", str(path))[0] == 1
        assert run("check", "[ null ,null]", "-g", str(path), "--profile", "spec")[0] == 0
        assert run("check", inside, "-g", str(path), "--profile", "loose")[0] == 2
        assert run("check", inside, "-g", str(path), "--start", "x")[0] == 2
        path.write_text("{", encoding="utf-8")
        assert run("check", inside, "-g", str(path))[0] == 2


@needs_weights
def test_more_grammars(tmp_path: Path) -> None:
    (tmp_path / "words.lark").write_text('WORD: "a".."z"+\nnames: WORD ("," WORD)*\n', encoding="utf-8")
    (tmp_path / "main.lark").write_text('%import .words.names\nstart: "<" names ">"\n', encoding="utf-8")
    assert run("check", "<ab,c>", "-g", str(tmp_path / "main.lark"))[0] == 0
    assert run("check", "<ab,>", "-g", str(tmp_path / "main.lark"))[0] == 1
    assert run("check", '{"a": [1]}', "--builtin", "json")[0] == 0
    assert run("check", "x = 1\n", "-b", "python")[0] == 0
    assert run("check", "no", "-c", "yes, no ,maybe")[0] == 0
    assert run("check", "x", "--builtin", "cobol")[0] == 2
    assert run("check", "x", "--builtin", "json", "-c", "a")[0] == 2


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "derivable", "check", "12", "--regex", "[0-9]+"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
