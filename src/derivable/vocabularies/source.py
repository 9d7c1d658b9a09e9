"""What every reader returns, and the rules all of them share: table building, spelling helpers, end-of-sequence ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from derivable.errors import ArgumentError, VocabularyError
from derivable.support.arguments import LARGEST, integer, items

__all__ = ["GIVE_BYTES", "MAX_SIZE", "Encoder", "Source", "byte_level", "byte_literal", "resolve_eos", "table", "utf8"]

Encoder = Callable[[str], list[int]]
"""Text to token ids, special tokens neither added nor parsed. It may change the text; `Vocabulary.encode` checks."""

GIVE_BYTES = "Give the exact bytes of each token with Vocabulary.from_bytes."
"""What to do about a tokenizer that cannot be read exactly."""

MAX_SIZE = 1 << 24
"""Ids from here on are refused: no vocabulary is that large, and a table is as long as its largest id."""

# Names under which published models end a text, and those under which chat models end their turn.
END_OF_TEXT = (
    "</s>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<eos>",
    "[EOS]",
    "<EOS>",
    "<|eos|>",
    "<EOS_TOKEN>",
    "<\uff5cend▁of▁sentence\uff5c>",  # DeepSeek's bars are full width
)
END_OF_TURN = (
    "<|eot_id|>",
    "<|im_end|>",
    "<end_of_turn>",
    "<|return|>",
    "<|call|>",
    "<|end_of_turn|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|endofturn|>",
    "<|eot|>",
)
# Ends a turn for Phi, but only one message of several where harmony's <|return|> exists.
END_OF_TURN_OR_MESSAGE = "<|end|>"


@dataclass
class Source:
    """What a tokenizer says, before it is checked and completed by `Vocabulary`.

    Attributes:
        kind: short name of the format, for `repr` and `describe`.
        where: the file or object, for messages.
        tokens: bytes of each id; `None` for special tokens, unknowns and holes.
        special: text of each special token -> id.
        ids_by_text: every token's own spelling -> id, to look up an `eos=` given as text.
        named_eos: (who says so, text or id) for each end-of-sequence token that the source itself names.
        eos_is_complete: `named_eos` lists all ids that end a generation, turn terminators included.
        encoder: the canonical encoder, if there is one.
        strips_leading_space: the source's own decoder drops a space at the start of a text.
    """

    kind: str
    where: str
    tokens: list[bytes | None]
    special: dict[str, int] = field(default_factory=dict)
    ids_by_text: Mapping[str, int] = field(default_factory=dict)
    named_eos: list[tuple[str, str | int]] = field(default_factory=list)
    eos_is_complete: bool = False
    encoder: Encoder | None = None
    strips_leading_space: bool = False


def table(entries: Iterable[tuple[int, bytes | None]], where: str) -> list[bytes | None]:
    """The dense list of token bytes from (id, bytes) pairs; ids nobody names are holes, `None`.

    Raises:
        VocabularyError: an id is negative, absurdly large, or named twice; or there are no entries.
    """
    by_id: dict[int, bytes | None] = {}
    for count, (token_id, data) in enumerate(entries, 1):
        by_id[token_id] = data
        if len(by_id) != count:
            raise VocabularyError(
                f"{where}: two tokens have the id {token_id} (one is {data!r}). "
                "Ids must be unique: repair the file, or give the tokens with Vocabulary.from_bytes."
            )
    if not by_id:
        raise VocabularyError(f"{where}: the vocabulary is empty. Check that this is the model's own tokenizer.")
    low, high = min(by_id), max(by_id)
    if low < 0 or high >= MAX_SIZE:
        raise VocabularyError(
            f"{where}: token id {low if low < 0 else high:,} is out of range (0 to {MAX_SIZE - 1:,}). Repair the file."
        )
    tokens: list[bytes | None] = [None] * (high + 1)
    for token_id, data in by_id.items():
        tokens[token_id] = data
    return tokens


def utf8(text: str, where: str) -> bytes:
    """UTF-8 of `text`.

    Raises:
        VocabularyError: it holds a lone surrogate, which has none.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise VocabularyError(
            f"{where}: {text!r} holds a lone surrogate, which has no UTF-8. Remove or replace that character."
        ) from error


def _byte_level_table() -> dict[int, int]:
    """GPT-2's byte <-> character map, as a `str.translate` table from character to byte.

    Printable Latin-1 bytes stand for themselves, the other 68 for U+0100 onwards. Latin-1 characters that stand for no
    byte go to U+FFFF, so that encoding the result as Latin-1 fails exactly where a character is outside the map.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return dict.fromkeys(others, 0xFFFF) | {0x100 + i: byte for i, byte in enumerate(others)}


_BYTE_LEVEL = _byte_level_table()
_BYTE_LITERAL = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def byte_level(piece: str, where: str) -> bytes:
    """Bytes of a byte-level token; UTF-8 of the text if a character is outside the map (as the decoders do)."""
    if piece.isascii():  # PERF: half of a vocabulary; ASCII stands for itself, in the map or not
        return piece.encode("ascii")
    try:
        return piece.translate(_BYTE_LEVEL).encode("latin-1")
    except UnicodeEncodeError:
        return utf8(piece, where)


def byte_literal(piece: str) -> bytes | None:
    """The byte that a byte-fallback token `<0xHH>` stands for; `None` for any other text."""
    match = _BYTE_LITERAL.fullmatch(piece) if len(piece) == 6 else None
    return bytes.fromhex(match[1]) if match else None


def resolve_eos(source: Source, explicit: Iterable[str | int] | None, size: int) -> tuple[int, ...]:
    """The ids that end a generation, ascending.

    What the caller gives wins. Otherwise: the tokens the source names. Unless these are complete (a
    `generation_config.json`), the well-known chat terminators among the special tokens are added, and the well-known
    end-of-text tokens too where the source names none.

    Raises:
        VocabularyError: a token that is named does not exist, an id is out of range, or none is found.
    """
    if explicit is not None:
        listed = [explicit] if isinstance(explicit, str | int) else items("eos", explicit, "a list of ids, or of texts")
        return tuple(sorted({_eos_id(source, "eos=", name, size) for name in listed}))
    ids = {_eos_id(source, who, name, size) for who, name in source.named_eos}
    if not (ids and source.eos_is_complete):
        special = source.special
        turn = {special[name] for name in END_OF_TURN if name in special}
        if END_OF_TURN_OR_MESSAGE in special and "<|return|>" not in special:
            turn.add(special[END_OF_TURN_OR_MESSAGE])
        if ids <= turn:
            ids |= {special[name] for name in END_OF_TEXT if name in special}
        ids |= turn
    if not ids:
        raise VocabularyError(
            f"{source.where}: no end-of-sequence token is named or recognised. Pass eos=[...] with the ids (or texts) "
            "at which generation stops; eos=[] if there is none."
        )
    return tuple(sorted(ids))


def _eos_id(source: Source, who: str, name: str | int, size: int) -> int:
    """One end-of-sequence token as an id."""
    if isinstance(name, str):
        found = source.special.get(name, source.ids_by_text.get(name))
        if found is None:
            raise VocabularyError(
                f"{source.where}: {who} names the end-of-sequence token {name!r}, which is not in the vocabulary. "
                "Pass eos=[...] with tokens that exist."
            )
        return found
    try:
        token_id = integer(who, name, -LARGEST)
    except ArgumentError as error:
        raise VocabularyError(f"{source.where}: {error} Give token ids or token texts.") from error
    if not 0 <= token_id < size:
        raise VocabularyError(
            f"{source.where}: {who} names the end-of-sequence id {token_id}, out of range for {size:,} tokens. "
            "Pass eos=[...] with ids below the size, or size= if the model's logits are wider than its tokenizer."
        )
    return token_id
