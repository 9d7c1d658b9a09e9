"""The pipeline: a grammar and a vocabulary in, a constraint out."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from . import _kernel
from .constraint import Constraint
from .errors import (
    ArgumentError,
    GrammarError,
    LimitError,
    TokenRejectedError,
    UnsupportedFeatureError,
    VocabularyError,
    number,
)
from .expr import NOTHING, Embedded
from .frontends.languages import judge_with
from .grammar import Grammar
from .limits import Limits
from .lowering import Lowered, lower, with_tokens
from .references import tokens_by_id
from .rules import Rules
from .support.arguments import LARGEST, instance, integer
from .support.caches import cache
from .support.collector import without_collector
from .vocabulary import Vocabulary
from .warm.ahead import Situations, wanted
from .warm.artifact import VERSION, Plan, Values
from .warm.content import code_digest, grammar_digest
from .warm.store import ArtifactStore, store_at

if TYPE_CHECKING:
    from mmap import mmap

__all__ = ["compile", "constraint_of"]


@without_collector
def compile(
    grammar: Grammar,
    vocabulary: Vocabulary,
    *,
    ahead_of_time: bool | int | Sequence[str] = False,
    lookahead: int | None = None,
    canonical: bool = False,
    limits: Limits = Limits(),  # noqa: B008
    timeout: float | None = None,
    progress: Callable[[int, int], object] | None = None,
    store: str | os.PathLike[str] | ArtifactStore | None = None,
    prefetch: bool = False,
) -> Constraint:
    """Compiles a grammar for a vocabulary.

    The index is filled as generations visit it: compiling costs the grammar's automata and productions, the
    first mask a walk of the vocabulary's trie for the terminals that can begin. Compiling a grammar again is a
    look-up as long as its constraint is in use.

    Args:
        grammar: from one of `Grammar.from_*`.
        vocabulary: the model's.
        ahead_of_time: fill the index now, so that generations meet few situations for the first time. `True`: under
            `scannerless`, sentences as models are likely to write them, made from the grammar (objects with all their
            members, lists of two); then what the lexer and the parser's state behind the lexeme in progress tell
            apart, then some of what its stack tells apart, 10,000 situations at most and for about 0.05 s of counted
            work (more where single masks take long). For grammars that have samples (`Grammar.samples`; the built-in
            ones but `xml`) it stands for those, as texts. A number: so many situations. Ends when half of
            `limits.cache_bytes` is used, or at `timeout`: the rest is filled as generations visit it. Or texts of the
            kind that will be generated, which are followed as far as they are in the language, and then situations
            beside them (20,000 at most, about a second): those to which bytes lead, and tokens that one of the texts
            took where another might have. For programming languages a hundred texts spare more than any number of
            situations.
        lookahead: how many lexemes may end *inside* a token, ignored ones included (DOMINO's k; one that ends where
            the token begins does not count). `None`, the default, is exact. With a number the texts stay in the
            language, but tokens that span more lexemes are refused, so models write what they would not have written.
        canonical: allow only tokens with which the tokenizer itself would tokenize some text of the grammar, so that
            what is generated is the tokenization of its text, exactly. For BPE tokenizers, also those that split texts
            by a pattern first (Llama 3, Qwen, GPT); others are refused. Where no such token is left, as behind bytes of
            other tokens, all that the grammar allows are: no text is cut off. Costs some seconds at the first time of
            a vocabulary, then milliseconds at places that are new (docs/decoding.md says more).
        limits: bounds on memory and time; grammars are untrusted input.
        timeout: seconds that this call may take at most (`None`: any time). Filling the index ahead stops there,
            and is no error; a grammar that is not compiled by then is.
        progress: called while the index is filled ahead of time, with (situations done, situations known so far), or
            (texts done, texts).
        store: a folder or a URL (with `fsspec`) that keeps artifacts for other processes: what is there is loaded, and
            what is not is compiled and written. An `ArtifactStore` has a budget of its own; docs/warm.md says more.
        prefetch: after each token taken, a thread beside computes the mask behind it, while the model runs. For hosts
            that advance before the model's step and ask for the mask after it; `Constraint.prefetches` switches it off
            again (docs/warm.md).

    Raises:
        ArtifactError: the store is a URL that cannot be opened. (A damaged entry is compiled anew.)
        GrammarError: the language is empty, or a terminal is unusable.
        LimitError: a bound was reached, or the time is up (`limit` is ``"timeout"``).
        UnsupportedFeatureError: `canonical` with a tokenizer of which it cannot be told.
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
    if not isinstance(grammar, Grammar):
        raise GrammarError(f"{type(grammar).__name__} is no grammar", hint="Make one with one of Grammar.from_*.")
    if not isinstance(vocabulary, Vocabulary):
        raise VocabularyError(f"{type(vocabulary).__name__} is no vocabulary. Load one with one of Vocabulary.from_*.")
    instance("limits", limits, Limits, "Limits(...)")
    if lookahead is not None:
        lookahead = integer("lookahead", lookahead, -LARGEST)
        if not 0 <= lookahead < 1 << 32:
            hint = "Use 0 or more, or None for all."
            raise GrammarError(f"lookahead={number(lookahead, '')} is not a number of lexemes", hint=hint)
    ahead = wanted(ahead_of_time, grammar.samples)
    instance("prefetch", prefetch, bool, "True or False")
    instance("canonical", canonical, bool, "True or False")
    if progress is not None and not callable(progress):
        raise ArgumentError("progress", "a function, or None", progress)
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
        raise ArgumentError("timeout", "seconds, or None for any time", timeout)
    if timeout is not None and not 0 < timeout < float("inf"):
        raise GrammarError(f"timeout={timeout} is not a time to compile in", hint="Give seconds, or None for any time.")
    if grammar.knows_names:
        if lookahead is not None or canonical:
            raise UnsupportedFeatureError(
                "meaning",
                f"{'lookahead' if lookahead is not None else 'canonical'}= does not go with a meaning",
                hint="Leave it out.",
            )
        ahead, store = None, None  # neither are names known before they are asked for, nor can they be saved
    entry = None if store is None else _Entry(store_at(store), grammar, vocabulary, lookahead, limits, ahead)
    begun = time.perf_counter()
    key = (id(grammar), id(vocabulary), lookahead, limits)  # a constraint keeps both alive
    constraint: Constraint | None = cache.constraints.get(key)
    with _within_the_machine(limits):
        with _kernel.Budget(timeout, limits.max_bytes):
            if constraint is None:
                constraint = entry.find() if entry else None
                if constraint is None:
                    constraint = _compile(grammar, vocabulary, lookahead, limits)
                    _refuse_unspellable(constraint)
                cache.constraints[key] = constraint
        if ahead and (progress or not (entry and entry.has(constraint))):
            deadline = None if timeout is None else begun + timeout
            constraint._fill_ahead(ahead, progress, deadline)
        if entry:
            entry.keep(constraint)
        constraint.prefetches |= prefetch
    return constraint.canonically() if canonical else constraint


@contextmanager
def _within_the_machine(limits: Limits) -> Iterator[None]:
    """What the machine refuses is an error that says so."""
    try:
        yield
    except MemoryError:
        raise LimitError("memory of the machine", 1, 0, "compiling a grammar") from None
    except RecursionError:
        raise LimitError("max_depth", limits.max_depth + 1, limits.max_depth, "languages inside others") from None


class _Entry:
    """The place of one constraint in a store: a digest of all that it is made of, and of what makes it."""

    def __init__(
        self,
        store: ArtifactStore,
        grammar: Grammar,
        vocabulary: Vocabulary,
        lookahead: int | None,
        limits: Limits,
        ahead: Situations | tuple[str, ...] | None,
    ) -> None:
        special = sorted(vocabulary.special_ids.items())
        parts = [vocabulary.fingerprint, special, lookahead, limits, ahead, grammar_digest(grammar)]
        text = f"{code_digest()} {VERSION} {parts!r}"
        self.key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self._store, self._grammar, self._vocabulary, self._limits = store, grammar, vocabulary, limits

    def find(self) -> Constraint | None:
        constraint: Constraint | None = self._store.find(self.key, self._read)
        if constraint is not None:
            constraint.grammar = self._grammar
            constraint._stored.add((self._store.path, self.key))
        return constraint

    def _read(self, data: bytes | mmap) -> Constraint:
        return Constraint._of_bytes(data, self._vocabulary, self._limits)

    def has(self, constraint: Constraint) -> bool:
        """It was found there, or written before."""
        return (self._store.path, self.key) in constraint._stored

    def keep(self, constraint: Constraint) -> None:
        """Writes it, unless it is there."""
        if not self.has(constraint):
            self._store.keep(self.key, constraint.to_bytes())
            constraint._stored.add((self._store.path, self.key))


@without_collector
def constraint_of(
    grammar: Grammar, vocabulary: Vocabulary, lookahead: int | None, limits: Limits, without: tuple[str, ...] = ()
) -> Constraint:
    """A new constraint, even if no token can begin a text of it: texts can be matched all the same.

    Args:
        without: accelerators that are left out, by the names in `_kernel.accelerators()`: masks are the same, and take
            longer. For tests, and to measure what each of them buys.

    Raises:
        GrammarError, LimitError, VocabularyError: as `compile`, but for that.
    """
    with _within_the_machine(limits), _kernel.Budget(None, limits.max_bytes):
        return _compile(grammar, vocabulary, lookahead, limits, without)


def _compile(
    grammar: Grammar, vocabulary: Vocabulary, lookahead: int | None, limits: Limits, without: tuple[str, ...] = ()
) -> Constraint:
    grammar_of_tokens = with_tokens(grammar, vocabulary.special_ids)
    inner = _compile_inner(grammar_of_tokens, vocabulary, lookahead, limits)
    texts = {language: each._inner_texts(language.encoding) for language, each in inner.items()}
    lowered = lower(grammar_of_tokens, limits, texts)
    references = [(symbol, tokens_by_id(named, vocabulary)) for symbol, named in lowered.references]
    if references:
        lowered = replace(lowered, references=references)
    values: Values = "json" if grammar.reader is not None and grammar.reader.is_json else "text"
    plan = Plan(lowered, grammar.lexing, grammar.start, grammar.relaxed, limits, lookahead, values)
    languages = [(symbol, language.encoding, inner[language]) for symbol, language in lowered.languages]
    constraint = Constraint(plan, vocabulary, grammar, without, languages, meaning=grammar.meaning)
    _refuse_unproductive(grammar, lowered, constraint._kernel.unproductive())
    return constraint


def _compile_inner(
    grammar: Rules, vocabulary: Vocabulary, lookahead: int | None, limits: Limits
) -> dict[Embedded, Constraint]:
    """The languages inside a grammar, each compiled once, also for others that hold it."""
    found: dict[Embedded, Constraint] = {}
    for terminal in grammar.terminals.values():
        language = terminal.expr
        if not isinstance(language, Embedded) or language in found:
            continue
        bare = _without_captures(language)
        key = (bare, id(vocabulary), lookahead, limits)
        constraint: Constraint | None = cache.constraints.get(key)
        if constraint is None:
            written = vocabulary.decoded(language.encoding) if language.encoding else vocabulary
            constraint = _compile(Grammar.of(bare.grammar), written, lookahead, limits)
            cache.constraints[key] = constraint
        found[language] = constraint
    return found


def _without_captures(language: Embedded) -> Embedded:
    """Grammars that differ in what is captured are one to the kernel."""
    rules = language.grammar
    if not rules.captures and not rules.parts and not rules.hidden:
        return language
    return Embedded(replace(rules, captures={}, parts={}, hidden=()), language.encoding)


def _judge(grammar: Rules) -> Callable[[str], bool]:
    """Whether single texts are in the language of a grammar."""
    vocabulary = Vocabulary.from_bytes([*[bytes([byte]) for byte in range(256)], None], eos=[256])
    constraint = _compile(Grammar.of(grammar), vocabulary, None, Limits())

    def is_text(text: str) -> bool:
        matcher = constraint.matcher()
        try:
            matcher.advance_bytes(text.encode())
        except (TokenRejectedError, UnicodeEncodeError):
            return False
        return matcher.is_accepting

    return is_text


judge_with(_judge)


def _refuse_unspellable(constraint: Constraint) -> None:
    if not constraint._kernel.can_begin():
        first = constraint.matcher().next_bytes()
        raise VocabularyError(
            f"no token of the vocabulary can begin a text of this grammar (the first byte must be one of {first[:20]!r}"
            f"{'...' if len(first) > 20 else ''}). Use the vocabulary of a model that can spell it."
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
