"""How many characters the texts of an expression have."""

from __future__ import annotations

from ..expr import Alt, And, Bytes, Chars, Concat, Expr, Look, Repeat

__all__ = ["width"]


def width(expr: Expr) -> tuple[int, int | None]:
    """The fewest and most characters (`None`: without bound) that an expression matches, as far as its shape tells."""
    match expr:
        case Chars(_):
            return 1, 1
        case Bytes(value):
            try:
                length = len(value.decode("utf-8", "surrogatepass"))
            except UnicodeDecodeError:  # a piece of a character
                return 0, None
            return length, length
        case Concat(items):
            parts = [width(i) for i in items]
            highs = [h for _, h in parts]
            return sum(low for low, _ in parts), None if None in highs else sum(h for h in highs if h is not None)
        case Alt(items) if items:
            parts = [width(i) for i in items]
            highs = [h for _, h in parts]
            return min(low for low, _ in parts), None if None in highs else max(h for h in highs if h is not None)
        case Repeat(item, low, high, _):
            inner = width(item)
            most = 0 if high == 0 else None if high is None or inner[1] is None else inner[1] * high
            return inner[0] * low, most
        case Look():
            return 0, 0
        case And(items):
            parts = [width(i) for i in items]
            bounded = [h for _, h in parts if h is not None]
            return max(low for low, _ in parts), min(bounded) if bounded else None
        case _:
            return 0, None
