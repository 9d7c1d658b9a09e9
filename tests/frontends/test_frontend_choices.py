"""`frontends/choices.py`."""

from __future__ import annotations

import pytest
from expr_matcher import derives

from derivable.errors import GrammarError
from derivable.frontends.choices import grammar_from_choices


def test_choices_and_nothing_else() -> None:
    grammar = grammar_from_choices(["yes", "no", "", "é", "yes", "a.b"])
    for text in ("yes", "no", "", "é", "a.b"):
        assert derives(grammar, text.encode())
    for text in ("ye", "yesno", "e", "axb"):
        assert not derives(grammar, text.encode())


@pytest.mark.parametrize("choices", [[], "yes", b"yes", ["a", 1], [None], ["\ud800"], [b"a"]])
def test_errors_say_what_to_do(choices: object) -> None:
    with pytest.raises(GrammarError) as caught:
        grammar_from_choices(choices)  # type: ignore[arg-type]
    assert caught.value.hint
