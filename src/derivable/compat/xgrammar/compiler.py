"""Grammars compiled for a tokenizer, and the cache of them."""

from __future__ import annotations

import base64
import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from ...compile import constraint_of
from ...constraint import Constraint
from ...errors import DerivableError
from .config import get_serialization_version, limits
from .exception import DeserializeFormatError, runtime_errors
from .grammar import Grammar, _made, structural_tag_text
from .tokenizer_info import TokenizerInfo, loaded

__all__ = ["CompiledGrammar", "GrammarCompiler"]


class CompiledGrammar:
    """A grammar compiled for a tokenizer, by a `GrammarCompiler`. Any number of matchers and threads may share it."""

    def __init__(self, grammar: Grammar, tokenizer_info: TokenizerInfo, constraint: Constraint) -> None:
        self._grammar = grammar
        self._tokenizer_info = tokenizer_info
        self._constraint = constraint
        self._with_other_ends: dict[tuple[int, ...], Constraint] = {}
        self._automata = 0

    @property
    def grammar(self) -> Grammar:
        """What was compiled."""
        return self._grammar

    @property
    def tokenizer_info(self) -> TokenizerInfo:
        """For which tokens."""
        return self._tokenizer_info

    @property
    def memory_size_bytes(self) -> int:
        """About what it takes: its automata, and what its matchers have made it remember so far."""
        if not self._automata:
            self._automata = len(self._constraint.to_bytes())
        return self._automata + int(self._constraint.stats()["run_bytes"])

    def constraint(self, stop_token_ids: Sequence[int] | None = None) -> Constraint:
        """The engine's, with these tokens ending a text."""
        if stop_token_ids is None:
            return self._constraint
        key = tuple(sorted(set(stop_token_ids)))
        if key == self._constraint.vocabulary.eos_ids:
            return self._constraint
        known = self._with_other_ends.get(key)
        if known is None:
            vocabulary = self._tokenizer_info.vocabulary(key)
            with runtime_errors():
                known = self._with_other_ends[key] = constraint_of(self._grammar._grammar, vocabulary, None, limits())
        return known

    def serialize_json(self) -> str:
        """The grammar, its automata, and what says for which tokenizer, as JSON."""
        said = {
            "recipe": self._grammar._recipe,
            "tokenizer": self._tokenizer_info.fingerprint,
            "artifact": base64.b64encode(self._constraint.to_bytes()).decode("ascii"),
            "__VERSION__": get_serialization_version(),
        }
        return json.dumps(said, separators=(",", ":"))

    @staticmethod
    def deserialize_json(json_str: str, tokenizer_info: TokenizerInfo) -> CompiledGrammar:
        """What `serialize_json` wrote, for an equal tokenizer. The automata are not built again.

        Raises:
            InvalidJSONError, DeserializeVersionError, DeserializeFormatError.
        """
        said = loaded(json_str)
        try:
            grammar = _made(said["recipe"])
            data = base64.b64decode(said["artifact"], validate=True)
            constraint = Constraint.from_bytes(data, tokenizer_info.vocabulary(), limits=limits())
        except (KeyError, TypeError, ValueError, IndexError, RuntimeError, DerivableError) as error:
            raise DeserializeFormatError(f"Deserialize format error: no compiled grammar: {error}") from error
        return CompiledGrammar(grammar, tokenizer_info, constraint)


class GrammarCompiler:
    """Compiles grammars for one tokenizer, each once. Safe to share between threads.

    Args:
        tokenizer_info: the tokenizer.
        max_threads: not used: grammars are compiled by the thread that asks, without the interpreter lock.
        cache_enabled: remember what was compiled.
        cache_limit_bytes: what was used longest ago is forgotten past so many bytes; -1: never.
    """

    def __init__(
        self,
        tokenizer_info: TokenizerInfo,
        *,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
    ) -> None:
        if not isinstance(tokenizer_info, TokenizerInfo):
            raise ValueError("Please convert the tokenizer to TokenizerInfo before passing it to GrammarCompiler.")
        if max_threads < 1:
            raise RuntimeError("max_threads must be at least 1")
        if cache_limit_bytes < -1:
            raise RuntimeError("cache_limit_bytes must be -1 or a number of bytes")
        self._tokenizer_info = tokenizer_info
        self._enabled = cache_enabled
        self._limit = cache_limit_bytes
        self._known: OrderedDict[str, CompiledGrammar] = OrderedDict()
        self._lock = Lock()

    def compile_json_schema(self, schema: Any, **options: Any) -> CompiledGrammar:
        """`Grammar.from_json_schema`, compiled."""
        key = json.dumps(["schema", _spelled(schema), options], default=str, sort_keys=True)
        return self._compiled(key, lambda: Grammar.from_json_schema(schema, **options))

    def compile_builtin_json_grammar(self) -> CompiledGrammar:
        """`Grammar.builtin_json_grammar`, compiled."""
        return self._compiled("json", Grammar.builtin_json_grammar)

    def compile_regex(self, regex: str) -> CompiledGrammar:
        """`Grammar.from_regex`, compiled."""
        return self._compiled(json.dumps(["regex", regex]), lambda: Grammar.from_regex(regex))

    def compile_lark(
        self, lark_string: str, *, named_grammars: dict[str, Grammar | str] | None = None
    ) -> CompiledGrammar:
        """`Grammar.from_lark`, compiled."""
        made = Grammar.from_lark(lark_string, tokenizer_info=self._tokenizer_info, named_grammars=named_grammars)
        return self._compiled(made.recipe, lambda: made)

    def compile_structural_tag(self, *args: Any, **kwargs: Any) -> CompiledGrammar:
        """`Grammar.from_structural_tag`, compiled."""
        text = structural_tag_text(args, kwargs)
        return self._compiled(json.dumps(["tag", text]), lambda: Grammar.from_structural_tag(text))

    def compile_grammar(self, grammar: str | Grammar, *, root_rule_name: str = "root") -> CompiledGrammar:
        """A grammar, or a text in xgrammar's notation, compiled."""
        if isinstance(grammar, str):
            text = grammar
            key = json.dumps(["ebnf", text, root_rule_name])
            return self._compiled(key, lambda: Grammar.from_ebnf(text, root_rule_name=root_rule_name))
        if not isinstance(grammar, Grammar):
            raise ValueError("Invalid grammar type. Please pass a string or a Grammar object.")
        made = grammar
        return self._compiled(made.recipe, lambda: made)

    def _compiled(self, key: str, make: Callable[[], Grammar]) -> CompiledGrammar:
        if not self._enabled:
            return self._compile(make())
        key += f"\n{limits().max_depth}"
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        known = self._compile(make())
        with self._lock:
            known = self._known.setdefault(key, known)
            size = self._size() if self._limit >= 0 else 0
            while size > self._limit >= 0 and self._known:
                _, dropped = self._known.popitem(last=False)
                size -= dropped.memory_size_bytes
        return known

    def _compile(self, grammar: Grammar) -> CompiledGrammar:
        with runtime_errors():
            constraint = constraint_of(grammar._grammar, self._tokenizer_info.vocabulary(), None, limits())
        return CompiledGrammar(grammar, self._tokenizer_info, constraint)

    def _size(self) -> int:
        return sum(compiled.memory_size_bytes for compiled in self._known.values())

    def clear_cache(self) -> None:
        """Forgets what was compiled. Those in use are not affected."""
        with self._lock:
            self._known.clear()

    def get_cache_size_bytes(self) -> int:
        """About what the cache takes."""
        with self._lock:
            return self._size()

    @property
    def cache_limit_bytes(self) -> int:
        """Past so many bytes it forgets; -1: never."""
        return self._limit


def _spelled(schema: Any) -> Any:
    """Of a class its schema, not its name: two may have the same."""
    return schema.model_json_schema() if isinstance(schema, type) and hasattr(schema, "model_json_schema") else schema
