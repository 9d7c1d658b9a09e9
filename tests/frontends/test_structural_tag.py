"""`Grammar.structural_tag`: every format against its definition on all short words, both JSON forms, tokens, errors.

Random tags were given to xgrammar 0.2.8, too, which said the same of 56,000 words.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from words import BYTES, agrees

import derivable as dv

Format = dict[str, Any]
Step = Callable[[int], set[int]]
ANY: Format = {"type": "any_text"}


def const(value: str) -> Format:
    return {"type": "const_string", "value": value}


def tag(begin: Any, content: Format, end: Any) -> Format:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def chain(starts: set[int], step: Step) -> set[int]:
    return {end for start in starts for end in step(start)}


def closure(starts: set[int], step: Step) -> set[int]:
    seen = set(starts)
    while new := chain(seen, step) - seen:
        seen |= new
    return seen


def free(word: str, at: int, without: Iterable[str]) -> list[int]:
    return [end for end in range(at, len(word) + 1) if not any(text in word[at:end] for text in without)]


def whole(each: Format, word: str, at: int) -> set[int]:
    """Where a tag that begins at `at` may end."""
    if not word.startswith(each["begin"], at):
        return set()
    closing = [each["end"]] if isinstance(each["end"], str) else each["end"]
    middle = ends(each["content"], word, at + len(each["begin"]), [text for text in closing if text])
    return {end + len(text) for end in middle for text in closing if word.startswith(text, end)}


def dispatched(word: str, rules: list[tuple[str, Step]], excluded: list[str], loop: bool, at: int) -> set[int]:
    """The first trigger to be complete, then the longest; free text may end anywhere before that."""
    found: set[int] = set()
    todo, seen = [at], set()
    while todo:
        begin = todo.pop()
        if begin in seen:
            continue
        seen.add(begin)
        for end in range(begin, len(word) + 1):
            if any(word.endswith(text, begin, end) for text in excluded):
                break
            complete = [trigger for trigger, _ in rules if word.endswith(trigger, begin, end)]
            if complete:
                longest = max(complete, key=len)
                later = {x for trigger, follow in rules if trigger == longest for x in follow(end)}
                if loop:
                    todo += later
                else:
                    found |= later
                break
            found.add(end)
    return found


def ends(node: Format, word: str, at: int, outer: list[str]) -> set[int]:
    """Where a text of the format that begins at `at` may end: the definitions, read literally."""
    match node:
        case {"type": "const_string", "value": value}:
            return {at + len(value)} if word.startswith(value, at) else set()
        case {"type": "regex", "pattern": pattern}:
            return {end for end in range(at, len(word) + 1) if re.compile(pattern).fullmatch(word, at, end)}
        case {"type": "any_text"}:
            most = node.get("max_chars", len(word))
            return {end for end in free(word, at, [*node.get("excludes", []), *outer]) if end - at <= most}
        case {"type": "sequence", "elements": elements}:
            found = {at}
            for element in elements:
                found = chain(found, lambda start, e=element: ends(e, word, start, outer))
            return found
        case {"type": "or", "elements": elements}:
            return {end for element in elements for end in ends(element, word, at, outer)}
        case {"type": "optional", "content": content}:
            return {at} | ends(content, word, at, outer)
        case {"type": "star", "content": content}:
            return closure({at}, lambda start: ends(content, word, start, outer))
        case {"type": "plus", "content": content}:
            return closure(ends(content, word, at, outer), lambda start: ends(content, word, start, outer))
        case {"type": "repeat", "min": low, "max": high, "content": content}:
            found, counted = {at}, {at} if low == 0 else set()
            for count in range(1, high + 1):
                found = chain(found, lambda start: ends(content, word, start, outer))
                counted |= found if count >= low else set()
            return counted
        case {"type": "tag"}:
            return whole(node, word, at)
        case {"type": "triggered_tags", "triggers": triggers, "tags": tags}:
            rules = []
            for each in tags:
                trigger = next(t for t in triggers if each["begin"].startswith(t))
                cut = {**each, "begin": each["begin"][len(trigger) :]}
                rules.append((trigger, lambda start, c=cut: whole(c, word, start)))
            excluded = [*node.get("excludes", []), *outer]
            excluded += [t for t in triggers if not any(each["begin"].startswith(t) for each in tags)]
            once = node.get("stop_after_first", False)
            if not node.get("at_least_one"):
                return dispatched(word, rules, excluded, not once, at)
            first = {end for each in tags for end in whole(each, word, at)}
            return first if once else chain(first, lambda start: dispatched(word, rules, excluded, True, start))
        case {"type": "dispatch", "rules": pairs}:
            rules = [(t, lambda start, f=f: ends(f, word, start, [])) for t, f in pairs]
            return dispatched(word, rules, node.get("excludes", []), node.get("loop", True), at)
        case {"type": "tags_with_separator", "tags": tags, "separator": separator}:

            def one(start: int) -> set[int]:
                return {end for each in tags for end in whole(each, word, start)}

            def next_one(start: int) -> set[int]:
                return one(start + len(separator)) if word.startswith(separator, start) else set()

            found = one(at) if node.get("stop_after_first") else closure(one(at), next_one)
            return found if node.get("at_least_one") else found | {at}
    raise AssertionError(node)


def check(node: Format, pieces: list[str], length: int, reach: int | None = None) -> None:
    grammar = dv.Grammar.structural_tag({"type": "structural_tag", "format": node})
    agrees(grammar, pieces, lambda word: len(word) in ends(node, word, 0, []), length, reach)


@pytest.mark.parametrize(
    "node",
    [
        const("ab"),
        {"type": "regex", "pattern": "a+b?"},
        {**ANY, "excludes": ["ab", "bb"]},
        {**ANY, "max_chars": 2},
        {"type": "sequence", "elements": [ANY, const("b")]},
        {"type": "or", "elements": [const("a"), {"type": "plus", "content": const("b")}]},
        {"type": "optional", "content": const("ab")},
        {"type": "star", "content": {"type": "or", "elements": [const("a"), const("ba")]}},
        {"type": "repeat", "min": 1, "max": 3, "content": const("a")},
        tag("a", ANY, "b"),
        tag("a", ANY, ["b", "<"]),
        tag("a", ANY, ["", "b"]),
        tag("", ANY, "aba"),
        tag("a", {"type": "sequence", "elements": [ANY, const("a")]}, "b"),
        tag("a", tag("<", ANY, "a"), "b"),
        tag("a", {"type": "triggered_tags", "triggers": ["<"], "tags": [tag("<a", ANY, "a")]}, "b"),
        tag("a", {"type": "dispatch", "rules": [["<", const("a")]]}, "b"),
        {"type": "dispatch", "rules": [["<", const("a")], ["ab", ANY]]},
        {"type": "dispatch", "rules": [["<", const("a")]], "loop": False, "excludes": ["bb"]},
        {"type": "tags_with_separator", "tags": [tag("a", const("b"), "a"), tag("<", ANY, "b")], "separator": "<"},
        {"type": "tags_with_separator", "tags": [tag("a", ANY, "b")], "separator": "", "at_least_one": True},
        {"type": "tags_with_separator", "tags": [tag("a", ANY, "b")], "separator": "<", "stop_after_first": True},
    ],
    ids=lambda node: json.dumps(node)[:60],
)
def test_formats(node: Format) -> None:
    check(node, ["a", "b", "<"], 5, 3)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("once", [False, True])
def test_triggered_tags(first: bool, once: bool) -> None:
    tags = [tag("<a", const("b"), "<"), tag("<b", ANY, "a")]
    node = {"type": "triggered_tags", "triggers": ["<"], "tags": tags, "at_least_one": first, "stop_after_first": once}
    check(node, ["a", "b", "<"], 5, 4)


def test_a_trigger_without_tags_must_not_be_complete() -> None:
    tags = [tag("<a", const("b"), "<")]
    check({"type": "triggered_tags", "triggers": ["<", "bb"], "tags": tags}, ["a", "b", "<"], 5, 4)


class Maker:
    """Random formats over few letters."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self, low: int = 1, high: int = 2) -> str:
        return "".join(self.random.choice("ab") for _ in range(self.random.randint(low, high)))

    def tag(self, depth: int, begin: str) -> Format:
        return tag(begin, self.format(depth), self.random.choice([self.text(), [self.text(), ">"]]))

    def format(self, depth: int) -> Format:
        kind = self.random.randrange(4 if depth <= 0 else 12)
        flags = {"at_least_one": self.random.random() < 0.3, "stop_after_first": self.random.random() < 0.3}
        match kind:
            case 0:
                return const(self.text(0))
            case 1:
                return ANY
            case 2:
                return {**ANY, "excludes": [self.text()]}
            case 3:
                return {"type": "regex", "pattern": self.random.choice(["a+b?", "[ab]a|b", "a{1,2}"])}
            case 4 | 5:
                elements = [self.format(depth - 1) for _ in range(self.random.choice([1, 2]))]
                return {"type": "sequence" if kind == 4 else "or", "elements": elements}
            case 6:
                return {"type": self.random.choice(["optional", "plus", "star"]), "content": self.format(depth - 1)}
            case 7:
                return self.tag(depth - 1, self.text())
            case 8 | 9:
                tags = [self.tag(depth - 1, "<" + self.text(0, 1)) for _ in range(self.random.choice([1, 2]))]
                return {"type": "triggered_tags", "triggers": ["<"], "tags": tags, **flags}
            case 10:
                tags = [self.tag(depth - 1, self.text())]
                return {"type": "tags_with_separator", "tags": tags, "separator": self.text(0, 1), **flags}
            case _:
                rules = [["<", self.format(depth - 1)], ["aa", self.format(depth - 1)]]
                return {"type": "dispatch", "rules": rules, "loop": self.random.random() < 0.5}


@pytest.mark.parametrize("seed", range(60))
def test_random_formats(seed: int) -> None:
    node = Maker(seed).format(2)
    grammar = dv.Grammar.structural_tag(node)
    constraint = dv.compile(grammar, BYTES)
    words = {"".join(random.Random(seed * 1000 + n).choice("aabb<>") for _ in range(n % 8)) for n in range(150)}
    for word in sorted(words):
        matcher = constraint.matcher()
        try:
            matcher.advance_bytes(word.encode())
            found = matcher.is_accepting
            assert found or matcher.next_bytes(), f"a dead end: {word!r} {node}"
        except dv.TokenRejectedError:
            found = False
        assert found == (len(word) in ends(node, word, 0, [])), (word, node)


# Tools, as servers describe them


def tools(count: int) -> list[Format]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
    return [{"begin": f"<function=get_{i}>", "schema": schema, "end": "</function>"} for i in range(count)]


def accepts(grammar: dv.Grammar, text: str) -> bool:
    matcher = dv.compile(grammar, BYTES).matcher()
    try:
        matcher.advance_bytes(text.encode())
    except dv.TokenRejectedError:
        return False
    return matcher.is_accepting


def test_the_first_form_of_vllm_and_sglang() -> None:
    spec = {"type": "structural_tag", "structures": tools(3), "triggers": ["<function="]}
    call = '<function=get_1>{"city": "Oslo", "days": 2}</function>'
    for grammar in (dv.Grammar.structural_tag(spec), dv.Grammar.structural_tag(json.dumps(spec))):
        assert accepts(grammar, "no call at all <function")
        assert accepts(grammar, f"I will look. {call} and {call}{call} done")
        assert not accepts(grammar, "<function=get_7>{}</function>")
        assert not accepts(grammar, '<function=get_1>{"days": "x"}</function>')
        assert not accepts(grammar, "<function=get_1>{}")
    as_text = [{**tool, "schema": json.dumps(tool["schema"])} for tool in tools(2)]
    assert accepts(dv.Grammar.structural_tag({"structures": as_text, "triggers": ["<function="]}), call)


def test_128_tools() -> None:
    grammar = dv.Grammar.structural_tag({"structures": tools(128), "triggers": ["<function="]})
    assert accepts(grammar, 'x<function=get_127>{"days": 1}</function><function=get_0>{}</function>')
    assert sum(name.startswith("text without") for name in grammar.terminals) == 1


def test_reasoning_then_tools() -> None:
    calls = {
        "type": "triggered_tags",
        "triggers": ["<tool>"],
        "tags": [tag("<tool>", {"type": "json_schema", "json_schema": {"type": "integer"}}, "</tool>")],
        "stop_after_first": True,
    }
    spec = {"type": "sequence", "elements": [tag("<think>", ANY, "</think>"), calls]}
    grammar = dv.Grammar.structural_tag({"type": "structural_tag", "format": spec})
    assert accepts(grammar, "<think>hm <tool> </think>so <tool>12</tool>")
    assert not accepts(grammar, "<think>hm</think>so <tool>12</tool> and")


def test_grammars_and_options_of_schemas() -> None:
    letters = {"type": "grammar", "grammar": 'root ::= "a" x\nx ::= "b"'}
    assert accepts(dv.Grammar.structural_tag({"type": "sequence", "elements": [letters, letters]}), "abab")
    schema = {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "required": ["a", "b"]}
    spec = {"type": "json_schema", "json_schema": schema, "any_order": True, "max_whitespace_cnt": 1, "style": "json"}
    grammar = dv.Grammar.structural_tag(spec)
    assert accepts(grammar, '{"b": null, "a": null}')
    assert not accepts(grammar, '{"b":  null, "a": null}') and not accepts(grammar, '{"b": null}')


# Tokens

A, B, AB, CALL, DONE, END = range(6)
TOKENS = dv.Vocabulary.from_bytes(
    [b"a", b"b", b"ab", None, None, None], eos=[END], special={"<|call|>": CALL, "<|done|>": DONE}
)


def allowed(node: Format, *tokens: int) -> list[int]:
    matcher = dv.compile(dv.Grammar.structural_tag(node), TOKENS).matcher()
    for each in tokens:
        matcher.advance(each)
    return matcher.allowed_tokens().tolist()


def test_special_tokens_as_delimiters() -> None:
    call, done = {"type": "token", "token": "<|call|>"}, {"type": "token", "token": DONE}
    node = tag(call, const("ab"), done)
    assert allowed(node) == [CALL]
    assert allowed(node, CALL) == [A, AB]
    assert allowed(node, CALL, AB) == [DONE]
    assert allowed(node, CALL, AB, DONE) == [END]
    thoughts = tag(call, {"type": "any_tokens"}, done)
    assert allowed(thoughts, CALL, A) == [A, B, AB, DONE]
    assert allowed(tag(call, {"type": "any_tokens"}, {"type": "token", "token": A}), CALL) == [A, B, AB]


def test_single_tokens() -> None:
    assert allowed({"type": "token", "token": "ab"}) == [AB]
    assert allowed({"type": "exclude_token", "exclude_tokens": [A, "<|call|>"]}) == [B, AB]
    assert allowed({"type": "exclude_token"}) == [A, B, AB]
    node = {"type": "any_tokens", "exclude_tokens": ["b"], "max_tokens": 2}
    assert allowed(node, A) == [A, AB, END] and allowed(node, A, AB) == [END]
    assert allowed({"type": "any_tokens", "max_tokens": 0}) == [END]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("once", [False, True])
def test_token_triggered_tags(first: bool, once: bool) -> None:
    call, done = {"type": "token", "token": "<|call|>"}, {"type": "token", "token": "<|done|>"}
    node = {
        "type": "token_triggered_tags",
        "trigger_tokens": ["<|call|>"],
        "tags": [tag(call, const("b"), done)],
        "exclude_tokens": [A],
        "at_least_one": first,
        "stop_after_first": once,
    }
    assert allowed(node) == ([CALL] if first else [B, AB, CALL, END])
    assert allowed(node, CALL) == [B]
    assert allowed(node, CALL, B, DONE) == ([END] if once else [B, AB, CALL, END])


def test_token_dispatch() -> None:
    node = {"type": "token_dispatch", "rules": [["<|call|>", const("a")], [B, const("b")]], "exclude_tokens": [AB]}
    assert allowed(node) == [A, B, CALL, END]
    assert allowed(node, CALL) == [A] and allowed(node, CALL, A, B) == [B]
    assert allowed({**node, "loop": False}, A, CALL, A) == [END]


def test_token_formats_are_saved_and_loaded(tmp_path: Any) -> None:
    constraint = dv.compile(dv.Grammar.structural_tag({"type": "exclude_token", "exclude_tokens": [A, B]}), TOKENS)
    every = dv.compile(dv.Grammar.structural_tag({"type": "exclude_token"}), TOKENS)
    for saved in (constraint, every):
        saved.save(tmp_path / "x")
        again = dv.Constraint.load(tmp_path / "x", TOKENS)
        assert again.matcher().allowed_tokens().tolist() == saved.matcher().allowed_tokens().tolist()


# Errors


@pytest.mark.parametrize(
    ("spec", "problem", "at"),
    [
        (3, "3 is not a structural tag", "#"),
        ({}, "has no field 'type'", "#"),
        ({"type": "structural_tag"}, "'structural_tag' is not supported", "/type"),
        ({"type": "x", "format": ANY}, "the type is 'x'", "/type"),
        ({"type": "structural_tag", "format": 3}, "'format' is 3", "/format"),
        ({"type": "structural_tag", "format": ANY, "tools": []}, "'tools' of 'structural_tag'", "/tools"),
        ({"type": "structural_tag", "format": {"type": "nope"}}, "the format 'nope'", "/format/type"),
        ({**ANY, "max_tokens": -1}, "max_tokens", "/max_tokens"),
        ({**ANY, "max_chars": -1}, "'max_chars' is -1", "/max_chars"),
        ({**ANY, "excludes": ["a", ""]}, "'' is not a text", "/excludes/1"),
        ({**ANY, "exclude": []}, "'exclude' of 'any_text' is not supported", "/exclude"),
        ({"type": "const_string"}, "'const_string' has no field 'value'", "#"),
        ({"type": "const_string", "value": True}, "'value' is True", "/value"),
        (const("\ud83d"), "surrogate", "/value"),
        ({"type": "sequence", "elements": []}, "'elements' of 'sequence' is empty", "/elements"),
        ({"type": "sequence", "elements": [ANY, const(3)]}, "'value' is 3", "/elements/1/value"),  # type: ignore[arg-type]
        ({"type": "repeat", "min": 2, "max": 1, "content": ANY}, "2 and 1 are not the bounds", "/max"),
        ({"type": "repeat", "min": True, "max": 1, "content": ANY}, "'min' is True", "/min"),
        ({"type": "regex", "pattern": "(a"}, "cannot be parsed", "/pattern"),
        ({"type": "regex", "pattern": r"(a)\1"}, "back reference", "/pattern"),
        ({"type": "grammar", "grammar": "x ::= "}, "where an item should stand", "/grammar"),
        ({"type": "json_schema", "json_schema": {"type": "nope"}}, "nope", "/json_schema"),
        ({"type": "json_schema", "json_schema": {}, "style": "no_xml"}, "style 'no_xml'", "/style"),
        ({"type": "qwen_xml_parameter", "json_schema": {}}, "format 'qwen_xml_parameter'", "/type"),
        (tag("a", ANY, []), "'end' is []", "/end"),
        (tag("a", ANY, {"type": "token"}), "has no field 'token'", "/end"),
        (tag({"type": "token", "token": ""}, ANY, "b"), "'' is not a token", "/begin/token"),
        (tag({"type": "const_string", "value": ""}, ANY, "b"), "the type is 'const_string'", "/begin/type"),
        ({"type": "triggered_tags", "triggers": [], "tags": [tag("a", ANY, "b")]}, "with 0 of the triggers", "/tags/0"),
        ({"type": "triggered_tags", "triggers": ["<"], "tags": []}, "'tags' of 'triggered_tags' is empty", "/tags"),
        (
            {"type": "triggered_tags", "triggers": ["<", "<a"], "tags": [tag("<ab", ANY, "b")]},
            "begins with 2 of the triggers",
            "/tags/0/begin",
        ),
        (
            {"type": "triggered_tags", "triggers": ["<"], "tags": [tag({"type": "token", "token": 1}, ANY, "b")]},
            "1 is a token",
            "/tags/0/begin",
        ),
        ({"type": "triggered_tags", "triggers": ["<"], "tags": [ANY]}, "the type is 'any_text'", "/tags/0/type"),
        ({"type": "dispatch", "rules": [["a", ANY], ["ba", ANY, 1]]}, "is not a rule", "/rules/1"),
        ({"type": "dispatch", "rules": [["", ANY]]}, "'' is not a token", "/rules/0/0"),
        ({"type": "dispatch", "rules": [[1, ANY]]}, "1 is not a text", "/rules/0/0"),
        ({"type": "dispatch", "rules": [["a", ANY], ["ab", ANY]]}, "can never trigger anything", "#"),
        (
            {"type": "token_triggered_tags", "trigger_tokens": [1], "tags": [tag("a", ANY, "b")]},
            "not one of the trigger tokens",
            "/tags/0/begin",
        ),
        ({"structures": [], "triggers": ["<"]}, "'structures' of 'object' is empty", "/structures"),
        ({"structures": [{"begin": "<", "end": ">"}], "triggers": ["<"]}, "no field 'schema'", "/structures/0"),
        ({"structures": tools(1)}, "no field 'triggers'", "#"),
        ({"structures": tools(1), "triggers": ["<x"]}, "with 0 of the triggers", "/structures/0/begin"),
    ],
)
def test_errors_name_the_place(spec: Any, problem: str, at: str) -> None:
    with pytest.raises(dv.GrammarError) as caught:
        dv.Grammar.structural_tag(spec)
    assert problem in str(caught.value) and caught.value.hint
    where = getattr(caught.value, "pointer", None) or re.findall(r"\(at (\S+)\)", str(caught.value))[-1]
    assert (where == at) or (at != "#" and where.startswith(at))


def test_what_is_not_json() -> None:
    with pytest.raises(dv.GrammarSyntaxError, match="not JSON") as caught:
        dv.Grammar.structural_tag('{"type": nope}')
    assert caught.value.span == (9, 10)


def test_sizes_and_nesting_are_bounded() -> None:
    deep: Format = ANY
    for _ in range(400):
        deep = {"type": "star", "content": tag("(", deep, ")")}
    for spec in (deep, json.dumps(deep)):
        with pytest.raises(dv.LimitError, match="max_depth"):
            dv.Grammar.structural_tag(spec)
    deeper = '{"type": "star", "content": ' * 100_000
    with pytest.raises(dv.LimitError, match="max_depth"):
        dv.Grammar.structural_tag(deeper)
    with pytest.raises(dv.LimitError, match="max_source"):
        dv.Grammar.structural_tag("{}", limits=dv.Limits(max_source=1))
    many = dv.Grammar.structural_tag({**ANY, "max_chars": 2_147_483_647})  # counted: no state for each
    assert accepts(many, "some text")


def test_deep_nesting_within_the_bounds() -> None:
    deep: Format = const("x")
    for _ in range(240):
        deep = {"type": "sequence", "elements": [tag("(", deep, ")")]}
    assert accepts(dv.Grammar.structural_tag(deep), "(" * 240 + "x" + ")" * 240)


def test_json_in_tags_is_written_as_json_is() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}}
    tag_ = {"structures": [{"begin": "<f>", "schema": schema, "end": ";"}], "triggers": ["<"]}
    practical, spec = dv.Grammar.from_structural_tag(tag_), dv.Grammar.from_structural_tag(tag_, profile="spec")
    for text, both in {
        '{"a": 1.5}': True,
        '{"b": 1}': False,
        '{"a": 1e999}': False,
        '{ "\\u0061" : 1 }': False,
    }.items():
        assert accepts(spec, f"<f>{text};")
        assert accepts(practical, f"<f>{text};") is both, text
