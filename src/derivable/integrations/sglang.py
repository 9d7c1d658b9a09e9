"""SGLang: a grammar backend of its own name, `--grammar-backend derivable`.

The entry point `sglang.srt.plugins` calls `register` in every process of the server. All kinds of constraints that
SGLang's API has go to this engine: JSON Schema, JSON objects, patterns, grammars in xgrammar's notation, structural
tags. One that cannot be enforced exactly is refused with its reason; none is skipped. Every text is complete within the
request's `max_new_tokens`, and a request in which no text fits is refused.

With `--reasoning-parser` the grammar of a request that reasons is its text behind the reasoning, so that nobody has to
wait for the end of it: see `derivable.integrations.sglang_reasoning`.

Tested with SGLang's own classes (0.5.23) as far as they run on a CPU; its server needs CUDA and was not run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

try:
    from sglang.srt.constrained import base_grammar_backend as host
except ImportError as error:
    raise ImportError("derivable.integrations.sglang needs sglang: pip install sglang") from error

from ..apply import apply_bitmask
from ..batch import allocate_bitmask
from ..compile import compile
from ..constraint import Constraint
from ..errors import DerivableError, LimitError
from ..grammar import Grammar
from ..matcher import Matcher
from ..vocabulary import Vocabulary
from .filling import fill_or_end
from .sglang_reasoning import Marks, marks_of
from .specs import grammar_of, is_turn

__all__ = ["Backend", "GrammarObject", "register"]

_ANY_JSON = "$$ANY$$"
_BUDGET = ":thinking_budget="
_KINDS: dict[str, Callable[[str], Grammar]] = {
    "json": lambda text: Grammar.from_json_schema({"type": "object"} if text == _ANY_JSON else text),
    "regex": Grammar.from_regex,
    "ebnf": Grammar.from_ebnf,
    "full_assistant_ebnf": Grammar.from_ebnf,
    "structural_tag": lambda text: grammar_of("structural_tag", text),
}
_KEEPS_BUDGETS = "_derivable_keeps_budgets"


class _Compiled:
    """What a key stands for: its text alone, and behind a reasoning, each compiled when it is asked for first."""

    def __init__(self, compiled: Callable[[bool], Constraint], can_reason: bool) -> None:
        self._compiled, self._can_reason = compiled, can_reason
        self.known: dict[bool, Constraint] = {}

    def has(self, reasoning: bool) -> bool:
        """Whether it is compiled."""
        return (reasoning and self._can_reason) in self.known

    def of(self, reasoning: bool) -> Constraint:
        """The constraint. It is compiled now if it was not."""
        way = reasoning and self._can_reason
        if way not in self.known:
            self.known[way] = self._compiled(way)
        return self.known[way]


class GrammarObject(host.BaseGrammarObject):
    """One request's state, as SGLang's scheduler asks for it."""

    def __init__(self, matcher: Matcher, compiled: _Compiled | None = None) -> None:
        super().__init__()
        self.matcher = matcher
        self.compiled = compiled

    def maybe_init_reasoning(self, reasoning: bool) -> None:
        """The request begins, with a reasoning or without one."""
        if self.compiled is not None:
            self.matcher = self.compiled.of(reasoning).matcher()

    def keep(self, max_tokens: int) -> None:
        """The text, with its reasoning, is complete within so many tokens. It is at its beginning.

        Raises:
            LimitError: no text is known that takes so few.
        """
        self.matcher = self.matcher.constraint.matcher(max_tokens=max_tokens)

    def accept_token(self, token: int) -> None:
        """Takes a token; padding behind the end is ignored.

        Raises:
            ValueError: it is not allowed.
        """
        if self.matcher.is_finished:
            return
        self.current_token = token  # by which SGLang knows what was taken, where prefill and decoding are apart
        try:
            self.matcher.advance(token)
        except DerivableError as error:
            raise ValueError(str(error)) from error

    def rollback(self, k: int) -> None:
        """Undoes steps."""
        self.matcher.rollback(k)

    def is_terminated(self) -> bool:
        """An end-of-sequence token was taken."""
        return self.matcher.is_finished

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any:
        """int32 [batch, words] on the CPU, allowing everything: rows of requests without a grammar stay so."""
        import torch

        mask = torch.from_numpy(allocate_bitmask(batch_size, vocab_size))
        return mask.fill_(-1)

    def fill_vocab_mask(self, vocab_mask: Any, idx: int) -> None:
        """Writes the mask into a row; of end of sequence only where the text has ended."""
        fill_or_end([self.matcher], vocab_mask, [idx])  # an error would end the scheduler

    @staticmethod
    def fill_vocab_mask_batched(entries: list[Any], vocab_mask: Any) -> None:
        """Writes the rows of a batch in one call; each entry has a `grammar` and its `row`."""
        fill_or_end([entry.grammar.matcher for entry in entries], vocab_mask, [entry.row for entry in entries])

    def reset_vocab_mask(self, vocab_mask: Any) -> None:
        """Everything is allowed again."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: Any, device: Any) -> Any:
        """To the logits' device, packed."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: Any, vocab_mask: Any) -> None:
        """Masks logits in place, where they are."""
        apply_bitmask(logits, vocab_mask)

    def copy(self) -> GrammarObject:
        """The same grammar from the beginning, for another request."""
        return GrammarObject(self.matcher.constraint.matcher(), self.compiled)

    def try_jump_forward(self, tokenizer: Any) -> tuple[list[int], str] | None:
        """The text that must come next, if there is one. It ends with a whole character, and there is none where the
        last token has ended within one."""
        data = self.matcher.forced_bytes()
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            text = data[: error.start].decode()
        return ([], text) if text else None

    def jump_forward_str_state(self, helper: tuple[list[int], str]) -> tuple[str, int]:
        """The text of `try_jump_forward`; no state is needed."""
        return helper[1], -1

    def jump_and_retokenize(self, old_output_ids: list[int], new_output_ids: list[int], next_state: int) -> None:
        """The output was tokenized anew behind a text that was forced."""
        shared = 0
        for old, new in zip(old_output_ids, new_output_ids):
            if old != new:
                break
            shared += 1
        if shared < len(old_output_ids):
            self.matcher.rollback(len(old_output_ids) - shared)
        for token in new_output_ids[shared:]:
            self.accept_token(token)


class Backend(host.BaseGrammarBackend):
    """Compiles what requests ask for. SGLang calls it in threads of its own, and keeps what it returns.

    Args:
        tokenizer: of transformers.
        vocab_size: the width of the logits.
        eos_token_ids: tokens that end a text, besides the tokenizer's.
        marks: of the reasoning, where the server has a parser for it.
    """

    def __init__(self, tokenizer: Any, vocab_size: int, eos_token_ids: Any = None, marks: Marks | None = None) -> None:
        super().__init__()
        ends = sorted({int(token) for token in eos_token_ids}) if eos_token_ids else None
        self.vocabulary = Vocabulary.from_transformers(tokenizer, size=vocab_size, eos=ends)
        self.marks = marks

    def get_request_grammar_key(self, key: tuple[str, str], *, input_ids: Any, thinking_budget: Any) -> tuple[str, str]:
        """The key, with the tokens that the request may reason, if it says so."""
        if self.marks is None or type(thinking_budget) is not int or thinking_budget < 0:
            return key
        return f"{key[0]}{_BUDGET}{thinking_budget}", key[1]

    def get_cached_or_future_value(self, key: tuple[str, str], require_reasoning: bool) -> Any:
        """What is known of a key, or a thread's work."""
        value = self.cache.get(key)
        if isinstance(value, GrammarObject) and value.compiled and not value.compiled.has(require_reasoning):
            return self.executor.submit(self._begun, value.compiled, require_reasoning), False
        return super().get_cached_or_future_value(key, require_reasoning)

    def _init_value_dispatch(self, key: tuple[str, str], require_reasoning: bool) -> Any:
        """A request's grammar, in a thread."""
        kind, _, most = key[0].partition(_BUDGET)
        return self._made(kind, key[1], require_reasoning, int(most) if most else None)

    def dispatch_json(self, key_string: str) -> Any:
        """JSON Schema, or any object."""
        return self._made("json", key_string)

    def dispatch_regex(self, key_string: str) -> Any:
        """A pattern in Python's syntax."""
        return self._made("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> Any:
        """A grammar in xgrammar's notation."""
        return self._made("ebnf", key_string)

    def dispatch_structural_tag(self, key_string: str) -> Any:
        """A structural tag of either form, or a whole turn (``{"type": "turn", "model": ...}``)."""
        return self._made("structural_tag", key_string)

    def _made(self, kind: str, text: str, reasoning: bool = False, most: int | None = None) -> Any:
        if kind not in _KINDS:
            return self.dispatch_fallback(kind, text)
        marks = self.marks
        is_whole = kind == "full_assistant_ebnf" or is_turn(kind, text)  # its grammar says where a reasoning ends

        def compiled(reasoning: bool) -> Constraint:
            grammar = _KINDS[kind](text)
            if reasoning and marks is not None:
                grammar = marks.before(grammar, most=most, is_json=kind == "json")
            return compile(grammar, self.vocabulary)

        return self._begun(_Compiled(compiled, marks is not None and not is_whole), reasoning)

    def _begun(self, compiled: _Compiled, reasoning: bool) -> Any:
        try:
            return GrammarObject(compiled.of(reasoning).matcher(), compiled)
        except (DerivableError, ValueError) as error:
            return self._refused(error)

    @staticmethod
    def _refused(error: Exception) -> Any:
        """How a request is told why: by the host's own object where it has one."""
        invalid = getattr(host, "InvalidGrammarObject", None)
        if invalid is None:
            raise ValueError(str(error)) from error
        return invalid(str(error))


def _create(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any = None) -> Backend:
    parser = getattr(server_args, "reasoning_parser", None)
    if getattr(server_args, "enable_strict_thinking", None):
        raise ValueError(
            "the grammar backend 'derivable' does not go together with --enable-strict-thinking: that filters tokens "
            "in SGLang's own wrapper. Leave it out: a reasoning before a grammar has none of its marks anyway, and "
            'custom_params={"thinking_budget": n} bounds it.'
        )
    _keep_budgets()
    return Backend(tokenizer, vocab_size, eos_token_ids, marks_of(parser, tokenizer) if parser else None)


def _keep_budgets() -> None:
    """Has requests say how many tokens they may take: SGLang does not tell its backends."""
    try:
        from sglang.srt.constrained.grammar_manager import GrammarManager as Manager
    except ImportError:  # a version that has no such class: texts may be cut off there
        return
    if hasattr(Manager, _KEEPS_BUDGETS):
        return
    process, ready = Manager.process_req_with_grammar, Manager.get_ready_grammar_requests

    @wraps(process)
    def process_req_with_grammar(self: Any, req: Any) -> bool:
        waits = bool(process(self, req))
        if not waits:
            _bound(req)
        return waits

    @wraps(ready)
    def get_ready_grammar_requests(self: Any) -> Any:
        found = ready(self)
        for req in found:
            _bound(req)
        return found

    Manager.process_req_with_grammar = process_req_with_grammar
    Manager.get_ready_grammar_requests = get_ready_grammar_requests
    setattr(Manager, _KEEPS_BUDGETS, True)


def _bound(req: Any) -> None:
    """Gives a request's grammar its budget, or ends the request with the reason."""
    most = req.sampling_params.max_new_tokens
    if not isinstance(req.grammar, GrammarObject) or most is None or req.finished():
        return
    try:
        req.grammar.keep(most)
    except LimitError as error:
        req.set_finish_with_abort(f"max_new_tokens={most} is too little for this grammar: {error}")


def register() -> None:
    """Makes `derivable` one of SGLang's grammar backends. Called by SGLang through the entry point."""
    from sglang.srt import server_args

    server_args.add_grammar_backend_choices(["derivable"])
    host.register_grammar_backend("derivable", _create)
