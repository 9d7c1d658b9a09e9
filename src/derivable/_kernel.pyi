"""Types of the compiled kernel (src/kernel/python)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .expr import Expr

_Pairs = list[tuple[int, int]]
_IndexKeys = tuple[
    list[tuple[int, _Pairs, list[tuple[list[int], _Pairs]], int, int, int]],
    list[bytes],
    dict[int, tuple[int, list[int]]],
    int,
]

class Dfa:
    @staticmethod
    def literal(text: bytes) -> Dfa: ...
    @property
    def num_states(self) -> int: ...
    @property
    def num_classes(self) -> int: ...
    @property
    def is_empty(self) -> bool: ...
    @property
    def accepts_empty(self) -> bool: ...
    @property
    def is_conditional(self) -> bool: ...
    @property
    def looks_back(self) -> bool: ...
    def accepts(self, text: bytes) -> bool: ...
    def is_prefix(self, text: bytes) -> bool: ...
    def step(self, state: int, byte: int) -> int: ...
    def is_accepting(self, state: int) -> bool: ...
    def intersection(self, other: Dfa, max_states: int) -> Dfa: ...
    def union(self, other: Dfa, max_states: int) -> Dfa: ...
    def difference(self, other: Dfa, max_states: int) -> Dfa: ...
    def json_text(self, max_states: int) -> Dfa: ...
    def without_empty(self) -> Dfa: ...
    def fingerprint(self) -> bytes: ...
    def saved(self) -> bytes: ...
    @staticmethod
    def from_saved(data: bytes) -> Dfa: ...

class JsonStrings:
    def __init__(
        self, values: tuple[str, ...], negated: bool, min_length: int, max_length: int | None, plain: bool = False
    ) -> None: ...
    @staticmethod
    def verbatim(texts: Sequence[bytes]) -> JsonStrings: ...
    @staticmethod
    def of_values(values: Dfa, max_states: int, max_length: int | None = None, plain: bool = False) -> JsonStrings: ...
    @property
    def max_length(self) -> int | None: ...
    @property
    def plain(self) -> bool: ...
    @property
    def values(self) -> Dfa | None: ...
    @property
    def value_bytes(self) -> int: ...
    def step(self, state: int, byte: int) -> int: ...
    def accepts(self, state: int) -> bool: ...
    @property
    def is_empty(self) -> bool: ...
    def to_dfa(self, max_states: int) -> Dfa: ...

class CountingAutomaton:
    @staticmethod
    def table(automaton: Dfa, max_characters: int | None = None) -> CountingAutomaton: ...
    @staticmethod
    def sequence(items: Sequence[CountingAutomaton]) -> CountingAutomaton: ...
    @staticmethod
    def choice(items: Sequence[CountingAutomaton]) -> CountingAutomaton: ...
    @staticmethod
    def repeat(item: CountingAutomaton, min: int, max: int | None, lazy: bool = False) -> CountingAutomaton: ...
    def without_empty(self) -> CountingAutomaton: ...
    def in_order(self) -> CountingAutomaton: ...
    @property
    def is_empty(self) -> bool: ...
    @property
    def accepts_empty(self) -> bool: ...
    @property
    def num_states(self) -> int: ...
    @property
    def size(self) -> int: ...
    def step(self, state: int, byte: int) -> int: ...
    def accepts(self, state: int) -> bool: ...
    def acting_as(self, state: int, bytes: int) -> int: ...
    def shortest_rest(self, state: int) -> bytes | None: ...
    def saved(self) -> bytes: ...
    @staticmethod
    def from_saved(data: bytes) -> CountingAutomaton: ...

def content(expr: Expr | tuple[object, ...]) -> bytes: ...
def compile_tree(
    expr: Expr, leftmost_first: bool, max_nfa_states: int, max_dfa_states: int, automaton_of: Callable[[Expr], Dfa]
) -> Dfa: ...
def spelled(value: object, most: int) -> bytes | None: ...
def listed_numbers(
    literals: list[str], most: int, longest: int
) -> list[tuple[tuple[tuple[tuple[int, int, int], ...], ...], tuple[bool, ...]]]: ...

class NumberRange:
    def __init__(
        self,
        low: tuple[str, bool] | None,
        high: tuple[str, bool] | None,
        integral: bool | None,
        digits: bool | None,
        most_decimals: int | None,
        scientific: bool,
        written: bool,
        longest: int,
    ) -> None: ...
    @property
    def is_small(self) -> bool: ...
    @property
    def is_empty(self) -> bool: ...
    def to_dfa(self, max_states: int) -> Dfa: ...

class Partition:
    def __init__(self, whole: Dfa, parts: list[Dfa], max_states: int, max_classes: int) -> None: ...
    @property
    def answers(self) -> list[list[bool]]: ...
    def strings(self, classes: list[int]) -> tuple[tuple[tuple[tuple[int, int, int], ...], ...], tuple[bool, ...]]: ...

def dead_ends(rules: dict[str, Expr]) -> list[str]: ...
def flatten(
    rules: dict[str | Expr, Expr], start: str, first: list[str], most: int
) -> tuple[int, list[str], list[int], dict[str | Expr, int]]: ...

class Transducer:
    def __init__(
        self,
        edges: Sequence[Sequence[tuple[int, int, int, bytes | None]]],
        may_end: Sequence[bool],
        start: int,
    ) -> None: ...
    def decode(self, text: bytes) -> bytes | None: ...
    def encode(self, decoded: bytes) -> bytes | None: ...

class Vocabulary:
    def __init__(self, tokens: list[bytes | None], eos_ids: list[int]) -> None: ...
    @staticmethod
    def from_tables(lengths: bytes, blob: bytes, order: bytes, eos_ids: list[int]) -> Vocabulary: ...
    def order(self) -> bytes: ...
    def decoded(self, transducer: Transducer) -> Vocabulary: ...
    def tokens(self) -> list[bytes | None]: ...
    @property
    def size(self) -> int: ...
    @property
    def shared_bytes(self) -> int: ...
    def set_shared_budget(self, size: int) -> None: ...
    def forget_shared(self) -> None: ...

class Explorer:
    def __init__(self, constraint: Constraint, tokens: list[int], literals: list[bytes]) -> None: ...
    def meet_start(self) -> None: ...
    def cut(self, text: bytes) -> list[int]: ...
    def follow(self, tokens: Sequence[int], seconds: float, bytes: int, worth: int) -> str: ...
    def visit(self, most: int, known: int, seconds: float, bytes: int, worth: int, below: float) -> str: ...
    @property
    def visited(self) -> int: ...
    @property
    def followed(self) -> int: ...
    @property
    def found(self) -> int: ...
    @property
    def visits(self) -> Visits: ...

class Visits:
    def saved(self, constraint: Constraint) -> bytes: ...

def replay(constraint: Constraint, data: bytes, seconds: float) -> int: ...
def accelerators() -> list[tuple[str, str]]: ...

class Constraint:
    def __init__(
        self,
        vocabulary: Vocabulary,
        plan: Any,
        references: Sequence[tuple[int, Sequence[int], bool]],
        languages: Sequence[tuple[int, Constraint]],
        without: Sequence[str] = (),
        slots: Sequence[tuple[int, int]] = (),
        meaning: Any = None,
    ) -> None: ...
    def stats(self) -> dict[str, int | bool]: ...
    def uses(self) -> dict[str, int]: ...
    @property
    def serial(self) -> int: ...
    def lexemes(
        self, bytes: Sequence[int], tokens: Sequence[tuple[int, int, int]], is_whole: bool
    ) -> tuple[list[int], list[tuple[int, int, int, int]]]: ...
    def index_view(self) -> dict[str, Any]: ...
    def index_keys(self, terminal: int, most: int, most_bytes: int, matcher: Matcher | None) -> _IndexKeys: ...
    def can_begin(self) -> bool: ...
    def content(self) -> int: ...
    def forget_masks(self) -> None: ...
    def saved_splits(self) -> bytes: ...
    def give_back(self) -> None: ...
    def unproductive(self) -> list[int]: ...

class NameSet:
    @staticmethod
    def of(names: Sequence[str], ignores_case: bool) -> NameSet: ...
    @staticmethod
    def any(sets: Sequence[NameSet]) -> NameSet: ...
    @staticmethod
    def but(names: NameSet, marked: Sequence[NameSet] | None) -> NameSet: ...

class Catalogue(NameSet):
    def __init__(self, nodes: bytes | memoryview, root: int, ignores_case: bool) -> None: ...
    def contains(self, text: bytes) -> bool: ...

class CatalogueBuilder:
    def __init__(self, memory: int, ignores_case: bool) -> None: ...
    def add(self, texts: list[str]) -> None: ...
    def add_lines(self, lines: bytes) -> None: ...
    def is_full(self) -> bool: ...
    def spill(self) -> bytes: ...
    def begin_merge(self, runs: int) -> None: ...
    def merge(self) -> int | None: ...
    def feed(self, bytes: bytes) -> None: ...
    def take(self) -> bytes: ...
    def is_done(self) -> bool: ...
    def found(self) -> tuple[int, int, int]: ...

def checksum(data: bytes | bytearray | memoryview) -> int: ...

class Matcher:
    """One sequence being generated."""

    @overload
    def __init__(self, origin: Constraint | Matcher, max_tokens: int | None = None) -> None: ...
    @overload
    def __init__(self, origin: Constraint, *, state: bytes) -> None: ...
    def state(self, budget: bool = True) -> bytes:
        """Where the sequence stands, for a matcher of the same grammar and vocabulary in any process; also what is left
        of its budget, or not.
        """

    def advance(self, token_id: int) -> None:
        """Takes one token.

        Args:
            token_id: a token that the mask allows; an end-of-sequence token finishes the sequence.

        Raises:
            TokenRejectedError: it is not allowed, or not in the vocabulary. The state is unchanged.

        Cost: O(bytes of the token), about 0.3 us plus 50 ns a byte.
        """

    def advance_bytes(self, data: bytes) -> None:
        """Takes bytes, however they may be tokenized; counts as one step for `rollback`.

        Raises:
            TokenRejectedError: they are not a prefix of anything allowed here. The state is unchanged.
        """

    def allows(self, token_id: int) -> bool:
        """Whether a token is allowed, without building the mask (DOMINO's opportunistic check).

        Raises:
            TokenRejectedError: it is not in the vocabulary.

        Cost: as `advance`.
        """

    def situation(self, hops: int) -> bytes:
        """Equal for matchers of one constraint whose lexer states, and stacks down to `hops` below the top (-1: no
        stacks), are.
        """

    def same_place(self, other: Matcher) -> bool:
        """Whether all that may follow is known to be the same as for another matcher of the constraint: they went
        different ways, and stand in one place.

        Raises:
            ArgumentError: no matcher.

        Cost: below 1 us.
        """

    def context(self, hops: int) -> int:
        """A number of 64 bits, equal where `situation` is, in every process in which the grammar was compiled (and by
        chance). Inside
        string literals that are known by rule, not by a table, it does not tell where.
        """

    def count_valid(self, token_ids: Sequence[int]) -> int:
        """How many tokens of a draft are acceptable one after the other, whatever follows (ids past the vocabulary
        too); the state is unchanged.
        """

    def spells(self, texts: Iterable[bytes]) -> bytes:
        """Which texts the grammar allows next, each by itself and whatever the budget; the state is unchanged.

        Args:
            texts: any bytes, at most some thousand.

        Returns:
            A byte for each: 0 not allowed, 1 allowed, 2 allowed, and the text may end behind it.

        Raises:
            LimitError: they cost more than the constraint's limits allow.

        Cost: of each about 0.3 us plus 50 ns a byte.
        """

    def rollback(self, count: int) -> None:
        """Undoes the last `count` steps.

        Raises:
            RollbackError: there are not so many; nothing is undone.
        """

    def reset(self) -> None:
        """Goes back to the start of the text."""

    def fill_bitmask(self, bitmask: Any, row: int = 0) -> None:
        """Writes the mask of the next token into one row.

        Args:
            bitmask: int32 [batch, >= ceil(V / 32)], C-contiguous, on the CPU (numpy, or torch and others by
            DLPack); bit t % 32 of
                word t // 32 is 1 if and only if token t is allowed. Words past the vocabulary are cleared.
            row: which row.

        Raises:
            BitmaskShapeError: wrong shape, dtype or layout.
            LimitError: the mask costs more than the constraint's limits allow; asking again goes on from there.

        Cost: a look-up and a copy of V / 8 bytes (0.5 us at 128,256 tokens) when the situation was seen before.
        """

    def knows_mask(self) -> bool:
        """Whether `fill_bitmask` would find its mask and only copy it.

        Cost: below 1 us.
        """

    def compute_mask(self) -> None:
        """Computes the mask that `fill_bitmask` is to find; other Python threads run meanwhile.

        Raises:
            LimitError: the mask costs more than the constraint's limits allow.

        Cost: as `fill_bitmask`.
        """

    def allowed_tokens(self) -> NDArray[np.int32]:
        """The mask of the next token as ids: int32 [how many are allowed], ascending.

        Raises:
            LimitError: the mask costs more than the constraint's limits allow.

        Cost: as `fill_bitmask`, and a look at V bits.
        """

    def forced_bytes(self, max_length: int = 4096) -> bytes:
        """The bytes that must come next, as far as there is no choice (and the text may not end): `max_length` of
        them at most.
        """

    def next_bytes(self) -> bytes:
        """The bytes that may come next, ascending."""

    def unfolded(self, most: int) -> list[tuple[int, int, bool, int, int, int]] | None:
        """The spanner trees of the parses, in preorder: (parent, terminal symbol, ignored, tokens, refused, hops).
        None: too ambiguous.
        """

    def parses(self) -> list[tuple[list[tuple[int, int]], list[int]]]:
        """Per parse: ([(terminal symbol, automaton state), ...] of the lexeme in progress, [acceptable terminal
        symbols]).
        """

    def names_here(self, most: int) -> list[tuple[list[int], bytes, list[bytes]]]:
        """Names of a meaning that may stand here, or go on with one in progress, as far as they are listed; none
        without a meaning.

        Args:
            most: names of each slot, short ones first.

        Returns:
            (symbols, bytes of the name so far, rests of names) for each slot of each parse: the symbol of the slot is
            the last, before it stand those of the inner languages that it lies in.

        Raises:
            ArgumentError: `most` is no integer.
            LimitError: it costs more than the constraint's limits allow.
        """

    @property
    def is_accepting(self) -> bool:
        """The text so far is a member of the language: end of sequence is allowed."""

    @property
    def is_finished(self) -> bool:
        """An end-of-sequence token was taken."""

    @property
    def length(self) -> int:
        """Steps taken since the start."""

    @property
    def tokens_left(self) -> int | None:
        """With a budget: how many tokens may still be taken, the end token included. `None` without one."""

    @property
    def least_tokens(self) -> int | None:
        """With a budget: so many tokens suffice from here to the end, the end token included. `None` without one."""

class Budget:
    def __init__(self, seconds: float | None, max_bytes: int) -> None: ...
    def __enter__(self) -> Budget: ...
    def __exit__(self, type: object, value: object, traceback: object) -> None: ...
    @property
    def work(self) -> int: ...
    @property
    def bytes(self) -> int: ...

def check(work: int = 100) -> None: ...
def shut_down() -> None: ...
def before_fork() -> None: ...
def after_fork(in_child: bool) -> None: ...
def mask_numbers(matchers: list[Any]) -> list[tuple[int, int] | None]: ...
def fill_bitmasks(matchers: list[Any], bitmask: Any, threads: int, rows: list[int] | None = None) -> None: ...
def advance(matchers: list[Any], token_ids: Any, threads: int) -> None: ...
def fill_draft(matcher: Matcher, token_ids: Any, bitmask: Any, parents: list[int], row: int) -> list[bool]: ...
def apply_bitmask(logits: Any, minimum: int, bitmask: Any, rows: list[int], masks: list[int]) -> None: ...
def watch_slow_masks(seconds: float | None, call: Callable[[int, int, int, bool, list[int]], None] | None) -> None: ...
