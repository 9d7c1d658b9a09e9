"""The tokens that a grammar names, as ids of a vocabulary."""

from __future__ import annotations

from .errors import UnsupportedFeatureError, VocabularyError
from .expr import Special
from .vocabulary import Vocabulary

__all__ = ["resolve_token", "token_ids", "tokens_by_id"]


def tokens_by_id(named: Special, vocabulary: Vocabulary) -> Special:
    """The same tokens by their ids. Any but some of the whole vocabulary are listed one by one.

    Raises:
        VocabularyError: as `resolve_token`; or none is left.
        UnsupportedFeatureError: it ends the text before it, and is text itself.
    """
    ids = token_ids(named, vocabulary)
    if named.ends_text:
        _refuse_text(ids, vocabulary)
    negated = named.negated and not named.whole
    if named.negated and named.whole:
        ids = sorted({*range(vocabulary.size)}.difference(ids))
        if not ids:
            raise VocabularyError(
                f"the grammar names any token but all {vocabulary.size:,} of the vocabulary. Leave some of them out."
            )
    return Special(ids[0] if ids else "", negated, tuple(ids[1:]))


def _refuse_text(ids: list[int], vocabulary: Vocabulary) -> None:
    """Refuses tokens of text as what ends the text before them: other tokens may spell the same."""
    for token in ids:
        data = vocabulary.tokens[token]
        if data:
            raise UnsupportedFeatureError(
                "lazy",
                f"a lazy rule ends with a token that is text in this vocabulary ({data!r:.80}, token {token}): other "
                "tokens may spell that before it",
                hint='End the rule with the text itself, `[suffix="..."]`, or with a special token.',
            )


def token_ids(named: Special, vocabulary: Vocabulary) -> list[int]:
    """The ids of the tokens that a grammar names in one place.

    Raises:
        VocabularyError: as `resolve_token`.
    """
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
