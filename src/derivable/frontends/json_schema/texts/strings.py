"""Strings by patterns, formats and lengths: as terminals, and single values checked."""

from __future__ import annotations

from ...._kernel import Dfa
from ....automata import compile_expr, is_empty, string_values
from ....automata.widths import width
from ....errors import LimitError
from ....expr import NOTHING, Alt, And, Chars, Expr, JsonStrings, Look, Not, star, walk
from ....limits import Limits
from ....support.caches import by_length
from .formats import format_expr
from .json_text import json_string, spelled
from .patterns import pattern
from .regex_format import REGEX, is_regex

__all__ = ["CONTENT", "Text", "decoded", "matches", "string", "texts"]

Text = tuple[str, str]
"""("pattern" or "format", its source); or `CONTENT` and a name."""

CONTENT = "content"
"""What is asked of a string that holds text of another language: no automaton says it."""


@by_length(4_096)
def decoded(text: Text) -> Expr:
    """The characters of the strings that match.

    Raises:
        UnreadablePattern: it is no pattern, or not regular.
    """
    kind, source = text
    if kind == "pattern":
        return pattern(source)
    found = format_expr(source)
    assert found is not None
    return found


_MATCHER_LIMITS = Limits(max_nfa_states=100_000)
"""What checks single values stays small: a subset of a million states is slow to step."""


_ANY = Chars.of((0, 0x10FFFF))


@by_length(4_096)
def _of_length(text: Text, low: int, high: int | None) -> tuple[Expr, tuple[int, int | None]]:
    """The JSON texts that a pattern or format matches, without alternatives that have no string of `low` to `high`
    characters; the fewest and most characters of the rest, as far as its shape tells.

    PERF: `^$|...` is written for a string that may be left out, also beside a `minLength`, whose intersection with all
    the others would be as large as they are: two members of up to a hundred words each took 4.7 ms, and now 1.8.
    """

    def fits(expr: Expr) -> bool:
        least, most = width(expr)
        return (most is None or most >= low) and (high is None or least <= high)

    characters = decoded(text)
    if isinstance(characters, Alt) and not all(map(fits, characters.items)):
        characters = Alt(tuple(filter(fits, characters.items)))
        return spelled(characters), width(characters)
    return texts(text), width(characters)


@by_length(4_096)
def _matcher(text: Text) -> Dfa:
    """The automaton of a pattern or format over UTF-8, for checking single values."""
    return compile_expr(And((decoded(text),)), limits=_MATCHER_LIMITS)


def matches(text: Text, value: str) -> bool:
    """Whether a pattern matches somewhere in `value`, or a format describes it."""
    if text == REGEX:
        return is_regex(value)
    return _matcher(text).accepts(value.encode("utf-8", "surrogatepass"))


@by_length(4_096)
def texts(text: Text) -> Expr:
    """The JSON texts of the strings that a pattern or format matches."""
    characters = decoded(text)
    return json_string() if characters == star(_ANY) else spelled(characters)


@by_length(4_096)
def string(
    low: int,
    high: int | None,
    must: tuple[Text, ...],
    must_not: tuple[Text, ...],
    excluded: tuple[str, ...],
    limits: Limits,
) -> Expr:
    """The text of all strings with these constraints; `NOTHING` if there is none."""
    found = [_of_length(text, low, high) for text in must]
    parts = [part for part, _ in found]
    if any(least >= low for _, (least, _) in found):
        low = 0
    if high is not None and any(most is not None and most <= high for _, (_, most) in found):
        high = None
    excluded = tuple(v for v in excluded if all(_matcher(t).accepts(v.encode("utf-8", "surrogatepass")) for t in must))
    values = (string_values(part, limits) for part in parts) if low else ()
    size = low * min((dfa.num_states for dfa in values if dfa), default=0)
    if size > 4 * limits.max_dfa_states:  # do not even try
        raise LimitError("max_dfa_states", size, limits.max_dfa_states, "a pattern or format beside a long minLength")
    if low or high is not None or excluded or not parts:
        parts.append(json_string(low, high, excluded))
    parts += [Not(texts(text)) for text in must_not]
    whole = parts[0] if len(parts) == 1 else And(tuple(parts))
    if isinstance(whole, JsonStrings):
        return NOTHING if excluded and is_empty(whole, limits) else whole
    # Only an intersection, a complement or an assertion can leave nothing.
    doubtful = any(isinstance(n, _DOUBTFUL) or (type(n) is Alt and not n.items) for n in walk(whole))
    if doubtful and is_empty(whole, limits):
        return NOTHING
    return whole


_DOUBTFUL = And, Look
