"""Masks of many places in one call: a tree of candidate tokens, and a whole sequence.

A draft that branches (several guesses for the next token, several behind each) is verified by one forward pass with a
tree-shaped attention mask; every node needs the mask of what may follow it. A finished text is a tree without branches:
its masks are what training and evaluation under a grammar need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derivable.batch import allocate_bitmask
from derivable.constraint import Constraint
from derivable.decoding.policy import patiently
from derivable.errors import ArgumentError, BitmaskShapeError, TokenRejectedError
from derivable.matcher import Matcher
from derivable.support.arguments import instance, integer, items

__all__ = ["fill_tree", "sequence_bitmask"]


def fill_tree(matcher: Matcher, token_ids: Sequence[int], parents: Sequence[int], bitmask: Any) -> NDArray[np.bool_]:
    """Fills the masks of a tree of candidate tokens.

    Args:
        matcher: stands at the root, and stays there.
        token_ids: the token of each node.
        parents: the number of each node's parent, less than its own; -1 for those that follow the root.
        bitmask: int32 [>= N + 1, >= ceil(V / 32)], on the CPU. Row 0 becomes the mask at the root, row `i + 1` that of
            what may follow node `i`; rows of nodes that are not allowed, or lie behind such, are cleared.

    Returns:
        bool [N]: whether the path to each node is allowed.

    Raises:
        ArgumentError: a parent that is no node before.
        BitmaskShapeError: wrong shape, dtype or layout.
        LimitError: a mask costs more than it may, even when asked again.

    Cost: a fork, a token advanced and a mask for each node that is allowed. A chain costs no more than its tokens do
    one after the other; siblings share all that was found out about their parent.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", b"ab", None], eos=[3])
        >>> matcher = dv.compile(dv.Grammar.from_regex("(ab)+"), vocab).matcher()
        >>> bitmask = dv.allocate_bitmask(4, vocab.size)
        >>> dv.fill_tree(matcher, [0, 2, 0], [-1, -1, 0], bitmask).tolist()   # a, ab, and a behind a
        [True, True, False]
        >>> [format(int(row), "04b") for row in bitmask[:, 0]]                # bit 3 is the end
        ['0101', '0010', '1101', '0000']
    """
    instance("matcher", matcher, Matcher, "a Matcher")
    tokens = [integer("token_ids", token) for token in items("token_ids", token_ids, "a list of token ids")]
    above = [integer("parents", parent, -1) for parent in items("parents", parents, "a list of node numbers")]
    if len(above) != len(tokens):
        raise ArgumentError("parents", f"a list of {len(tokens)}, one for each token", parents)
    for node, parent in enumerate(above):
        if parent >= node:
            raise ArgumentError("parents", f"a node before node {node}, or -1", parent)
    rows = getattr(bitmask, "shape", None)
    if rows is None or len(rows) != 2 or rows[0] < len(tokens) + 1:
        raise BitmaskShapeError(
            f"the bitmask has shape {rows}, for a tree of {len(tokens)} nodes. Allocate {len(tokens) + 1} rows."
        )
    patiently(lambda: matcher.fill_bitmask(bitmask, 0))
    places: list[Matcher | None] = []
    for node, (token, parent) in enumerate(zip(tokens, above, strict=True)):
        origin = matcher if parent < 0 else places[parent]
        if origin is not None:
            origin = _after(origin, token)
        if origin is None:
            bitmask[node + 1] = 0
        else:
            place = origin
            patiently(lambda place=place, node=node: place.fill_bitmask(bitmask, node + 1))  # type: ignore[misc]
        places.append(origin)
    return np.array([place is not None for place in places], dtype=bool)


def _after(origin: Matcher, token: int) -> Matcher | None:
    """A matcher one token further; `None` if the token is not allowed."""
    place = origin.fork()
    try:
        patiently(lambda: place.advance(token))
    except TokenRejectedError:
        return None
    return place


def sequence_bitmask(constraint: Constraint | Matcher, token_ids: Sequence[int]) -> NDArray[np.int32]:
    """The masks of a whole text: what might have stood in the place of each token.

    Args:
        constraint: whose texts; of a matcher, from where it stands (and stays).
        token_ids: the tokens of a text, or of a beginning, an end token perhaps included.

    Returns:
        int32 [T, ceil(V / 32)]: row `t` is the mask before token `t`, in which that token's own bit is 1.

    Raises:
        TokenRejectedError: a token is not allowed (the message says which).
        LimitError: a mask costs more than it may, even when asked again.

    Cost: T masks, T * V / 8 bytes.

    Example:
        >>> import derivable as dv
        >>> vocab = dv.Vocabulary.from_bytes([b"a", b"b", b"ab", None], eos=[3])
        >>> masks = dv.sequence_bitmask(dv.compile(dv.Grammar.from_regex("(ab)+"), vocab), [0, 1, 3])
        >>> [format(int(row), "04b") for row in masks[:, 0]]
        ['0101', '0010', '1101']
    """
    instance("constraint", constraint, Constraint | Matcher, "a Constraint or a Matcher")
    matcher = constraint.matcher() if isinstance(constraint, Constraint) else constraint.fork()
    tokens = [integer("token_ids", token) for token in items("token_ids", token_ids, "a list of token ids")]
    bitmask = allocate_bitmask(len(tokens), matcher.constraint.vocabulary.size)
    for row, token in enumerate(tokens):
        patiently(lambda row=row: matcher.fill_bitmask(bitmask, row))  # type: ignore[misc]
        try:
            patiently(lambda token=token: matcher.advance(token))  # type: ignore[misc]
        except TokenRejectedError as error:
            raise TokenRejectedError(token, error.token_bytes, f"token {row} of {len(tokens)}") from None
    return bitmask
