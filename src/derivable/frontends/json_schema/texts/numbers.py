"""JSON text of numbers: literals with bounds, multiples, integers, exact values. All arithmetic is decimal and exact.

Without constraints the language is RFC 8259's. "Less than 100" is not a regular property of all literals (`0.001e5`),
so where a value is constrained the literals are *plain* decimals with any number of digits, and *normalised*
scientific notation: one digit that is not 0, at most 17 decimals, an exponent (`1.5e-7`, `2E+30`). Every number has
such a text, and what Python, JavaScript and most others print is one. `multipleOf` takes plain decimals only.

An unconstrained integer may be written `5`, `5.0`, `5e3`, `5.0E+3`, `1.25e2`; `100e-2` is refused.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from .... import _kernel
from ....automata import LONGEST_NUMBER
from ....errors import GrammarError, LimitError
from ....expr import Alt, And, Bytes, ByteSet, Concat, Expr, Graph, Not, Numbers, Repeat, optional, plus, star
from ....limits import Limits

__all__ = [
    "DIGITS",
    "INTEGER",
    "NUMBER",
    "check_integer",
    "equal",
    "exact",
    "fraction",
    "is_multiple",
    "listed_numbers",
    "number_text",
    "reduced",
]

_DIGIT = ByteSet(((48, 57),))
_NONZERO = ByteSet(((49, 57),))
_ZEROS = star(Bytes(b"0"))
_DIGITS = plus(_DIGIT)
_INT = Alt((Bytes(b"0"), Concat((_NONZERO, star(_DIGIT)))))
_FRACTION = Concat((Bytes(b"."), _DIGITS))
_NO_FRACTION = optional(Concat((Bytes(b"."), plus(Bytes(b"0")))))
_E = ByteSet(((69, 69), (101, 101)))
_PLUS, _MINUS = optional(Bytes(b"+")), Bytes(b"-")
_SIGN = optional(_MINUS)
_ANY_EXPONENT = Concat((_E, optional(ByteSet(((43, 43), (45, 45)))), _DIGITS))
NUMBER: Expr = Concat((_SIGN, _INT, optional(_FRACTION), optional(_ANY_EXPONENT)))
"""Any number of RFC 8259."""


def exact(value: object) -> Decimal:
    """A number of a schema as the decimal that was written: floats by their shortest text.

    Raises:
        GrammarError: another value of Python, which no JSON text is read as.
    """
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        return Decimal(float.__repr__(value))
    if isinstance(value, Decimal):
        return value
    raise GrammarError(f"a {type(value).__name__} is no JSON value", hint="Give the schema as `json.loads` would.")


def reduced(value: Decimal) -> tuple[int, int, int]:
    """Sign, coefficient without zeros at its end, and exponent: equal for equal numbers, whatever their size."""
    sign, digits, power = value.as_tuple()
    if not isinstance(power, int):
        raise GrammarError(f"{value} is not a number of JSON", hint="Write a finite number.")
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    if len(short) > LONGEST_NUMBER:
        raise LimitError("digits of a number", len(short), LONGEST_NUMBER, "a number in a schema")
    return (sign, int(short), power + len(text) - len(short)) if short else (0, 0, 0)


def fraction(value: Decimal) -> Fraction:
    """The same number. Raises `LimitError` if it has thousands of digits when it is written out."""
    _check(value)
    return Fraction(value)


def is_multiple(value: Decimal, step: Decimal) -> bool:
    """Whether `value` is an exact multiple of `step`."""
    return (fraction(value) / fraction(step)).denominator == 1


def _check(magnitude: Decimal) -> None:
    size = max(abs(magnitude.adjusted()), len(magnitude.as_tuple().digits))
    if size > LONGEST_NUMBER:
        raise LimitError("digits of a number", size, LONGEST_NUMBER, "a number in a schema")


def check_integer(value: int | float | Decimal) -> None:
    """Raises `LimitError` if it is an integer of more digits than Python writes."""
    if type(value) is int and value.bit_length() > 3.5 * LONGEST_NUMBER:
        _check(exact(value))


def listed_numbers(values: list[int | float | Decimal], limits: Limits) -> list[Expr]:
    """Every plain and normalised scientific literal of exactly these numbers, in a few automata. Cost: their digits."""
    for value in values:
        check_integer(value)
    # PERF: there may be 100,000 of them. Floats and decimals are written as `exact` reads them.
    graphs = _kernel.listed_numbers([*map(str, values)], limits.max_dfa_states // 2, LONGEST_NUMBER)
    return [Graph(*graph) for graph in graphs]


def _integers_above(whole: str) -> Expr:
    """Literals of integers, no zeros in front, greater than `whole`."""
    options: list[Expr] = [Concat((_NONZERO, Repeat(_DIGIT, len(whole), None)))]
    for i, digit in enumerate(whole):
        if digit < "9":
            rest = Repeat(_DIGIT, len(whole) - i - 1, len(whole) - i - 1)
            options.append(Concat((Bytes(whole[:i].encode()), ByteSet(((49 + int(digit), 57),)), rest)))
    return Alt(tuple(options))


def _exponent_from(least: int) -> Expr:
    """`e` and an exponent of at least `least`; zeros in front are legal."""
    if least == 0:
        return Concat((_E, Alt((Concat((_PLUS, _DIGITS)), Concat((_MINUS, _ZEROS, Bytes(b"0")))))))
    return Concat((_E, _PLUS, _ZEROS, _integers_above(str(least - 1))))


@lru_cache(maxsize=4_096)
def equal(value: Decimal) -> Expr:
    """Every plain and normalised scientific literal of exactly this number."""
    _check(value)
    return Numbers((value, False), (value, False), most_decimals=None)


def _integral_scientific() -> Expr:
    options: list[Expr] = [Concat((_NONZERO, _NO_FRACTION, _exponent_from(0)))]
    for count in range(1, 18):
        decimals = Concat((Bytes(b"."), Repeat(_DIGIT, count - 1, count - 1), _NONZERO, _ZEROS))
        options.append(Concat((_NONZERO, decimals, _exponent_from(count))))
    return Concat((_SIGN, Alt(tuple(options))))


DIGITS: Expr = Concat((_SIGN, _INT))
"""Integers as drafts 3 and 4 have them: digits only."""
INTEGER: Expr = Alt(
    (
        Concat((_SIGN, _INT, _NO_FRACTION, optional(Concat((_E, _PLUS, _DIGITS))))),
        Concat((_SIGN, Bytes(b"0"), _NO_FRACTION, _ANY_EXPONENT)),
        _integral_scientific(),
    )
)
"""Any integer, in the texts named above."""


@lru_cache(maxsize=256)
def _multiple(step: Decimal, limits: Limits) -> Expr:
    """Plain literals of multiples of `step` (> 0): an automaton over remainders."""
    _check(step)
    _, digits, power = reduced(step)
    scale = max(0, -power)
    modulus = digits * 10 ** max(0, power)
    if modulus * (scale + 2) > limits.max_dfa_states:
        raise LimitError("max_dfa_states", modulus * (scale + 2), limits.max_dfa_states, f"multipleOf {step}")
    # States: the start, after "-", decimals that are all zeros, then (decimals so far, remainder), and a leading zero.
    edges: list[list[tuple[int, int, int]]] = [[], []]
    accepting = [False, False]

    def state(accepts: bool) -> int:
        edges.append([])
        accepting.append(accepts)
        return len(edges) - 1

    def is_multiple(remainder: int, decimals: int) -> bool:
        return bool(remainder * 10 ** (scale - decimals) % modulus == 0)

    zeros = state(True)  # decimals past those that can count: zeros only
    edges[zeros].append((48, 48, zeros))
    rows = [[state(k > 0 and is_multiple(r, k)) for r in range(modulus)] for k in range(scale + 1)]
    if scale:
        points = rows[0]
        integers = [state(is_multiple(r, 0)) for r in range(modulus)]
        for k in range(scale):
            for r in range(modulus):
                edges[rows[k][r]] += [(48 + d, 48 + d, rows[k + 1][(10 * r + d) % modulus]) for d in range(10)]
        for r in range(modulus):
            if is_multiple(r, scale):
                edges[rows[scale][r]].append((48, 48, zeros))
    else:
        integers = rows[0]
        accepted = integers[0]
        accepting[accepted] = True
        points = [state(False) for _ in range(modulus)]
        edges[points[0]].append((48, 48, zeros))
    for r in range(modulus):
        edges[integers[r]] += [(48 + d, 48 + d, integers[(10 * r + d) % modulus]) for d in range(10)]
        edges[integers[r]].append((46, 46, points[r]))
    zero = state(True)  # a leading zero: only a fraction may follow
    edges[zero].append((46, 46, points[0]))
    first = [(48, 48, zero), *((48 + d, 48 + d, integers[d % modulus]) for d in range(1, 10))]
    edges[0] += [(45, 45, 1), *first]
    edges[1] += first
    return Graph(tuple(map(tuple, edges)), tuple(accepting))


@lru_cache(maxsize=1_024)
def number_text(
    low: tuple[Decimal, bool] | None,
    high: tuple[Decimal, bool] | None,
    integral: bool | None,
    digits: bool | None,
    multiples: tuple[tuple[Decimal, bool], ...],
    excluded: tuple[Decimal, ...],
    written: bool,
    limits: Limits,
) -> Expr:
    """Literals of the numbers that keep all constraints.

    Args:
        low, high: bounds, each with whether it is exclusive.
        integral: integers only, numbers that are not integers only, or either (`None`).
        digits: numbers written without fraction and exponent only, others only, or either.
        multiples: steps, each with whether numbers must (or must not) be multiples.
        excluded: numbers that are not allowed.
        written: see `Numbers`.
        limits: bounds on the automata.
    """
    if integral:  # every integer is a multiple of 0.5
        multiples = tuple((s, must) for s, must in multiples if not (must and is_multiple(Decimal(1), s)))
    if not (low or high or multiples or excluded) and integral is not False and digits is None:
        return INTEGER if integral else NUMBER
    parts: list[Expr] = [Numbers(low, high, integral, digits, scientific=not multiples, written=written)]
    for step, must in multiples:
        parts.append(_multiple(step, limits) if must else Not(_multiple(step, limits)))
    parts += [Not(equal(value)) for value in excluded]
    return parts[0] if len(parts) == 1 else And(tuple(parts))
