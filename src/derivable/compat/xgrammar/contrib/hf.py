"""A logits processor for transformers, with one grammar for all rows or one for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....apply import mask_words
from ..compiler import CompiledGrammar
from ..exception import runtime_errors
from ..matcher import GrammarMatcher, allocate_token_bitmask, apply_token_bitmask_inplace

if TYPE_CHECKING:
    _Base = object
else:
    try:
        from transformers import LogitsProcessor as _Base
    except ImportError:  # any object that can be called will do for `generate`
        _Base = object

__all__ = ["LogitsProcessor"]


class LogitsProcessor(_Base):
    """To be given to one `model.generate(logits_processor=[...])`. Beams and drafts need
    `derivable.integrations.transformers`, which follows them.

    Args:
        compiled_grammar: one grammar, or as many as there are rows.
    """

    def __init__(self, compiled_grammar: CompiledGrammar | list[CompiledGrammar]) -> None:
        self.matchers: list[GrammarMatcher] = []
        self.compiled_grammars = compiled_grammar if isinstance(compiled_grammar, list) else [compiled_grammar]
        self.full_vocab_size = self.compiled_grammars[0].tokenizer_info.vocab_size
        self.token_bitmask: Any = None
        self.prefilled = False
        self.batch_size = 0

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores, masked in place. Rows that have ended are left as they are.

        Raises:
            RuntimeError: a token is not allowed, the rows have changed, or the model has fewer tokens than the
                vocabulary that the grammars are compiled for.
        """
        if not self.matchers:
            self.batch_size = int(input_ids.shape[0])
            if len(self.compiled_grammars) == 1:
                self.compiled_grammars = self.compiled_grammars * self.batch_size
            if len(self.compiled_grammars) != self.batch_size:
                raise RuntimeError("The number of compiled grammars must be equal to the batch size.")
            self.matchers = [GrammarMatcher(compiled) for compiled in self.compiled_grammars]
            self.token_bitmask = allocate_token_bitmask(self.batch_size, self.full_vocab_size)
        if input_ids.shape[0] != self.batch_size:
            raise RuntimeError(
                f"Expect input_ids.shape[0] to be LogitsProcessor.batch_size. Got {input_ids.shape[0]} for the former, "
                f"and {self.batch_size} for the latter."
            )
        for row, matcher in enumerate(self.matchers):
            token = int(input_ids[row][-1])
            if self.prefilled and not matcher.is_terminated() and not matcher.accept_token(token):
                raise RuntimeError(
                    f"row {row}: token {token} is not allowed. A logits processor is good for one generate() only, and "
                    "for no beams and drafts."
                )
        self.prefilled = True
        going = [row for row, matcher in enumerate(self.matchers) if not matcher.is_terminated()]
        for row in going:
            self.matchers[row].fill_next_token_bitmask(self.token_bitmask, row)
        if scores.shape[-1] > self.full_vocab_size:
            scores[going, self.full_vocab_size :] = float("-inf")
        width = min(int(scores.shape[-1]), self.full_vocab_size)
        with runtime_errors():
            mask_words(self.compiled_grammars[0].tokenizer_info.vocabulary(), width)
        words = self.token_bitmask.to(scores.device)
        apply_token_bitmask_inplace(scores, words, vocab_size=width, indices=going)
        return scores
