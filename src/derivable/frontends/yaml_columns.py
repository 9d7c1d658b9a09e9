"""The blocks of YAML: mappings and sequences whose lines begin at the same column.

    - name: check        # the pairs of this mapping stand at column 2
      run: |
        make test

Which column that is may be told by what stands before on the same line, so it is not enough to know that a line is
indented further. Here each column has rules of its own, up to a bound.
"""

from __future__ import annotations

from dataclasses import replace

from ..expr import ANY_CHAR, EMPTY, Alt, And, Concat, Expr, Ref, optional, plus, star
from ..rules import Rules, Shape, Terminal
from .build import alternation, concatenation
from .regex import parse_regex

__all__ = ["with_columns"]

_COLUMNS = 32
_FURTHER = 8
"""Columns by which a line may be further in than the one above."""
_WIDTHS = (1, 2, 3)
"""Of the blanks behind a dash, where something follows."""

_CHAR = r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
_EMPTY_LINES = rf"(?: *(?:#{_CHAR}*)?\n)*"
_VALUE = Alt((Ref("_scalar"), Ref("_flow")))


def with_columns(yaml: Rules) -> Rules:
    """YAML with the rules of its blocks.

    Args:
        yaml: where the rule `_document` is to be replaced, and `_key`, `_scalar` and `_flow` are what stands on a line.
    """
    rules = {name: expr for name, expr in yaml.rules.items() if name != "_line"}
    terminals = {name: each for name, each in yaml.terminals.items() if name != "_BLOCK"}
    begin = parse_regex(
        rf"{_EMPTY_LINES}---\Z|{_EMPTY_LINES}(?:--- *(?:(?<= )#{_CHAR}*)?\n)?{_EMPTY_LINES}(?: *#{_CHAR}*)?"
    )
    terminals["BEGIN"] = Terminal(And((begin, plus(ANY_CHAR))))
    terminals["DASH"] = Terminal(parse_regex(r"-(?= *(?: #[^\n]*)?(?:\n|\Z))"))
    for width in _WIDTHS:
        terminals[_dash(width)] = Terminal(parse_regex(rf"- {{{width}}}(?=[^ \n#])"))
    for column in range(_COLUMNS + 1):
        terminals[_line(column)] = Terminal(parse_regex(rf"\n{_EMPTY_LINES} {{{column}}}"), priority=1)
        terminals[_text(column)] = Terminal(parse_regex(_block_scalar(column)))
        rules |= _rules_at(column)
    document = Concat((Ref(_node(0)), optional(Ref(_line(0)))))
    rules["_document"] = Concat((optional(Ref("BEGIN")), optional(document)))
    blocks = [name for name in rules if " at " in name]
    shapes = {name: Shape("" if name.startswith("_") else name.split(" ")[0]) for name in blocks}
    return replace(yaml, rules=rules, terminals=terminals, shapes={**yaml.shapes, **shapes})


def _rules_at(column: int) -> dict[str, Expr]:
    """A mapping, a sequence, or a value alone, whose lines begin at a column."""
    mapping, sequence, line = f"mapping at {column}", f"sequence at {column}", Ref(_line(column))
    pair, item = f"_pair at {column}", f"_item at {column}"
    below = range(column + 1, min(column + _FURTHER, _COLUMNS) + 1)
    nodes = [Concat((Ref(_line(each)), Ref(_node(each)))) for each in below]
    texts = [Ref(_text(each)) for each in below]
    items = [concatenation([Ref("DASH"), alternation([EMPTY, *nodes])])]
    for width in _WIDTHS:
        inside = column + 1 + width
        compact = [Ref(f"{kind} at {inside}") for kind in ("mapping", "sequence")] if inside <= _COLUMNS else []
        items.append(Concat((Ref(_dash(width)), Alt((_VALUE, *texts, *compact)))))
    under = Concat((line, Ref(sequence)))  # not further in than its key
    return {
        _node(column): Alt((Ref(mapping), Ref(sequence), _VALUE)),
        mapping: Concat((Ref(pair), star(Concat((line, Ref(pair)))))),
        pair: Concat((Ref("_key"), Ref("COLON"), Alt((EMPTY, _VALUE, *texts, *nodes, under)))),
        sequence: Concat((Ref(item), star(Concat((line, Ref(item)))))),
        item: Alt(tuple(items)),
    }


def _block_scalar(column: int) -> str:
    """Lines from a column on, of which the first one begins there."""
    line = rf" {{{column}}}{_CHAR}+"
    first = rf"(?: {{0,{column}}}\n)*(?! {{{column}}} ){line}"
    return rf"[|>][-+]?(?: +#{_CHAR}*)?\n{first}(?:(?:\n *)*\n{line})*"


def _line(column: int) -> str:
    return f"LINE {column}"


def _text(column: int) -> str:
    return f"TEXT {column}"


def _dash(width: int) -> str:
    return f"DASH {width}"


def _node(column: int) -> str:
    return f"_node at {column}"
