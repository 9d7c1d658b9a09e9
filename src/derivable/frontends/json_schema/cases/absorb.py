"""Schemas of a case taken apart keyword by keyword, until only disjunctions are left."""

from __future__ import annotations

from ..keywords.scalars import exclude
from ..keywords.table import assert_keywords
from ..keywords.work import Work
from ..reading.facts import TYPES
from ..reading.resources import Sub

__all__ = ["absorb"]


def absorb(work: Work) -> bool:
    """Takes apart every schema of the work; says whether the facts can still hold."""
    facts = work.facts
    todo = work.todo
    reader = work.reader
    while todo:
        sub, holds, collectors, chain, order = todo.pop()
        schema = sub.schema
        if type(schema) is bool:
            if schema is not holds:
                return False
            continue
        if not holds:
            collectors = ()  # a schema that fails evaluates nothing, nor do those in it that hold
        key = (id(sub), holds, collectors)
        if key in work.done:
            continue
        work.done.add(key)
        if not schema:
            if not holds:
                return False
            continue
        work.collectors, work.chain, work.order = collectors, chain, order
        # Of what refers elsewhere, that too would seem to be known, and be dropped.
        if "$ref" not in reader.keywords(sub) or reader.target(sub) is sub:
            work.known.append((sub, holds))
        if not holds:
            if not _simple_failure(work, sub):
                work.fails(sub)
        else:
            mark = len(todo)
            assert_keywords(sub, work)
            if len(todo) - mark > 1:  # in the order of the text: it becomes the order of members
                todo[mark:] = todo[mark:][::-1]
        if not facts.types:
            return False
    return facts.types != 0


def _simple_failure(work: Work, sub: Sub) -> bool:
    """A schema of `type`, `enum` or `const` alone can fail without a choice."""
    keywords = work.reader.keywords(sub)
    if len(keywords) != 1:
        return False
    (keyword,) = keywords
    facts = work.facts
    if keyword == "type":
        wanted = sub.schema["type"]
        names = wanted if type(wanted) is list else [wanted]
        if "integer" in names and "number" not in names:
            return False
        for name in names:
            facts.types &= ~TYPES[name]
        return True
    if keyword in ("enum", "const"):
        exclude(sub.schema["enum"] if keyword == "enum" else [sub.schema["const"]], sub, work)
        return True
    return False
