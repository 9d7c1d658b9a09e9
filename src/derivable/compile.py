"""The pipeline: a grammar and a vocabulary in, a constraint out."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from . import _kernel
from .arguments import LARGEST, file_path, instance, integer
from .caches import cache
from .collector import without_collector
from .errors import ArgumentError, ArtifactError, GrammarError, LimitError, VocabularyError, number
from .expr import NOTHING, Special
from .grammar import Grammar
from .index.ahead import fill, follow, wanted
from .index.artifact import VERSION, Plan, packed, read, unpacked, write
from .index.content import code_digest, grammar_digest
from .index.store import ArtifactStore, store_at
from .limits import Limits
from .lowering import Lowered, lower, with_tokens
from .matcher import Matcher
from .matchers import CanonicalMatcher, PrefetchingMatcher
from .monitoring import alive
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .decoding.speculator import Speculator
    from .index.view import Index

__all__ = ["Constraint", "compile"]


class Constraint:
    """A grammar compiled for a vocabulary. Immutable to its users and safe to share between threads.

    Attributes:
        grammar: what was compiled (`None` if the constraint was loaded from a file).
        vocabulary: for which tokens.
        lookahead: how many lexemes may end inside a token (`None`: any number).
        relaxed: what the caller allowed to be enforced loosely, by name (empty: everything is exact).
        canonical: whether only the tokenizer's own tokenization is allowed (see `compile`).
        prefetches: its matchers have masks computed ahead, as `compile(prefetch=True)` says. May be set at any time;
            matchers that were made while it was false do not look at it.
    """

    def __init__(self, plan: Plan, vocabulary: Vocabulary, grammar: Grammar | None = None) -> None:
        instance("plan", plan, Plan, "made by compile() or Constraint.load()")
        instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.lookahead = plan.lookahead
        self.relaxed = plan.relaxed
        self.canonical = False
        self.prefetches = False
        self._plan = plan
        self._stored: set[tuple[str, str]] = set()  # paths of stores that have it, and the keys there
        self._lowered = lowered = plan.lowered
        self._kernel = _kernel.Constraint(
            vocabulary._kernel_vocabulary,
            plan,
            [(symbol, _token_ids(named, vocabulary), named.negated) for symbol, named in lowered.references],
        )

        alive[self._kernel.serial] = self

    def matcher(self) -> Matcher:
        """A matcher at the start of the text. Cost: about a microsecond."""
        if self.canonical:
            return CanonicalMatcher(self)
        return PrefetchingMatcher(self) if self.prefetches else Matcher(self)

    def canonically(self) -> Constraint:
        """The same constraint, with the same index, for the tokenizer's own tokenization only (see `compile`).

        Raises:
            UnsupportedFeatureError: a tokenizer of which it cannot be told.
        """
        _ = self.vocabulary.canonical_pairs
        made = object.__new__(Constraint)
        made.__dict__ |= self.__dict__ | {"canonical": True}
        return made

    @cached_property
    def speculator(self) -> Speculator:
        """What models chose at the places of this grammar: `generate` learns it, and drafts from it."""
        from .decoding.speculator import Speculator

        return Speculator()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves what compiling worked out: the grammar's automata and productions, and what `ahead_of_time` filled.
        `canonical` is not saved: `load(...).canonically()`.

        Raises:
            ArtifactError: the file cannot be written.

        Cost: the size of the automata, usually well below a megabyte, and of what was filled ahead of time: the
        masks, each as what differs from another one; and, unless lexing is ``scannerless``, the lexer's states with
        what the tokens do in them (Python and llama-3: 3 to 10 MB).
        """
        write(self._plan, self.vocabulary.fingerprint, file_path("path", path))

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        vocabulary: Vocabulary,
        *,
        limits: Limits = Limits(),  # noqa: B008
    ) -> Constraint:
        """A constraint that `save` wrote, for the same vocabulary. It behaves as the one that was saved.

        Parsing the grammar and building its automata are skipped; masks that were computed ahead of time are there,
        and the rest of the index is filled as generations visit it. A file is untrusted: everything in it is checked,
        and the bounds are the loader's, not those it was compiled with. What cannot be checked is whether a mask is
        right: one that was forged, checksum and all, can offer a token that `advance` then refuses.

        Args:
            path: the file.
            vocabulary: the model's.
            limits: bounds on what it may hold, and on memory and time later.

        Raises:
            ArtifactError: no such file, not a saved constraint, another format version, damaged, or saved for another
                vocabulary.
            LimitError: it is larger than `limits` allow.

        Example:
            >>> import derivable as dv, os, tempfile
            >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
            >>> path = os.path.join(tempfile.mkdtemp(), "ab.constraint")
            >>> dv.compile(dv.Grammar.from_regex("(ab)+"), vocab).save(path)
            >>> dv.Constraint.load(path, vocab).matcher().allowed_tokens().tolist()
            [0]
        """
        instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        instance("limits", limits, Limits, "Limits(...)")
        file = file_path("path", path)
        try:
            return Constraint(read(file, vocabulary.fingerprint, limits), vocabulary)._with_index()
        except (GrammarError, VocabularyError) as error:  # nothing that compile() would have let through
            raise ArtifactError(f"{file}: what it holds cannot be used ({error}). Save it again.") from error

    def to_bytes(self) -> bytes:
        """What `save` writes, for stores other than files. So are constraints pickled, with their vocabulary.

        Example:
            >>> import derivable as dv, pickle
            >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
            >>> constraint = dv.compile(dv.Grammar.from_regex("(ab)+"), vocab)
            >>> dv.Constraint.from_bytes(constraint.to_bytes(), vocab).matcher().allowed_tokens().tolist()
            [0]
            >>> pickle.loads(pickle.dumps(constraint)).matcher().allowed_tokens().tolist()
            [0]
        """
        return packed(self._plan, self.vocabulary.fingerprint)

    @staticmethod
    def from_bytes(data: bytes, vocabulary: Vocabulary, *, limits: Limits = Limits()) -> Constraint:  # noqa: B008
        """What `to_bytes` gave, or a file holds; `load` says the rest.

        Raises:
            ArtifactError, LimitError: as `load`.
        """
        instance("data", data, bytes, "bytes")
        instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        instance("limits", limits, Limits, "Limits(...)")
        try:
            return Constraint(unpacked(data, "bytes", vocabulary.fingerprint, limits), vocabulary)._with_index()
        except (GrammarError, VocabularyError) as error:
            raise ArtifactError(f"what the bytes hold cannot be used ({error}). Save it again.") from error

    def _with_index(self) -> Constraint:
        if self._plan.index:
            _kernel.replay(self._kernel, self._plan.index, _LONGEST_REPLAY)
        return self

    def _fill_ahead(
        self,
        ahead_of_time: int | tuple[str, ...],
        progress: Callable[[int, int], object] | None = None,
        deadline: float | None = None,
    ) -> None:
        """Fills the index, as `compile(ahead_of_time=)` does.

        Args:
            ahead_of_time: at most so many situations, or along texts.
            progress: called with (situations done, situations known so far), or (texts done, texts).
            deadline: when to stop, on `time.perf_counter`'s clock.
        """
        most = self._plan.limits.cache_bytes // 2
        index = self._plan.index
        if isinstance(ahead_of_time, tuple):
            new, known = partial(Matcher, self), self.vocabulary
            follow(self._kernel, new, known, ahead_of_time, progress=progress, deadline=deadline, most_bytes=most)
        else:
            named = (named for _, named in self._lowered.references if not named.negated)
            special = [resolve_token(each.token, self.vocabulary) for each in named]
            index = fill(self._kernel, special, ahead_of_time, progress=progress, deadline=deadline, most_bytes=most)
        self._plan = replace(self._plan, index=index, splits=self._kernel.saved_splits())

    def __reduce__(self) -> tuple[Callable[..., Constraint], tuple[object, ...]]:
        return _unpickled, (self.to_bytes(), self.vocabulary, self._plan.limits, self.canonical)

    @property
    def index(self) -> Index:
        """What was built so far: lexer and parser states, spanner trees, masks, how many tokens the stack decides,
        bytes.

        A picture of the moment; the index grows as generations visit it (`derivable report` fills it first, and says
        what is slow). Not to be called while others wait for masks: it looks at every mask that is known.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"(", b")", b"))", b"x", None], eos=[4])
            >>> constraint = dv.compile(dv.Grammar.from_gbnf('root ::= "(" root ")" | "x"'), vocab)
            >>> m = constraint.matcher()
            >>> for token in (0, 0, 3): m.advance(token)
            >>> m.allowed_tokens().tolist(), m.reset(), m.advance(0), m.advance(3), m.allowed_tokens().tolist()
            ([1, 2], None, None, None, [1])
            >>> [(state.masks, state.always, state.stack_dependent) for state in constraint.index.states]
            [(2, 1, 1)]

        Cost: a millisecond for each hundred masks of 128,000 tokens.
        """
        from .index.view import view  # PERF: its classes take a tenth of what importing the library takes

        lowered = self._lowered
        flat, at, productions = lowered.productions, 0, 0
        while at + 1 < len(flat):
            at += 2 + flat[at + 1]
            productions += 1
        return view(
            self._kernel.index_view(),
            self._kernel.stats(),
            lowered.terminal_names,
            lexing=self._plan.lexing,
            nonterminals=len(lowered.nonterminal_names),
            productions=productions,
            vocabulary=self.vocabulary.size,
        )

    def stats(self) -> dict[str, int | bool]:
        """Facts about the index so far: masks asked for and found, rows, LR states, stack nodes, bytes.

        `run_bytes` is what its matchers have made it allocate, `spanner_bytes` the index that it may share with others;
        `miss_ns` and `longest_miss_ns` are nanoseconds of wall-clock time in computing masks, together and at most.
        """
        return self._kernel.stats()

    def __repr__(self) -> str:
        return f"<Constraint {self._plan.start!r} ({self._plan.lexing}) over {self.vocabulary!r}>"


def _unpickled(data: bytes, vocabulary: Vocabulary, limits: Limits, canonical: bool) -> Constraint:
    made = Constraint.from_bytes(data, vocabulary, limits=limits)
    return made.canonically() if canonical else made


_LONGEST_REPLAY = 10.0  # seconds that loading an index may take; the rest of it is left


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
        ahead_of_time: fill the index now, so that generations meet few situations for the first time: the most
            different first, told apart by the lexer's state and the uppermost parser states. A number bounds them
            (`True`: 10,000). Costs up to a few milliseconds each at 128,000 tokens. It ends when half of
            `limits.cache_bytes` is used, or at `timeout`: the rest is filled as generations visit it. Or texts of the
            kind that will be generated, which are followed as far as they are in the language: for programming
            languages a hundred of them spare more than any number of situations.
        lookahead: how many lexemes may end *inside* a token, ignored ones included (DOMINO's k; one that ends where
            the token begins does not count). `None`, the default, is exact. With a number the texts stay in the
            language, but tokens that span more lexemes are refused, so models write what they would not have written.
        canonical: allow only those tokens that the tokenizer itself would put next to each other, so that what is
            generated is the canonical tokenization of its text, exactly. For BPE tokenizers without a pattern that
            splits texts (SentencePiece's: Llama 2, Mistral); others are refused. A grammar may end in the middle of
            what is one token to the tokenizer; where no canonical token can continue, all that the grammar allows are,
            so no text is cut off for its tokenization. Costs some milliseconds at every token met for the first time.
        limits: bounds on memory and time; grammars are untrusted input.
        timeout: seconds that this call may take at most (`None`: any time). Filling the index ahead stops there,
            and is no error; a grammar that is not compiled by then is.
        progress: called while the index is filled ahead of time, with (situations done, situations known so far), or
            (texts done, texts).
        store: a folder or a URL (with `fsspec`) that keeps artifacts for other processes: what is there is loaded, and
            what is not is compiled and written. An `ArtifactStore` has a budget of its own; docs/warm.md says more.
        prefetch: after each mask, a thread beside computes some that may be asked for next, while the model runs. Where
            it was measured it did harm (docs/warm.md); `Constraint.prefetches` switches it off again.

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
    ahead_of_time = wanted(ahead_of_time)
    instance("prefetch", prefetch, bool, "True or False")
    instance("canonical", canonical, bool, "True or False")
    if progress is not None and not callable(progress):
        raise ArgumentError("progress", "a function, or None", progress)
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
        raise ArgumentError("timeout", "seconds, or None for any time", timeout)
    if timeout is not None and not 0 < timeout < float("inf"):
        raise GrammarError(f"timeout={timeout} is not a time to compile in", hint="Give seconds, or None for any time.")
    entry = None if store is None else _Entry(store_at(store), grammar, vocabulary, lookahead, limits, ahead_of_time)
    begun = time.perf_counter()
    key = (id(grammar), id(vocabulary), lookahead, limits)  # a constraint keeps both alive
    constraint: Constraint | None = cache.constraints.get(key)
    try:
        with _kernel.Budget(timeout, limits.max_bytes):
            if constraint is None:
                constraint = entry.find() if entry else None
                if constraint is None:
                    constraint = _compile(grammar, vocabulary, lookahead, limits)
                    _refuse_unspellable(constraint)
                cache.constraints[key] = constraint
        if ahead_of_time and (progress or not (entry and entry.has(constraint))):
            deadline = None if timeout is None else begun + timeout
            constraint._fill_ahead(ahead_of_time, progress, deadline)
        if entry:
            entry.keep(constraint)
        constraint.prefetches |= prefetch
    except MemoryError:
        raise LimitError("memory of the machine", 1, 0, "compiling a grammar") from None
    return constraint.canonically() if canonical else constraint


class _Entry:
    """The place of one constraint in a store: a digest of all that it is made of, and of what makes it."""

    def __init__(
        self,
        store: ArtifactStore,
        grammar: Grammar,
        vocabulary: Vocabulary,
        lookahead: int | None,
        limits: Limits,
        ahead_of_time: int | tuple[str, ...],
    ) -> None:
        special = sorted(vocabulary.special_ids.items())
        parts = [vocabulary.fingerprint, special, lookahead, limits, ahead_of_time, grammar_digest(grammar)]
        text = f"{code_digest()} {VERSION} {parts!r}"
        self.key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self._store, self._grammar, self._vocabulary, self._limits = store, grammar, vocabulary, limits

    def find(self) -> Constraint | None:
        constraint: Constraint | None = self._store.find(self.key, self._read)
        if constraint is not None:
            constraint.grammar = self._grammar
            constraint._stored.add((self._store.path, self.key))
        return constraint

    def _read(self, data: bytes) -> Constraint:
        return Constraint.from_bytes(data, self._vocabulary, limits=self._limits)

    def has(self, constraint: Constraint) -> bool:
        """It was found there, or written before."""
        return (self._store.path, self.key) in constraint._stored

    def keep(self, constraint: Constraint) -> None:
        """Writes it, unless it is there."""
        if not self.has(constraint):
            self._store.keep(self.key, constraint.to_bytes())
            constraint._stored.add((self._store.path, self.key))


@without_collector
def constraint_of(grammar: Grammar, vocabulary: Vocabulary, lookahead: int | None, limits: Limits) -> Constraint:
    """A new constraint, even if no token can begin a text of it: texts can be matched all the same.

    Raises:
        GrammarError, LimitError, VocabularyError: as `compile`, but for that.
    """
    try:
        with _kernel.Budget(None, limits.max_bytes):
            return _compile(grammar, vocabulary, lookahead, limits)
    except MemoryError:
        raise LimitError("memory of the machine", 1, 0, "compiling a grammar") from None


def _compile(grammar: Grammar, vocabulary: Vocabulary, lookahead: int | None, limits: Limits) -> Constraint:
    lowered = lower(with_tokens(grammar, vocabulary.special_ids), limits)
    references = []
    for symbol, named in lowered.references:
        ids: list[str | int] = [*_token_ids(named, vocabulary)] or [""]
        references.append((symbol, Special(ids[0], named.negated, tuple(ids[1:]))))
    if references:
        lowered = replace(lowered, references=references)
    plan = Plan(lowered, grammar.lexing, grammar.start, grammar.relaxed, limits, lookahead)
    constraint = Constraint(plan, vocabulary, grammar)
    _refuse_unproductive(grammar, lowered, constraint._kernel.unproductive())
    return constraint


def _refuse_unspellable(constraint: Constraint) -> None:
    if not constraint._kernel.can_begin():
        first = constraint.matcher().next_bytes()
        raise VocabularyError(
            f"no token of the vocabulary can begin a text of this grammar (the first byte must be one of {first[:20]!r}"
            f"{'...' if len(first) > 20 else ''}). Use the vocabulary of a model that can spell it."
        )


def _token_ids(named: Special, vocabulary: Vocabulary) -> list[int]:
    return [resolve_token(token, vocabulary) for token in named.tokens if token != "" or not named.negated]


def resolve_token(token: str | int, vocabulary: Vocabulary) -> int:
    """The id of a token that a grammar names: a special token by its name, or a token of text by its whole spelling.

    Raises:
        VocabularyError: the vocabulary has no such token.
    """
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
    from difflib import get_close_matches

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
