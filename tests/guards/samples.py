# ruff: noqa: E501 -- tables
"""Inputs of every reader, small and good or nearly so: what the fuzzer mutates.

They come from testdata/ (the front ends' own tables), and from testdata/fuzz/<reader>.txt, samples separated by lines of
`====`: constructs that the tables lack, and inputs that once broke something.
"""

from __future__ import annotations

import io
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import derivable as dv

__all__ = ["CORPUS", "READERS", "TOKENS", "samples", "vocabulary"]

CORPUS = Path(__file__).parents[2] / "testdata"
_FILES = ("artifact", "vocabulary", "sentencepiece", "gguf")
READERS = ("regex", "gbnf", "ebnf", "lark", "choices", "structural_tag", "json_schema", "tokenizer", *_FILES)
TOKENS: list[bytes | None] = [
    *(bytes([byte]) for byte in range(256)),
    *b"aa|ab|ba|abc|the |  |    |\n |\n\n|()|[]|{}|{\"|\":|\", \"|\"a|a\"|123|0.|-1|e+|true|null|false|//|/*|*/|==".split(b"|"),
    "é".encode(),
    "日".encode(),
    "日".encode()[:2],
    None,  # <|call|>
    None,  # the end
]  # fmt: skip


@cache
def vocabulary() -> dv.Vocabulary:
    return dv.Vocabulary.from_bytes(TOKENS, eos=[len(TOKENS) - 1], special={"<|call|>": len(TOKENS) - 2})


def samples(reader: str) -> list[str] | list[bytes]:
    """What a reader takes: text, or the bytes of a file."""
    if reader in _FILES:
        return _files(reader)
    if reader == "tokenizer":
        return [json.dumps(document) for document in _tokenizers()]
    found = _own(reader)
    table = CORPUS / "frontends" / f"{reader}.json"
    if table.exists():
        found += sorted(_strings(json.loads(table.read_text(encoding="utf-8")), {"grammar", "pattern", "text"}))
    if reader == "json_schema":
        keywords = json.loads((CORPUS / "json_schema" / "keywords.json").read_text(encoding="utf-8"))
        found += sorted({json.dumps(schema) for schema in _values(keywords, "schema")})
    return found


def _own(reader: str) -> list[str]:
    text = (CORPUS / "fuzz" / f"{reader}.txt").read_text(encoding="utf-8")
    return [sample.strip("\n") for sample in text.split("\n====\n")]


def _values(value: Any, key: str) -> list[Any]:
    if isinstance(value, dict):
        return [inner for name, part in value.items() for inner in ([part] if name == key else _values(part, key))]
    return [inner for part in value for inner in _values(part, key)] if isinstance(value, list) else []


def _strings(value: Any, keys: set[str]) -> set[str]:
    return {text for key in keys for text in _values(value, key) if isinstance(text, str)}


_BLOCKS = """
start: (NAME ":" _NL _INDENT start _DEDENT | NAME _NL | "(" NAME ")" _NL)+
NAME: /[a-z]+/
_NL: /\\r?\\n[ \\t]*/
%declare _INDENT _DEDENT
"""
_GRAMMARS: list[tuple[str, Any, dict[str, Any]]] = [
    ("from_regex", r"(a|b[c-e]{2,4})*\d+(?=x)x", {}),
    ("from_lark", 'start: (A | B ";")+\nA: /[a-z]+(?!;)/\nB.1: /(?<=a)b|[0-9]+(?=.x)/\n%ignore " "', {}),
    ("from_lark", 'start: "let" NAME "=" (NAME | "(" start ")")\nNAME: /[a-z]+/\n%ignore / +/', {"lexing": "basic"}),
    ("from_lark", _BLOCKS, {}),
    ("from_json_schema", {"type": "object", "properties": {"a": {"enum": ["x", "yy"]}, "b": {"pattern": "^a+b"}}}, {}),
    ("from_json_schema", {"type": "array", "uniqueItems": True, "items": {"type": "string", "maxLength": 9}}, {}),
    ("structural_tag", {"type": "sequence", "elements": [{"type": "token", "token": "<|call|>"}, {"type": "any_tokens"}]}, {}),
    ("from_gbnf", 'root ::= "<" item{2,40} ">"\nitem ::= "a" | "(" item ")" | [0-9]+', {}),
]  # fmt: skip


@cache
def _files(reader: str) -> list[bytes]:
    if reader == "artifact":
        return [dv.compile(getattr(dv.Grammar, kind)(text, **options), vocabulary()).to_bytes()
                for kind, text, options in _GRAMMARS]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved"
        if reader == "gguf":
            return [_gguf(path, model) for model in ("llama", "gpt2")]
        model = _sentencepiece(path)
        if reader == "sentencepiece":
            return [model]
        saved = []
        for one in (vocabulary(), dv.Vocabulary.from_sentencepiece(path)):
            one.save(Path(folder) / "vocabulary")
            saved.append((Path(folder) / "vocabulary").read_bytes())
        return saved


def _sentencepiece(path: Path) -> bytes:
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(["the quick brown fox (x == 1) naïve 北京"] * 20),
        model_writer=model,
        vocab_size=300,
        model_type="bpe",
        byte_fallback=True,
        normalization_rule_name="identity",  # the others have a table of 200 kB
        user_defined_symbols=["<tool>"],
        control_symbols=["<|im_end|>"],
        hard_vocab_limit=False,
        minloglevel=2,
    )
    path.write_bytes(model.getvalue())
    return model.getvalue()


def _gguf(path: Path, model: str) -> bytes:
    from gguf import GGUFWriter

    unknown, control, user, unused, byte = 2, 3, 4, 5, 6
    tokens = [("<unk>", unknown), ("</s>", control), ("a", 1), ("Ġab", 1), ("<tool>", user), ("pad", unused)]
    if model == "llama":
        tokens = [("▁a" if text == "Ġab" else text, kind) for text, kind in tokens] + [("<0x0A>", byte)]
    writer = GGUFWriter(str(path), "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_eos_token_id(1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


def _tokenizers() -> list[dict[str, Any]]:
    added = [
        {"id": 6, "content": "</s>", "special": True, "lstrip": False, "normalized": False},
        {"id": 7, "content": "<|x|>", "special": False},
    ]
    pieces = ["<unk>", "<0x0A>", "▁a", "a", "b", "▁"]
    words = {piece: i for i, piece in enumerate(["a", "b", "Ġa", "Ċ", "ab", "<unk>"])}
    prefix = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}
    steps = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": [[piece, -1.5] for piece in pieces], "byte_fallback": True}
    return [
        {
            "version": "1.0",
            "added_tokens": added,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
            "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "unk_token": "<unk>", "vocab": words, "merges": ["a b"]},
        },
        {"added_tokens": added, "decoder": {"type": "Sequence", "decoders": steps}, "model": unigram},
        {"added_tokens": added[:1], "pre_tokenizer": {"type": "Sequence", "pretokenizers": [prefix]}, "model": unigram},
        {"added_tokens": added, "decoder": prefix, "model": {**unigram, "unk_id": None}},
    ]
