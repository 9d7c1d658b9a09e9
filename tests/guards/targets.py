"""What is done with an input of each reader: read, compiled with small bounds, and a text walked by its masks."""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import derivable as dv
from guards.samples import vocabulary

__all__ = ["LIMITS", "Disagreement", "run"]

LIMITS = dv.Limits(
    max_source=400_000,
    max_nfa_states=50_000,
    max_dfa_states=10_000,
    max_symbols=100_000,
    max_cases=2_000,
    max_parses=512,
    cache_bytes=16 << 20,
    max_liveness_steps=500_000,
)
_STEPS = 12
_VOCABULARIES = {
    "tokenizer": dv.Vocabulary.from_tokenizer_json,
    "vocabulary": dv.Vocabulary.load,
    "sentencepiece": dv.Vocabulary.from_sentencepiece,
    "gguf": dv.Vocabulary.from_gguf,
}
"""Readers of files that hold a vocabulary."""


class Disagreement(AssertionError):
    """Two of the engine's own answers differ."""


def run(reader: str, data: Any, seed: int, phase: Callable[[str], None]) -> str:
    """Reads an input and walks a text of it. What comes out is "fine", or the name of the error it was refused with.

    Args:
        phase: called with "read", "compile" and "step" before each of these.

    Raises:
        Exception: anything that is no `DerivableError`, and `Disagreement`.
    """
    try:
        phase("read")
        constraint = _constraint(reader, data, phase)
    except dv.DerivableError as error:
        str(error).encode("utf-8")
        return type(error).__name__
    try:
        return _walk(constraint.matcher(), random.Random(seed), phase)
    except Disagreement:
        # That what follows a `[` of distinct items is JSON is the compiler's promise, and a forged file may break it.
        # And so is that a mask computed ahead of time is right.
        if reader == "artifact" and (constraint._lowered.distinct or constraint._plan.index):
            return "forged"
        raise


def _constraint(reader: str, data: Any, phase: Callable[[str], None]) -> dv.Constraint:
    if reader == "artifact":
        return dv.Constraint.from_bytes(data, vocabulary(), limits=LIMITS)
    if reader in _VOCABULARIES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tokenizer.json"
            path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
            read = _VOCABULARIES[reader](path)
            for text in ("the fox\n", "\x00é<tool>"):
                with contextlib.suppress(dv.DerivableError):  # its library may refuse what is good for masks
                    read.decode(read.encode(text))
        phase("compile")
        return dv.compile(dv.Grammar.from_regex("(.|\\n)*"), read, limits=LIMITS)
    if reader == "choices":
        data = _json(data)
    make = {"structural_tag": dv.Grammar.structural_tag}.get(reader) or getattr(dv.Grammar, f"from_{reader}")
    grammar = make(data, limits=LIMITS)
    phase("compile")
    return dv.compile(grammar, vocabulary(), limits=LIMITS)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _walk(matcher: dv.Matcher, draw: random.Random, phase: Callable[[str], None]) -> str:
    """A text drawn from the masks; whatever is asked on the way must agree with them."""
    size = matcher.constraint.vocabulary.size
    for step in range(_STEPS):
        phase("step")
        try:
            allowed = matcher.allowed_tokens().tolist()
        except dv.LimitError:
            return "LimitError"
        if matcher.is_finished:
            if allowed:
                raise Disagreement("a finished matcher allows tokens")
            break
        token, other = draw.choice(allowed) if allowed else None, draw.randrange(size)
        phase("step")
        try:
            if matcher.allows(other) != (other in allowed):
                raise Disagreement(f"allows({other}) is not what the mask says")
            if token is None:
                break
            if step % 4 == 3:
                matcher.fork().forced_tokens()
                matcher.explain(other)
            phase("step")
            matcher.advance(token)
            if step % 4 == 1:
                matcher.rollback(1)
                matcher.advance(token)
        except dv.TokenRejectedError as error:
            raise Disagreement(f"the mask allows {token}, and advance() does not") from error
        except dv.LimitError:
            return "LimitError"
    return "fine"
