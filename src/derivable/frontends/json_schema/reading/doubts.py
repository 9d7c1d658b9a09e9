"""What in a schema says nothing and may be a mistake: keywords nearly one, or of another draft; unknown formats.

The specification has unknown keywords and formats as annotations, so they are no errors. Those that are known to mean
something elsewhere, and those that a writer has marked as his own (`x-`, `_`, `//`), are left in peace.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

from ....rules import GrammarWarning
from ..texts.formats import ANNOTATIONS, FORMATS
from .resources import Sub

__all__ = ["Doubts", "Names"]

_ANNOTATIONS = (
    # JSON Schema 2020-12, "Validation", sections 8 and 9, and "Core", section 8.3
    *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$vocabulary"),
    *("contentEncoding", "contentMediaType", "contentSchema", "$schema", "id", "$anchor"),
    # JSON Hyper-Schema
    *("base", "links", "media", "targetSchema", "submissionSchema"),
    # OpenAPI 3.0 and 3.1, "Schema Object"; and parts of it that are met without their document
    *("nullable", "discriminator", "xml", "externalDocs", "example", "schema", "schemas", "components", "parameters"),
    # ajv-keywords and ajv-errors; react-jsonschema-form; JSON Editor; VS Code; json-schema-to-typescript; Gemini's API
    *("uniqueItemProperties", "allRequired", "anyRequired", "oneRequired", "patternRequired", "formatMinimum"),
    *("formatMaximum", "formatExclusiveMinimum", "formatExclusiveMaximum", "instanceof", "transform", "errorMessage"),
    *("enumNames", "enumDescriptions", "markdownDescription", "markdownEnumDescriptions", "propertyOrder", "tsType"),
    *("propertyOrdering", "defaultSnippets", "form", "options", "multiple", "definition"),
)
"""Keywords that are not enforced, and are no mistakes; those that are like no other need not stand here."""

_ALIKE = 0.8
"""The ratio of `difflib.SequenceMatcher` from which on two keywords are nearly one."""

_MOST = 64
"""Different keywords of a document that are looked at: comparing takes 0.1 ms each."""

_LONGEST = 32
"""A name that is longer is nearly no keyword, whatever stands in it."""

_YEARS = {3: "draft 3", 4: "draft 4", 6: "draft 6", 7: "draft 7", 2019: "2019-09", 2020: "2020-12"}


class Names:
    """The names that there are.

    Args:
        active: the keywords of each draft (0: no `$schema`), as in `Vocabulary`.
        naming: those that name schemas and hold them.
        old: those that no draft enforces here.

    Attributes:
        active: as given.
        others: by draft, the keywords that only other drafts have.
        silent: keywords that are no mistake.
        meant: keywords that another may be nearly.
    """

    def __init__(self, active: Mapping[int, frozenset[str]], naming: Iterable[str], old: Iterable[str]) -> None:
        self.active = active
        self.others = {draft: active[0] - keywords for draft, keywords in active.items()}
        self.silent = active[0].union(naming, old, _ANNOTATIONS)
        self.meant = tuple(sorted(active[0].union(naming).difference(_ANNOTATIONS)))


class Doubts:
    """Those of one document.

    Attributes:
        warnings: each once, in the order in which they were met.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._looked_at: set[str] = set()
        self.warnings: dict[GrammarWarning, None] = {}

    def of_keywords(self, sub: Sub) -> None:
        """Looks at the keywords of a schema that its draft does not have."""
        schema, draft, names = sub.schema, sub.scope.resource.draft, self._names
        if names.silent.issuperset(schema) and names.others[draft].isdisjoint(schema):  # PERF: nearly all
            return
        for keyword in schema:
            if keyword in names.others[draft]:
                self._of_another_draft(keyword, draft, sub)
            elif keyword not in names.silent and self._is_looked_at(keyword):
                near = _nearest(keyword, names.meant)
                if near:
                    said = f"{keyword!r} is no keyword of JSON Schema, and is not enforced."
                    self._note(sub, keyword, said, f"Did you mean {near!r}?")

    def of_format(self, name: str, sub: Sub) -> None:
        """Notes that a format is not known."""
        near = _nearest(name, (*FORMATS, *sorted(ANNOTATIONS))) if self._is_looked_at(name) else ""
        hint = f"Did you mean {near!r}?" if near else "Give a pattern instead; formats='strict' refuses such formats."
        self._note(sub, "format", f"the format {reprlib.repr(name)} is not known, and is not enforced.", hint)

    def of_media_type(self, name: str, sub: Sub) -> None:
        """Notes that there is no grammar for what a string holds."""
        said = f"there is no grammar for the media type {reprlib.repr(name)}, and it is not enforced."
        self._note(sub, "contentMediaType", said, "Give one in contents=.")

    def _of_another_draft(self, keyword: str, draft: int, sub: Sub) -> None:
        drafts = [name for number, name in _YEARS.items() if keyword in self._names.active[number]]
        theirs = " to ".join(dict.fromkeys((drafts[0], drafts[-1])))
        said = f"{keyword!r} is a keyword of {theirs}, not of {_YEARS[draft]}, "
        self._note(sub, keyword, said + "and is not enforced.", "Change $schema, or give draft=.")

    def _is_looked_at(self, name: object) -> bool:
        if not isinstance(name, str) or not 3 <= len(name) <= _LONGEST or name.startswith(("x-", "X-", "_", "/")):
            return False
        if len(self._looked_at) < _MOST:
            self._looked_at.add(name)
        return name in self._looked_at

    def _note(self, sub: Sub, keyword: str, message: str, hint: str) -> None:
        if len(self.warnings) < _MOST:
            self.warnings[GrammarWarning(sub.pointer(keyword), message, hint)] = None


@lru_cache(maxsize=1024)
def _nearest(name: str, candidates: tuple[str, ...]) -> str:
    """The one that a name is nearly; empty if there is none."""
    from difflib import get_close_matches  # PERF: few schemas need it

    folded = {each.lower(): each for each in candidates}
    found = get_close_matches(name.lower(), folded, 1, _ALIKE)
    return folded[found[0]] if found else ""
