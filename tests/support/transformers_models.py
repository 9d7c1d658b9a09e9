"""A random two-layer Llama of transformers over a small byte-level vocabulary, grammars for it, and how it is asked."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import derivable as dv  # noqa: E402

__all__ = [
    "BOS",
    "EOS",
    "GRAMMARS",
    "IPV4",
    "JSON",
    "PAD",
    "SIZE",
    "VOCABULARY",
    "batch",
    "check",
    "constraint_of",
    "generate",
    "make_model",
    "naive_greedy",
    "one_thread",
    "texts",
    "without_end",
]

BYTES = [bytes([b]) for b in range(256)]
MERGED = [
    b'{"', b'": ', b'", "', b'"}', b"true", b"false", b"null", b"[[", b"]]", b"], [", b", ", b": ", b'"a', b'": {"',
    b"12", b"345", b"0.5", b"e+", b"\xc3\xa9", b"\xa9\xc3", b"ab", b"abc", b"bc", b"  ", b"\n", b"yes", b"ye", b"no",
    b'"}}', b"}, {", b"a\"", b"192", b".168", b".1", b"255",
]  # fmt: skip
PAD, BOS, EOS = (len(BYTES) + len(MERGED) + i for i in range(3))
SIZE = EOS + 1
VOCABULARY = dv.Vocabulary.from_bytes([*BYTES, *MERGED, None, None, None], eos=[EOS])

IPV4 = r"((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
WORDS = r"(abc|bcab|yes|no)( (abc|ab|no)){0,3}\."
JSON = r"""
root   ::= object
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" (pair (", " pair){0,2})? "}"
pair   ::= string ": " value
array  ::= "[" (value (", " value){0,2})? "]"
string ::= "\"" [a-c]{0,3} "\""
number ::= "-"? ("0" | [1-9] [0-9]{0,3}) ("." [0-9]{1,2})?
"""
GRAMMARS = {
    "ipv4": (lambda: dv.Grammar.from_regex(IPV4), lambda text: re.fullmatch(IPV4, text.decode()) is not None),
    "words": (lambda: dv.Grammar.from_regex(WORDS), lambda text: re.fullmatch(WORDS, text.decode()) is not None),
    "choices": (lambda: dv.Grammar.from_choices(["yes", "no"]), lambda text: text in (b"yes", b"no")),
    "json": (lambda: dv.Grammar.from_gbnf(JSON), lambda text: isinstance(json.loads(text), dict)),
}


def make_model(seed: int, width: int = SIZE) -> Any:
    config = transformers.LlamaConfig(
        vocab_size=width,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        bos_token_id=BOS,
        eos_token_id=EOS,
        pad_token_id=PAD,
        initializer_range=0.4,  # decided logits: no near-ties between the two ways to compute them
    )
    torch.manual_seed(seed)
    model = transformers.LlamaForCausalLM(config).eval()
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = EOS, PAD
    return model


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Any:
    """The model is too small for more, and threads that wait for a busy machine take seconds."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def constraint_of(name: str) -> dv.Constraint:
    return dv.compile(GRAMMARS[name][0](), VOCABULARY)


def batch(*prompts: bytes) -> dict[str, Any]:
    """Left-padded."""
    rows = [[BOS, *prompt] for prompt in prompts]
    width = max(map(len, rows))
    ids = torch.tensor([[PAD] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    return {"input_ids": ids, "attention_mask": mask}


def texts(constraint: dv.Constraint, inputs: dict[str, Any], output: Any) -> list[tuple[bytes, bool]]:
    """Per row the text, and whether it ended; nothing but padding may follow the end."""
    found = []
    for row in output[:, inputs["input_ids"].shape[1] :].tolist():
        ends = [at for at, token in enumerate(row) if token in constraint.vocabulary.eos_ids]
        if ends:
            assert set(row[ends[0] :]) <= {PAD, EOS}
            row = row[: ends[0]]
        found.append((constraint.vocabulary.decode(row), bool(ends)))
    return found


def check(case: tuple[dv.Constraint, Any], inputs: dict[str, Any], output: Any) -> list[bytes]:
    """Rows that ended are members of the language; rows cut by the limit are prefixes."""
    constraint, accepts = case
    found = texts(constraint, inputs, output)
    for text, ended in found:
        if ended:
            assert accepts(text), text
        else:
            constraint.matcher().advance_bytes(text)
    return [text for text, _ in found]


def naive_greedy(model: Any, constraint: dv.Constraint, prompt: list[int], steps: int) -> list[int]:
    """Greedy search with the mask from scratch at every step, and no cache."""
    ids = list(prompt)
    for _ in range(steps):
        matcher = constraint.matcher()
        for token in ids[len(prompt) :]:
            matcher.advance(token)
        allowed = matcher.allowed_tokens()
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1].float().numpy()
        ids.append(int(allowed[np.argmax(logits[allowed])]))
        if ids[-1] in constraint.vocabulary.eos_ids:
            break
    return ids[len(prompt) :]


def generate(model: Any, processor: Any, inputs: dict[str, Any], **how: Any) -> Any:
    torch.manual_seed(how.pop("seed", 0))
    return model.generate(**inputs, logits_processor=[processor], **({"max_new_tokens": 40, "do_sample": False} | how))


def without_end(row: list[int]) -> list[int]:
    while row and row[-1] in (PAD, EOS):
        row = row[:-1]
    return row
