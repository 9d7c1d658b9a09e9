"""xgrammar's dialect of Lark, and its structural tags for the tool calls of models, on this engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import derivable as dv

pytest.importorskip("pydantic")

import derivable.compat.xgrammar as xgr
from derivable.compat.xgrammar.testing import _get_masked_tokens_from_bitmask

TOKENS = ["<s>", "</s>", "a", "b", "ab", "c", "{", "}", '"', ":", "1", ",", " ", '{"', '":', "<|tool|>"]
INFO = xgr.TokenizerInfo(TOKENS)


def matcher_of(ebnf: str) -> xgr.GrammarMatcher:
    return xgr.GrammarMatcher(xgr.GrammarCompiler(INFO).compile_grammar(ebnf))


def allowed(of: xgr.GrammarMatcher, size: int) -> list[int]:
    bitmask = xgr.allocate_token_bitmask(1, size)
    assert of.fill_next_token_bitmask(bitmask) is True
    return sorted(set(range(size)) - set(_get_masked_tokens_from_bitmask(bitmask, size)))


def accepts(grammar: xgr.Grammar, text: str) -> bool:
    compiled = xgr.GrammarCompiler(xgr.TokenizerInfo([]), cache_enabled=False).compile_grammar(grammar)
    one = xgr.GrammarMatcher(compiled, terminate_without_stop_token=True)
    return one.accept_string(text) and one.is_terminated()


def test_lark() -> None:
    numbers = xgr.Grammar.from_lark("start: /[0-9]+/")
    named = {"number": numbers, "pair": 'start: @number "," @number'}
    grammar = xgr.Grammar.from_lark(
        'start: "<" @pair ">" %json {"properties": {"a": {"type": "null"}}}', named_grammars=named
    )
    assert accepts(grammar, '<1,23>{"a" : null}') and not accepts(grammar, '<1,23>{"a": null, "b": 1}')
    again = xgr.Grammar.deserialize_json(grammar.serialize_json())
    assert again == grammar and accepts(again, "<1,2>{}")
    with pytest.raises(TypeError, match="must be a dictionary"):
        xgr.Grammar.from_lark("start: @x", named_grammars=[numbers])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="names must be strings"):
        xgr.Grammar.from_lark("start: @x", named_grammars={1: numbers})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="values must be Grammar instances or Lark strings"):
        xgr.Grammar.from_lark("start: @x", named_grammars={"x": 1})  # type: ignore[dict-item]
    with pytest.raises(RuntimeError, match="Invalid named grammar name"):
        xgr.Grammar.from_lark("start: @x", named_grammars={"a b": numbers})


def test_tokens_in_lark() -> None:
    info = xgr.TokenizerInfo(["<x>", "a", "<x>", "</s>"])
    compiled = xgr.GrammarCompiler(info).compile_lark('start: <x> "a"')
    one = xgr.GrammarMatcher(compiled)
    assert allowed(one, 4) == [0, 2] and one.accept_token(2) and allowed(one, 4) == [1]
    with pytest.raises(RuntimeError, match="named special token <x> requires tokenizer_info"):
        xgr.Grammar.from_lark("start: <x>")
    with pytest.raises(RuntimeError, match="unknown special token <y>"):
        xgr.Grammar.from_lark("start: <y>", tokenizer_info=info)


def test_errors_in_lark_show_their_line() -> None:
    with pytest.raises(RuntimeError) as caught:
        xgr.Grammar.from_lark('# numbers\r\nstart: "1"\r\nother "2"')
    lines = str(caught.value).split("\n")
    assert lines[0] == "Lark error at line 3, column 7: expected ':' after rule name"
    assert lines[1:3] == ['other "2"', "      ^"]
    assert isinstance(caught.value.__cause__, dv.GrammarSyntaxError)


def test_temperatures_of_rules() -> None:
    grammar = xgr.Grammar.from_lark('start: "a" value "c"\nvalue[temperature=0.6]: /b+/')
    compiled = xgr.GrammarCompiler(INFO).compile_grammar(grammar)
    one = xgr.GrammarMatcher(compiled, default_temperature=0.1)
    heard = [one.temperature]
    for token in (2, 3, 5):
        assert one.accept_token(token)
        heard.append(one.temperature)
    assert heard == [0.1, 0.6, 0.6, 0.1]
    temperatures = np.zeros(2, np.float32)
    silent = xgr.GrammarMatcher(xgr.GrammarCompiler(INFO).compile_grammar('root ::= "a"'))
    one.rollback(2)
    xgr.BatchGrammarMatcher.batch_fill_temperature([one, silent], temperatures)
    assert temperatures.tolist() == pytest.approx([0.6, -1])
    for wrong in (-0.1, float("nan"), float("inf")):
        with pytest.raises(RuntimeError, match="finite non-negative"):
            xgr.GrammarMatcher(compiled, default_temperature=wrong)


def test_tokens_that_are_forced() -> None:
    one = matcher_of('root ::= "ab" "c{" [a-b]')
    assert one.find_jump_forward_tokens() == [4, 5]  # `{` might be `{"`
    assert one.accept_token(4) and one.find_jump_forward_tokens() == [5]
    assert matcher_of('root ::= "ab" | "c"').find_jump_forward_tokens() == []
    assert matcher_of('root ::= "" | "c"').find_jump_forward_tokens() == []


# Tool calls


ADD = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}},
}
SAY = {"type": "function", "function": {"name": "say", "strict": False}}
SEARCH = {"type": "web_search", "name": "browser.search"}


@pytest.mark.parametrize("model", xgr.builtin_structural_tag._MODELS)  # type: ignore[attr-defined]
@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "function": {"name": "add"}}, "none"])
def test_structural_tags_of_models(model: str, choice: Any) -> None:
    tag = xgr.get_model_structural_tag(model, [ADD], choice, reasoning="disabled", max_whitespace_cnt=2)
    grammar = xgr.Grammar.from_structural_tag(tag)
    if model in ("llama", "qwen_3", "qwen_3_coder", "mimo", "glm_4_7", "exaone"):  # those without marks around text
        assert accepts(grammar, "Hello.") is (choice in ("auto", "none"))
    assert xgr.StructuralTag.from_json(tag.model_dump_json()) == tag


def test_options_of_structural_tags() -> None:
    call = '<tool_call>\n{"name": "add", "arguments": {"n": 1}}\n</tool_call>'
    one = xgr.Grammar.from_structural_tag(
        xgr.get_builtin_structural_tag("qwen_3", [ADD], "required", reasoning=False, parallel_tool_calls=False)
    )
    assert accepts(one, call) and not accepts(one, f"{call}\n{call}")
    free = xgr.get_model_structural_tag("qwen_3", [ADD], exclude_special_tokens=False, any_order=True, reasoning="auto")
    assert accepts(xgr.Grammar.from_structural_tag(free), "No <think> here.")
    said = free.model_dump_json()
    assert '"any_order":true' in said and 'excludes":["<' not in said
    assert xgr.get_model_structural_tag("qwen_3", [ADD], token_markers=True)
    for wrong, says in (
        ({"model": "other"}, "Unknown format type"),
        ({"model": "llama", "token_markers": True}, "token_markers is not supported"),
        ({"model": "llama", "token_markers": 1}, "must be a bool"),
        ({"model": "llama", "reasoning": "no"}, "'reasoning' argument"),
        ({"model": "llama", "tools": [SEARCH]}, "tools of the server"),
    ):
        with pytest.raises(ValueError, match=says):
            xgr.get_model_structural_tag(**wrong)  # type: ignore[arg-type]


def test_tools_of_the_server() -> None:
    """Harmony calls them by their names, with `code` behind, in the role or on the channel; functions as ever."""
    query = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    search = {"type": "web_search_preview", "name": "browser.search", "parameters": query}
    python = {"type": "code_interpreter"}
    say, end = '<|message|>{"query": "weather"}', "<|call|>"
    add = '<|channel|>commentary to=functions.add<|constrain|>json<|message|>{"n": 1}<|call|>'

    def made(choice: Any, **options: Any) -> Any:
        tag = xgr.get_model_structural_tag("harmony", [ADD, search, python], choice, reasoning=False, **options)
        assert xgr.StructuralTag.from_json(tag.model_dump_json()) == tag
        return xgr.Grammar.from_structural_tag(tag)

    auto = made("auto")
    for channel in ("commentary", "analysis"):
        for head in (f"<|channel|>{channel} to=browser.search code", f" to=browser.search<|channel|>{channel} code"):
            assert accepts(auto, f"{head}{say}{end}"), head
            assert not accepts(auto, f'{head}<|message|>{{"q": 1}}{end}'), head
            assert not accepts(auto, f"{head.removesuffix(' code')}{say}{end}"), head
    assert accepts(auto, f"{add}<|start|>assistant<|channel|>commentary to=code_interpreter code<|message|>[1]{end}")
    assert not accepts(auto, f"<|channel|>commentary to=functions.browser.search code{say}{end}")
    call = f"<|channel|>commentary to=browser.search code{say}{end}"
    forced = made({"type": "web_search_preview"})
    assert accepts(forced, call) and not accepts(forced, add)
    assert not accepts(forced, call.replace("browser.search", "code_interpreter"))
    refs = [{"type": "function", "function": {"name": "add"}}, {"type": "web_search_preview"}]
    some = made({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": refs}})
    assert accepts(some, call) and accepts(some, add)
    single = made("required", parallel_tool_calls=False)
    assert accepts(single, call) and not accepts(single, f"{call}<|start|>assistant{add}")
    assert not accepts(made("none"), call)


def test_choices_of_tools() -> None:
    tools: list[Any] = [ADD, SAY, SEARCH]

    def names(choice: Any) -> tuple[list[str], list[str], str]:
        functions, builtin, simple = xgr.normalize_tool_choice(tools, choice)
        return [each.function.name for each in functions], [each.type for each in builtin], simple

    assert names("auto") == names(None) == (["add", "say"], ["web_search"], "auto")
    assert names("none") == ([], [], "auto")
    assert names("required") == (["add", "say"], ["web_search"], "required")
    assert names({"type": "function", "function": {"name": "say"}}) == (["say"], [], "forced")
    assert names({"type": "web_search"}) == ([], ["web_search"], "forced")
    refs = [{"type": "function", "function": {"name": "add"}}, {"type": "web_search"}]
    some = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": refs}}
    assert names(some) == (["add"], ["web_search"], "required")
    assert xgr.normalize_tool_choice() == ([], [], "auto")
    other = {"type": "function", "function": {"name": "other"}}
    for given, choice in (
        ("add", "auto"),
        ([], "required"),
        ([ADD], other),
        ([ADD], {"type": "web_search"}),
        ([ADD], {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [other]}}),
        ([ADD], {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "web_search"}]}}),
        ([ADD], {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function"}]}}),
        ([5], "auto"),
        ([ADD], 5),
    ):
        with pytest.raises(ValueError):
            xgr.normalize_tool_choice(given, choice)  # type: ignore[arg-type]


def test_models_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xgr.builtin_structural_tag, "_registered", {})  # type: ignore[attr-defined]

    @xgr.register_model_structural_tag("my_model", marker_tokens=["<tool>"])
    def mine(
        functions: list[Any], builtin: list[Any], choice: str, reasoning: str, **options: Any
    ) -> xgr.StructuralTag:
        text = f"{len(functions)} {len(builtin)} {choice} {reasoning} {options['any_order']}"
        return xgr.StructuralTag.from_json({"format": {"type": "const_string", "value": text}})

    made = xgr.get_model_structural_tag("my_model", [ADD, SEARCH], "required", reasoning=True, token_markers=True)
    assert made.format.value == "1 1 required enabled False"  # type: ignore[union-attr]


def test_builders_of_models() -> None:
    module = xgr.builtin_structural_tag  # type: ignore[attr-defined]
    functions, builtin, choice = xgr.normalize_tool_choice([ADD], "required")
    made = module.get_llama_structural_tag(functions, builtin, choice, "disabled", any_order=True)
    assert made == xgr.get_model_structural_tag("llama", [ADD], "required", reasoning="disabled", any_order=True)
    with pytest.raises(AttributeError):
        _ = module.get_other_structural_tag


def test_lark_in_a_structural_tag() -> None:
    tag = {"type": "structural_tag", "format": {"type": "grammar", "grammar": "start: %json true", "syntax": "lark"}}
    assert accepts(xgr.Grammar.from_structural_tag(xgr.StructuralTag.from_json(tag)), "[1]")


def test_captures() -> None:
    text = 'start[capture="all"]: "a" part "c"\npart[capture, stop="b", stop_capture="end"]: /a*/'
    one = xgr.GrammarMatcher(xgr.GrammarCompiler(INFO).compile_grammar(xgr.Grammar.from_lark(text)))
    assert one.accept_token(2) and one.accept_string("a") and one.get_captures() == []
    other = one.fork()
    assert one.accept_token(3) and one.accept_token(5)
    assert one.get_captures() == [("part", b"a"), ("end", b"b"), ("all", b"aac")]
    assert one.accept_token(1) and one.is_terminated() and ("all", b"aac") in one.get_captures()
    one.rollback(2)
    assert ("all", b"aac") not in one.get_captures() and other.get_captures() == []
    one.reset()
    assert one.get_captures() == []
    with pytest.raises(RuntimeError, match="deduplicate"):
        one.get_captures(deduplicate=False)
