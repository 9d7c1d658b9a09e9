"""Arrays of many items at most: their items are a plain loop, and the matcher keeps count (`Grammar.tallied`).

Rules would need a state for each number of items, and masks of their own behind each of them. So the comma of such a
loop is refused where enough have been. As soon as there is one, all arrays count their commas: alternatives that have
begun alike stay one parse, whatever their bounds are.
"""

from __future__ import annotations

from ....expr import Concat, Expr, Ref, Repeat, Sequences
from ....rules import Membership, Tally
from .writer import Writer

__all__ = ["count_items", "counted_comma"]

_FEW = 16
"""Items up to which the rules count."""


def counted_comma(writer: Writer, listed: int, high: int | None) -> str | None:
    """The name of the comma of an array of `high` items at most; `None` if it is not to be counted.

    Args:
        listed: so many of its items, the first ones, have rules of their own.
    """
    if high is None or not listed <= _FEW < high - listed:
        return None
    comma = writer.marks("[")[3]
    name = writer.counted_commas.get(high - 1)
    if name is None:
        name = writer.counted_commas[high - 1] = writer.fresh(comma)
        writer.terminals[name] = writer.terminals[comma]
    return name


def count_items(writer: Writer) -> dict[str, Tally]:
    """The roles of what stands between the items of arrays, when all are written; none if no array is counted."""
    if not writer.counted_commas:
        return {}
    opening, closing, empty, comma = writer.marks("[")
    any_number = writer.fresh(comma)
    writer.terminals[any_number] = writer.terminals[comma]
    names = {comma: any_number}
    for rule in writer.comma_rules:
        if rule in writer.rules:
            writer.rules[rule] = _renamed(writer.rules[rule], names)
    end = Tally("close", members=Membership())
    tallied = {name: Tally("open") for name in (opening, *writer.distinct)} | {closing: end, empty: end}
    tallied[any_number] = Tally("other", members=Membership(others=True))
    for most, name in writer.counted_commas.items():
        tallied[name] = Tally("other", members=Membership(high=most, others=True))
    return tallied


def _renamed(expr: Expr, names: dict[str, str]) -> Expr:
    match expr:
        case Sequences():
            return expr.renamed(lambda name: names.get(name, name))
        case Ref(name):
            return Ref(names.get(name, name))
        case Concat(parts):
            return Concat(tuple([_renamed(part, names) for part in parts]))
        case Repeat(item, low, high):
            return Repeat(_renamed(item, names), low, high)
        case _:
            return expr
