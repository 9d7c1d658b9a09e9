"""The pipeline: a grammar and a vocabulary in, a constraint out."""

from __future__ import annotations

from difflib import get_close_matches

from . import _kernel
from .errors import GrammarError, VocabularyError
from .expr import NOTHING, Special
from .grammar import Grammar
from .limits import Limits
from .lowering import Lowered, lower
from .matcher import Matcher
from .vocabulary import Vocabulary

__all__ = ["Constraint", "compile"]


class Constraint:
    """A grammar compiled for a vocabulary. Immutable to its users and safe to share between threads.

    Attributes:
        grammar: what was compiled.
        vocabulary: for which tokens.
        relaxed: what the caller allowed to be enforced loosely, by name (empty: everything is exact).
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, lowered: Lowered, kernel: _kernel.Constraint) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.relaxed = grammar.relaxed
        self._lowered = lowered
        self._kernel = kernel

    def matcher(self) -> Matcher:
        """A matcher at the start of the text. Cost: about a microsecond."""
        return Matcher(self)

    def stats(self) -> dict[str, int | bool]:
        """Facts about the index so far: masks asked for and found, rows, LR states, stack nodes, bytes."""
        return self._kernel.stats()

    def __repr__(self) -> str:
        return f"<Constraint {self.grammar.start!r} ({self.grammar.lexing}) over {self.vocabulary!r}>"


def compile(grammar: Grammar, vocabulary: Vocabulary, *, limits: Limits = Limits()) -> Constraint:  # noqa: B008
    """Compiles a grammar for a vocabulary.

    The index is filled as generations visit it: compiling costs the grammar's automata and productions, the
    first mask a walk of the vocabulary's trie for the terminals that can begin.

    Args:
        grammar: from one of `Grammar.from_*`.
        vocabulary: the model's.
        limits: bounds on memory and time; grammars are untrusted input.

    Raises:
        GrammarError: the language is empty, or a terminal is unusable.
        LimitError: a bound was reached.
        VocabularyError: no token can begin a text of the language, or the grammar names a token that the vocabulary
            does not have. (One that lacks some later byte is found out when a mask comes out empty.)

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", b"ab", None], eos=[3])
        >>> m = dv.compile(dv.Grammar.from_regex("(ab)+"), vocab).matcher()
        >>> m.allowed_tokens().tolist()
        [0, 2]
        >>> m.advance(2)
        >>> m.allowed_tokens().tolist()
        [0, 2, 3]
    """
    lowered = lower(grammar, limits)
    kernel = _kernel.Constraint(
        vocabulary._kernel_vocabulary,
        grammar.lexing,
        lowered.terminals,
        [(symbol, resolve_token(token, vocabulary), token.negated) for symbol, token in lowered.references],
        len(lowered.nonterminal_names),
        lowered.start,
        lowered.productions,
        limits.max_threads,
        limits.cache_bytes,
        limits.max_liveness_steps,
    )
    _refuse_unproductive(grammar, lowered, kernel.unproductive())
    constraint = Constraint(grammar, vocabulary, lowered, kernel)
    if not kernel.can_begin():
        first = constraint.matcher().next_bytes()
        raise VocabularyError(
            f"no token of the vocabulary can begin a text of this grammar (the first byte must be one of {first[:20]!r}"
            f"{'...' if len(first) > 20 else ''}). Use the vocabulary of a model that can spell it."
        )
    return constraint


def resolve_token(reference: Special, vocabulary: Vocabulary) -> int:
    """The id of a token that a grammar names: a special token by its name, or a token of text by its whole spelling.

    Raises:
        VocabularyError: the vocabulary has no such token.
    """
    token = reference.token
    if isinstance(token, int):
        if not 0 <= token < vocabulary.size:
            raise VocabularyError(
                f"the grammar names the token <[{token}]>, but the vocabulary has {vocabulary.size:,} tokens "
                f"(0 to {vocabulary.size - 1}). Use the vocabulary that the grammar was written for, or another id."
            )
        return token
    if token in vocabulary.special_ids:
        return vocabulary.special_ids[token]
    spelled = token.encode("utf-8", "replace")
    if spelled in vocabulary.tokens:
        return vocabulary.tokens.index(spelled)
    close = get_close_matches(token, vocabulary.special_ids, 4, 0.5)
    known = f" It has {', '.join(map(repr, close))}." if close else ""
    raise VocabularyError(
        f"the grammar names the token {token!r}, which the vocabulary does not have.{known} "
        "Use the name of one of vocabulary.special_ids, or the id as <[id]>."
    )


def _refuse_unproductive(grammar: Grammar, lowered: Lowered, symbols: list[int]) -> None:
    """A rule that derives no text is a mistake; parts of rules that cannot match (the empty set) are not."""
    names = [lowered.nonterminal_names[s - 1 - len(lowered.terminals)] for s in symbols if s > len(lowered.terminals)]
    for name in names:
        if name in grammar.rules and grammar.rules[name] != NOTHING:
            raise GrammarError(
                f"the rule {name!r} never ends: every alternative leads back to a rule that does not end",
                source=grammar.source,
                hint="Give it an alternative that does not recurse, or remove it.",
            )
