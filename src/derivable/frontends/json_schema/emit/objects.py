"""Objects: members in the listed order, other keys anywhere between them.

The language of members is written left-linear, so the parser's stack does not grow with their number, and every text
has one derivation. With listed keys k0 ... kn-1:

    A(i+1) -> Q(i) "," ki vi  |  ki vi  |  A(i+1) "," other   the members so far: ki was the last listed one
    Q(i)   -> A(i)  |  Q(i-1)  if k(i-1) is optional          all listed keys before ki are decided

Linear in the number of keys: `Members`, whose rules the kernel writes. Where something is asked of members together,
see `tracked` and `any_order`. A repeated additional key counts as another member of the text.
"""

from __future__ import annotations

from ....expr import NOTHING, Members, Ref
from ..reading.facts import Facts
from .any_order import write_in_any_order
from .members import Body
from .tracked import write_tracked
from .writer import Writer

__all__ = ["emit_object", "write_object"]


def emit_object(writer: Writer, facts: Facts, name: str) -> Ref:
    """The symbol of the objects that satisfy `facts`; its body is written later."""
    if not (
        (facts.rows or facts.required or facts.forbidden or facts.names or facts.some or facts.clauses)
        or (facts.conditions or facts.min_properties or facts.max_properties is not None)
    ):
        found: Ref | None = writer.leaves.get("object")
        if found is None:
            found = writer.leaves["object"] = Ref("object")
            writer.rules["object"] = NOTHING
            writer.queue.append(lambda: write_object(Body(writer, facts, "object")))
        return found
    rule = writer.fresh(name)
    writer.rules[rule] = NOTHING
    writer.queue.append(lambda: write_object(Body(writer, facts, rule)))
    return Ref(rule)


def write_object(body: Body) -> None:
    """Writes the rules of an object; none if there is no such object."""
    _write(body)
    if body.closed and body.writer.rules[body.rule] == NOTHING:  # there are objects with other keys, perhaps
        body.closed = False
        _write(body)
    if body.writer.rules[body.rule] == NOTHING:
        body.writer.suspect = True


def _write(body: Body) -> None:
    clauses = body.settled_clauses()
    if clauses is None or not body.find(clauses):
        return
    facts = body.facts
    if clauses:  # keys that cannot be there satisfy what wants them absent
        possible = {m[0] for m in body.listed} | {m[0] for m in body.free}
        clauses = frozenset(
            frozenset(literal for literal in clause if literal[0] in possible)
            for clause in clauses
            if not any(key not in possible and not there for key, there in clause)
        )
        if frozenset() in clauses:
            return
    low, high = facts.min_properties, facts.max_properties
    certain = sum([m[3] for m in body.listed]) + body.free_required.bit_count()
    if low <= certain:
        low = 0
    if high is not None and not body.others and high >= len(body.listed) + len(body.free):
        high = None
    if (high is not None and certain > high) or (not body.others and low > len(body.listed) + len(body.free)):
        return
    if not (low or high is not None or facts.some or body.free or clauses or facts.conditions):
        body.writer.rules[body.rule] = _members(body)
    elif body.writer.options.key_order == "listed" or not write_in_any_order(body, low, high, clauses):
        write_tracked(body, low, high, clauses)


def _members(body: Body) -> Members:
    listed: list[str | bool] = []
    name = body.key
    for key, _, value, required in body.listed:
        listed += (name(key), value, required)
    others = tuple([name for key, _, value, _ in body.others for name in (key, value)])
    return Members(body.marks(), tuple(listed), others)
