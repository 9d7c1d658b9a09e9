"""Literals that spell special tokens of the vocabulary: those tokens, by their ids."""

from __future__ import annotations

from typing import Any

import pytest

import derivable as dv

NAMES = {"<|call|>": 256, "<|end|>": 257, "<|call|>s": 258, "<eos>": 259}
VOCABULARY = dv.Vocabulary.from_bytes(
    [*(bytes([b]) for b in range(256)), None, None, None, None], eos=[259], special=NAMES
)
CALL, END, CALLS, EOS = range(256, 260)


def takes(grammar: dv.Grammar, *parts: str | int) -> bool:
    """Whether the tokens are a text of the grammar: bytes of text, and special tokens by id."""
    matcher = dv.compile(grammar, VOCABULARY).matcher()
    tokens = [t for part in parts for t in ([part] if isinstance(part, int) else part.encode())]
    for token in tokens:
        if token not in matcher.allowed_tokens():
            assert not matcher.allows(token)
            return False
        matcher.advance(token)
    return matcher.is_accepting


def triggered(begin: str, trigger: str, end: str = "<|end|>", **more: Any) -> dict[str, Any]:
    tag = {"type": "tag", "begin": begin, "content": {"type": "regex", "pattern": "[0-9]+"}, "end": end}
    return {"type": "triggered_tags", "triggers": [trigger], "tags": [tag], **more}


def test_a_tag_begins_and_ends_with_tokens() -> None:
    tag = {"type": "tag", "begin": "<|call|>f(", "content": {"type": "regex", "pattern": "[0-9]+"}, "end": ")<|end|>"}
    grammar = dv.Grammar.from_structural_tag(tag)
    assert takes(grammar, CALL, "f(12)", END)
    assert not takes(grammar, "<|call|>f(12)", END) and not takes(grammar, CALL, "f(12)<|end|>")
    letters = dv.Grammar.from_structural_tag(tag, special_tokens="text")
    assert takes(letters, "<|call|>f(12)<|end|>") and not takes(letters, CALL, "f(12)<|end|>")
    either = dv.Grammar.from_structural_tag(tag, special_tokens="either")
    assert takes(either, CALL, "f(12)<|end|>") and takes(either, "<|call|>f(12)", END)
    with pytest.raises(dv.GrammarError, match="no meaning of special tokens"):
        dv.Grammar.from_structural_tag(tag, special_tokens="both")  # type: ignore[arg-type]


@pytest.mark.parametrize("trigger", ["<|call|>", "<|", "<|call|>f", "<"])
@pytest.mark.parametrize("more", [{}, {"at_least_one": True}, {"stop_after_first": True}])
def test_triggers_that_are_or_begin_a_token(trigger: str, more: dict[str, Any]) -> None:
    grammar = dv.Grammar.from_structural_tag(triggered("<|call|>f(", trigger, ")", **more))
    assert takes(grammar, CALL, "f(1)")
    assert not takes(grammar, "<|call|>f(1)")
    assert takes(grammar, "so ", CALL, "f(1)") is ("at_least_one" not in more)
    assert takes(grammar, CALL, "f(1) and ", CALL, "f(2) so") is ("stop_after_first" not in more)
    assert takes(grammar, "no call") is ("at_least_one" not in more)
    assert not takes(grammar, CALLS, "f(1)") and not takes(grammar, CALL, "g(1)")


def test_of_tokens_that_begin_at_one_place_the_longest_is_meant() -> None:
    grammar = dv.Grammar.from_structural_tag(triggered("<|call|>s", "<|call|>", ""))
    assert takes(grammar, CALLS, "7") and not takes(grammar, CALL, "s7")


def test_text_triggers_before_tokens() -> None:
    grammar = dv.Grammar.from_structural_tag(triggered("call:<|call|>", "call:"))
    assert takes(grammar, "a call:", CALL, "7", END) and not takes(grammar, "call:<|call|>7", END)
    with pytest.raises(dv.GrammarError, match="holds a part of the special token"):
        dv.compile(dv.Grammar.from_structural_tag(triggered("call:<|call|>", "call:<|")), VOCABULARY)
    letters = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
    matcher = dv.compile(dv.Grammar.from_structural_tag(triggered("call:<|call|>", "call:<|")), letters).matcher()
    matcher.advance_bytes(b"call:<|call|>1<|end|>")
    assert matcher.is_accepting


def test_dispatch_and_separators_and_ends() -> None:
    rules = [["<|call|>", {"type": "regex", "pattern": "[0-9]+"}], ["$", {"type": "const_string", "value": "<|end|>"}]]
    grammar = dv.Grammar.from_structural_tag({"type": "dispatch", "rules": rules})
    assert takes(grammar, "a", CALL, "1b$", END, "c")
    assert not takes(grammar, "<|call|>1") and not takes(grammar, "$<|end|>")
    tag = {"type": "tag", "begin": "a", "content": {"type": "any_text"}, "end": ["<|end|>", "<eos>"]}
    grammar = dv.Grammar.from_structural_tag({"type": "tags_with_separator", "tags": [tag], "separator": "<|call|>"})
    assert takes(grammar, "ab", END, CALL, "ac", END) and not takes(grammar, "ab<|end|>")
    assert takes(grammar, "ab", EOS)


def test_it_stays_when_grammars_are_put_together() -> None:
    call = dv.Grammar.from_structural_tag(triggered("<|call|>", "<|call|>"))
    both = dv.Grammar.free_text(until="</t>") + "</t>" + call
    assert takes(both, "x</t>y", CALL, "1", END) and not takes(both, "x</t><|call|>1", END)


def test_by_option_in_other_languages() -> None:
    gbnf = dv.Grammar.from_gbnf('root ::= "<|call|>f(" [0-9]+ (")" | "<|end|>") end\nend ::= "<eos>"?')
    assert takes(gbnf, "<|call|>f(1<|end|>") and not takes(gbnf, CALL, "f(1)")
    assert takes(gbnf.with_special_tokens(), CALL, "f(1", END) and not takes(gbnf.with_special_tokens(), "<|call|>f(1)")
    assert takes(gbnf.with_special_tokens("either"), "<|call|>f(1", END)
    assert gbnf.with_special_tokens("text") is gbnf
    ebnf = dv.Grammar.from_ebnf('root ::= "<|call|>" [a-z]*').with_special_tokens()
    assert takes(ebnf, CALL, "ab") and not takes(ebnf, "<|call|>ab")
    lark = dv.Grammar.from_lark('start: "<|call|>" NAME "<|end|>"\nNAME: /[a-z]+/\n%ignore " "').with_special_tokens()
    assert lark.lexing == "longest" and takes(lark, CALL, " ab ", END) and not takes(lark, "<|call|>ab", END)
    unclear = dv.Grammar.from_lark('start: "<|call|>f" NAME\nNAME: /[a-z]+/').with_special_tokens()
    with pytest.raises(dv.GrammarError, match="tokens and text"):
        dv.compile(unclear, VOCABULARY)
    plain = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
    assert dv.compile(unclear, plain).matcher().allows(ord("<"))
