"""Helpers that tests written for xgrammar use. Those that look inside of its automata are not here: there are none."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiler import CompiledGrammar, GrammarCompiler
from .grammar import Grammar
from .matcher import GrammarMatcher
from .tokenizer_info import TokenizerInfo

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment, unused-ignore]

__all__ = ["bitmask_to_bool_mask", "bool_mask_to_bitmask"]


def _get_matcher_from_grammar(grammar: Grammar | str, **kwargs: Any) -> GrammarMatcher:
    """A matcher of texts, without tokens."""
    return _get_matcher_from_grammar_and_tokenizer_info(grammar, None, terminate_without_stop_token=True, **kwargs)


def _get_matcher_from_grammar_and_tokenizer_info(
    grammar: Grammar | str, tokenizer_info: TokenizerInfo | None = None, **kwargs: Any
) -> GrammarMatcher:
    return GrammarMatcher(_compiled(grammar, tokenizer_info), **kwargs)


def _compiled(grammar: Grammar | str, tokenizer_info: TokenizerInfo | None) -> CompiledGrammar:
    info = TokenizerInfo([]) if tokenizer_info is None else tokenizer_info
    return GrammarCompiler(info, cache_enabled=False).compile_grammar(grammar)


def _is_grammar_accept_string(
    grammar: Grammar | str,
    input_str: str | bytes,
    *,
    debug_print: bool = False,
    print_time: bool = False,
    require_termination: bool = True,
) -> bool:
    """Whether a text is one of the grammar's, or (without `require_termination`) the beginning of one."""
    matcher = _get_matcher_from_grammar(grammar)
    accepted = matcher.accept_string(input_str, debug_print=debug_print)
    return accepted and (not require_termination or matcher.is_terminated())


def _regex_to_ebnf(regex: str, with_rule_name: bool = True) -> str:
    """A pattern in xgrammar's notation for grammars."""
    Grammar.from_regex(regex)
    return f"root ::= Regex({json.dumps(regex)})\n" if with_rule_name else f"Regex({json.dumps(regex)})"


def _ebnf_to_grammar_no_normalization(ebnf_string: str, root_rule_name: str = "root") -> Grammar:
    """A grammar from xgrammar's notation."""
    return Grammar.from_ebnf(ebnf_string, root_rule_name=root_rule_name)


_INSIDE = (
    "GrammarFunctor",
    "_generate_float_regex",
    "_generate_range_regex",
    "_get_allow_empty_rule_ids",
    "_is_rule_fsm_accept_string",
    "_json_schema_to_ebnf",
    "_print_grammar_fsms",
)


class _Inside:
    """What looks at xgrammar's own automata and intermediate texts: it can be imported, and refuses to be used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise RuntimeError(
            f"xgrammar.testing.{self._name} looks at xgrammar's own automata, which this engine does not have. "
            "Ask what texts a grammar accepts: _is_grammar_accept_string."
        )

    def __getattr__(self, name: str) -> _Inside:
        return _Inside(f"{self._name}.{name}")


def __getattr__(name: str) -> Any:
    if name in _INSIDE:
        return _Inside(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _allowed(bitmask: Any, vocab_size: int, index: int) -> NDArray[np.bool_]:
    if getattr(getattr(bitmask, "device", None), "type", "cpu") != "cpu":
        raise ValueError("bitmask should be on CPU.")
    words = np.asarray(bitmask)
    if words.dtype != np.int32:
        raise ValueError("bitmask should be of type int32.")
    row = np.ascontiguousarray(words if words.ndim == 1 else words[index])
    return np.unpackbits(row.view(np.uint8), bitorder="little")[:vocab_size].astype(bool)


def _get_masked_tokens_from_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> list[int]:
    """The tokens that a row does not allow."""
    return [int(token) for token in np.flatnonzero(~_allowed(bitmask, vocab_size, index))]


def _is_single_token_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> tuple[bool, int]:
    """Whether a row allows one token only, and which."""
    tokens = np.flatnonzero(_allowed(bitmask, vocab_size, index))
    return (True, int(tokens[0])) if len(tokens) == 1 else (False, -1)


def bool_mask_to_bitmask(bool_mask: Any) -> Any:
    """A mask of one flag a token as a bitmask. Tokens past its width are allowed."""
    flags = np.asarray(bool_mask.cpu() if torch is not None and isinstance(bool_mask, torch.Tensor) else bool_mask)
    padded = np.pad(flags.astype(bool), ((0, 0), (0, -flags.shape[1] % 32)), constant_values=True)
    return _as_given(np.packbits(padded, axis=1, bitorder="little").view(np.int32), bool_mask)


def bitmask_to_bool_mask(bit_mask: Any, vocab_size: int | None = None) -> Any:
    """A bitmask as one flag a token."""
    width = bit_mask.shape[1] * 32
    if vocab_size is not None and vocab_size > width:
        raise ValueError("vocab_size should be less than or equal to the size represented by bit_mask.")
    size = width if vocab_size is None else vocab_size
    rows = [_allowed(bit_mask, size, row) for row in range(bit_mask.shape[0])]
    return _as_given(np.array(rows, dtype=bool).reshape(len(rows), size), bit_mask)


def _as_given(array: NDArray[Any], like: Any) -> Any:
    if torch is not None and isinstance(like, torch.Tensor):
        return torch.from_numpy(array).to(like.device)
    return array


def _traverse_draft_tree(
    retrieve_next_token: Any,
    retrieve_next_sibling: Any,
    draft_tokens: Any,
    matcher: GrammarMatcher,
    allocate_token_bitmask: Any,
    time_threshold: float = -1.0,
) -> bool:
    """The former way to call `GrammarMatcher.traverse_draft_tree`."""
    return matcher.traverse_draft_tree(
        retrieve_next_token, retrieve_next_sibling, draft_tokens, allocate_token_bitmask, time_threshold
    )
