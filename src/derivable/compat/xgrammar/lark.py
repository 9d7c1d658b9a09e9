"""Grammars in the dialect of Lark that xgrammar shares with llguidance."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import ArgumentError, DerivableError, GrammarError
from ...frontends.llguidance import grammar_from_llguidance
from ...frontends.llguidance.source import TOKEN
from ...grammar import Grammar as EngineGrammar
from ...rules import Rules
from .config import limits
from .tokenizer_info import TokenizerInfo

__all__ = ["lark_grammar", "named_tokens", "refused_names"]

_NAME = re.compile(r"[A-Za-z0-9_-]+")


def named_tokens(texts: Sequence[str], tokenizer_info: TokenizerInfo | None) -> dict[str, list[int]] | None:
    """The ids of the tokens that grammars may name, by what they spell; `None` where there is no tokenizer."""
    if tokenizer_info is None:
        return None
    wanted = {found[0] for text in texts for found in TOKEN.finditer(text)}
    ids: dict[str, list[int]] = {}
    if not wanted:
        return ids
    for token_id, data in enumerate(tokenizer_info.decoded_vocab):
        if data[:1] == b"<" and (spelled := data.decode("utf-8", "replace")) in wanted:
            ids.setdefault(spelled, []).append(token_id)
    return ids


def refused_names(named: object) -> None:
    """What is no mapping of names to grammars or texts.

    Raises:
        TypeError, RuntimeError.
    """
    if not isinstance(named, dict):
        raise TypeError("named_grammars must be a dictionary")
    for name in named:
        if not isinstance(name, str):
            raise TypeError("named grammar names must be strings")
        if not _NAME.fullmatch(name):
            raise RuntimeError(f"Invalid named grammar name {name!r}: use letters, digits, `_` and `-`.")


def lark_grammar(
    text: str, named: Mapping[str, Any], tokens: Mapping[str, list[int]] | None, schema: Callable[[str], Rules]
) -> EngineGrammar:
    """The grammar of a text in the dialect.

    Args:
        named: grammars of the engine, or texts, by their names.
        tokens: as `named_tokens` gives them.
        schema: the grammar of a JSON Schema.

    Raises:
        RuntimeError: it cannot be used; with line, column and the text there.
    """

    def ids(name: str) -> Sequence[int]:
        if tokens is None:
            raise GrammarError(f"named special token {name} requires tokenizer_info", hint="Pass `tokenizer_info=`.")
        if name not in tokens:
            raise GrammarError(
                f"unknown special token {name}", hint="Name a token of the tokenizer, or its id: `<[42]>`."
            )
        return tokens[name]

    try:
        return EngineGrammar.of(
            grammar_from_llguidance(text, grammars=named, schema=schema, tokens=ids, limits=limits())
        )
    except DerivableError as error:
        raise RuntimeError(_located(error, text)) from error


def _located(error: DerivableError, text: str) -> str:
    """The error in xgrammar's form: the place, what is wrong, and the line there."""
    if isinstance(error, ArgumentError):
        return str(error)
    span = getattr(error, "span", None) if getattr(error, "source", None) == text else None
    at = 0 if span is None else min(span[0], len(text))
    line, begin = text.count("\n", 0, at) + 1, text.rfind("\n", 0, at) + 1
    shown = text[begin:].split("\n")[0].rstrip("\r")
    problem, hint = getattr(error, "problem", str(error)), getattr(error, "hint", None)
    said = [f"Lark error at line {line}, column {at - begin + 1}: {problem}", shown, " " * (at - begin) + "^"]
    return "\n".join([*said, hint] if hint else said)
