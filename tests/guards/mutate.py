# ruff: noqa: E501 -- tables
"""Mutations of texts, of JSON values and of files, all drawn from a given source of randomness."""

from __future__ import annotations

import hashlib
import json
import random
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from derivable import _kernel

__all__ = ["mutated", "mutated_artifact", "mutated_bytes", "mutated_json", "mutated_text", "with_header"]

_NUMBERS = ["0", "1", "-1", "2", "17", "255", "256", "1000", "65536", "100000", "2147483648", "4294967295", "4294967296",
            "9223372036854775807", "18446744073709551616", "1e30", "1e1000000", "-0", "0.1", "1e-400", "9" * 5_000]  # fmt: skip
_CHARACTERS = ["\0", "\n", "\r\n", "\t", " ", '"', "'", "\\", "/", "(", ")", "[", "]", "{", "}", "|", "*", "+", "?", "^",
               "$", ".", "-", "~", "!", "#", ":", "::=", "<", ">", ",", "%", "@", "=", "é", "ß", "日", "𐐀", "\u2028",
               "\ud800", "\udfff", "\ufeff", "\x7f", "\uffff"]  # fmt: skip
_PAIRS = [("(", ")"), ("[", "]"), ("{", "}"), ('"', '"'), ("/", "/"), ("(?=", ")"), ("(?:", ")*"), ("(?<=", ")"), ("(?!", ")?")]  # fmt: skip
_TOKENS = re.compile(r"\w+|\s+|.", re.S)


def mutated_text(text: str, others: list[str], draw: random.Random) -> str:
    """A text with one to five things changed in it: characters, tokens, runs, numbers, nesting, parts of other texts."""
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
        text = draw.choice(_CHANGES)(text, others, draw)
        if len(text) > 300_000:
            break
    return text


def _span(text: str, draw: random.Random, longest: int = 30) -> tuple[int, int]:
    begin = draw.randint(0, len(text))
    return begin, min(len(text), begin + draw.randint(0, longest))


def _cut(text: str, others: list[str], draw: random.Random) -> str:
    begin, end = _span(text, draw)
    return text[:begin] + text[end:]


def _insert(text: str, others: list[str], draw: random.Random) -> str:
    at, _ = _span(text, draw)
    new = chr(draw.randrange(256)) if draw.random() < 0.2 else draw.choice(_CHARACTERS)
    return text[:at] + new + text[at:]


def _again(text: str, others: list[str], draw: random.Random) -> str:
    begin, end = _span(text, draw)
    times = draw.choice((1, 1, 1, 1, 2, 10, 100, 3_000))
    return text[:end] + text[begin:end] * times + text[end:]


def _splice(text: str, others: list[str], draw: random.Random) -> str:
    other = draw.choice(others)
    begin, end = _span(other, draw, 200)
    low, high = _span(text, draw)
    return text[:low] + other[begin:end] + text[high:]


def _number(text: str, others: list[str], draw: random.Random) -> str:
    found = list(re.finditer(r"\d+", text))
    if not found:
        begin, end = _span(text, draw, 0)
        count = f"{draw.choice(_NUMBERS)},{draw.choice(_NUMBERS)}" if draw.random() < 0.5 else draw.choice(_NUMBERS)
        return f"{text[:begin]}{{{count}}}{text[end:]}"
    one = draw.choice(found)
    return text[: one.start()] + draw.choice(_NUMBERS) + text[one.end() :]


def _nest(text: str, others: list[str], draw: random.Random) -> str:
    begin, end = _span(text, draw)
    opening, closing = draw.choice(_PAIRS)
    depth = draw.choice((1, 1, 1, 1, 2, 10, 60, 400, 20_000))
    return text[:begin] + opening * depth + text[begin:end] + closing * depth + text[end:]


def _token(text: str, others: list[str], draw: random.Random) -> str:
    tokens = _TOKENS.findall(text) or [""]
    at = draw.randrange(len(tokens))
    kind = draw.randrange(4)
    if kind == 0:
        tokens[at] = draw.choice(tokens)
    elif kind == 1:
        tokens[at] = draw.choice(_TOKENS.findall(draw.choice(others)) or [""])
    elif kind == 2:
        other = draw.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]
    else:
        tokens[at:at] = tokens[at : at + draw.randint(1, 6)]
    return "".join(tokens)


_CHANGES: list[Callable[[str, list[str], random.Random], str]] = [
    _cut, _insert, _again, _splice, _number, _nest, _token, _token, _token, _token, _token, _token,
]  # fmt: skip


# JSON


def mutated_json(text: str, others: list[str], draw: random.Random) -> str:
    """A JSON value with a part replaced by a part of another, by something of the wrong kind, or wrapped."""
    if draw.random() < 0.15:
        return mutated_text(text, others, draw)
    try:
        value, other = json.loads(text), json.loads(draw.choice(others))
        for _ in range(draw.choice((1, 1, 2, 3))):
            value = _changed(value, lambda: _part(other, draw), draw)
        return json.dumps(value)
    except (ValueError, RecursionError):  # one of them was no JSON, or is too deep to be changed as such
        return mutated_text(text, others, draw)


def _odd(draw: random.Random) -> Any:
    return draw.choice([None, True, False, 0, -1, 1.5, 1e300, 10**30, 2**64, 2**31, "", "a", "^(a|b)*$", "\ud800", [], {},
                        [[]], {"": {}}, ["a", "a"], {"$ref": "#"}, {"type": "object"}, {"not": {}}, "#/$defs/a"])  # fmt: skip


def _changed(value: Any, other: Callable[[], Any], draw: random.Random) -> Any:
    children = (
        list(value.items() if isinstance(value, dict) else enumerate(value)) if isinstance(value, dict | list) else []
    )
    if children and draw.random() < 0.8:
        key, child = draw.choice(children)
        copy = value.copy()
        kind = draw.random()
        if kind < 0.1:
            del copy[key]
        elif kind < 0.2 and isinstance(copy, dict):
            taken = other()
            copy |= taken if isinstance(taken, dict) else {draw.choice(["type", "a", "$ref", "items", "not"]): taken}
        else:
            copy[key] = _changed(child, other, draw)
        return copy
    kind = draw.random()
    if kind < 0.4:
        return _odd(draw)
    if kind < 0.7:
        return other()
    for _ in range(draw.choice((1, 1, 5, 60, 300))):
        value = (
            [value]
            if draw.random() < 0.3
            else {draw.choice(["not", "items", "allOf", "anyOf", "a", "content", "if"]): value}
        )
    return value


def _part(value: Any, draw: random.Random) -> Any:
    while isinstance(value, dict | list) and value and draw.random() < 0.7:
        value = draw.choice(list(value.values()) if isinstance(value, dict) else value)
    return value


# Saved constraints


@dataclass(frozen=True)
class _Saved:
    """The parts of a saved constraint or vocabulary."""

    data: bytes
    magic: bytes
    header: bytes
    rest: bytes
    """What stands behind the header and is under the checksum: tables, and a constraint's index."""
    beyond: bytes = b""
    """What has a checksum of its own in the header: a vocabulary's encoder."""

    @staticmethod
    def of(data: bytes) -> _Saved:
        magic = data[: data.index(b"\n") + 5]  # with the version
        is_vocabulary = magic.startswith(b"derivable vocabulary")
        at = len(magic) + (32 if is_vocabulary else 8)
        header_size, at = struct.unpack_from("<Q", data, at)[0], at + 8
        end = len(data)
        if is_vocabulary:
            at, end = at + 8, at + 8 + header_size + struct.unpack_from("<Q", data, at)[0]
        return _Saved(data, magic, data[at : at + header_size], data[at + header_size : end], data[end:])

    def closed(self, header: bytes, rest: bytes) -> bytes:
        """The file with these parts, its lengths and checksum mended."""
        size = struct.pack("<Q", len(header))
        if self.magic.startswith(b"derivable vocabulary"):
            digest = hashlib.sha256(header + rest).digest()
            return self.magic + digest + size + struct.pack("<Q", len(rest)) + header + rest + self.beyond
        body = size + header + rest
        return self.magic + _kernel.checksum(body).to_bytes(8, "little") + body


def mutated_artifact(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    """A saved constraint or vocabulary with bytes or a part of its header changed, its checksum and lengths mended."""
    saved = _Saved.of(data)
    header, rest = saved.header, bytearray(saved.rest)
    if draw.random() < 0.6:
        value = json.loads(header)
        for _ in range(draw.choice((1, 1, 2))):
            value = _changed_header(value, draw)
        header = json.dumps(value, separators=(",", ":")).encode()
    for _ in range(draw.choice((0, 1, 1, 2, 4))):
        _change_somewhere(rest, draw)
    if draw.random() < 0.05 and rest:
        del rest[draw.randrange(len(rest)) :]
    if draw.random() < 0.02:
        broken = bytearray(header)
        broken[draw.randrange(len(broken))] = draw.randrange(256)
        header = bytes(broken)
    return saved.closed(header, bytes(rest))


def _change_somewhere(data: bytearray, draw: random.Random) -> None:
    """Another byte or another number of 32 bits, often one that is out of bounds."""
    if not data:
        return
    at = draw.randrange(len(data))
    if draw.random() < 0.5:
        data[at] = draw.choice((0, 1, 2, 3, 127, 128, 254, 255, draw.randrange(256)))
    else:
        word = draw.choice((0, 1, 2, 5, 0x7FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE, draw.randrange(64)))
        data[at // 4 * 4 : at // 4 * 4 + 4] = struct.pack("<I", word)


def with_header(data: bytes, change: bytes | Callable[[dict[str, Any]], object]) -> bytes:
    """A saved constraint with another header, or its header changed in place; lengths and checksum mended."""
    saved = _Saved.of(data)
    if isinstance(change, bytes):
        return saved.closed(change, saved.rest)
    value = json.loads(saved.header)
    change(value)
    return saved.closed(json.dumps(value).encode(), saved.rest)


def mutated_bytes(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    """A file of another's format: bytes and numbers changed, runs left out, said again or taken from another file."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4))):
        kind, at = draw.random(), draw.randint(0, len(changed))
        if kind < 0.7:
            _change_somewhere(changed, draw)
        elif kind < 0.8:
            del changed[at : at + draw.randint(1, 40)]
        elif kind < 0.9:
            changed[at:at] = changed[at : at + draw.randint(1, 40)] * draw.choice((1, 2, 100))
        else:
            other = draw.choice(others)
            begin = draw.randint(0, len(other))
            changed[at : at + draw.randint(0, 40)] = other[begin : begin + draw.randint(0, 200)]
    return bytes(changed[: draw.randint(0, len(changed))] if draw.random() < 0.05 else changed)


def _changed_header(value: Any, draw: random.Random) -> Any:
    if isinstance(value, dict | list) and value and draw.random() < 0.93:
        copy = value.copy()
        key = draw.choice(list(copy)) if isinstance(copy, dict) else draw.randrange(len(copy))
        kind = draw.random()
        if kind < 0.05:
            del copy[key]
        elif kind < 0.1 and isinstance(copy, list):
            copy.insert(key, copy[draw.randrange(len(copy))])
        else:
            copy[key] = _changed_header(copy[key], draw)
        return copy
    if type(value) is bool:
        return not value
    if type(value) is int and draw.random() < 0.85:
        return draw.choice((value + 1, value - 1, -value, 0, 1, 2, 3, -1, -2, 2**31, 2**32, 2**63, 2**64, 10**30))
    if type(value) is str and draw.random() < 0.7:
        return draw.choice(("longest", "basic", "scannerless", "", "x", "a\ud800", value + "x"))
    return draw.choice((None, True, 0, 1, -1, 1.5, "x", [], {}, [0], [1, 2], float("inf")))


def mutated(reader: str, data: Any, others: list[Any], draw: random.Random) -> Any:
    """An input of a reader, mutated as its kind is."""
    if reader in ("artifact", "vocabulary"):
        return mutated_artifact(data, others, draw)
    if reader in ("sentencepiece", "gguf"):
        return mutated_bytes(data, others, draw)
    if reader in ("structural_tag", "json_schema", "tokenizer", "choices"):
        return mutated_json(data, others, draw)
    return mutated_text(data, others, draw)
