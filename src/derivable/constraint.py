"""A grammar compiled for a vocabulary."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from . import _kernel
from .encodings import encoding
from .errors import ArtifactError, GrammarError, LimitError, TokenRejectedError, VocabularyError
from .grammar import Grammar
from .index.monitoring import alive
from .limits import Limits
from .lowering import InnerTexts, longest_names, lower, with_tokens
from .matcher import CompiledGrammar, Matcher
from .matchers import kind_of
from .meaning import Meaning, Numbered
from .references import resolve_token, token_ids, tokens_by_id
from .support.arguments import file_path, instance
from .vocabulary import Vocabulary
from .warm.ahead import Situations, fill, follow, literals_of, rehearse, wanted
from .warm.artifact import Plan, packed, read, unpacked, write
from .warm.state import binding, content_of

if TYPE_CHECKING:
    from mmap import mmap

    from .rules import Rules
    from .trees import Captures, Trees

__all__ = ["Constraint"]

_SENTENCES, _SENTENCES_OF_LARGE = 3, 6
"""How many are followed before others are looked for (`warm.sentences`). PERF: of a large grammar little else is
visited; six longer sentences instead of three took a tenth off p99 of masks (1,500 schemas)."""

_LARGE = 150  # rules

_ATTEMPTS = 8  # at what is known of a language where its texts begin

_MOST_READERS = 16  # grammars by which texts are read, of those that differ in what is captured

_LONGEST_REPLAY = 10.0  # seconds that loading an index may take; the rest of it is left


class Constraint(CompiledGrammar):
    """A grammar compiled for a vocabulary. Immutable to its users and safe to share between threads.

    Attributes:
        grammar: what was compiled (`None` if the constraint was loaded from a file).
        vocabulary: for which tokens.
        lookahead: how many lexemes may end inside a token (`None`: any number).
        relaxed: what the caller allowed to be enforced loosely, by name (empty: everything is exact).
        canonical: whether only the tokenizer's own tokenization is allowed (see `compile`).
        prefetches: its matchers have masks computed ahead, as `compile(prefetch=True)` says. May be set at any time;
            matchers that were made while it was false do not look at it.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"yes", b"no", None], eos=[2])
        >>> constraint = dv.compile(dv.Grammar.from_choices(["yes", "no"]), vocab)
        >>> one, other = constraint.matcher(), constraint.matcher()  # as many as there are texts
        >>> one.advance(0)
        >>> one.allowed_tokens().tolist(), other.allowed_tokens().tolist()
        ([2], [0, 1])
    """

    def __init__(
        self,
        plan: Plan,
        vocabulary: Vocabulary,
        grammar: Grammar | None = None,
        without: tuple[str, ...] = (),
        inner: Sequence[tuple[int, str, Constraint]] | None = None,
        meaning: Meaning | None = None,
    ) -> None:
        instance("plan", plan, Plan, "made by compile() or Constraint.load()")
        instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.lookahead = plan.lookahead
        self.relaxed = plan.relaxed
        self.canonical = False
        self.prefetches = False
        self._plan = plan
        self._filled: (
            tuple[()] | tuple[_kernel.Visits | None]
        ) = ()  # ahead of time, since the plan was made: what was visited
        self._search: list[Any] = []  # of canonical tokenizations, for all copies
        self._readers: dict[int, tuple[Rules, Trees]] = {}
        self._stored: set[tuple[str, str]] = set()  # paths of stores that have it, and the keys there
        self._lowered = lowered = plan.lowered
        self._inner: Sequence[tuple[int, str, Constraint]] = _inner(plan, vocabulary) if inner is None else inner
        self._kernel = _kernel.Constraint(
            vocabulary._kernel_vocabulary,
            plan,
            [(symbol, token_ids(named, vocabulary), named.negated) for symbol, named in lowered.references],
            [(symbol, each._kernel) for symbol, _, each in self._inner],
            without,
            [(symbol, base) for symbol, base, _ in lowered.slots] if meaning else [],
            Numbered(meaning, {at: slot for at, _, slot in lowered.slots}, longest_names(grammar)) if meaning else None,
        )

        alive[self._kernel.serial] = self

    def matcher(self, max_tokens: int | None = None) -> Matcher:
        """A matcher at the start of the text.

        Args:
            max_tokens: every text ends within so many tokens, the end token included: a token is allowed if the grammar
                allows it and the text can then still be completed in time. As long as more is left than a token can
                take, masks are the grammar's own. `None`: texts may be of any length.

        Raises:
            LimitError: no text is known that takes so few tokens (`limit` is ``"max_tokens"``, `used` what suffices).

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"[", b"]", b",", b"1", None], eos=[4])
            >>> grammar = dv.Grammar.from_gbnf('root ::= "[" (root ("," root)*)? "]" | "1"')
            >>> matcher = dv.compile(grammar, vocab).matcher(max_tokens=6)
            >>> for token in (0, 0): matcher.advance(token)
            >>> matcher.tokens_left, matcher.least_tokens
            (4, 3)
            >>> matcher.allowed_tokens().tolist()  # another "[" could not be closed in time
            [1, 3]

        Cost: about a microsecond; the first one of a constraint with a budget also what its symbols cost, which takes
        as long as a pass over the grammar.
        """
        return kind_of(self)(self, max_tokens)

    def resume(self, data: bytes) -> Matcher:
        """A matcher where another one stood when it was asked for `to_bytes`: in this process or any other, on this
        machine or any other, under this grammar compiled for this vocabulary, or loaded.

        All that decides what may follow is there: masks, what is left of a budget, what is forced and explained are
        the other's. It can be rolled back to where it was resumed, and `reset` to the start of the text.

        The bytes may come from anywhere: what they say is checked, but for how a budget stands. A forged state can
        stand where no text leads to, and be told that more tokens suffice than do.

        Raises:
            ArtifactError: these are no bytes of `to_bytes`, they are damaged, of another version of Derivable, or of
                another grammar, vocabulary or option.
            LimitError: they take more than the constraint's limits allow.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"[", b"]", b",", b"1", None], eos=[4])
            >>> grammar = dv.Grammar.from_gbnf('root ::= "[" root ("," root)* "]" | "1"')
            >>> matcher = dv.compile(grammar, vocab).matcher()
            >>> for token in (0, 0, 3): matcher.advance(token)
            >>> data = matcher.to_bytes()  # send it to where the request goes on
            >>> other = dv.compile(grammar, vocab).resume(data)
            >>> other.length, other.allowed_tokens().tolist(), len(data) < 50
            (3, [1, 2], True)

        Cost: some microseconds; where the constraint is new, also those of the parser's states that the text stands on.
        """
        instance("data", data, bytes, "what Matcher.to_bytes() gave")
        return kind_of(self)._resumed(self, data)

    def canonically(self) -> Constraint:
        """The same constraint, with the same index, for the tokenizer's own tokenization only (see `compile`).

        Raises:
            UnsupportedFeatureError: a tokenizer of which it cannot be told.
        """
        _ = self.vocabulary.tokenization
        made = object.__new__(Constraint)
        made.__dict__ |= self.__dict__ | {"canonical": True}
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves what compiling worked out: the grammar's automata and productions, and what `ahead_of_time` filled.
        `canonical` is not saved: `load(...).canonically()`. Nor is a type: its texts are read as JSON then.

        Raises:
            ArtifactError: the file cannot be written.

        Cost: the size of the automata, usually well below a megabyte, and of what was filled ahead of time: the
        masks, each as what differs from another one; and, unless lexing is ``scannerless``, the parser's and the
        lexer's states with what the tokens do in them and what stacks allow (Python and llama-3: 10 to 20 MB).
        """
        write(self._to_save(), self.vocabulary.fingerprint, file_path("path", path))

    @staticmethod
    def load(
        path: str | os.PathLike[str],
        vocabulary: Vocabulary,
        *,
        limits: Limits = Limits(),  # noqa: B008
    ) -> Constraint:
        """A constraint that `save` wrote, for the same vocabulary. It behaves as the one that was saved.

        Parsing the grammar and building its automata are skipped; masks that were computed ahead of time are there,
        and the rest of the index is filled as generations visit it. The file is mapped, so processes share its memory;
        `save` never changes one, but puts another in its place. Whoever can cut it off while it is in use can end the
        process: of such a place take `from_bytes(path.read_bytes(), vocabulary)`.

        A file is untrusted: everything in it is checked, and the bounds are the loader's, not those it was compiled
        with. What cannot be checked is whether a mask is right: one that was forged, checksum and all, can offer a
        token that `advance` then refuses.

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
        return packed(self._to_save(), self.vocabulary.fingerprint)

    @staticmethod
    def from_bytes(data: bytes, vocabulary: Vocabulary, *, limits: Limits = Limits()) -> Constraint:  # noqa: B008
        """What `to_bytes` gave, or a file holds; `load` says the rest.

        Raises:
            ArtifactError, LimitError: as `load`.
        """
        instance("data", data, bytes, "bytes")
        instance("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        instance("limits", limits, Limits, "Limits(...)")
        return Constraint._of_bytes(data, vocabulary, limits)

    @staticmethod
    def _of_bytes(data: bytes | mmap, vocabulary: Vocabulary, limits: Limits) -> Constraint:
        """What `from_bytes` gives, without a copy of what is mapped."""
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
        ahead: Situations | tuple[str, ...],
        progress: Callable[[int, int], object] | None = None,
        deadline: float | None = None,
    ) -> None:
        """Fills the index, as `compile(ahead_of_time=)` does.

        Args:
            ahead: so many situations, or along texts.
            progress: called with (situations done, situations known so far), or (texts done, texts).
            deadline: when to stop, on `time.perf_counter`'s clock.
        """
        if self._inner:  # PERF: nearly all of such texts lies inside of them
            for _, _, inner in self._inner:
                if inner.grammar is not None and not inner._filled:
                    inner._fill_ahead(wanted(True, inner.grammar.samples) or ahead, deadline=deadline)
            return
        most = self._plan.limits.cache_bytes // 2
        named = (named for _, named in self._lowered.references if not named.negated)
        special = [resolve_token(each.token, self.vocabulary) for each in named]
        explorer = _kernel.Explorer(self._kernel, special, literals_of(self._lowered))
        if isinstance(ahead, tuple):
            found = follow(
                self._kernel,
                explorer,
                self.vocabulary,
                ahead,
                progress=progress,
                deadline=deadline,
                most_bytes=most,
                saves=self._plan.lexing == "scannerless",
            )
        else:
            sentences = self._sentences()
            found, likely = fill(explorer, ahead, sentences, progress=progress, deadline=deadline, most_bytes=most)
            rehearse(Matcher(self), (self.vocabulary.size + 31) // 32, likely)
        self._filled = (found,)

    def _to_save(self) -> Plan:
        """What is written down of it: `ArtifactError` where it knows names."""
        if self.grammar is not None and self.grammar.knows_names:
            raise ArtifactError(
                "a constraint with a meaning cannot be saved: what its names are is Python. Save that of the grammar "
                "without it, or compile where it is needed."
            )
        return self._plan_now()

    def _plan_now(self) -> Plan:
        """The plan, with what the index was filled with since it was made.

        PERF: written when it is to be saved. Made along with the index it was a tenth of compiling ahead of time.
        """
        if not self._plan.has_fixed_states:
            self._filled = ()
        elif filled := self._filled:
            (visits,) = filled
            index = self._plan.index if visits is None else visits.saved(self._kernel)
            self._plan = replace(self._plan, index=index, splits=self._kernel.saved_splits())
            self._filled = ()
        if self._inner:
            languages = tuple([(symbol, key, each._plan_now()) for symbol, key, each in self._inner])
            self._plan = replace(self._plan, languages=languages)
        if not self._plan.content:
            self._plan = replace(self._plan, content=self._content)
        return self._plan

    @cached_property
    def _content(self) -> str:
        """A digest of what numbers in states of matchers refer to, the vocabulary apart."""
        inner = [(symbol, key, each._content) for symbol, key, each in self._inner]
        return self._plan.content or content_of(self._plan, self._kernel.content(), inner)

    @property
    def _binding(self) -> bytes:
        """What states of its matchers are bound to."""
        return binding(self._content, self.vocabulary.fingerprint, self.canonical)

    def _sentences(self) -> Iterator[list[bytes | int]]:
        """Some that models are likely to write. Of programs, texts would have to be given."""
        from .warm.sentences import Sentence, sentence  # PERF: only who fills ahead needs it

        if self.grammar is None or self._plan.lexing != "scannerless":
            return
        grammar = with_tokens(self.grammar, self.vocabulary.special_ids)
        seen: list[Sentence] = []
        for number in range(_SENTENCES if len(grammar.rules) <= _LARGE else _SENTENCES_OF_LARGE):
            parts = sentence(grammar, number)
            if parts in seen:
                continue
            seen.append(parts)
            yield [part if isinstance(part, bytes) else resolve_token(part.token, self.vocabulary) for part in parts]

    def parse(self, text: str | bytes | Sequence[int]) -> Any:
        """How a whole text is derived, as a `lark.Tree`: rule names, aliases, `?rule`, `!rule`, `_rule`, `[x]` as Lark
        has them (so it is a `lark.Token` where a rule `?start` comes to one).

        Of several derivations the first counts, from the top down and from left to right: rules of higher priority,
        then alternatives in their order, then repeats that take more. Where another language stands, its tree does.
        Of grammars that are not Lark's all rules are nodes. docs/trees.md has more.

        Args:
            text: the text, or its tokens. In a text, names of special tokens are those that the grammar names; where a
                grammar names tokens of text by their ids, only tokens tell.

        Raises:
            GrammarError: the constraint was loaded, and does not have its rules; set `constraint.grammar`.
            LimitError: so many derivations begin alike that `limits.max_step_work` is reached.
            MatcherError: the text is not in the language.

        Example:
            >>> import derivable as dv
            >>> text = ['?sum: sum "+" NUMBER -> add | NUMBER', "NUMBER: /[0-9]+/", '%ignore " "']
            >>> vocab = dv.Vocabulary.from_bytes([b"1", b"2", b" + ", None], eos=[3])
            >>> constraint = dv.compile(dv.Grammar.from_lark(chr(10).join(text), start="sum"), vocab)
            >>> constraint.parse("1 + 2 + 21")
            Tree('add', [Tree('add', [Token('NUMBER', '1'), Token('NUMBER', '2')]), Token('NUMBER', '21')])

        Cost: the first time that of compiling the grammar once more, then some 20 us a character; linear in the text
        for grammars that need no more than one terminal of look-ahead.
        """
        trees = self._trees()
        self._check_names(trees, text, is_whole=True)
        return trees.tree(trees.written(text))

    def captures(self, text: str | bytes | Sequence[int], *, is_whole: bool = False) -> Captures:
        """What the captured parts of a text are (`Grammar.capture`), or of the beginning of one.

        Args:
            text: as `parse` takes it.
            is_whole: it must be a whole text. Else those parts count that are complete in what there is, whatever
                follows: a name that may go on does not yet.

        Raises:
            GrammarError, LimitError, MatcherError: as `parse`.

        Example:
            >>> import derivable as dv
            >>> name = dv.Grammar.from_regex("[a-z]+").capture("name")
            >>> vocab = dv.Vocabulary.from_bytes([bytes([byte]) for byte in range(128)] + [None], eos=[128])
            >>> constraint = dv.compile("Hello " + name + "!", vocab)
            >>> constraint.captures("Hello you"), constraint.captures("Hello you!")["name"]
            (Captures([]), 'you')
        """
        trees = self._trees()
        self._check_names(trees, text, is_whole)
        return trees.captures(trees.written(text), is_whole=is_whole)

    def _check_names(self, trees: Trees, text: str | bytes | Sequence[int], is_whole: bool) -> None:
        """Trees are read by the grammar alone, so whether the meaning takes the text is asked here."""
        if self.grammar is None or not self.grammar.knows_names:
            return
        written, matcher = trees.written(text), self.matcher()
        try:
            if isinstance(text, str | bytes):
                matcher.advance_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
            else:
                for token in text:
                    matcher.advance(token)
        except TokenRejectedError:
            raise trees.refused(written, is_whole) from None
        if is_whole and not (matcher.is_accepting or matcher.is_finished):
            raise trees.refused(written, is_whole)

    def _trees(self, grammar: Rules | None = None) -> Trees:
        """How texts are read, by this grammar or one that differs in nothing that its language depends on."""
        from .trees import Inner, Trees  # PERF: only who asks for trees needs Lark

        if (grammar := grammar or self.grammar) is None:
            raise GrammarError(
                "a constraint that was loaded has automata and productions, but not the rules that trees are made of",
                hint="Give it the grammar that it was compiled from: constraint.grammar = grammar.",
            )
        known = self._readers.pop(id(grammar), None)
        if known is None:
            languages = self._lowered.languages
            if self._inner and not languages:  # it was loaded; lowering numbers them again as it did
                languages = lower(with_tokens(grammar, self.vocabulary.special_ids), self._plan.limits).languages
            constraints = {symbol: each for symbol, _, each in self._inner}
            inner = {
                language: Inner(each._kernel, each._inner_texts(language.encoding), each._trees)
                for symbol, language in languages
                for each in [constraints[symbol]]
            }
            by_id = partial(tokens_by_id, vocabulary=self.vocabulary)
            without = replace(grammar, meaning=None) if grammar.meaning is not None else grammar
            known = grammar, Trees(without, self.vocabulary, self._plan.limits, inner, by_id)
        self._readers[id(grammar)] = known  # the last one that was used is the last
        if len(self._readers) > _MOST_READERS:
            del self._readers[next(iter(self._readers))]
        return known[1]

    def _inner_texts(self, key: str) -> InnerTexts:
        """Which texts it has, where it is a language inside another one, in an encoding (or ``""``)."""
        matcher = self.matcher()
        left = _ATTEMPTS
        while True:
            try:
                is_empty = matcher.is_accepting and (not key or encoding(key).may_be_empty)
                # PERF: bytes are asked for first; the first mask of a programming language takes milliseconds.
                if matcher.next_bytes():
                    return InnerTexts(is_empty, True)
                allowed = set(matcher.allowed_tokens().tolist())
                return InnerTexts(is_empty, not allowed <= set(self.vocabulary.eos_ids))
            except LimitError as error:
                left -= 1
                if error.limit != "max_step_work" or not left:  # asking again goes on from the work done
                    raise

    def __reduce__(self) -> tuple[Callable[..., Constraint], tuple[object, ...]]:
        return _unpickled, (self.to_bytes(), self.vocabulary, self._plan.limits, self.canonical)

    def __repr__(self) -> str:
        return f"<Constraint {self._plan.start!r} ({self._plan.lexing}) over {self.vocabulary!r}>"


def _inner(plan: Plan, vocabulary: Vocabulary) -> list[tuple[int, str, Constraint]]:
    """The languages inside a constraint that was saved."""
    return [
        (symbol, key, Constraint(each, vocabulary.decoded(key) if key else vocabulary)._with_index())
        for symbol, key, each in plan.languages
    ]


def _unpickled(data: bytes, vocabulary: Vocabulary, limits: Limits, canonical: bool) -> Constraint:
    made = Constraint.from_bytes(data, vocabulary, limits=limits)
    return made.canonically() if canonical else made
