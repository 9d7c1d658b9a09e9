"""Names that exist: what may stand in a slot of a grammar, given what was written before.

A grammar says that a name stands here. Which names there are is another matter: the columns of this table, the
variables in scope, the devices in this house. A `Meaning` says it. It marks terminals or rules of a grammar as *slots*,
and keeps a state, a small value, of what was read in them.

Source: Tran-Thien (2025), "constraints that change with the code written so far"; the state of a parse beside its stack
is the environment of data-dependent parsing (Jim, Mandelbaum and Walker 2010).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from . import _kernel
from .errors import ArgumentError, MeaningError
from .support import catalogues
from .support.arguments import file_path, instance, integer, items
from .support.letters import small
from .support.plain_values import packed, unpacked

__all__ = ["Meaning", "Names", "Numbered", "asked"]


class Names:
    """Texts that may stand in a slot, or any text but some. Immutable; made once, it may be given again and again.

    Args:
        texts: the names.
        ignore_case: of ASCII letters: `Users` and `USERS` are the name `users`.
        exact: more texts, whose case counts although that of `texts` does not.
        others: any text that the slot has but these.
        marked: with `others`: names that mean something already. What may follow any text that is not among them is the
            same, whichever it is, until it is written again; so masks are found once for all of them. `None`: that is
            not so, and `read` is asked for each.

    Example:
        >>> len(Names(["red", "green"])), Names(["red"]) == Names(("red", "red"))
        (2, True)
        >>> "Red" in Names(["red"], ignore_case=True), "blue" in Names(["red"], others=True)
        (True, True)
        >>> "Blue" in Names(["red"], ignore_case=True, exact=["blue"])
        False
    """

    __slots__ = ("_key", "_set", "shortest")
    _key: tuple[frozenset[str] | catalogues.Catalogue, frozenset[str], bool, bool, tuple[Names, ...] | None]

    def __init__(
        self,
        texts: Iterable[str],
        *,
        ignore_case: bool = False,
        exact: Iterable[str] = (),
        others: bool = False,
        marked: Iterable[Names] | None = None,
    ) -> None:
        known, as_spelled = _texts("texts", texts, ignore_case), _texts("exact", exact, False)
        if ignore_case:
            as_spelled = frozenset([text for text in as_spelled if small(text) not in known])
        else:
            known, as_spelled = known | as_spelled, frozenset()
        sizes = (len(text.encode("utf-8", "surrogatepass")) for text in known | as_spelled)
        listed = _listed(known, ignore_case)
        if as_spelled:
            listed = _kernel.NameSet.any([listed, _listed(as_spelled, False)])
        self._hold(known, as_spelled, min(sizes, default=0), listed, ignore_case)
        self._turn(others, marked)

    def _hold(
        self,
        texts: frozenset[str] | catalogues.Catalogue,
        exact: frozenset[str],
        shortest: int,
        listed: _kernel.NameSet,
        ignore_case: bool,
    ) -> None:
        self._key = (texts, exact, ignore_case, False, None)
        self._set: _kernel.NameSet = listed
        self.shortest = shortest

    def _turn(self, others: bool, marked: Iterable[Names] | None) -> None:
        """Any text but those that are held, if `others`."""
        told = None if marked is None else tuple(items("marked", marked, "Names, as a tuple"))
        for names in told or ():
            instance("marked", names, Names, "Names, as a tuple")
        if told is not None and not others:
            raise ArgumentError("marked", "None where others=False", marked)
        if others:
            listed, (texts, exact, ignore_case, _, _) = self._set, self._key
            self._key = (texts, exact, ignore_case, True, told)
            self._set = _kernel.NameSet.but(listed, None if told is None else [names._set for names in told])
            self.shortest = 0

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], *, others: bool = False, marked: Iterable[Names] | None = None
    ) -> Names:
        """The names in a file that `build` wrote, of which there may be millions. It is mapped, not read: what is
        looked at is in memory once, however many processes have opened the file. Equal files are equal names.

        Args:
            path: of the file. It may be replaced meanwhile by another one, as `build` does, but not be written to.
            others, marked: as of `Names`.

        Raises:
            ArgumentError: no path.
            ArtifactError: no such file, no file of names, or damaged. What a forged file breaks is found when masks
                come to it, and is this error then.

        Cost: the file is gone through once, for its checksum: 20 ms for 200 MB that are in memory.
        """
        catalogue = catalogues.Catalogue(file_path("path", path))
        names = cls.__new__(cls)
        listed = catalogue.names or _kernel.NameSet.of([], catalogue.ignore_case)
        names._hold(catalogue, frozenset(), catalogue.shortest, listed, catalogue.ignore_case)
        names._turn(others, marked)
        return names

    @classmethod
    def build(
        cls,
        texts: Iterable[str] | str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        ignore_case: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> Names:
        """Writes names to a file, for `from_file`. They may come in any order and more than once, and need not fit into
        memory: about 200 MB are taken, and as much space beside the file, for a while, as the names have.

        Args:
            texts: the names, or the path of a text file in UTF-8 with one in each line. Empty ones are left out.
            path: of the file that is written. A file that is there is replaced when the new one is complete.
            ignore_case: of ASCII letters: `Users` and `USERS` are the name `users`.
            progress: called now and then with (names read, bytes written).

        Returns:
            what `from_file(path)` does.

        Raises:
            ArgumentError: no texts or no path, or a name of more than 65,535 bytes.
            ArtifactError: a file cannot be read or written, or is not in UTF-8.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     names = Names.build((f"item-{n}" for n in range(100_000)), f"{folder}/items.names")
            ...     len(names), "item-77" in names, "item-077" in names
            (100000, True, False)
        """
        return cls.from_file(catalogues.build(texts, path, ignore_case=ignore_case, progress=progress))

    @property
    def is_empty(self) -> bool:
        """There are none."""
        return not len(self) and not self._key[3]

    def __len__(self) -> int:
        """How many are listed."""
        return len(self._key[0]) + len(self._key[1])

    def __contains__(self, text: object) -> bool:
        texts, exact, ignore_case, others, _ = self._key
        spelled = small(text) if ignore_case and isinstance(text, str) else text
        return (spelled in texts or text in exact) != others

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        texts, exact, ignore_case, others, _ = self._key
        if isinstance(texts, catalogues.Catalogue):
            return f"Names.from_file({str(texts.path)!r}{', others=True' * others})"
        some = sorted(texts | exact)[:5]
        more = "" if len(some) == len(self) else f" and {len(self) - len(some):,} more"
        return f"Names({some}{more}{', ignore_case=True' * ignore_case}{', others=True' * others})"


@lru_cache(maxsize=4096)
def _listed(names: frozenset[str], ignore_case: bool) -> _kernel.NameSet:
    """Equal ones are one to the kernel."""
    return _kernel.NameSet.of(list(names), ignore_case)


def _texts(argument: str, given: Iterable[str], ignore_case: bool) -> frozenset[str]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError(argument, "an iterable of texts", given)
    known = frozenset(given)
    for text in known:
        if not isinstance(text, str):
            raise ArgumentError(argument, "an iterable of texts", text)
    return frozenset([small(text) for text in known]) if ignore_case else known


class Meaning:
    """What may stand in the slots of a grammar. Make a subclass, and give it to `Grammar.with_meaning`.

    States are values that can be hashed and do not change: tuples, frozen sets, numbers. Equal ones are one state. The
    methods depend on nothing but what they are given, since answers are kept; they do not use matchers.

    Attributes:
        slots: names of terminals of the grammar, or of rules that are one terminal or a choice of some. Their lexemes
            are names. The newline, INDENT and DEDENT of an `Indentation` have none: `read` is told of them, with "".
        scopes: names of rules. `enter` is asked before the first lexeme of such a rule, `leave` behind its last one.
        free: slots in which `read` takes any name that `names` has, and scopes that may always be left. They are asked
            when what is behind matters, which is what makes slots cheap in which any text may stand.
        longest: bytes of the shortest name that there will be in a slot, at most, or names of which it is one; by slot,
            or one for all. How many tokens complete a text is reckoned with it (`max_tokens`), and names are closer
            than bytes. Where `missing` says what is, there may be longer ones.
        growth: by slot, a text that a name there may add to what is `missing`, at most, beside the name itself.

    Example:
        A text that says nothing twice.

        >>> import derivable as dv
        >>> class Once(Meaning):
        ...     slots = ("WORD",)
        ...     def start(self):
        ...         return frozenset({"red", "green"})
        ...     def names(self, state, slot):
        ...         return state
        ...     def read(self, state, slot, text):
        ...         return state - {text}
        >>> words = dv.Grammar.from_lark('start: WORD (","  WORD)*\\nWORD: /[a-z]+/')
        >>> vocab = dv.Vocabulary.from_bytes([b"red", b"gre", b"en", b",", b"r", None], eos=[5])
        >>> m = dv.compile(words.with_meaning(Once()), vocab).matcher()
        >>> m.allowed_tokens().tolist()
        [0, 1, 4]
        >>> m.advance_bytes(b"green,")
        >>> m.allowed_tokens().tolist()
        [0, 4]
    """

    slots: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    growth: Mapping[str, str] = {}
    free: tuple[str, ...] = ()
    longest: int | Mapping[str, int | Collection[str]] = 64

    def start(self) -> Hashable:
        """The state at the beginning of a text."""
        return ()

    def names(self, state: Any, slot: str) -> Names | Iterable[str] | None:
        """What may stand in a slot: names, or `None`, any text that the terminal has. If there are none, the slot
        cannot be written here."""
        return None

    def read(self, state: Any, slot: str, text: str) -> Hashable:
        """The state behind a name that was written in a slot. `None`: it must not be written here."""
        behind: Hashable = state
        return behind

    def enter(self, state: Any, scope: str) -> Hashable:
        """The state before the first lexeme of a scope. `None`: the scope must not begin here."""
        behind: Hashable = state
        return behind

    def leave(self, state: Any, scope: str) -> Hashable:
        """The state behind the last lexeme of a scope. `None`: the scope must not end here."""
        behind: Hashable = state
        return behind

    def may_end(self, state: Any) -> bool:
        """The text may end here, if the grammar lets it."""
        return True

    def missing(self, state: Any) -> Iterable[str] | None:
        """What must still be written until the text may end, beside what the grammar's shortest way there writes:
        texts, of which the first may be written next. Give more rather than less, and see `growth`.

        `None`: it is not known. Then texts that must end soon (`max_tokens`) are searched for, from each place that
        some token leads to.

        Cost: under `max_tokens` it is asked for each state, once."""
        return None

    def _may_be_longer(self, state: Any, slot: str) -> bool:
        """Names of a slot may all be longer than `longest` says, since `missing` reckons with them. Only a meaning that
        is made of others has to say it."""
        return self.missing(state) is not None

    def to_plain(self, state: Any) -> Hashable:
        """A state as `None`, numbers, texts, bytes, tuples and frozen sets, to be written by `Matcher.to_bytes`."""
        value: Hashable = state
        return value

    def from_plain(self, value: Any) -> Hashable:
        """The state that `to_plain` gave. Others may have written the value: what it raises refuses them."""
        state: Hashable = value
        return state


def asked(meaning: Meaning, method: str, where: str, state: object, *args: Any) -> Any:
    """What a method of a meaning returns; `where`: of a slot, or of a scope.

    Raises:
        MeaningError: it raised something.
    """
    try:
        return getattr(meaning, method)(*args)
    except MeaningError:
        raise
    except Exception as error:
        kind = "scope" if method in ("enter", "leave") else "slot"
        told = f" for the {kind} {where!r}" if where else ""
        raise MeaningError(
            f"{type(meaning).__name__}.{method}() raised {type(error).__name__}{told} in the state "
            f"{state!r:.80}: {error}",
            where,
            state,
        ) from error


class Numbered:
    """A meaning as the kernel asks it: states and slots are numbers.

    Cost: memory for the states that matchers are at, and for some that they were at.
    """

    def __init__(
        self, meaning: Meaning, slots: dict[int, str], lexemes: Mapping[str, int | Collection[str]] | None = None
    ) -> None:
        """
        Args:
            meaning: whose.
            slots: by symbol.
            lexemes: what the grammar says of names, as `Meaning.longest` does.
        """
        self._meaning, self._slots = meaning, slots
        by_slot = (
            meaning.longest if isinstance(meaning.longest, Mapping) else dict.fromkeys(slots.values(), meaning.longest)
        )
        self._longest = {name: _shortest_in(by_slot.get(name, _LONGEST)) for name in slots.values()}
        for name, known in (lexemes or {}).items():
            most, texts = self._longest.get(name, (0, []))
            if not texts and (found := _shortest_in(known))[0] <= most:
                self._longest[name] = found
        self._states: dict[int, Any] = {}
        self._next = 1  # 0 is a veto
        self._numbers: dict[Hashable, int] = {}
        self._names: dict[Names, Names] = {}  # equal ones are one to the kernel
        self._forgotten: list[Names] = []

    def start(self) -> int:
        state = self._asked("start", "", None)
        if state is None:
            raise self._wrong("start", "", None, "None, which stands for what must not be written")
        return self._number("start", "", None, state)

    def names(self, state: int, slot: int) -> _kernel.NameSet | None:
        at, name = self._states[state], self._slots[slot]
        # PERF: all at once they were half of a stall of 270 ms, once in 4,000 tokens of Python (llama-3).
        del self._forgotten[-_AT_ONCE:]
        found = self._asked("names", name, at, at, name)
        if found is None:
            return _ANY
        try:
            names = found if isinstance(found, Names) else Names(found)
        except (ArgumentError, TypeError) as error:
            raise self._wrong("names", name, at, f"{found!r:.80}, and no texts") from error
        most, _ = self._longest[name]
        if names.shortest > most and not self._asked("_may_be_longer", name, at, at, name):
            problem = f"no name of less than {names.shortest} bytes, where `longest` is {most}"
            raise self._wrong("names", name, at, problem)
        return None if names.is_empty else self._names.setdefault(names, names)._set

    def longest(self, slot: int) -> tuple[int, list[bytes]]:
        return self._longest[self._slots[slot]]

    def is_free(self, slot: int) -> bool:
        return self._slots[slot] in self._meaning.free

    def read(self, state: int, slot: int, text: bytes) -> int:
        at, name = self._states[state], self._slots[slot]
        found = self._asked("read", name, at, at, name, text.decode("utf-8", "replace"))
        if found is None and name in self._meaning.free:
            raise self._wrong("read", name, at, f"None for {text!r:.80}, where the slot is one of `free`")
        return 0 if found is None else self._number("read", name, at, found)

    def missing(self, state: int) -> list[bytes] | None:
        at = self._states[state]
        found = self._asked("missing", "", at, at)
        return None if found is None else self._texts("missing", at, found)

    def growth(self, slot: int) -> list[bytes]:
        return self._texts("growth", None, self._meaning.growth.get(self._slots[slot], ""))

    def _texts(self, what: str, state: object, found: Any) -> list[bytes]:
        texts = [found] if isinstance(found, str) else list(found) if isinstance(found, Iterable) else [found]
        for text in texts:
            if not isinstance(text, str):
                raise self._wrong(what, "", state, f"{text!r:.80}, and no text")
        return [text.encode("utf-8", "replace") for text in texts if text]

    def written(self, state: int) -> bytes:
        at = self._states[state]
        return packed(self._asked("to_plain", "", at, at))

    def restored(self, data: bytes) -> int:
        return self._number("from_plain", "", None, self._asked("from_plain", "", None, unpacked(data)))

    def keep(self, numbers: list[int]) -> None:
        """Forgets all other states."""
        self._states = {number: self._states[number] for number in numbers if number}
        self._numbers = {state: number for number, state in self._states.items()}
        self._forgotten += self._names
        self._names = {}

    def may_end(self, state: int) -> bool:
        return bool(self._asked("may_end", "", self._states[state], self._states[state]))

    def _number(self, method: str, slot: str, state: object, found: Hashable) -> int:
        try:
            number = self._numbers.setdefault(found, self._next)
        except TypeError as error:
            raise self._wrong(method, slot, state, f"{found!r:.80}, which cannot be hashed") from error
        if number == self._next:
            self._states[number] = found
            self._next += 1
        return number

    def _asked(self, method: str, slot: str, state: object, *args: Any) -> Any:
        return asked(self._meaning, method, slot, state, *args)

    def _wrong(self, method: str, slot: str, state: object, what: str) -> MeaningError:
        where = f" for the slot {slot!r} in the state {state!r:.80}" if slot else ""
        return MeaningError(f"{type(self._meaning).__name__}.{method}() gave {what}{where}.", slot, state)


def _shortest_in(longest: int | Collection[str]) -> tuple[int, list[bytes]]:
    """Bytes at most, and the names that it may be, if they are said."""
    if isinstance(longest, int):
        return integer("longest", longest, 1, _MOST_BYTES), []
    texts = [text.encode("utf-8", "replace") for text in _texts("longest", longest, False) if text]
    return integer("longest", max(map(len, texts), default=0), 1, _MOST_BYTES), texts


_MOST_BYTES = 1 << 16
_LONGEST = 64  # bytes of the shortest name of a slot, where nothing says it
_AT_ONCE = 8  # names that are freed when others are asked for
_ANY = Names((), others=True)._set
