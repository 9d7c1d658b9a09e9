"""The matcher, one sequence being generated, and the compiled grammar that it knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from . import _kernel
from .errors import ArgumentError, LimitError, TokenRejectedError
from .explanation import Explanation, explanation
from .support.arguments import LARGEST, instance, integer, items
from .values.reader import JSON, Reader
from .warm.prefetch import prefetcher
from .warm.state import unwrapped, wrapped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

    from .grammar import Grammar
    from .index.view import Index
    from .lowering import Lowered
    from .speculator import Speculator
    from .vocabulary import Vocabulary
    from .warm.artifact import Plan

__all__ = ["CompiledGrammar", "Explanation", "Matcher"]

_MOST_FORCED = 4096
"""Tokens after which `forced_tokens` stops looking: a grammar may force for ever."""


class CompiledGrammar(ABC):
    """A grammar compiled for a vocabulary, as its matchers know it.

    The only one there is is `Constraint`, which describes the attributes and adds how it is saved, and filled ahead of
    time. This part of it stands beside `Matcher`, because the two know each other.
    """

    grammar: Grammar | None
    vocabulary: Vocabulary
    lookahead: int | None
    relaxed: tuple[str, ...]
    canonical: bool
    prefetches: bool
    _plan: Plan
    _search: list[Any]
    _lowered: Lowered
    _inner: Sequence[tuple[int, str, CompiledGrammar]]
    _kernel: _kernel.Constraint

    @abstractmethod
    def matcher(self, max_tokens: int | None = None) -> Matcher:
        """A matcher at the start of the text; `Constraint.matcher` says more."""

    @property
    @abstractmethod
    def _binding(self) -> bytes: ...

    @property
    def reader(self) -> Reader | None:
        """What the texts stand for, `None` where they are just texts: that of the grammar. One that was loaded, or
        pickled, reads JSON where its grammar was made of a schema or of a type, since a type is not saved."""
        if self.grammar is not None:
            return self.grammar.reader
        return JSON if self._plan.values == "json" else None

    def read(self, text: str) -> Any:
        """The value of a whole text: of a type's grammar an instance, of a schema's what `json.loads` makes of it, of
        any other the text itself. Whether the text is in the language is not asked.

        Raises:
            DerivableError: it is not the text of a value, or the type refuses it.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"true", b"false", None], eos=[2])
            >>> dv.compile(dv.Grammar.from_json_schema({"type": "boolean"}), vocab).read("true")
            True
        """
        instance("text", text, str, "a str")
        return text if self.reader is None else self.reader.read(text)

    @cached_property
    def speculator(self) -> Speculator:
        """What models chose at the places of this grammar: `generate` learns it, and drafts from it."""
        from .speculator import Speculator  # PERF: only who drafts needs it

        return Speculator()

    @cached_property
    def _temperatures(self) -> dict[int, float]:
        """Those of terminals, by their symbols."""
        return dict(self._lowered.temperatures)

    @cached_property
    def fingerprint(self) -> int:
        """A number of 64 bits for the grammar and the vocabulary, the same in every process; with `Matcher.context` it
        tells places of different grammars apart. Terminals count by their names, not by their patterns.
        """
        lowered = self._lowered
        digest = sha256(self.vocabulary.fingerprint.encode())
        named = (self._plan.lexing, lowered.terminal_names, lowered.start)
        digest.update(repr(named).encode("utf-8", "replace"))
        digest.update(array("q", lowered.productions).tobytes())
        return int.from_bytes(digest.digest()[:8], "little")

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
            source=self._kernel,
            lexing=self._plan.lexing,
            nonterminals=lowered.nonterminal_names,
            productions=productions,
            vocabulary=self.vocabulary.size,
        )

    def stats(self) -> dict[str, int | bool]:
        """Facts about the index so far: masks asked for and found, rows, LR states, stack nodes, bytes.

        `run_bytes` is what its matchers have made it allocate, `spanner_bytes` the index that it may share with others;
        `miss_ns` and `longest_miss_ns` are nanoseconds of wall-clock time in computing masks, together and at most.
        """
        return self._kernel.stats()


class Matcher(_kernel.Matcher):
    """One sequence being generated under a `Constraint`. Made by `Constraint.matcher()`.

    A call that is refused leaves the state as it was. Not to be used from two threads at once; different matchers may
    be. Calls that work for longer than 20 us, or have to wait, release the interpreter's lock.

    Attributes:
        constraint: the one that made it.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"yes", b"no", b"y", b"es", None], eos=[4])
        >>> matcher = dv.compile(dv.Grammar.from_choices(["yes", "no"]), vocab).matcher()
        >>> matcher.advance(2)
        >>> matcher.allowed_tokens().tolist(), matcher.forced_bytes()
        ([3], b'es')
        >>> other = matcher.fork()
        >>> other.advance(3)
        >>> other.is_accepting, other.length, matcher.length
        (True, 2, 1)
        >>> other.rollback(2)
        >>> other.allows(1), other.is_finished
        (True, False)
    """

    def __init__(self, origin: CompiledGrammar | Matcher, max_tokens: int | None = None) -> None:
        if isinstance(origin, Matcher):
            self.constraint: CompiledGrammar = origin.constraint
            super().__init__(origin)
        else:
            kernel = getattr(origin, "_kernel", None)
            if not isinstance(kernel, _kernel.Constraint):
                raise ArgumentError("origin", "a Constraint or a Matcher", origin)
            self.constraint = origin
            super().__init__(kernel, None if max_tokens is None else integer("max_tokens", max_tokens))

    def fork(self) -> Matcher:
        """A second matcher at the same place, sharing the past. Cost: constant."""
        return type(self)(self)

    def to_bytes(self) -> bytes:
        """Where this matcher stands, for `Constraint.resume` in any process: all that decides what may follow, and
        what is left of its budget; not the text, nor the way back.

        The bytes belong to the grammar, the vocabulary and the options that the constraint was compiled with. Matchers
        are not pickled: pickle these bytes, and send the constraint once (it can be pickled, and saved).

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
            >>> constraint = dv.compile(dv.Grammar.from_regex("(ab)+"), vocab)
            >>> matcher = constraint.matcher()
            >>> matcher.advance(0)
            >>> constraint.resume(matcher.to_bytes()).allowed_tokens().tolist()
            [1]

        Cost: some microseconds; usually 30 to 100 bytes. Each open bracket, block or rule takes two or three, each of
        the values that a list must not repeat its length.
        """
        return wrapped(self.constraint._binding, self._past_tokens(), self.state())

    @classmethod
    def _resumed(cls, constraint: CompiledGrammar, data: bytes) -> Self:
        tokens, state = unwrapped(data, constraint._binding)
        matcher = cls.__new__(cls)
        matcher.constraint = constraint
        _kernel.Matcher.__init__(matcher, constraint._kernel, state=state)
        matcher._remember(tokens)
        return matcher

    def _past_tokens(self) -> list[int]:
        """The last tokens, if what may follow depends on them."""
        return []

    def _remember(self, tokens: list[int]) -> None:
        """Takes what `_past_tokens` gave."""

    def prefetch(self) -> None:
        """Has the mask computed that will be asked for next, in a thread beside, while the model runs.

        No mask depends on it, and where the mask is known nothing is done. `compile(prefetch=True)` does so after every
        step; who then asks for a mask that is under way waits for it, and does not compute it as well.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
            >>> matcher = dv.compile(dv.Grammar.from_regex("(ab)+"), vocab).matcher()
            >>> matcher.advance(0)
            >>> matcher.prefetch()
            >>> matcher.allowed_tokens().tolist()
            [1]

        Cost: below 1 us where the mask is known, else about 10 us.
        """
        prefetcher.ask(self)

    def forced_tokens(self) -> list[int]:
        """Tokens that must come next, tokenized as the tokenizer itself would.

        The forced bytes are tokenized canonically, then tokens are dropped from the end while some allowed token could
        continue across their boundary: a model might prefer a longer token there. A special token that is the only one
        allowed is forced, too.

        Returns:
            Token ids, perhaps none. `advance` accepts them one after the other.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"no", b"n", b"o", b",", b"1", None], eos=[5])
            >>> dv.compile(dv.Grammar.from_regex("no,1?"), vocab).matcher().forced_tokens()
            [0, 3]

        Cost: nearly always there is a choice, which takes 2 us; else some microseconds a token.
        """
        forced = self._forced_tokens()
        # The tokenizer may spell it with more tokens than a budget has.
        counts = self.tokens_left is not None or self.constraint._lowered.max_tokens
        return forced[: self.count_valid(forced)] if counts and forced else forced

    def _forced_tokens(self) -> list[int]:
        vocabulary = self.constraint.vocabulary
        # PERF: asked before every token of a generation, and nearly always there is a choice: 2 us instead of 9.
        if not self.constraint._lowered.references and not self.forced_bytes():
            return []
        probe, forced = self.fork(), list[int]()
        while not probe.is_finished and len(forced) < _MOST_FORCED:
            data = probe.forced_bytes()
            if data:
                before = probe.fork() if self.constraint.lookahead is not None else None
                try:
                    probe.advance_bytes(data)
                except TokenRejectedError:  # only a token that says more than what is forced fits into the budget
                    return forced
                tokens, safe = vocabulary.split_forced(data, probe.next_bytes())
                if before is not None:
                    tokens = tokens[: before.count_valid(tokens)]
                at = 0
                for token in tokens:
                    at += len(vocabulary.token_bytes(token) or b"")
                    if at > safe:
                        return forced
                    forced.append(token)
                if at < len(data):
                    return forced
            if not self.constraint._lowered.references or probe.is_accepting:
                break
            allowed = probe.allowed_tokens()
            if len(allowed) != 1:
                break
            forced.append(int(allowed[0]))
            probe.advance(forced[-1])
        return forced

    def fill_draft(
        self, token_ids: Iterable[int], bitmask: Any, *, parents: Sequence[int] | None = None, row: int = 0
    ) -> NDArray[np.bool_]:
        """Fills the masks along a draft, or a tree of drafts, in one call. The matcher stays where it is.

        Args:
            token_ids: k tokens that may come next: one after the other, unless `parents` says otherwise.
            bitmask: int32 [>= row + k + 1, ceil(V / 32)]. Row `row` is filled with the mask before the draft, row
                `row + 1 + i` with the one after token `i`.
            parents: for each token the index of the one before it, which is smaller than its own, or -1 for those that
                come first. By default 0 follows -1, 1 follows 0, and so on.
            row: where to begin.

        Returns:
            bool [k]: whether each token is acceptable after those that lead to it. Behind one that is not, and behind
            end of sequence, masks allow end of sequence only: nobody will use them, but they have a softmax.

        Raises:
            ArgumentError: `parents` that are no tree in this order.
            BitmaskShapeError: too few rows, or wrong dtype or layout.
            LimitError: a mask costs more than the constraint's limits allow.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", b"c", None], eos=[3])
            >>> matcher = dv.compile(dv.Grammar.from_regex("a(b|ca)"), vocab).matcher()
            >>> bitmask = dv.allocate_bitmask(5, vocab.size)
            >>> matcher.fill_draft([0, 1, 2, 2], bitmask, parents=[-1, 0, 0, -1]).tolist()
            [True, True, True, False]
            >>> bitmask[:, 0].tolist()  # before: a; after a: b or c; after ab: the end; after ac: a; after c: nothing
            [1, 6, 8, 1, 8]

        Cost: of each token an advance and a mask.
        """
        import numpy as np

        tokens = list(items("token_ids", token_ids, "a list of token ids"))
        before = range(-1, len(tokens) - 1) if parents is None else items("parents", parents, "a list of indices")
        indices = [integer("parents", parent, -LARGEST) for parent in before]
        start = integer("row", row, -LARGEST)
        return np.array(_kernel.fill_draft(self, tokens, bitmask, indices, start), dtype=np.bool_)

    @property
    def temperature(self) -> float | None:
        """The temperature that the grammar sets for the next token, `None` where it sets none.

        It is that of the terminal that the token's first byte belongs to. Where the byte may belong to several, as
        where a terminal may end or go on, it is the highest that is set. `Grammar.with_temperature` sets temperatures,
        and so does the attribute `temperature` of rules in Lark and EBNF (docs/dialects.md). Masks do not depend on it.

        Example:
            >>> import derivable as dv
            >>> grammar = dv.Grammar.from_lark('start: "x=" value ";"\\nvalue[temperature=0.7]: /[0-9]+/')
            >>> vocab = dv.Vocabulary.from_bytes([b"x=", b"42", b";", None], eos=[3])
            >>> m = dv.compile(grammar, vocab).matcher()
            >>> m.temperature, m.advance(0), m.temperature, m.advance(1), m.temperature, m.advance(2), m.temperature
            (None, None, 0.7, None, 0.7, None, None)

        Cost: 5 to 50 us where the grammar sets temperatures, else 0.2 us. Where a JSON string or a counted lexeme may
        end, each byte that may follow is tried, which can take 0.6 ms.
        """
        known = self.constraint._temperatures
        if not known or self.is_finished:
            return None
        found = set[int]()
        following: bytes | None = None
        for members, accepts in self.parses():
            found.update(accepts)
            for symbol, state in members:
                if symbol in known and symbol not in found:
                    following = self.next_bytes() if following is None else following
                    if self._may_go_on(symbol, state, following):
                        found.add(symbol)
        return max((known[symbol] for symbol in found if symbol in known), default=None)

    def _may_go_on(self, symbol: int, state: int, following: bytes) -> bool:
        """Whether one of these bytes continues a lexeme of a terminal. Texts of other grammars are taken to go on."""
        automaton = self.constraint._lowered.terminals[symbol - 1][0]
        if automaton.is_empty:  # another grammar has them
            return True
        if isinstance(automaton, _kernel.Dfa):
            return any(automaton.step(state, byte) >= 0 for byte in following)
        for byte in following:  # states that are not those of a table
            probe = self.fork()
            try:
                probe.advance_bytes(bytes([byte]))
            except TokenRejectedError:  # not within what a budget has left
                continue
            if any(symbol == other for members, _ in probe.parses() for other, _ in members):
                return True
        return False

    def explain(self, token_id: int) -> Explanation:
        """Why a token is allowed here, or not: the lexeme in progress, what the parser expects, where the token fails.

        Raises:
            TokenRejectedError: `token_id` is not in the vocabulary.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"12", b"1a", None], eos=[2])
            >>> print(dv.compile(dv.Grammar.from_regex("[0-9]+"), vocab).matcher().explain(1))
            token 1 b'1a' fails at byte 1: after b'1' only b'0123456789' can follow; expected: [0-9]+
        """
        allowed = self.allows(token_id)
        by_grammar = allowed or super().allows(token_id)
        return explanation(self, token_id, self.constraint, allowed=allowed, by_grammar=by_grammar)

    def __repr__(self) -> str:
        try:
            state = "finished" if self.is_finished else "accepting" if self.is_accepting else "in progress"
        except LimitError:
            state = "in progress, or accepting,"
        return f"<Matcher {state} after {self.length} steps>"
