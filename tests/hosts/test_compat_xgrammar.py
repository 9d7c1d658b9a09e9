"""xgrammar's interface on this engine; beside xgrammar itself where it is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import derivable as dv

pytest.importorskip("pydantic")

import derivable.compat.xgrammar as xgr
from derivable.compat.xgrammar.strict import strict
from derivable.compat.xgrammar.testing import (
    _get_masked_tokens_from_bitmask,
    _is_grammar_accept_string,
    _is_single_token_bitmask,
    bitmask_to_bool_mask,
    bool_mask_to_bitmask,
)

TOKENS = ["<s>", "</s>", "a", "b", "ab", "c", "{", "}", '"', ":", "1", ",", " ", '{"', '":', "<|tool|>"]
INFO = xgr.TokenizerInfo(TOKENS)


def matcher(ebnf: str, info: xgr.TokenizerInfo = INFO, **options: Any) -> xgr.GrammarMatcher:
    return xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_grammar(ebnf), **options)


def allowed(of: xgr.GrammarMatcher, size: int = len(TOKENS)) -> list[int]:
    bitmask = xgr.allocate_token_bitmask(1, size)
    assert of.fill_next_token_bitmask(bitmask) is True
    return sorted(set(range(size)) - set(_get_masked_tokens_from_bitmask(bitmask, size)))


# Tokenizers


def test_vocabularies_of_three_kinds() -> None:
    raw = xgr.TokenizerInfo(["<0x41>", "▁x", b"\xff", "", "</s>"], vocab_size=7)
    assert raw.decoded_vocab == [b"<0x41>", "▁x".encode(), b"\xff", b"", b"</s>"]
    assert (raw.stop_token_ids, raw.special_token_ids, raw.vocab_size) == ([4], [3, 5, 6], 7)
    fallback = xgr.TokenizerInfo(["<0x41>", "▁x", "<0xzz>"], xgr.VocabType.BYTE_FALLBACK, stop_token_ids=2)
    assert fallback.decoded_vocab == [b"A", b" x", b"<0xzz>"] and fallback.stop_token_ids == [2]
    level = xgr.TokenizerInfo(["Ġc", "é", "漢", "Ġ漢", "Ċ"], xgr.VocabType.BYTE_LEVEL)
    assert level.decoded_vocab == [b" c", b"\xe9", "漢".encode(), "Ġ漢".encode(), b"\n"]
    with pytest.raises(RuntimeError):
        xgr.TokenizerInfo(["a", "b"], vocab_size=1)


def test_tokenizers_are_serialized() -> None:
    info = xgr.TokenizerInfo([b"\xff", "é", "", "</s>"], vocab_size=9, add_prefix_space=True)
    again = xgr.TokenizerInfo.deserialize_json(info.serialize_json())
    for name in ("decoded_vocab", "stop_token_ids", "special_token_ids", "vocab_size", "vocab_type", "fingerprint"):
        assert getattr(again, name) == getattr(info, name)
    assert again.add_prefix_space
    third = xgr.TokenizerInfo.from_vocab_and_metadata([b"\xff", "é", "", "</s>"], info.dump_metadata())
    assert third.serialize_json() == info.serialize_json()
    said = json.loads(info.serialize_json())
    with pytest.raises(xgr.InvalidJSONError):
        xgr.TokenizerInfo.deserialize_json("{")
    with pytest.raises(xgr.DeserializeVersionError):
        xgr.TokenizerInfo.deserialize_json(json.dumps(said | {"__VERSION__": "v16"}))
    for wrong in ({"vocab_size": 2}, {"stop_token_ids": [99]}, {"special_token_ids": [0]}, {"decoded_vocab": 5}):
        with pytest.raises(xgr.DeserializeFormatError):
            xgr.TokenizerInfo.deserialize_json(json.dumps(said | wrong))


def test_special_tokens_of_transformers_are_no_text() -> None:
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    vocab = {char: at for at, char in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>", bos_token="<s>")
    info = xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=300)
    assert info.vocab_type is xgr.VocabType.BYTE_LEVEL and info.vocab_size == 300
    assert info.stop_token_ids == [tokenizer.eos_token_id]
    start = tokenizer.bos_token_id
    assert start in info.special_token_ids and info.decoded_vocab[start] == b"<s>"
    free = xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_regex("[^a]*"))
    assert not free.accept_token(start) and free.accept_string("<s>") and free.accept_token(tokenizer.eos_token_id)


# Grammars


def test_grammars() -> None:
    a, b = xgr.Grammar.from_ebnf('root ::= "a"+'), xgr.Grammar.from_regex("b|c")
    for grammar, text, wrong in (
        (a, "aa", "b"),
        (b, "c", "bc"),
        (xgr.Grammar.concat(a, b), "aab", "ba"),
        (xgr.Grammar.union(a, b), "b", "ab"),
        (xgr.Grammar.builtin_json_grammar(), '{"a": [1, null]}', "1"),
        (xgr.Grammar.from_lark('start: "a" B\nB: /b+/'), "abb", "a"),
        (xgr.Grammar.from_ebnf('x ::= "y"', root_rule_name="x"), "y", "x"),
    ):
        again = xgr.Grammar.deserialize_json(grammar.serialize_json())
        assert again == grammar and hash(again) == hash(grammar)
        for each in (grammar, again):
            assert _is_grammar_accept_string(each, text) and not _is_grammar_accept_string(each, wrong)
    for each in (a, b):
        assert _is_grammar_accept_string(xgr.Grammar.from_ebnf(str(each)), "a" if each is a else "b")


def test_json_schemas() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}

    def accepts(text: str, **options: Any) -> bool:
        return _is_grammar_accept_string(xgr.Grammar.from_json_schema(schema, **options), text)

    assert accepts('{"a":1}') and accepts('{ "a" :\n1 }') and not accepts(' {"a":1}') and not accepts('{"a":1} ')
    assert accepts("{\n" + " " * 32 + '"a":1}') and not accepts("{\n" + " " * 33 + '"a":1}')
    assert not accepts('{"a":1,"b":2}') and accepts('{"a":1,"b":2}', strict_mode=False)
    assert accepts('{"a": 1}', any_whitespace=False) and not accepts('{"a":1}', any_whitespace=False)
    assert accepts('{"a":1}', any_whitespace=False, separators=(",", ":"))
    assert accepts('{  "a":1}', max_whitespace_cnt=2) and not accepts('{   "a":1}', max_whitespace_cnt=2)
    assert not accepts("{}", any_order=True)
    for wrong in ({"any_whitespace": False, "indent": 2}, {"max_whitespace_cnt": 0}):
        with pytest.raises(RuntimeError):
            accepts("{}", **wrong)
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Model", a=(int, ...), b=(str, "x"))
    assert _is_grammar_accept_string(xgr.Grammar.from_json_schema(model), '{"a": 1, "b": "y"}')


@pytest.mark.parametrize(
    ("schema", "closed"),
    [
        ({"type": "object"}, {"type": "object"}),
        ({"properties": {}}, {"properties": {}, "additionalProperties": False}),
        ({"properties": {}, "additionalProperties": True}, {"properties": {}, "additionalProperties": True}),
        ({"prefixItems": [{}]}, {"prefixItems": [{}], "items": False}),
        ({"items": {"properties": {}}}, {"items": {"properties": {}, "additionalProperties": False}}),
        ({"anyOf": [{"properties": {}}]}, {"anyOf": [{"properties": {}, "additionalProperties": False}]}),
        ({"allOf": [{"properties": {}}]}, {"allOf": [{"properties": {}}], "unevaluatedProperties": False}),
        ({"not": {"properties": {}}}, {"not": {"properties": {}}}),
        (True, True),
    ],
)
def test_strict_mode(schema: Any, closed: Any) -> None:
    assert strict(schema) == closed


def test_strict_branches_are_closed_together() -> None:
    schema = {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}], "type": "object"}
    grammar = xgr.Grammar.from_json_schema(schema)
    assert _is_grammar_accept_string(grammar, '{"a":1,"b":2}')
    assert not _is_grammar_accept_string(grammar, '{"a":1,"c":2}')


def test_structural_tags() -> None:
    tag = xgr.StructuralTag(
        format=xgr.structural_tag.TriggeredTagsFormat(
            triggers=["<f="],
            tags=[
                xgr.structural_tag.TagFormat(
                    begin="<f=a>",
                    content=xgr.structural_tag.JSONSchemaFormat(json_schema={"type": "integer"}),
                    end="</f>",
                )
            ],
        )
    )
    old = [xgr.StructuralTagItem(begin="<f=a>", schema={"type": "integer"}, end="</f>")]
    for grammar in (
        xgr.Grammar.from_structural_tag(tag),
        xgr.Grammar.from_structural_tag(tag.model_dump_json()),
        xgr.Grammar.from_structural_tag(json.loads(tag.model_dump_json())),
        xgr.Grammar.from_structural_tag(old, ["<f="]),
        xgr.Grammar.from_structural_tag(tags=old, triggers=["<f="]),
    ):
        assert _is_grammar_accept_string(grammar, "text <f=a>12</f> more")
        assert not _is_grammar_accept_string(grammar, "text <f=a>x</f> more")
    with pytest.raises(xgr.InvalidJSONError):
        xgr.Grammar.from_structural_tag("{")
    with pytest.raises(xgr.InvalidStructuralTagError):
        xgr.Grammar.from_structural_tag({"type": "structural_tag", "format": {"type": "x"}})
    with pytest.raises(TypeError):
        xgr.Grammar.from_structural_tag(1, 2, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: xgr.Grammar.from_ebnf("root ::= x"),
        lambda: xgr.Grammar.from_json_schema("{"),
        lambda: xgr.Grammar.from_json_schema({"type": "nothing"}),
        lambda: xgr.Grammar.from_regex("(a"),
        lambda: xgr.Grammar.from_lark("start: ("),
        lambda: xgr.Grammar.deserialize_json("{}"),
        lambda: xgr.Grammar.from_json_schema({"enum": []}),
    ],
)
def test_errors_are_runtime_errors(make: Any) -> None:
    with pytest.raises(RuntimeError) as caught:
        make()
    assert str(caught.value)


# Compilers


def test_the_cache_of_a_compiler() -> None:
    compiler = xgr.GrammarCompiler(INFO)
    one = compiler.compile_regex("a+")
    assert compiler.compile_regex("a+") is one and compiler.compile_regex("a*") is not one
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert compiler.compile_json_schema(schema) is compiler.compile_json_schema(dict(schema))
    assert compiler.compile_json_schema(schema) is not compiler.compile_json_schema(schema, strict_mode=False)
    assert compiler.get_cache_size_bytes() >= one.memory_size_bytes > 0 and compiler.cache_limit_bytes == -1
    compiler.clear_cache()
    assert compiler.get_cache_size_bytes() == 0 and compiler.compile_regex("a+") is not one
    small = xgr.GrammarCompiler(INFO, cache_limit_bytes=1)
    assert small.compile_regex("a+") is not small.compile_regex("a+") and small.get_cache_size_bytes() <= 1
    without = xgr.GrammarCompiler(INFO, cache_enabled=False)
    assert without.compile_regex("a+") is not without.compile_regex("a+")
    with pytest.raises(ValueError, match="TokenizerInfo"):
        xgr.GrammarCompiler(TOKENS)


def test_compiled_grammars_are_serialized() -> None:
    compiled = xgr.GrammarCompiler(INFO).compile_grammar('root ::= "a" ("b" | Token(15))')
    text = compiled.serialize_json()
    again = xgr.CompiledGrammar.deserialize_json(text, INFO)
    assert again.grammar == compiled.grammar and again.tokenizer_info is INFO
    assert allowed(xgr.GrammarMatcher(again)) == allowed(xgr.GrammarMatcher(compiled)) == [2, 4]
    with pytest.raises(xgr.DeserializeFormatError):
        xgr.CompiledGrammar.deserialize_json(text, xgr.TokenizerInfo(["a"]))
    with pytest.raises(xgr.DeserializeFormatError):
        xgr.CompiledGrammar.deserialize_json(text.replace("artifact", "facts"), INFO)


# Matchers


def test_a_generation() -> None:
    of = matcher('root ::= "ab"+ "c"?')
    assert allowed(of) == [2, 4] and not of.is_completed()
    assert of.accept_token(2) and not of.accept_token(2) and of.accept_token(3)
    assert allowed(of) == [1, 2, 4, 5] and of.is_completed() and not of.is_terminated()
    fork = of.fork()
    assert of.accept_string("ab") and not of.accept_string("b") and of.accept_token(1) and of.is_terminated()
    for token in (1, 2, 99, -1):
        assert not of.accept_token(token)
    assert not of.accept_string("") and not fork.is_terminated()
    with pytest.raises(RuntimeError, match="terminated"):
        of.fill_next_token_bitmask(xgr.allocate_token_bitmask(1, 16))
    of.rollback(2)
    assert allowed(of) == allowed(fork)
    with pytest.raises(RuntimeError):
        of.rollback(100)
    of.reset()
    assert allowed(of) == [2, 4] and of.find_jump_forward_string() == "ab" and of.stop_token_ids == [1]


def test_stop_tokens() -> None:
    of = matcher('root ::= "a"', override_stop_tokens=5)
    assert of.stop_token_ids == [5] and of.accept_token(2) and allowed(of) == [5]
    assert not of.accept_token(1) and of.accept_token(5) and of.is_terminated()
    without = matcher('root ::= "a"+', terminate_without_stop_token=True)
    assert not without.is_terminated() and without.accept_token(2) and without.is_terminated()
    assert allowed(without) == [2] and without.accept_token(2) and not without.accept_token(1)


def test_masks_that_need_not_be_applied() -> None:
    everything = xgr.TokenizerInfo(["a", "b"], stop_token_ids=[])
    bitmask = xgr.allocate_token_bitmask(2, 2)
    assert matcher("root ::= [ab]*", everything).fill_next_token_bitmask(bitmask, 1) is False
    assert matcher("root ::= [a]*", everything).fill_next_token_bitmask(bitmask, 0) is True
    for wrong, index in ((bitmask, 2), (bitmask[:, :0], 0), (np.zeros((1, 1)), 0)):
        with pytest.raises((RuntimeError, ValueError)):
            matcher("root ::= [a]*", everything).fill_next_token_bitmask(wrong, index)


def test_batches() -> None:
    batch = xgr.BatchGrammarMatcher(2)
    matchers = [matcher('root ::= "a" "b"'), matcher('root ::= "c"')]
    bitmask = xgr.allocate_token_bitmask(3, len(TOKENS))
    batch.batch_fill_next_token_bitmask(matchers, bitmask, [2, 0])
    assert [_is_single_token_bitmask(bitmask, 16, row) for row in (0, 1)] == [(True, 5), (False, -1)]
    assert xgr.BatchGrammarMatcher.batch_accept_token(matchers, [2, 2]) == [True, False]
    assert xgr.BatchGrammarMatcher.batch_accept_string(matchers, ["b", b"c"]) == [True, True]
    with pytest.raises(RuntimeError):
        xgr.BatchGrammarMatcher.batch_rollback(matchers, [1, 2])
    xgr.BatchGrammarMatcher.batch_rollback(matchers, [2, 1])
    assert [allowed(each) for each in matchers] == [[2, 4], [5]]
    for wrong in (lambda: batch.batch_accept_token(matchers, [1]), lambda: batch.batch_rollback(matchers, [1])):
        with pytest.raises(RuntimeError):
            wrong()


def test_draft_trees() -> None:
    of = matcher('root ::= "a" ("b" "c" | "c" "b")')
    assert of.accept_token(2)
    children, siblings = np.array([1, 3, -1, -1]), np.array([-1, 2, -1, -1])
    tokens = np.array([2, 3, 5, 3])
    bitmask = xgr.allocate_token_bitmask(4, len(TOKENS))
    assert of.traverse_draft_tree(children, siblings, tokens, bitmask)
    rows = [sorted(set(range(16)) - set(_get_masked_tokens_from_bitmask(bitmask, 16, row))) for row in range(4)]
    assert rows == [[3, 5], [5], [3], []] and allowed(of) == [3, 5]
    for wrong in ((children, np.array([1, -1, -1, -1])), (np.array([1, 0, -1, -1]), siblings)):
        with pytest.raises(RuntimeError):
            of.traverse_draft_tree(*wrong, tokens, bitmask)


# Bitmasks


def test_bitmasks_are_applied() -> None:
    bits = np.array([[True, False, True, False, True], [False] * 5])
    bitmask = bool_mask_to_bitmask(bits)
    assert bitmask_to_bool_mask(bitmask, 5).tolist() == bits.tolist()
    logits = np.zeros((2, 6), np.float32)
    xgr.apply_token_bitmask_inplace(logits, bitmask, vocab_size=5, indices=[0])
    assert np.isinf(logits).tolist() == [[False, True, False, True, False, False], [False] * 6]
    wide = np.zeros((2, 40), np.float32)
    with pytest.warns(UserWarning, match="unmasked"):
        xgr.apply_token_bitmask_inplace(wide, bitmask)
    assert not np.isinf(wide[:, 32:]).any() and np.isinf(wide[1, :5]).all()
    xgr.reset_token_bitmask(bitmask)
    assert (np.asarray(bitmask) == -1).all()


# As a module of that name


def run(code: str) -> str:
    paths = ":".join([str(Path(dv.__file__).parents[1]), *(path for path in sys.path if path)])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={"PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_install() -> None:
    out = run(
        "import derivable.compat.xgrammar as ours\n"
        "ours.install()\n"
        "import xgrammar as xgr, xgrammar.testing\n"
        "from xgrammar.structural_tag import TagFormat\n"
        "from xgrammar.contrib.hf import LogitsProcessor\n"
        "from xgrammar.kernels.apply_token_bitmask_inplace_cpu import apply_token_bitmask_inplace_cpu\n"
        "from xgrammar import GrammarMatcher, hf\n"
        "assert xgr is ours and GrammarMatcher is ours.GrammarMatcher and hf.LogitsProcessor is LogitsProcessor\n"
        "print(TagFormat.__module__)\n"
    )
    assert out == "derivable.compat.xgrammar.structural_tag\n"


def test_it_works_without_torch_and_transformers() -> None:
    out = run(
        "import sys\n"
        "sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "import derivable.compat.xgrammar as xgr, numpy as np\n"
        "info = xgr.TokenizerInfo(['a', '</s>'])\n"
        "m = xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_regex('a+'))\n"
        "b = xgr.allocate_token_bitmask(1, 2)\n"
        "m.fill_next_token_bitmask(b)\n"
        "l = np.zeros((1, 2), np.float32)\n"
        "xgr.apply_token_bitmask_inplace(l, b, vocab_size=2)\n"
        "print(type(b).__name__, l.tolist(), xgr.hf.LogitsProcessor.__name__)\n"
    )
    assert out == "ndarray [[0.0, -inf]] LogitsProcessor\n"


def test_the_logits_processor() -> None:
    torch = pytest.importorskip("torch")
    compiler = xgr.GrammarCompiler(INFO)
    processor = xgr.hf.LogitsProcessor([compiler.compile_regex("ab"), compiler.compile_regex("c")])
    ids, width = torch.zeros(2, 1, dtype=torch.int64), 20
    first = processor(ids, torch.zeros(2, width))
    assert [row.isfinite().nonzero().ravel().tolist() for row in first] == [[2, 4], [5]]
    ids = torch.cat([ids, torch.tensor([[2], [5]])], dim=1)
    second = processor(ids, torch.zeros(2, width))
    assert [row.isfinite().nonzero().ravel().tolist() for row in second] == [[3], [1]]
    with pytest.raises(RuntimeError, match="not allowed"):
        processor(torch.cat([ids, torch.tensor([[2], [1]])], dim=1), torch.zeros(2, width))
    with pytest.raises(RuntimeError, match="for 3 tokens"):  # another model
        xgr.hf.LogitsProcessor(compiler.compile_regex("ab"))(ids[:1], torch.zeros(1, 3))


# Beside xgrammar


@pytest.mark.parametrize("seed", range(4))
def test_masks_are_those_of_xgrammar(seed: int) -> None:
    """Grammars that mean the same to both, walked at random."""
    theirs = pytest.importorskip("xgrammar")
    if theirs is xgr:
        pytest.skip("this module was installed as xgrammar")
    rng = np.random.default_rng(seed)
    grammars = [
        'root ::= "ab"+ ("c" | "{" root "}")?',
        r'root ::= "{" (pair ("," pair)*)? "}"' + "\n" + r'pair ::= "\"" [abc]+ "\"" ":" [0-9]+',
        "root ::= [abc]{2,4} root?",
    ]
    for ebnf in grammars:
        one = xgr.GrammarMatcher(xgr.GrammarCompiler(INFO).compile_grammar(ebnf))
        other_info = theirs.TokenizerInfo(TOKENS)
        two = theirs.GrammarMatcher(theirs.GrammarCompiler(other_info).compile_grammar(ebnf))
        for _ in range(30):
            ours, other = (xgr.allocate_token_bitmask(1, len(TOKENS)) for _ in range(2))
            one.fill_next_token_bitmask(ours)
            two.fill_next_token_bitmask(other)
            tokens = sorted(set(range(16)) - set(_get_masked_tokens_from_bitmask(ours, 16)))
            assert tokens == sorted(set(range(16)) - set(_get_masked_tokens_from_bitmask(other, 16)))
            token = int(rng.choice(tokens))
            assert one.accept_token(token) and two.accept_token(token)
            assert one.is_terminated() == two.is_terminated()
            if one.is_terminated():
                break
            assert one.find_jump_forward_string() == two.find_jump_forward_string()
