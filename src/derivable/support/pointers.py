"""JSON pointers (RFC 6901): keys and indices behind one another, each behind a slash."""

from __future__ import annotations

__all__ = ["pointer_key", "pointer_token"]


def pointer_token(key: str | int) -> str:
    """A key or an index, as it stands in a pointer.

    Example:
        >>> pointer_token("a/b~c"), pointer_key("a~1b~0c")
        ('a~1b~0c', 'a/b~c')
    """
    return str(key).replace("~", "~0").replace("/", "~1")


def pointer_key(token: str) -> str:
    """The key that a part of a pointer stands for."""
    return token.replace("~1", "/").replace("~0", "~")
