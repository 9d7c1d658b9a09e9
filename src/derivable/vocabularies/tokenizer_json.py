"""The text of a Hugging Face `tokenizer.json`, with the standard library alone.

What a token spells is what the tokenizer's *decoder* makes of it, so the decoder is read, step by step, as a function
of one token. That is exact only where decoding is concatenation. Decoders whose output for a token depends on its place
(WordPiece puts a space before every word but the first, BPEDecoder after every word but the last, CTC drops repeated
tokens) are refused. The one tolerated difference is at the start of a text, where SentencePiece-style decoders drop a
space: token bytes keep it, and `Source.strips_leading_space` says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from derivable.errors import VocabularyError
from derivable.vocabularies.source import GIVE_BYTES, Source, byte_level, byte_literal, table, utf8

__all__ = ["parse_json", "read_document"]

Step = Callable[[str | bytes], str | bytes]

_NOT_CONCATENATION = {
    "WordPiece": "puts a space before every word but the first",
    "BPEDecoder": "puts a space after every word but the last",
    "CTC": "drops repeated tokens",
}


class Decoder:
    """A `decoder` object of a tokenizer.json as a function from one token's text to its bytes.

    Each step maps text to text, or, from where byte tokens are resolved, bytes to bytes. `joined` says that the real
    decoder has merged tokens by then, so that a pattern of several characters could match across them.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.steps: list[Step] = []
        self.joined = False
        self.has_byte_fallback = False
        self.strips_leading_space = False

    def __call__(self, piece: str) -> bytes:
        value: str | bytes = piece
        for step in self.steps:
            value = step(value)
        return value if isinstance(value, bytes) else utf8(value, self.where)

    def add(self, spec: Mapping[str, Any]) -> None:
        """Append one decoder object (a Sequence: all of its members).

        Raises:
            VocabularyError: its output is not the concatenation of what it makes of each token.
        """
        name = spec.get("type")
        if name == "Sequence":
            for inner in spec.get("decoders", ()):
                self.add(inner)
        elif name == "ByteLevel":
            self.steps.append(lambda value: value if isinstance(value, bytes) else byte_level(value, self.where))
            self.joined = True
        elif name == "ByteFallback":
            self.add_byte_fallback()
            self.joined = True
        elif name == "Fuse":
            self.joined = True
        elif name == "Metaspace":
            self._add_replace(spec.get("replacement", "▁"), " ")
            # Older files have a boolean instead of the scheme.
            if spec.get("prepend_scheme", "always") != "never" and spec.get("add_prefix_space", True):
                self.strips_leading_space = True
        elif name == "Replace":
            pattern = spec.get("pattern")
            if not isinstance(pattern, dict) or not isinstance(pattern.get("String"), str):
                raise self._refuse("Replace", f"replaces the pattern {pattern!r}, and only plain strings can be exact")
            self._add_replace(pattern["String"], spec.get("content", ""))
        elif name == "Strip":
            self._add_strip(spec.get("content", " "), spec.get("start", 0), spec.get("stop", 0))
        elif name in _NOT_CONCATENATION:
            raise self._refuse(name, f"{_NOT_CONCATENATION[name]}, so what a token spells depends on its place")
        else:
            raise self._refuse(name, "is not a decoder this version knows")

    def add_byte_fallback(self) -> None:
        """Read `<0xHH>` as the byte it names."""
        if not self.has_byte_fallback:
            self.has_byte_fallback = True
            self.steps.append(lambda value: byte_literal(value) or value if isinstance(value, str) else value)

    def _add_replace(self, old: str, new: str) -> None:
        if not old:
            return
        if self.joined and len(old) > 1:
            raise self._refuse("Replace", f"looks for {old!r} in the joined text, where it may span several tokens")
        old_bytes, new_bytes = utf8(old, self.where), utf8(new, self.where)
        self.steps.append(lambda v: v.replace(old, new) if isinstance(v, str) else v.replace(old_bytes, new_bytes))

    def _add_strip(self, character: str, start: int, stop: int) -> None:
        if not self.joined:
            self.steps.append(lambda v: _strip(v, character, start, stop) if isinstance(v, str) else v)
        elif stop or (start and character != " "):
            raise self._refuse("Strip", f"removes {character!r} from the ends of the text, which no token can show")
        elif start:
            self.strips_leading_space = True

    def _refuse(self, name: object, why: str) -> VocabularyError:
        return VocabularyError(f"{self.where}: its decoder {name} {why}. {GIVE_BYTES}")


def _strip(text: str, character: str, start: int, stop: int) -> str:
    """`text` without up to `start` leading and `stop` trailing copies of `character`."""
    begin, end = 0, len(text)
    while begin < min(start, end) and text[begin] == character:
        begin += 1
    while end > begin and len(text) - end < stop and text[end - 1] == character:
        end -= 1
    return text[begin:end]


def _decoder(document: Mapping[str, Any], model: Mapping[str, Any], where: str) -> Decoder:
    """The decoder of a tokenizer.json; a missing one is inferred from the pre-tokenizer."""
    decoder = Decoder(where)
    if model.get("byte_fallback"):
        decoder.add_byte_fallback()
    spec = document.get("decoder")
    if spec is None:
        known = {"ByteLevel", "Metaspace"}
        spec = next((step for step in _flatten(document.get("pre_tokenizer")) if step.get("type") in known), None)
    if not isinstance(spec, dict):
        raise VocabularyError(
            f"{where}: it has no decoder and no ByteLevel or Metaspace pre-tokenizer, so its tokens would be joined by "
            f"spaces. {GIVE_BYTES}"
        )
    decoder.add(spec)
    return decoder


def _flatten(spec: object) -> Iterator[dict[str, Any]]:
    """A pre-tokenizer's members, outermost first."""
    if isinstance(spec, dict):
        yield spec
        for inner in spec.get("pretokenizers", ()):
            yield from _flatten(inner)


def _model_vocabulary(model: Mapping[str, Any], where: str) -> list[tuple[str, int]]:
    """(piece, id) pairs of a model; pieces spelled the same may occur (Unigram) and are kept."""
    kind = model.get("type")
    vocab = model.get("vocab")
    if kind not in ("BPE", "Unigram", "WordPiece", "WordLevel", None):
        raise VocabularyError(
            f"{where}: model type {kind!r} is unknown (known: BPE, Unigram, WordPiece, WordLevel). {GIVE_BYTES}"
        )
    if isinstance(vocab, dict):
        pairs = list(vocab.items())
        if all(type(token_id) is int for token_id in vocab.values()):
            return pairs
    elif isinstance(vocab, list) and all(
        isinstance(entry, list) and entry and type(entry[0]) is str for entry in vocab
    ):
        return [(entry[0], index) for index, entry in enumerate(vocab)]
    raise VocabularyError(
        f"{where}: model.vocab must map each token to its id (Unigram: list [token, score] pairs). Repair the file."
    )


def read_document(text: str, where: str, config: Mapping[str, Any] | None = None) -> Source:
    """A `Source` from the text of a tokenizer.json.

    Args:
        text: the JSON text.
        where: its name, for messages.
        config: what the configuration files beside it add: `added_tokens_decoder` (id -> token object), and `roles`
            (texts of tokens they name as bos, pad, ...).

    Raises:
        VocabularyError: not a tokenizer.json, inconsistent, or its tokens' bytes cannot be told exactly.
    """
    document = parse_json(text, where)
    try:
        return _read(document, where, config or {})
    except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        # Some field is not of the type the format says, out of range, or too deep.
        raise VocabularyError(f"{where}: malformed tokenizer.json ({error}). Repair the file.") from error


def _read(document: Mapping[str, Any], where: str, config: Mapping[str, Any]) -> Source:
    """`read_document` once the text is parsed."""
    model = document.get("model")
    if not isinstance(model, dict):
        raise VocabularyError(f"{where}: it has no `model` object. Give a Hugging Face tokenizer.json.")
    model.pop("merges", None)  # PERF: hundreds of thousands of lists, which the garbage collector would visit again
    pairs = _model_vocabulary(model, where)
    decode = _decoder(document, model, where)

    texts = dict(reversed(pairs))
    added, special = _added_tokens(document, config, where)
    unknown = model.get("unk_id")
    if unknown is None:
        unknown = texts.get(model.get("unk_token") or "")
    elif type(unknown) is not int or not 0 <= unknown < len(pairs):
        raise VocabularyError(f"{where}: unk_id {unknown!r} is not a token. Repair the file.")

    entries: list[tuple[int, bytes | None]] = [
        (token_id, None if token_id in special or token_id == unknown else decode(piece)) for piece, token_id in pairs
    ]
    known = {token_id: piece for piece, token_id in pairs}
    for token_id, content in added.items():
        if token_id not in known:
            entries.append((token_id, None if token_id in special else decode(content)))
        elif known[token_id] != content:
            raise VocabularyError(
                f"{where}: id {token_id} is {known[token_id]!r} in the model and {content!r} among the added tokens. "
                "Ids must be unique: repair the file."
            )
    named = special if unknown is None else {unknown: known[unknown]} | special
    return Source(
        kind=str(model.get("type") or "tokenizer.json"),
        where=where,
        tokens=table(entries, where),
        special={text: token_id for token_id, text in sorted(named.items(), reverse=True)},
        ids_by_text=texts | {content: token_id for token_id, content in added.items()},
        strips_leading_space=decode.strips_leading_space,
    )


def _added_tokens(
    document: Mapping[str, Any], config: Mapping[str, Any], where: str
) -> tuple[dict[int, str], dict[int, str]]:
    """All added tokens (id -> text), and those of them that are special, from the file and its configuration.

    An added token is special if anyone says so: its own flag, the configuration's, or a named role (bos_token, ...).
    A token of the plain vocabulary that merely serves as padding (`"pad_token": "!"`) stays text.
    """
    added: dict[int, str] = {}
    special: set[int] = set()
    listed: list[tuple[Any, Any]] = [(entry.get("id"), entry) for entry in document.get("added_tokens") or ()]
    listed += config.get("added_tokens_decoder", {}).items()
    for key, entry in listed:
        content = entry.get("content") if isinstance(entry, dict) else None
        try:
            token_id = int(key) if type(key) in (int, str) else -1  # keys of objects are text
        except ValueError:
            token_id = -1
        if token_id < 0 or not isinstance(content, str):
            raise VocabularyError(f"{where}: an added token needs an id and a text: {entry!r}. Repair the file.")
        if added.setdefault(token_id, content) != content:
            raise VocabularyError(
                f"{where}: the added tokens {added[token_id]!r} and {content!r} share the id {token_id}. "
                "Ids must be unique: repair the file (or its tokenizer_config.json)."
            )
        if entry.get("special") or content in config.get("roles", ()):
            special.add(token_id)
    return added, {token_id: added[token_id] for token_id in special}


def parse_json(text: str, where: str) -> dict[str, Any]:
    """A JSON object, or a `VocabularyError` that says where it is not one."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # no JSON, a number of too many digits, or too deep
        raise VocabularyError(f"{where}: not JSON ({error}). Repair the file, or give another.") from error
    if not isinstance(document, dict):
        raise VocabularyError(f"{where}: a JSON object is expected. Repair the file, or give another.")
    return document
