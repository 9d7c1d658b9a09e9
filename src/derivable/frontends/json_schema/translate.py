"""A schema to rules: its parts put together, floor by floor."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

from ...errors import GrammarError, LimitError, UnsupportedFeatureError
from ...expr import NOTHING, Alt, Concat
from ...limits import Limits
from ...rules import Rules
from .emit.any_order import give_roles
from .emit.arguments import arguments
from .emit.counted_items import count_items
from .emit.productive import drop_unproductive
from .emit.symbols import Symbols
from .keywords.table import CHECKS, VOCABULARY, VOCABULARY_OF_CONTENTS
from .keywords.validator import Validator
from .keywords.work import Context
from .reading.facts import Goal
from .reading.options import Options
from .reading.reader import Reader
from .reading.styles import STYLES
from .reading.values import Json
from .texts.json_text import without_texts
from .texts.practical import plainly

__all__ = ["translate"]


class _NoInstance(GrammarError):
    """No value satisfies a goal."""


def translate(schema: Json, source: str | None, options: Options, limits: Limits) -> Rules:
    """The rules of a schema; `source` is its text, if it was given as one."""
    try:
        return _translated(schema, source, options, limits)
    except GrammarError:
        if not options.closes:
            raise
    # Its objects may need keys that are not listed.
    return _translated(schema, source, replace(options, closes=False), limits)


def _translated(schema: Json, source: str | None, options: Options, limits: Limits) -> Rules:
    reader = Reader(schema, options, limits, VOCABULARY if options.contents is None else VOCABULARY_OF_CONTENTS)
    return _document(reader, source, ((reader.resources.root, True),))


def _document(reader: Reader, source: str | None, goal: Goal, around: tuple[Goal, ...] = ()) -> Rules:
    """The JSON texts of a goal; `around`: the goals of the texts whose strings hold it."""
    if goal in around:
        problem = "a string that holds JSON, which holds such a string again, cannot be described"
        raise UnsupportedFeatureError("contentSchema", problem, pointer=goal[0][0].pointer() if goal else "#")
    limits = reader.limits
    writer = Symbols(Context(reader, Validator(reader, CHECKS), limits))
    inside = copy(reader)
    inside.options = replace(reader.options, arguments=None, excludes=())
    writer.document_of = lambda inner: _inner_document(inside, inner, (*around, goal))
    try:
        return _rules(writer, source, goal)
    except RecursionError:
        detail = "nesting of a schema's values or patterns"
        raise LimitError("max_depth", limits.max_depth + 1, limits.max_depth, detail) from None
    finally:
        # PERF: its parts refer to one another. Taken apart they go now, and not when the collector finds them.
        vars(writer).clear()
        if not around:
            vars(reader).clear()


def _inner_document(reader: Reader, goal: Goal, around: tuple[Goal, ...]) -> Rules | None:
    """The JSON texts that a string holds; `None`: there is none."""
    try:
        return _document(reader, None, goal, around)
    except _NoInstance:
        return None


def _rules(writer: Symbols, source: str | None, goal: Goal) -> Rules:
    reader, options, limits = writer.reader, writer.options, writer.limits
    style = options.arguments
    start = arguments(writer, goal, STYLES[style]) if style else writer.symbol(goal)
    while writer.queue:
        writer.queue.popleft()()
        if len(writer.rules) > limits.max_symbols:
            raise LimitError("max_symbols", len(writer.rules), limits.max_symbols, "the size of the grammar")
    start = writer.document(start) if start != NOTHING and not style else start
    writer.rules["root"] = start if isinstance(start, Concat | Alt) else Concat((start,))
    if writer.suspect or reader.resources.targets:
        drop_unproductive(writer.rules)
    tallied = give_roles(writer) | count_items(writer)
    if writer.rules["root"] == NOTHING:
        if writer.left_out is not None:
            reader.unsupported(*writer.left_out)
        raise _NoInstance(
            "no JSON value satisfies this schema",
            hint="Some of its constraints contradict one another, or it recurses without an end.",
        )
    terminals = writer.terminals
    if options.practical:
        terminals = plainly(terminals, options.excludes)
    if options.excludes:
        terminals = without_texts(terminals, options.excludes)
    relaxed, in_order = tuple(sorted(reader.relaxed)), options.key_order == "preferred"
    names = writer.rules, terminals, "root", source, relaxed, writer.distinct, tallied, in_order
    return Rules.of_known_names(*names, tuple(reader.doubts.warnings))
