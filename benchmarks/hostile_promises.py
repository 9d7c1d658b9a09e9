# ruff: noqa: E501 -- rows of a table
"""What once took seconds, minutes or gigabytes, at the sizes at which it did, beside what is promised of it now.

    python benchmarks/hostile_promises.py --tokenizer tokenizer.json [--only WORD,...]

Every row is a process of its own: time to compile, the first mask, the slowest call of a text (a mask or an advance; a
refused one is asked again, as the documentation says, and counted), what memory it took at most. Wall-clock time,
the better of two runs where the first is over its aim, so that what else the machine does counts little. `ROWS` and `CHECKS` are data; an aim is
milliseconds to compile, and of a call.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import hostile
from hostile import vocabulary

import derivable as dv

_T = TypeVar("_T")


@dataclass(frozen=True)
class Row:
    """An example: a class of `hostile.py`, or a grammar of its own, with what is walked."""

    name: str
    size: int
    make: Callable[[], dv.Grammar]
    text: bytes = b""
    compiling: float = 1_000
    call: float = 100
    refused: bool = False  # it may be refused, with a typed error, where it is compiled
    first: float = 0  # to compile and the first mask together, ms


def _like(name: str, size: int, text: bytes | None = None, **aims: Any) -> Row:
    row = hostile.by_name(name)
    return Row(
        name, size, partial(row.make, size), text if text is not None else row.text(size) if row.text else b"", **aims
    )


def _gbnf(name: str, size: int, grammar: str, text: bytes, **aims: Any) -> Row:
    return Row(name, size, partial(dv.Grammar.from_gbnf, grammar), text, **aims)


def _lark(name: str, size: int, grammar: str, text: bytes, **aims: Any) -> Row:
    return Row(name, size, partial(dv.Grammar.from_lark, grammar), text, **aims)


def _schema(name: str, size: int, schema: Any, text: bytes = b"", **aims: Any) -> Row:
    return Row(name, size, partial(dv.Grammar.from_json_schema, schema, profile="spec"), text, **aims)


def _in(depth: int, innermost: Any, outer: Callable[[Any, int], Any]) -> Any:
    for level in range(depth):
        innermost = outer(innermost, level)
    return innermost


_FLAT: dict[str, Any] = {"call": 10}
_KEYS = 10_000
_TYPES: tuple[Any, ...] = ({"type": "integer"}, {"type": "string"}, {"enum": ["a", "b"]}, {"type": ["number", "null"]})
_EXPRESSIONS = 'start: e\ne: e e | e "|" e | e "*" | "(" e ")" | /[a-z]/'
_WORDS = [f"n{i} ::= [a-z]+ n{(i + 1) % 5} | [a-z]" for i in range(5)]


def _keys(value: Callable[[int], Any], **more: Any) -> Any:
    return {"type": "object", "properties": {f"k{i}": value(i) for i in range(_KEYS)}, **more}


_INSIDE = b'{"k0": 1, "k20": 5, "k9'

ROWS: tuple[Row, ...] = (
    # 1. Ambiguity: 10,000 tokens each.
    _lark('ambiguity/start: start* "b"', 10_000, 'start: start* "b"', b"b" * 10_000, **_FLAT),
    _lark('ambiguity/start: start+ "b" | "b"', 10_000, 'start: start+ "b" | "b"', b"b" * 10_000, **_FLAT),
    _lark('ambiguity/doc: item*, item: doc "." | "x"', 10_000, 'start: doc\ndoc: item*\nitem: doc "." | "x"', b"x." * 5_000, **_FLAT),
    _lark('ambiguity/stmt: block | "x" ";", block: stmt+ ";"', 10_000, 'start: stmt\nstmt: block | "x" ";"\nblock: stmt+ ";"', b"x;" * 5_000, **_FLAT),
    _lark('ambiguity/start: start start | "b"', 10_000, 'start: start start | "b"', b"b" * 10_000, **_FLAT),
    _lark("ambiguity/regular expressions", 10_000, _EXPRESSIONS, b"a|b*" * 2_500, **_FLAT),
    _lark("ambiguity/regular expressions, brackets", 10_000, _EXPRESSIONS, b"(a|b)*" * 500 + b"(a|" * 2_333, **_FLAT),
    _lark('ambiguity/s: s s | "a"', 10_000, 'start: s\ns: s s | "a"', b"a" * 10_000, **_FLAT),
    _gbnf("ambiguity/nullable cycle", 10_000, 'root ::= x root | "b"\nx ::= root? | ""', b"b" * 10_000, **_FLAT),
    _like("ambiguity/x? x? ...", 3_000, **_FLAT),
    _like("ambiguity/x? x? ...", 50_000, call=50),
    _gbnf("ambiguity/five rules of [a-z]+ n", 10_000, "root ::= n0\n" + "\n".join(_WORDS), b"ab" * 5_000, **_FLAT),
    _like("ambiguity/texts in sequence", 500, b"b" * 1_000, call=50),
    # 2. Sizes.
    _schema("sizes/optional keys, closed", _KEYS, _keys(lambda i: {"type": "integer"}, additionalProperties=False), _INSIDE, first=100, call=50),
    _schema("sizes/optional keys, closed, types of their own", _KEYS, _keys(lambda i: _TYPES[i % 4], additionalProperties=False), _INSIDE, first=100, call=50),
    _schema("sizes/optional keys, closed, a bound of its own each", _KEYS, _keys(lambda i: {"type": "string", "maxLength": i}, additionalProperties=False), b'{"k0": "", "k17": "a", "k9', call=50),
    _schema("sizes/optional keys, closed, a constant each", _KEYS, _keys(lambda i: {"const": i}, additionalProperties=False), b'{"k0": 0, "k17": 17, "k9', call=50),
    _schema("sizes/optional keys, open", _KEYS, _keys(lambda i: {}), _INSIDE, first=250, call=50),
    _like("sizes/chain of unit rules", 1_000, call=50),
    _like("sizes/chain of unit rules", 3_000, call=50),
    _like("sizes/alternatives of a recursive rule", 20_000, compiling=3_000, call=50),
    _like("sizes/enum of integers", 100_000, call=50),
    _like("sizes/enum of floats", 8_000, call=50),
    *(_like(f"terminals/literal, {of}", 1_000_000, call=50, compiling=3_000) for of in ("regex", "GBNF", "choices", "const")),
    *(_like(f"terminals/literal, {of}", 5_000_000, call=50, compiling=12_000, refused=of == "choices") for of in ("regex", "GBNF", "choices", "const")),
    _like("terminals/rule{1,n} nested", 100_000, call=50),
    _schema("sizes/chain of allOf", 1_000, _in(1_000, {"type": "string"}, lambda s, _: {"allOf": [s]}), b'"a', call=50),
    _like("sizes/chain of allOf", 1_000, b"nul", call=50),
    # 3. Patterns that overlap.
    *(_like("patterns/single letters", n, call=50) for n in (5, 9)),
    _like("patterns/a.{i}$", 10, call=50),
    _like("patterns/disjoint", 400, call=50),
    _like("patterns/oneOf nested", 40, call=50),
    _like("patterns/if nested", 25, call=50, refused=True),
    # 4. What runs make.
    _like("sizes/uniqueItems", 694, call=50),
    # 5. Numbers that took seconds.
    *(Row(f"numbers/maxLength {bound}", 0, partial(dv.Grammar.from_json_schema, f'{{"type": "string", "maxLength": {bound}}}', profile="spec"), b'"abc', call=50) for bound in ("1e30", "1e1000000", "18446744073709551616")),
)  # fmt: skip


def walk(row: Row, vocab: dv.Vocabulary) -> dict[str, float]:
    """Seconds and bytes of a row; how many calls were refused."""
    found: dict[str, float] = {"slowest": 0.0, "refused": 0.0}
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def step(act: Callable[[], _T]) -> _T:
        while True:
            begin = time.perf_counter()
            try:
                return act()
            except dv.LimitError as error:
                if error.limit != "max_step_work" or found["refused"] > 500:
                    raise
                found["refused"] += 1
            finally:
                found["slowest"] = max(found["slowest"], time.perf_counter() - begin)

    begin = time.perf_counter()
    matcher = dv.compile(row.make(), vocab).matcher()
    found["compile"] = time.perf_counter() - begin
    bitmask = dv.allocate_bitmask(1, vocab.size)
    begin = time.perf_counter()
    step(lambda: matcher.fill_bitmask(bitmask))
    found["first"] = time.perf_counter() - begin
    for at in range(len(row.text)):
        step(partial(matcher.advance_bytes, row.text[at : at + 1]))
        step(lambda: matcher.fill_bitmask(bitmask))
    found["memory"] = 1024.0 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base)
    return found


def wrong_of(row: Row, found: dict[str, float]) -> list[str]:
    """What a row is over."""
    wrong = []
    if 1e3 * found["compile"] > row.compiling:
        wrong.append(f"compile over {row.compiling:,.0f} ms")
    if 1e3 * found["slowest"] > row.call:
        wrong.append(f"a call over {row.call:,.0f} ms")
    if row.first and 1e3 * (found["compile"] + found["first"]) > row.first:
        wrong.append(f"to the first mask over {row.first:,.0f} ms")
    return wrong


# -- what is promised of threads, deadlines and memory -------------------------------------------------------------


def _slow(vocab: dv.Vocabulary, n: int) -> dv.Matcher:
    """A matcher whose next mask takes long."""
    grammar = f'root ::= (b | i | t)*\nb ::= "**" root "**"\ni ::= "*" root "*"\nt ::= [a-z {n}]+'
    return dv.compile(dv.Grammar.from_gbnf(grammar), vocab).matcher()


def _ask(matcher: dv.Matcher, bitmask: Any, times: int = 1) -> None:
    for _ in range(times):
        try:
            matcher.fill_bitmask(bitmask)
            return
        except dv.LimitError:
            pass


def _longest(act: Callable[[], object], while_alive: threading.Thread) -> float:
    slowest = 0.0
    while while_alive.is_alive():
        begin = time.perf_counter()
        act()
        slowest = max(slowest, time.perf_counter() - begin)
    return 1e3 * slowest


def beside_slow_masks(vocab: dv.Vocabulary, act: Callable[[dv.Constraint, dv.Matcher], object]) -> float:
    """How long `act` takes at most, ms, while another thread is at masks that take long."""
    constraint = dv.compile(dv.Grammar.from_json_schema({"type": "object"}, profile="spec"), vocab)
    matcher = constraint.matcher()
    matcher.advance_bytes(b'{"ab')
    act(constraint, matcher)

    def others() -> None:
        row = dv.allocate_bitmask(1, vocab.size)
        for n in range(10):
            _ask(_slow(vocab, n), row, 3)

    thread = threading.Thread(target=others)
    thread.start()
    return _longest(lambda: act(constraint, matcher), thread)


def known_mask(vocab: dv.Vocabulary) -> float:
    bitmask = dv.allocate_bitmask(1, vocab.size)
    return beside_slow_masks(vocab, lambda _, matcher: matcher.fill_bitmask(bitmask))


def matchers_and_forks(vocab: dv.Vocabulary) -> float:
    return beside_slow_masks(vocab, lambda constraint, matcher: (constraint.matcher(), matcher.fork()))


def only_python(vocab: dv.Vocabulary) -> float:
    return beside_slow_masks(vocab, lambda *_: sum(range(100)))


def two_slow_masks(vocab: dv.Vocabulary) -> float:
    """Time of two side by side, as a multiple of one: the median of seven."""
    ratios = []
    for n in range(7):
        matchers = [_slow(vocab, 3 * n + k) for k in range(3)]
        rows = [dv.allocate_bitmask(1, vocab.size) for _ in range(3)]
        begin = time.perf_counter()
        _ask(matchers[0], rows[0], 3)
        one = time.perf_counter() - begin
        threads = [threading.Thread(target=_ask, args=(matchers[k], rows[k], 3)) for k in (1, 2)]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ratios.append((time.perf_counter() - begin) / one)
    return sorted(ratios)[3]


def refused_mask(vocab: dv.Vocabulary) -> float:
    """The slowest of calls that are refused, ms."""
    slowest, row = 0.0, dv.allocate_bitmask(1, vocab.size)
    matcher = _slow(vocab, 0)
    for _ in range(20):
        begin = time.perf_counter()
        try:
            matcher.fill_bitmask(row)
            break
        except dv.LimitError as error:
            assert error.limit == "max_step_work"
            slowest = max(slowest, time.perf_counter() - begin)
    return 1e3 * slowest


def deadline(vocab: dv.Vocabulary) -> float:
    """By how many percent a deadline of a second is missed, at most, by grammars that take longer."""
    grammars: tuple[Callable[[], dv.Grammar], ...] = (
        lambda: dv.Grammar.from_regex("|".join(f"{i * 2654435761 % 2**32:08x}[0-9]*" for i in range(60_000))),
        lambda: hostile.by_name("terminals/words, GBNF").make(600_000),
        lambda: hostile.by_name("sizes/enum of integers").make(1_000_000),
        lambda: hostile.by_name("terminals/words, regex").make(400_000),
    )
    worst = 0.0
    for make in grammars:
        grammar = make()
        begin = time.perf_counter()
        try:
            dv.compile(grammar, vocab, timeout=1)
        except dv.LimitError:
            worst = max(worst, 100 * (time.perf_counter() - begin - 1))
    return worst


def interpreter_while_compiling(vocab: dv.Vocabulary) -> float:
    """How long Python stands still at most, ms, while a thread compiles what takes seconds."""
    grammar = dv.Grammar.from_regex("|".join(f"{i * 2654435761 % 2**32:08x}[0-9]*" for i in range(20_000)))
    thread = threading.Thread(target=lambda: dv.compile(grammar, vocab))
    thread.start()
    return _longest(lambda: sum(range(100)), thread)


def a_signal(vocab: dv.Vocabulary) -> float:
    """How long a signal waits for a compilation, ms."""

    class Rung(Exception):
        pass

    def ring(*_: object) -> None:
        raise Rung

    signal.signal(signal.SIGALRM, ring)
    grammar = hostile.by_name("terminals/words, regex").make(400_000)
    begin, after = time.perf_counter(), 0.1
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        dv.compile(grammar, vocab)
    except Rung:
        return 1e3 * (time.perf_counter() - begin - after)
    return float("inf")


def memory_of_compiling(vocab: dv.Vocabulary) -> float:
    """The most megabytes that grammars take which are to take all there is."""
    grammars: tuple[Callable[[], dv.Grammar], ...] = (
        lambda: hostile.by_name("terminals/(a{1,n}){1,n}").make(1_000),
        lambda: hostile.by_name("terminals/.*a.{n}").make(30),
        lambda: hostile.by_name("terminals/words, regex").make(900_000),
        lambda: dv.Grammar.from_gbnf('root ::= ("a" | "b"){1,900000} ("c" root){1,900000}'),
    )
    for make in grammars:
        with suppress(dv.LimitError):
            dv.compile(make(), vocab)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _forty(vocab: dv.Vocabulary) -> dv.Constraint:
    grammar = hostile.by_name("sizes/forty steps of two letters").make(40)
    constraint = dv.compile(grammar, vocab, limits=dv.Limits(cache_bytes=32 << 20))
    matcher, row = constraint.matcher(), dv.allocate_bitmask(1, vocab.size)
    for i in range(3_000):
        try:
            matcher.advance_bytes(b"ab"[i * 7919 % 13 % 2 : i * 7919 % 13 % 2 + 1])
            matcher.fill_bitmask(row)
        except dv.LimitError:
            continue
    return constraint


def forty_steps(vocab: dv.Vocabulary) -> float:
    """What a run keeps of a 40-step GBNF by its own account, MB, under a cache of 32."""
    return float(_forty(vocab).stats()["run_bytes"]) / 2**20


def forty_steps_resident(vocab: dv.Vocabulary) -> float:
    """What the process takes more for it, MB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _forty(vocab)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


CHECKS: dict[str, tuple[Callable[[dv.Vocabulary], float], float, str]] = {
    "threads/a known mask beside slow ones": (known_mask, 50, "ms"),
    "threads/new matchers and forks beside slow masks": (matchers_and_forks, 50, "ms"),
    "threads/Python beside slow masks": (only_python, 50, "ms"),
    "threads/Python beside a compilation": (interpreter_while_compiling, 50, "ms"),
    "threads/two slow masks on two cores": (two_slow_masks, 1.3, "of one"),
    "budget/a refused mask": (refused_mask, 100, "ms"),
    "budget/a deadline of a second": (deadline, 10, "% late"),
    "budget/a signal while compiling": (a_signal, 100, "ms"),
    "memory/of compiling": (memory_of_compiling, 1_500, "MB resident in all"),
    "memory/forty steps of two letters": (forty_steps, 96, "MB of a run"),
    "memory/forty steps, the process": (forty_steps_resident, 200, "MB"),
}
"""What is measured, at most how much, and of what. The two cores of a machine are needed by what compares threads."""


def _child(options: argparse.Namespace) -> None:
    vocab = vocabulary(options.tokenizer)
    dv.compile(dv.Grammar.from_lark('start: "b"'), vocab).matcher().allowed_tokens()
    dv.compile(dv.Grammar.from_json_schema({"type": "object", "properties": {"a": {"const": 1}}}, profile="spec"), vocab).matcher().allowed_tokens()  # fmt: skip
    gc.collect()
    if options.one in CHECKS:
        print(json.dumps({"value": CHECKS[options.one][0](vocab)}))
        return
    row = ROWS[int(options.one)]
    try:
        print(json.dumps(walk(row, vocab)))
    except dv.DerivableError as error:
        print(json.dumps({"error": f"{type(error).__name__} ({getattr(error, 'limit', '') or str(error)[:50]})"}))


def _run(one: str, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", one]
    command += ["--tokenizer", options.tokenizer] if options.tokenizer else []
    begin = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=options.seconds)
    except subprocess.TimeoutExpired:
        return {"error": f"UNBOUNDED: more than {options.seconds:.0f} s"}
    if done.returncode:
        return {"error": "UNTYPED: " + (done.stderr.strip().splitlines() or [str(done.returncode)])[-1][:80]}
    found: dict[str, Any] = json.loads(done.stdout)
    return found | {"all": time.perf_counter() - begin}


def _judged(row: Row, found: dict[str, Any]) -> str:
    if "error" in found:
        return f"{'' if row.refused else 'WRONG: '}{found['error']}"
    return "; ".join(wrong_of(row, found)) or "holds"


def _better(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    if "error" in one or "error" in other:
        return one
    return {key: min(one[key], other[key]) for key in one}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="What is promised of hostile input, and what is measured.")
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--seconds", type=float, default=120, help="of one child")
    parser.add_argument(
        "--tokenizer", help="tokenizer.json, or its folder; by default a vocabulary of bytes, on which no mask is slow"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        _child(options)
        return
    wanted = options.only.split(",")
    print("| example | size | compile, ms | first mask, ms | slowest call, ms | refused | memory, MB | verdict |")
    print("|---|---|---|---|---|---|---|---|")
    for at, row in enumerate(ROWS):
        if not any(word in row.name for word in wanted):
            continue
        found = _run(str(at), options)
        if "error" not in found and wrong_of(row, found):
            found = _better(found, _run(str(at), options))
        cells = [f"{1e3 * found[key]:,.1f}" if key in found else "" for key in ("compile", "first", "slowest")]
        cells += [f"{found['refused']:,.0f}", f"{found['memory'] / 2**20:,.0f}"] if "refused" in found else ["", ""]
        print(
            f"| {row.name.replace('|', chr(92) + '|')} | {row.size:,} | "
            + " | ".join(cells)
            + f" | {_judged(row, found)} |",
            flush=True,
        )
    print("\n| promise | measured | at most | verdict |\n|---|---|---|---|")
    for name, (_, most, unit) in CHECKS.items():
        if not any(word in name for word in wanted):
            continue
        found = _run(name, options)
        if found.get("value", 0) > most:
            found = _better(found, _run(name, options))
        value = found.get("value", float("nan"))
        verdict = found.get("error", "holds" if value <= most else "OVER")
        print(f"| {name} | {value:,.1f} {unit} | {most:,.1f} | {verdict} |", flush=True)


if __name__ == "__main__":
    main()
