"""Random regular expressions in Python's syntax, and random flags for them."""

from __future__ import annotations

import re

from hypothesis import strategies as st

__all__ = ["FLAGS", "PATTERNS"]

ATOMS = st.sampled_from(
    ["a", "b", "c", "é", "\n", ".", "[ab]", "[^a]", r"\w", r"\W", r"\d", r"\s", "_", "1", "[a-cé]", "k", "S", "[^é1]"]
)
ANCHORS = st.sampled_from(["^", "$", r"\A", r"\Z", r"\b", r"\B"])
FIXED = st.lists(ATOMS | ANCHORS, min_size=1, max_size=2).map("".join)


def compose(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantifier = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}?", "{2,}", "{0}", "{0,3}"])
    group = st.sampled_from(["(?:%s)", "(%s)", "(?i:%s)", "(?s:%s)", "(?m:%s)", "(?-i:%s)", "(?a:%s)"])
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: "(?:" + "|".join(parts) + ")"),
        st.tuples(inner, quantifier).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        st.tuples(group, inner).map(lambda pair: pair[0] % pair[1]),
        st.tuples(st.sampled_from(["(?=%s)", "(?!%s)"]), inner).map(lambda pair: pair[0] % pair[1]),
        st.tuples(st.sampled_from(["(?<=%s)", "(?<!%s)"]), FIXED).map(lambda pair: pair[0] % pair[1]),
    )


PATTERNS = st.recursive(ATOMS | ANCHORS | st.just(""), compose, max_leaves=8)
FLAGS = st.sets(st.sampled_from([re.I, re.M, re.S, re.A])).map(lambda chosen: sum(chosen))
