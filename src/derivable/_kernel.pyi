"""Types of the compiled kernel (src/kernel/python)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .expr import Expr

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

def names_only(expressions: Iterable[Expr]) -> bool: ...
def content(expr: Expr | tuple[object, ...]) -> bytes: ...
def operands(expr: Expr) -> list[Expr]: ...
def compile_tree(
    expr: Expr, leftmost_first: bool, max_nfa_states: int, max_dfa_states: int, automata: list[Dfa]
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

def dead_ends(rules: dict[str, Expr]) -> tuple[list[str], list[str]]: ...
def with_symbols(productions: list[int], instead: dict[int, int]) -> list[int]: ...
def flatten(
    rules: dict[str | Expr, Expr], start: str, first: list[str], most: int
) -> tuple[int, list[str], list[int], dict[str | Expr, int]]: ...

class Vocabulary:
    def __init__(self, tokens: list[bytes | None], eos_ids: list[int]) -> None: ...
    @staticmethod
    def from_tables(lengths: bytes, blob: bytes, order: bytes, eos_ids: list[int]) -> Vocabulary: ...
    def order(self) -> bytes: ...
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

class Constraint:
    def __init__(
        self,
        vocabulary: Vocabulary,
        plan: Any,
        references: Sequence[tuple[int, Sequence[int], bool]],
    ) -> None: ...
    def stats(self) -> dict[str, int | bool]: ...
    @property
    def serial(self) -> int: ...
    def index_view(self) -> dict[str, Any]: ...
    def can_begin(self) -> bool: ...
    def forget_masks(self) -> None: ...
    def saved_splits(self) -> bytes: ...
    def give_back(self) -> None: ...
    def unproductive(self) -> list[int]: ...

def checksum(data: bytes | bytearray | memoryview) -> int: ...

class Matcher:
    """One sequence being generated."""

    def __init__(self, origin: Constraint | Matcher, max_tokens: int | None = None) -> None: ...
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
def fill_bitmasks(matchers: list[Any], bitmask: Any, threads: int, rows: list[int] | None = None) -> None: ...
def advance(matchers: list[Any], token_ids: Any, threads: int) -> None: ...
def fill_draft(matcher: Matcher, token_ids: Any, bitmask: Any, parents: list[int], row: int) -> list[bool]: ...
def apply_bitmask(logits: Any, minimum: int, bitmask: Any, rows: list[int]) -> None: ...
def watch_slow_masks(seconds: float | None, call: Callable[[int, int, int, bool, list[int]], None] | None) -> None: ...
