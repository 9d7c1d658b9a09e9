"""The meta-schemas of the drafts and their vocabularies: documents that every schema may refer to by their URIs."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from .values import Json

__all__ = ["meta_schema"]

_URI = re.compile(
    r"https?://json-schema\.org/(draft-0[3467]/schema|draft/20(?:19-09|20-12)/(?:schema|meta/[a-z-]{1,20}))"
)


@cache
def meta_schema(uri: str) -> Json:
    """The document of a URI without a fragment; `None` if it is not one of them.

    Example:
        >>> meta_schema("http://json-schema.org/draft-04/schema")["id"]
        'http://json-schema.org/draft-04/schema#'
    """
    match = _URI.fullmatch(uri)
    if match is None:
        return None
    path = Path(__file__).parent / "meta" / f"{match[1].replace('/', '-')}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
