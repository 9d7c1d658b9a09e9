"""Sub-schemas and where they lie: base URIs, drafts, `$id`, anchors, `$ref` and dynamic references.

A `Sub` is one occurrence of a schema: its value and its scope. Scopes are interned, so a `Sub` is found again by
identity, which is what goals are memoised by.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from ....errors import GrammarError, LimitError, UnsupportedFeatureError
from ....support.pointers import pointer_key, pointer_token
from .meta_schemas import meta_schema
from .values import Json, kind

__all__ = ["DRAFTS", "Resources", "Scope", "Sub"]

DRAFTS = {
    "http://json-schema.org/draft-03/schema": 3,
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}

_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_SINGLE = frozenset(
    {
        *("additionalProperties", "propertyNames", "unevaluatedProperties", "items", "additionalItems", "contains"),
        *("unevaluatedItems", "not", "if", "then", "else", "contentSchema"),
    }
)


_INDEX = re.compile("[0-9]{1,9}")
_OWN_SCOPE = frozenset({"$id", "id", "$schema"})


class Resource:
    """A schema with a URI of its own: a document, or what an `$id` begins inside one (`document`: that one)."""

    __slots__ = ("anchors", "document", "draft", "dynamic", "recursive", "root", "uri")

    def __init__(self, uri: str, root: Json, draft: int, document: Resource | None = None) -> None:
        self.uri, self.root, self.draft = uri, root, draft
        self.document = document or self
        self.anchors: dict[str, Json] = {}
        self.dynamic: dict[str, Json] = {}
        self.recursive = isinstance(root, dict) and root.get("$recursiveAnchor") is True


class Scope:
    """Where a sub-schema lies: its resource, and the resources that dynamic references may reach through it."""

    __slots__ = ("resource", "trail")

    def __init__(self, resource: Resource, trail: tuple[Resource, ...]) -> None:
        self.resource, self.trail = resource, trail


class Sub:
    """One occurrence of a schema. Compared by identity; made by `Resources`.

    `tokens` lead to it from its parent. What the reader finds out about it first is kept here: its keywords, and a
    superset of the types it allows.
    """

    __slots__ = ("keywords", "parent", "schema", "scope", "tokens", "types")

    def __init__(self, schema: Json, scope: Scope, parent: Sub | str, tokens: tuple[str | int, ...] = ()) -> None:
        self.schema, self.scope, self.parent, self.tokens = schema, scope, parent, tokens
        self.keywords: tuple[str, ...] | None = None
        self.types: int | None = None

    @property
    def name(self) -> str:
        """What a rule for it is called: as the member or keyword that holds it."""
        return str(self.tokens[-1]) or "value" if self.tokens else "value"

    def pointer(self, *more: str | int) -> str:
        """JSON pointer from the root of its document (through the reference that led here, if any)."""
        tokens = list(reversed(more))
        sub = self
        while isinstance(sub.parent, Sub):
            tokens += reversed(sub.tokens)
            sub = sub.parent
        path = "".join(f"/{pointer_token(t)}" for t in reversed(tokens))
        return sub.parent + path


class Resources:
    """All documents of one compilation, and every `Sub` made of them."""

    def __init__(self, root: Json, draft: int | None, registry: Any) -> None:
        self.registry = registry
        self.default_draft = draft or 0
        self.by_uri: dict[str, Resource] = {}
        self.indexed = False
        self.subs: dict[tuple[int, int], Sub] = {}
        self.joined: dict[tuple[str, str], tuple[str, str]] = {}
        self.scopes: dict[tuple[int, tuple[int, ...]], Scope] = {}
        self.targets: dict[tuple[str, int, int], Sub] = {}
        self.places: dict[tuple[int, str], tuple[Json, Resource]] = {}
        number = draft if draft is not None else self.draft_of(root, 0)
        uri = _own_id(root, number) or ""
        self.root_resource = Resource(_join("", uri)[0], root, number)
        self.by_uri[self.root_resource.uri] = self.root_resource
        self.root_scope = self.scope(self.root_resource, ())
        self.root = Sub(root, self.root_scope, "#")
        self.subs[id(root), id(self.root_scope)] = self.root

    def draft_of(self, schema: Json, inherited: int) -> int:
        """The draft by `$schema`; 0 is "the latest, read tolerantly"."""
        named = schema.get("$schema") if isinstance(schema, dict) else None
        if not isinstance(named, str):
            return inherited
        known = DRAFTS.get(named.rstrip("#").replace("https://json-schema.org/draft-", "http://json-schema.org/draft-"))
        if known is not None:
            return known
        if self.registry is not None:
            return self._by_meta_schema(named, inherited)
        return inherited

    def _by_meta_schema(self, uri: str, inherited: int) -> int:
        """A draft for schemas whose `$schema` is a meta-schema of the registry."""
        for _ in range(8):
            try:
                contents = self.registry.get_or_retrieve(urldefrag(uri)[0]).value.contents
            except Exception:
                return inherited
            uri = contents.get("$schema", "") if isinstance(contents, dict) else ""
            if uri.rstrip("#") in DRAFTS:
                if "$vocabulary" in contents and not any(
                    v.endswith("/vocab/validation") for v in contents["$vocabulary"]
                ):
                    raise UnsupportedFeatureError(
                        "$vocabulary", "a meta-schema without the validation vocabulary is not supported", pointer="#"
                    )
                return DRAFTS[uri.rstrip("#")]
        return inherited

    def scope(self, resource: Resource, trail: tuple[Resource, ...]) -> Scope:
        key = (id(resource), tuple(map(id, trail)))
        found = self.scopes.get(key)
        if found is None:
            found = self.scopes[key] = Scope(resource, trail)
        return found

    def sub(self, parent: Sub, schema: Json, *tokens: str | int) -> Sub:
        """The sub-schema `schema` of `parent`, reached by `tokens`."""
        if type(schema) is Sub:
            return schema
        scope = parent.scope
        if type(schema) is dict and not _OWN_SCOPE.isdisjoint(schema):
            scope = self._inner_scope(schema, scope)
        key = (id(schema), id(scope))
        found = self.subs.get(key)
        if found is None:
            if type(schema) is not dict and type(schema) is not bool:
                raise GrammarError(
                    f"a schema must be an object or a boolean, not {kind(schema)} (at {parent.pointer(*tokens)})",
                    hint="Correct the schema.",
                )
            found = self.subs[key] = Sub(schema, scope, parent, tokens)
        return found

    def _inner_scope(self, schema: dict[str, Json], scope: Scope) -> Scope:
        resource = scope.resource
        draft = self.draft_of(schema, resource.draft)
        own = _own_id(schema, draft)
        if own is None or schema is resource.root:
            return scope
        uri = self._join(resource.uri, own)[0]
        if uri == resource.uri:
            return scope
        inner = self.by_uri.get(uri)
        if inner is None or inner.root is not schema:
            inner = self.by_uri[uri] = Resource(uri, schema, draft, resource.document)
            self._index(inner)
        return self._enter(scope, inner)

    def _enter(self, scope: Scope, resource: Resource) -> Scope:
        """The scope after a reference or an `$id` led from `scope` into `resource`."""
        if resource is scope.resource:
            return scope
        trail = scope.trail
        if resource is not self.root_resource and resource not in trail and (resource.dynamic or resource.recursive):
            trail = (*trail, resource)
        return self.scope(resource, trail)

    def _join(self, base: str, reference: str) -> tuple[str, str]:
        key = base, reference  # each is asked for twice, and taken apart slowly
        found = self.joined.get(key)
        if found is None:
            found = self.joined[key] = _join(base, reference)
        return found

    # -- finding things -----------------------------------------------------------------------------------------

    def _index(self, resource: Resource) -> None:
        """Finds the anchors of a resource, and the resources inside it."""
        stack: list[tuple[Json, Resource]] = [(resource.root, resource)]
        seen: set[tuple[int, int]] = set()  # parts may be shared
        while stack:
            schema, owner = stack.pop()
            if type(schema) is not dict or (id(schema), id(owner)) in seen:
                continue
            seen.add((id(schema), id(owner)))
            own = _own_id(schema, self.draft_of(schema, owner.draft))
            if own is not None and schema is not owner.root:
                uri, fragment = self._join(owner.uri, own)
                if uri != owner.uri:
                    inner = self.by_uri.get(uri)
                    if inner is None:
                        inner = Resource(uri, schema, self.draft_of(schema, owner.draft), owner.document)
                        self.by_uri[uri] = inner
                    elif inner.root is not schema:
                        continue
                    owner = inner
                if fragment and owner.draft in (0, 4, 6, 7):
                    owner.anchors.setdefault(fragment, schema)
            for name, table in (("$anchor", owner.anchors), ("$dynamicAnchor", owner.dynamic)):
                anchor = schema.get(name)
                if isinstance(anchor, str):
                    table.setdefault(anchor, schema)
                    owner.anchors.setdefault(anchor, schema)
            for key, value in schema.items():
                if key in _MAPS and type(value) is dict:
                    stack += [(v, owner) for v in value.values()]
                elif key in _LISTS and type(value) is list:
                    stack += [(v, owner) for v in value]
                elif key in _SINGLE and type(value) is dict:
                    stack.append((value, owner))

    def _index_root(self) -> None:
        if not self.indexed:
            self.indexed = True
            self._index(self.root_resource)

    def resolve(self, sub: Sub, reference: Json, keyword: str) -> Sub:
        """The schema that a `$ref` of `sub` names.

        Raises:
            GrammarError: there is none; remote ones are looked for in the given registry and among the meta-schemas.
        """
        if type(reference) is not str:
            raise GrammarError(
                f"{keyword} must be a string, not {kind(reference)} (at {sub.pointer(keyword)})", hint="Correct it."
            )
        key = (reference, id(sub.scope.resource), id(sub.scope))
        found = self.targets.get(key)
        if found is None:
            found = self.targets[key] = self._resolve(sub, reference, keyword)
        return found

    def _resolve(self, sub: Sub, reference: str, keyword: str) -> Sub:
        resource = sub.scope.resource
        if reference == "#" or reference.startswith("#/"):
            return self._at_pointer(sub, resource, reference[1:], reference, keyword)
        self._index_root()
        uri, fragment = self._join(resource.uri, reference)
        target = self.by_uri.get(uri) or self._retrieve(uri)
        if target is None:
            raise GrammarError(
                f"{keyword} {reference!r} names a schema that is not known (at {sub.pointer(keyword)})",
                hint="Put it under $defs, or give a `referencing.Registry` that holds it. Nothing is downloaded.",
            )
        fragment = unquote(fragment)
        if fragment == "" or fragment.startswith("/"):
            return self._at_pointer(sub, target, fragment, reference, keyword)
        schema = target.anchors.get(fragment)
        if schema is None:
            raise GrammarError(
                f"{keyword} {reference!r} names an anchor that does not exist (at {sub.pointer(keyword)})",
                hint=f"Anchors of that schema: {', '.join(sorted(target.anchors)) or 'none'}.",
            )
        return self._occurrence(sub, target, schema, f"{_shown(target, self)}{fragment}")

    def _registered(self, uri: str) -> Json:
        """What the given registry has; `None`: nothing."""
        if self.registry is None:
            return None
        try:
            return self.registry.get_or_retrieve(uri).value.contents
        except Exception as error:  # the registry's own errors: NoSuchResource, Unretrievable
            if isinstance(error, LimitError):
                raise
            return None

    def _retrieve(self, uri: str) -> Resource | None:
        contents = self._registered(uri)
        if contents is None:
            contents = meta_schema(uri)
        if contents is None:
            return None
        inherited = self.default_draft or self.root_resource.draft
        resource = Resource(uri, contents, self.draft_of(contents, inherited))
        self.by_uri[uri] = resource
        own = _own_id(contents, resource.draft)
        if own is not None:
            resource.uri = self._join(uri, own)[0]
            self.by_uri.setdefault(resource.uri, resource)
        self._index(resource)
        return resource

    def _at_pointer(self, sub: Sub, resource: Resource, pointer: str, reference: str, keyword: str) -> Sub:
        found = self._follow(resource, pointer)
        if isinstance(found, str) and resource.document is not resource:
            # Schemas that are put together of parts with an `id` each often mean the whole document, though "#" is the
            # part: what else would be an error is read so.
            whole = self._follow(resource.document, pointer)
            if not isinstance(whole, str):
                found, resource = whole, resource.document
        if isinstance(found, str):
            raise GrammarError(
                f"{keyword} {reference!r} points to nothing (at {sub.pointer(keyword)})",
                hint=f"There is no {found!r} on the way.",
            )
        return self._occurrence(sub, found[1], found[0], _shown(resource, self) + pointer)

    def _follow(self, resource: Resource, pointer: str) -> tuple[Json, Resource] | str:
        """The value that a pointer leads to and the resource that it is part of, or the token that leads nowhere."""
        above, slash, last = pointer.rpartition("/")
        place = id(resource), above
        known = self.places.get(place) if slash else None  # nearly all stand beside others
        value, resource = before = known or (resource.root, resource)
        for raw in [last] if known else pointer.split("/")[1:]:
            before = value, resource
            token = pointer_key(unquote(raw)) if "%" in raw or "~" in raw else raw
            if type(value) is dict and token in value:
                value = value[token]
            elif type(value) is list and _INDEX.fullmatch(token) and int(token) < len(value):
                value = value[int(token)]
            else:
                return token
            if type(value) is not dict or not ("$id" in value or "id" in value):
                continue
            own = _own_id(value, self.draft_of(value, resource.draft))
            if own is not None:
                uri = self._join(resource.uri, own)[0]
                if uri != resource.uri:
                    inner = self.by_uri.get(uri)
                    if inner is None or inner.root is not value:
                        inner = Resource(uri, value, self.draft_of(value, resource.draft), resource.document)
                        self.by_uri.setdefault(uri, inner)
                        self._index(inner)
                    resource = inner
        self.places[place] = before
        return value, resource

    def _occurrence(self, sub: Sub, resource: Resource, schema: Json, place: str) -> Sub:
        scope = self._enter(sub.scope, resource)
        key = (id(schema), id(scope))
        found = self.subs.get(key)
        if found is None:
            if type(schema) is not dict and type(schema) is not bool:
                raise GrammarError(
                    f"a reference leads to {kind(schema)}, which is no schema (at {place})", hint="Correct it."
                )
            found = self.subs[key] = Sub(schema, scope, place)
        return found

    def resolve_dynamic(self, sub: Sub, reference: Json) -> Sub:
        """The schema that a `$dynamicRef` names, by the resources passed on the way here (core 2020-12, 8.2.3.2)."""
        target = self.resolve(sub, reference, "$dynamicRef")
        fragment = unquote(reference.partition("#")[2])
        if type(target.schema) is not dict or target.schema.get("$dynamicAnchor") != fragment:
            return target
        self._index_root()
        for resource in (self.root_resource, *sub.scope.trail, target.scope.resource):
            schema = resource.dynamic.get(fragment)
            if schema is not None:
                return self._occurrence(sub, resource, schema, f"{_shown(resource, self)}{fragment}")
        return target

    def resolve_recursive(self, sub: Sub, reference: Json) -> Sub:
        """The schema that a `$recursiveRef` names (core 2019-09, 8.2.4.2)."""
        target = self.resolve(sub, reference, "$recursiveRef")
        if not (type(target.schema) is dict and target.schema.get("$recursiveAnchor") is True):
            return target
        for resource in (self.root_resource, *sub.scope.trail):
            if resource.recursive:
                return self._occurrence(sub, resource, resource.root, _shown(resource, self))
        return target


def _shown(resource: Resource, resources: Resources) -> str:
    return "#" if resource is resources.root_resource else resource.uri + "#"


def _join(base: str, reference: str) -> tuple[str, str]:
    """An absolute URI and a fragment. (`urljoin` alone forgets bases such as URNs for a mere fragment.)"""
    if reference[:1] in ("", "#"):
        return base, reference[1:]
    try:
        uri, fragment = urldefrag(urljoin(base, reference))
    except ValueError as error:
        raise GrammarError(f"{reference!r} is not a URI: {error}", hint="Correct it.") from None
    return uri, fragment


def _own_id(schema: Json, draft: int) -> str | None:
    if type(schema) is not dict:
        return None
    own = schema.get("id" if draft in (3, 4) else "$id")
    if type(own) is not str or (draft in (3, 4, 6, 7) and "$ref" in schema):
        return None
    return own
