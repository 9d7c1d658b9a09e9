"""The bytes of `Matcher.to_bytes`: what stands around the state that the kernel writes.

1 byte   version
8 bytes  what the state is bound to: grammar, vocabulary and options, as a digest
4 bytes  checksum of what follows
1 byte   number of last tokens, 4 bytes each (where only the tokenizer's own tokenization is allowed)
the rest the state (docs/design/matching.md, "State that travels")
"""

from __future__ import annotations

import json
import struct
from hashlib import blake2b
from typing import TYPE_CHECKING
from zlib import crc32

from ..errors import ArtifactError

if TYPE_CHECKING:
    from .artifact import Plan

__all__ = ["MOST_TOKENS", "binding", "content_of", "unwrapped", "wrapped"]

VERSION = 1
"""Raised when the bytes, or what their numbers mean, change. Numbers of symbols and of automata's states are part of
what a state is bound to, so a change of those is seen without."""

MOST_TOKENS = 255
"""So many last tokens may be sent, to tell whether the next one is the tokenizer's own; usually it is one or two."""

_HEAD = struct.Struct("<B8sI")


def content_of(plan: Plan, numbering: int, inner: list[tuple[int, str, str]]) -> str:
    """A digest of what numbers in a state refer to, and of what else decides masks.

    Args:
        plan: what the constraint is made of.
        numbering: the kernel's digest of its productions and automata.
        inner: of its inner languages the symbol, how their texts are encoded, and their own digests.
    """
    lowered = plan.lowered
    parts = (
        *(plan.lexing, plan.lookahead, numbering, inner),
        *(lowered.indentation, lowered.distinct, lowered.max_tokens, lowered.tallies),
        [(rank, ignored) for _, rank, ignored in lowered.terminals],
        lowered.slots,
        [(symbol, named.tokens, named.negated) for symbol, named in lowered.references],
    )
    return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def binding(content: str, vocabulary: str, canonical: bool) -> bytes:
    """What states are bound to: the content, the vocabulary's fingerprint, and whether tokenization counts."""
    return blake2b(f"{content} {vocabulary} {canonical}".encode(), digest_size=8).digest()


def wrapped(bound_to: bytes, tokens: list[int], state: bytes) -> bytes:
    """The bytes of a matcher."""
    rest = struct.pack(f"<B{len(tokens)}I", len(tokens), *tokens) + state
    return _HEAD.pack(VERSION, bound_to, crc32(rest)) + rest


def unwrapped(data: bytes, bound_to: bytes) -> tuple[list[int], bytes]:
    """The last tokens and the state in what `wrapped` gave.

    Raises:
        ArtifactError: it gave something else, or for something else.
    """
    if len(data) <= _HEAD.size:
        raise ArtifactError("these are no bytes of a matcher: too few. Give what Matcher.to_bytes() gave.")
    version, bound, checksum = _HEAD.unpack_from(data)
    if version != VERSION:
        raise ArtifactError(
            f"the state of a matcher in format {version}, but this version of Derivable reads {VERSION}. Use one "
            "version on all machines, or begin the text anew there."
        )
    if bound != bound_to:
        raise ArtifactError(
            "the state is of a matcher of another constraint: another grammar, vocabulary or option, or another "
            "version of Derivable. Compile here what was compiled there, or load what Constraint.save() wrote there."
        )
    rest = data[_HEAD.size :]
    if crc32(rest) != checksum:
        raise ArtifactError("the state of a matcher is damaged (its checksum is wrong). Send it again.")
    start = 1 + 4 * rest[0]
    if rest[0] > MOST_TOKENS or len(rest) < start:
        raise ArtifactError("the state of a matcher is malformed. Give what Matcher.to_bytes() gave.")
    return list(struct.unpack_from(f"<{rest[0]}I", rest, 1)), rest[start:]
