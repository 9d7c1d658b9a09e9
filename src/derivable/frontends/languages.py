"""Languages by their names: media types, what Markdown calls them, and types of Python whose texts they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import Any

from ..errors import ArgumentError, GrammarError
from ..rules import Rules

__all__ = ["FENCES", "Contents", "Language", "collected", "judge", "judge_with", "rules_of"]

MEDIA_TYPES: dict[str, tuple[str, ...]] = {
    "python": ("text/x-python", "application/x-python", "text/python", "application/x-python-code"),
    "java": ("text/x-java", "text/x-java-source"),
    "go": ("text/x-go",),
    "c": ("text/x-c", "text/x-csrc"),
    "sql": ("application/sql", "text/x-sql"),
    "javascript": ("text/javascript", "application/javascript", "application/x-javascript", "application/ecmascript"),
    "typescript": ("text/typescript", "application/typescript", "text/x-typescript", "application/x-typescript"),
    "toml": ("application/toml", "text/x-toml"),
    "yaml": ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"),
    "xml": ("application/xml", "text/xml"),
    "html": ("text/html",),
}
"""Those of the built-in grammars, the usual one first; that of JSON is `JSON`."""

JSON = "application/json"

FENCES: dict[str, tuple[str, ...]] = {
    "python": ("python", "py", "python3"),
    "java": ("java",),
    "go": ("go", "golang"),
    "c": ("c", "h"),
    "sql": ("sql",),
    "javascript": ("javascript", "js"),
    "typescript": ("typescript", "ts"),
    "json": ("json",),
    "toml": ("toml",),
    "yaml": ("yaml", "yml"),
    "xml": ("xml",),
    "html": ("html", "htm"),
}
"""What a fence of Markdown calls them."""


def rules_of(language: object) -> Rules:
    """A grammar, or the built-in one of a name.

    Raises:
        ArgumentError: neither.
        GrammarError: there is none of that name.
    """
    if isinstance(language, Rules):
        return language
    if not isinstance(language, str):
        raise ArgumentError("language", "a Grammar, or the name of a built-in one", language)
    from .builtin import builtin_grammar  # PERF: with Lark, which schemas do not need

    return builtin_grammar(language)


def _plain(media_type: str) -> str:
    """Without parameters, in lower case."""
    return media_type.split(";")[0].strip().lower()


class Contents:
    """Grammars by media type: what strings hold that say so (`contentMediaType`). Equal if the grammars are the same.

    Args:
        grammars: or the names of built-in ones, which are read when they are asked for; `None`: JSON text, as the
            options of the schema around have it.

    Example:
        >>> contents = Contents.of("builtin")
        >>> [contents.find(name) for name in ("text/x-python; charset=utf-8", "application/problem+json", "text/css")]
        ['text/x-python', 'application/json', None]
    """

    def __init__(self, grammars: Mapping[str, Rules | str | None]) -> None:
        self._grammars = dict(grammars)
        known = [(name, value if isinstance(value, str) else id(value)) for name, value in grammars.items()]
        self._key = frozenset(known)

    @classmethod
    def of(cls, given: object) -> Contents | None:
        """From the option of `from_json_schema`.

        Raises:
            ArgumentError: it is no mapping of media types to grammars, nor `"builtin"`.
            GrammarError: there is no built-in grammar of a name.
        """
        if given is None or isinstance(given, Contents):
            return given
        if given == "builtin":
            return cls({JSON: None} | {name: language for language, names in MEDIA_TYPES.items() for name in names})
        if not isinstance(given, Mapping):
            raise ArgumentError("contents", 'a mapping of media types to grammars, or "builtin"', given)
        found: dict[str, Rules | str | None] = {}
        for name, language in given.items():
            if not isinstance(name, str) or "/" not in name:
                raise ArgumentError("a key of contents", 'a media type such as "text/x-python"', name)
            found[_plain(name)] = language if isinstance(language, str) and language in FENCES else rules_of(language)
        return cls(found)

    @staticmethod
    def with_languages(contents: Contents | None, languages: Mapping[str, Language]) -> Contents | None:
        """The same and those of types, which come first."""
        if not languages:
            return contents
        known = contents._grammars if contents is not None else {}
        return Contents({**known, **{name: language.language for name, language in languages.items()}})

    def find(self, media_type: str) -> str | None:
        """The name under which a media type is known: its own, or that of its suffix (`+json`, `+xml`)."""
        name = _plain(media_type)
        if name not in self._grammars and "+" in name:
            name = f"application/{name.rpartition('+')[2]}"
        return name if name in self._grammars else None

    def __getitem__(self, name: str) -> Rules | None:
        """The grammar of a name that was found; `None`: JSON text."""
        found = self._grammars[name]
        return rules_of(found) if isinstance(found, str) else found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Contents) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


_numbers = count(1)


@dataclass(frozen=True, eq=False)
class Language:
    """Marks strings whose text is in a language, wherever a type says what a model writes.

    It stands in `Annotated[str, Language("python")]`: in models of pydantic, dataclasses, `TypedDict`s and the
    parameters of functions, for `Grammar.from_json_schema`, `Grammar.from_tools` and `generate`. Values stay `str`.

    Attributes:
        language: the name of a built-in grammar, or a grammar.
        media_type: what the type's JSON Schema has as `contentMediaType`. By default the usual one of a built-in
            language; a grammar gets one of its own.

    Raises:
        ArgumentError, GrammarError: no grammar, nor the name of one.

    Example:
        >>> from typing import Annotated
        >>> import derivable as dv
        >>> grammar = dv.Grammar.from_json_schema(Annotated[str, dv.Language("python")])
        >>> vocab = dv.Vocabulary.from_bytes([b'"', b"x = ", b"1", None], eos=[3])
        >>> m = dv.compile(grammar, vocab).matcher()
        >>> m.advance(0), m.advance(1)
        (None, None)
        >>> m.allows(0), m.allows(2)
        (False, True)
    """

    language: str | Rules
    media_type: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.language, str) or self.language not in FENCES:
            rules_of(self.language)  # says what is wrong
        if not isinstance(self.media_type, str):
            raise ArgumentError("media_type", "a str", self.media_type)
        if not self.media_type:
            known = MEDIA_TYPES.get(self.language, (JSON,)) if isinstance(self.language, str) else ()
            name = known[0] if known else f"application/vnd.derivable.language-{next(_numbers)}"
            object.__setattr__(self, "media_type", name)

    @property
    def rules(self) -> Rules:
        """The grammar."""
        return rules_of(self.language)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Language) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    @property
    def _parts(self) -> tuple[object, ...]:
        language = self.language if isinstance(self.language, str) else id(self.language)
        return language, self.media_type

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Callable[[Any], dict[str, Any]]) -> Any:
        found = _collected.get()
        if found is not None:
            name = _plain(self.media_type)
            if found.setdefault(name, self) != self:
                raise GrammarError(
                    f"two languages of one type have the media type {name!r:.80}",
                    hint="Give one of them another media_type.",
                )
        return {**handler(core_schema), "contentMediaType": self.media_type}


_collected: ContextVar[dict[str, Language] | None] = ContextVar("languages of types", default=None)


@contextmanager
def collected() -> Iterator[dict[str, Language]]:
    """The languages that types name whose JSON Schemas are asked for meanwhile, by media type."""
    found: dict[str, Language] = {}
    before = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(before)


Judge = Callable[[str], bool]
_makers: list[Callable[[Rules], Judge]] = []


def judge_with(make: Callable[[Rules], Judge]) -> None:
    """What compiles grammars stands above those who write them, and says here how it is asked about single texts."""
    _makers[:] = [make]


def judge(grammar: Rules) -> Judge:
    """Says of single texts whether they are in the language of a grammar."""
    return _makers[0](grammar)
