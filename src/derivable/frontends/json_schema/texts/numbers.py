"""JSON text of numbers: literals with bounds, multiples, integers, exact values. All arithmetic is decimal and exact.

Without constraints the language is RFC 8259's. "Less than 100" is not a regular property of all literals (`0.001e5`),
so where a value is constrained the literals are *plain* decimals with any number of digits, and *normalised*
scientific notation: one digit that is not 0, at most 17 decimals, an exponent (`1.5e-7`, `2E+30`). Every number has
such a text, and what Python, JavaScript and most others print is one. `multipleOf` takes plain decimals only.

An unconstrained integer may be written `5`, `5.0`, `5e3`, `5.0E+3`, `1.25e2`; `100e-2` is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from .... import _kernel
from ....errors import GrammarError, LimitError
from ....expr import EMPTY, NOTHING, Alt, And, Bytes, ByteSet, Concat, Expr, Graph, Not, Repeat, optional, plus, star
from ....limits import Limits
from ...build import alternation, concatenation, repeat

__all__ = [
    "DIGITS",
    "INTEGER",
    "NUMBER",
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
_MOST_DECIMALS = 17
_LONGEST = 4_000
"""Digits of a bound or value; more is a `LimitError` (they become states one by one)."""

NUMBER: Expr = Concat((_SIGN, _INT, optional(_FRACTION), optional(_ANY_EXPONENT)))
"""Any number of RFC 8259."""
_PLAIN = Concat((_SIGN, _INT, optional(_FRACTION)))
_SCIENTIFIC = Concat(
    (_SIGN, _NONZERO, optional(Concat((Bytes(b"."), Repeat(_DIGIT, 1, _MOST_DECIMALS)))), _ANY_EXPONENT)
)
_CONSTRAINED = Alt((_PLAIN, _SCIENTIFIC))


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
    if len(short) > _LONGEST:
        raise LimitError("max_nfa_states", len(short), _LONGEST, "digits of a number in a schema")
    return (sign, int(short), power + len(text) - len(short)) if short else (0, 0, 0)


def fraction(value: Decimal) -> Fraction:
    """The same number. Raises `LimitError` if it has thousands of digits when it is written out."""
    _check(value)
    return Fraction(value)


def is_multiple(value: Decimal, step: Decimal) -> bool:
    """Whether `value` is an exact multiple of `step`."""
    return (fraction(value) / fraction(step)).denominator == 1


def _parts(magnitude: Decimal) -> tuple[str, str]:
    """Integer digits (at least one) and decimals (no zeros at the end) of a number that is not negative."""
    if magnitude.is_zero():
        return "0", ""
    _check(magnitude)
    whole, _, decimals = format(magnitude, "f").partition(".")
    return whole.lstrip("0") or "0", decimals.rstrip("0")


def _scientific(magnitude: Decimal) -> tuple[str, str, int]:
    """First digit, other digits and exponent of a positive number."""
    _check(magnitude)
    digits = "".join(map(str, magnitude.as_tuple().digits)).rstrip("0")
    return digits[0], digits[1:], magnitude.adjusted()


def _check(magnitude: Decimal) -> None:
    size = max(abs(magnitude.adjusted()), len(magnitude.as_tuple().digits))
    if size > _LONGEST:
        raise LimitError("max_nfa_states", size, _LONGEST, "digits of a number in a schema")


def listed_numbers(values: list[int | float | Decimal], limits: Limits) -> list[Expr]:
    """Every plain and normalised scientific literal of exactly these numbers, in a few automata. Cost: their digits."""
    for value in values:
        if type(value) is int and value.bit_length() > 3.5 * _LONGEST:  # Python writes no more than 4,300 digits
            _check(exact(value))
    # PERF: there may be 100,000 of them. Floats and decimals are written as `exact` reads them.
    graphs = _kernel.listed_numbers([*map(str, values)], limits.max_dfa_states // 2, _LONGEST)
    return [Graph(*graph) for graph in graphs]


def _text(digits: str) -> Expr:
    return Bytes(digits.encode())


def _below(digit: str, low: int = 0) -> Expr:
    last = int(digit) - 1
    return ByteSet(((48 + low, 48 + last),)) if last >= low else NOTHING


def _above(digit: str) -> Expr:
    return ByteSet(((49 + int(digit), 57),)) if digit < "9" else NOTHING


def _either(options: list[Expr]) -> Expr:
    return alternation([o for o in options if o != NOTHING])


def _then(*items: Expr) -> Expr:
    return NOTHING if NOTHING in items else concatenation(items)


def _decimals_above(decimals: str) -> Expr:
    """`.ddd` greater than 0.decimals."""
    options: list[Expr] = [_then(_text("." + decimals[:i]), _above(d), star(_DIGIT)) for i, d in enumerate(decimals)]
    options.append(_then(_text("." + decimals), star(_DIGIT), _NONZERO, star(_DIGIT)))
    return _either(options)


def _decimals_below(decimals: str) -> Expr:
    """Nothing, or `.ddd` less than 0.decimals."""
    if not decimals:
        return NOTHING
    options: list[Expr] = [EMPTY]
    for i, digit in enumerate(decimals):
        options.append(_then(_text("." + decimals[:i]), _below(digit), star(_DIGIT)))
        if i:
            options.append(_text("." + decimals[:i]))
    return _either(options)


def _decimals_equal(decimals: str) -> Expr:
    return _then(_text("." + decimals), _ZEROS) if decimals else _NO_FRACTION


def _integers_above(whole: str) -> Expr:
    """Literals of integers, no zeros in front, greater than `whole`."""
    options: list[Expr] = [_then(_NONZERO, Repeat(_DIGIT, len(whole), None))]
    for i, digit in enumerate(whole):
        options.append(_then(_text(whole[:i]), _above(digit), repeat(_DIGIT, len(whole) - i - 1, len(whole) - i - 1)))
    return _either(options)


def _integers_below(whole: str) -> Expr:
    options: list[Expr] = []
    if len(whole) > 1:
        options.append(Bytes(b"0"))
        options.append(_then(_NONZERO, repeat(_DIGIT, 0, len(whole) - 2)))
    for i, digit in enumerate(whole):
        low = 1 if i == 0 and len(whole) > 1 else 0
        rest = len(whole) - i - 1
        options.append(_then(_text(whole[:i]), _below(digit, low), repeat(_DIGIT, rest, rest)))
    return _either(options)


def _exponent(value: int, relation: str) -> Expr:
    """`e` and an exponent that is <, = or > `value`; zeros in front are legal."""
    size = str(abs(value))
    # What the digits after "+" or nothing must be, and after "-": the mirror image.
    positive = _digits_compared(size, relation, value >= 0)
    negative = _digits_compared(size, {"<": ">", "=": "=", ">": "<"}[relation], value <= 0)
    signed = [_then(_PLUS, positive), _then(_MINUS, negative)]
    return _then(_E, _either(signed))


def _digits_compared(size: str, relation: str, same_side: bool) -> Expr:
    """Digits, zeros in front allowed, of a number <, = or > `size`, or than its negative (not `same_side`)."""
    if not same_side:
        return _DIGITS if relation == ">" else NOTHING
    compare = {"<": _integers_below, "=": _text, ">": _integers_above}[relation]
    return _then(_ZEROS, compare(size))


_ANY_MANTISSA = Concat((_NONZERO, optional(_FRACTION)))
_NONZERO_PLAIN = Alt(
    (
        Concat((_NONZERO, star(_DIGIT), optional(_FRACTION))),
        Concat((Bytes(b"0."), _ZEROS, _NONZERO, star(_DIGIT))),
    )
)
_ZERO = Concat((Bytes(b"0"), _NO_FRACTION))
_POSITIVE = Alt((_NONZERO_PLAIN, Concat((_ANY_MANTISSA, _ANY_EXPONENT))))


@lru_cache(maxsize=4_096)
def _magnitude(value: Decimal, relation: str) -> Expr:
    """Literals without a sign of numbers <, = or > `value`, which is not negative."""
    if value.is_zero():
        return NOTHING if relation == "<" else _ZERO if relation == "=" else _POSITIVE
    integers: Expr
    digits: Expr
    rest: Callable[[str], Expr]
    whole, decimals = _parts(value)
    first, others, exponent = _scientific(value)
    if relation == "=":
        return _either(
            [
                _then(_text(whole), _decimals_equal(decimals)),
                _then(_text(first), _decimals_equal(others), _exponent(exponent, "=")),
            ]
        )
    integers, digits, rest = (
        (_integers_above(whole), _above(first), _decimals_above)
        if relation == ">"
        else (_integers_below(whole), _below(first, 1), _decimals_below)
    )
    return _either(
        [
            _then(integers, optional(_FRACTION)),
            _then(_text(whole), rest(decimals)),
            _then(_ANY_MANTISSA, _exponent(exponent, relation)),
            _then(digits, optional(_FRACTION), _exponent(exponent, "=")),
            _then(_text(first), rest(others), _exponent(exponent, "=")),
        ]
    )


def _compare(value: Decimal, relation: str) -> Expr:
    """Literals of numbers <, <=, = , >= or > `value`."""
    if len(relation) == 2:
        return _either([_compare(value, relation[0]), _compare(value, "=")])
    if relation == "=":
        magnitude = _magnitude(value.copy_abs(), "=")
        return _then(_SIGN, magnitude) if value.is_zero() else _then(_MINUS, magnitude) if value < 0 else magnitude
    outward = "<" if value < 0 else ">"  # away from zero
    same_sign = _magnitude(value.copy_abs(), ">" if (relation == outward) or value.is_zero() else "<")
    if value.is_zero():
        return same_sign if relation == ">" else _then(_MINUS, same_sign)
    sign = _MINUS if value < 0 else EMPTY
    if relation == outward:
        return _then(sign, same_sign)
    other = EMPTY if value < 0 else _MINUS  # everything on the other side of zero, and zero
    return _either([_then(sign, same_sign), _then(_SIGN, _ZERO), _then(other, _POSITIVE)])


@lru_cache(maxsize=4_096)
def equal(value: Decimal) -> Expr:
    """Every plain and normalised scientific literal of exactly this number."""
    return _compare(value, "=")


def _integral_scientific() -> Expr:
    options: list[Expr] = [_then(_NONZERO, _NO_FRACTION, _exponent(-1, ">"))]
    for count in range(1, _MOST_DECIMALS + 1):
        decimals = _then(Bytes(b"."), repeat(_DIGIT, count - 1, count - 1), _NONZERO, _ZEROS)
        options.append(_then(_NONZERO, decimals, _exponent(count - 1, ">")))
    return _then(_SIGN, _either(options))


DIGITS: Expr = Concat((_SIGN, _INT))
"""Integers as drafts 3 and 4 have them: digits only."""
_INTEGRAL = Alt((Concat((_SIGN, _INT, _NO_FRACTION)), _integral_scientific()))
INTEGER: Expr = Alt(
    (
        Concat((_SIGN, _INT, _NO_FRACTION, optional(Concat((_E, _PLUS, _DIGITS))))),
        Concat((_SIGN, _ZERO, _ANY_EXPONENT)),
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
    limits: Limits,
) -> Expr:
    """Literals of the numbers that keep all constraints.

    Args:
        low, high: bounds, each with whether it is exclusive.
        integral: integers only, numbers that are not integers only, or either (`None`).
        digits: numbers written without fraction and exponent only, others only, or either.
        multiples: steps, each with whether numbers must (or must not) be multiples.
        excluded: numbers that are not allowed.
        limits: bounds on the automata.
    """
    if integral:  # every integer is a multiple of 0.5
        multiples = tuple((s, must) for s, must in multiples if not (must and is_multiple(Decimal(1), s)))
    if not (low or high or multiples or excluded) and integral is not False and digits is None:
        return INTEGER if integral else NUMBER
    parts: list[Expr] = [_PLAIN if multiples else _CONSTRAINED]
    if low:
        parts.append(_compare(low[0], ">" if low[1] else ">="))
    if high:
        parts.append(_compare(high[0], "<" if high[1] else "<="))
    if digits is not None:
        parts.append(DIGITS if digits else Not(DIGITS))
    if integral is not None and not digits:
        parts.append(_INTEGRAL if integral else Not(_INTEGRAL))
    for step, must in multiples:
        parts.append(_multiple(step, limits) if must else Not(_multiple(step, limits)))
    parts += [Not(equal(value)) for value in excluded]
    return And(tuple(parts))
