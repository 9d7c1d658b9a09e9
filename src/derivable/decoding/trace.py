"""What happened at every step of a generation, to be saved, shown and measured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any, overload

from derivable.decoding.step import Alternative, Step
from derivable.errors import ArtifactError
from derivable.support.arguments import file_path
from derivable.support.files import write

__all__ = ["Alternative", "Step", "Trace"]

_FORMAT = "derivable trace 1"


class Trace(Sequence[Step]):
    """The steps of a generation, in order.

    In a notebook it shows itself; `html()` is the same as a page of its own, `show()` prints it to a terminal.
    `prompt` is what stands before the first step: of a prompt that was healed what was kept.

    Example:
        >>> trace = Trace([Step(0, 5, b"a", legal=2), Step(1, 6, b"b", forced=True)])
        >>> len(trace), trace[1].kind
        (2, 'forced')
        >>> Trace.from_jsonl(trace.to_jsonl()) == trace
        True
    """

    def __init__(self, steps: Iterable[Step] = (), prompt: str = "") -> None:
        self.steps = list(steps)
        self.prompt = prompt

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        return self.steps[index]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and (self.steps, self.prompt) == (other.steps, other.prompt)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        kinds = [step.kind for step in self.steps]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        return f"<Trace of {len(self)} steps{': ' * bool(counts)}{counts}>"

    def to_jsonl(self) -> str:
        """JSON lines: one of the format and the prompt, then one a step; bytes as hexadecimal digits."""
        lines: list[dict[str, Any]] = [{"format": _FORMAT, "prompt": self.prompt}]
        for step in self.steps:
            line = asdict(step)
            line["token_bytes"] = None if step.token_bytes is None else step.token_bytes.hex()
            line["text"] = step.text
            lines.append(line)
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)

    @staticmethod
    def from_jsonl(text: str) -> Trace:
        """The trace that `to_jsonl` wrote.

        Raises:
            ArtifactError: it is not one.
        """
        try:
            head, *lines = [json.loads(line) for line in text.split("\n") if line.strip()]
            if head["format"] != _FORMAT:
                raise ValueError("another format")
            return Trace(map(_read, lines), str(head["prompt"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ArtifactError(f"this is no saved trace ({error}). Give what Trace.save wrote.") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the trace: a page where the path ends in `.html`, else JSON lines.

        Raises:
            ArtifactError: the file cannot be written.
        """
        write(path, self.html() if file_path("path", path).suffix == ".html" else self.to_jsonl())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Trace:
        """Reads JSON lines that `save` wrote.

        Raises:
            ArtifactError: no such file, or not a trace.
        """
        file = file_path("path", path)
        try:
            return Trace.from_jsonl(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ArtifactError(f"{file}: cannot be read ({error}). Give a file that Trace.save wrote.") from error

    def html(self) -> str:
        """A page without references to anything outside."""
        from derivable.decoding.show_trace import page  # rich is for who looks at it

        return page(self.steps, self.prompt)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from derivable.decoding.show_trace import fragment  # rich is for who looks at it

        return fragment(self.steps, self.prompt)

    def show(self, console: Any = None, *, step: bool = False) -> None:
        """Prints the trace to a terminal; with `step`, one token at a time, going on with Return (q ends)."""
        from derivable.decoding.show_trace import show  # rich is for who looks at it

        show(self.steps, self.prompt, console, step=step)


def _read(line: dict[str, Any]) -> Step:
    known = {field.name for field in fields(Step)}
    values = {name: value for name, value in line.items() if name in known}
    data = values["token_bytes"]
    values["token_bytes"] = None if data is None else bytes.fromhex(data)
    values["lexeme"], values["expected"] = tuple(values["lexeme"]), tuple(values["expected"])
    values["names"] = {slot: tuple(some) for slot, some in values.get("names", {}).items()}
    values["alternatives"] = tuple(Alternative(**one) for one in values["alternatives"])
    return Step(**values)
