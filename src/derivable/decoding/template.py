"""Templates: fixed text with constrained holes (DOMINO, Appendix A).

    character = Template(
        '{\\n  "name": "{name}",\\n  "age": {age},\\n  "armor": "{armor}"\\n}',
        name=r"[A-Z][a-z]+", age=r"[1-9][0-9]?", armor=["leather", "plate"],
    )
    dv.generate(model, prompt, character.grammar()).text

A hole is `{name}`, where `name` is one of the arguments; any other brace is text. A hole's grammar is a regular
expression, a list of choices, or a `Grammar`. The template is a grammar, in one of two forms:

- `"fixed"`: the text as it is;
- `"flexible"`: each run of white space in the text may be any white space, or none. The model lays the text out as it
  likes, which costs it tokens and spares it layouts that it has never seen.

`fill` is the third way, the one that template engines take and that DOMINO measures against: the text between the holes
is tokenized by itself and put before the model, which writes only what is in the holes. It is cheap, and it forces on
the model tokens that it would not have chosen. A hole is over when the model goes on with the text behind it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from derivable.compile import compile as compile_grammar
from derivable.decoding.generate import Generation, generate
from derivable.decoding.language_model import LanguageModel
from derivable.decoding.retokenize import prompt_tokens
from derivable.errors import ArgumentError, GrammarError
from derivable.grammar import Grammar
from derivable.support.arguments import integer
from derivable.vocabulary import Vocabulary

__all__ = ["Filled", "Hole", "Template"]

Hole: TypeAlias = str | Sequence[str] | Grammar
"""What may be in a hole: a regular expression, choices, or a grammar."""

_WHITE_SPACE = r"[ \t\r\n]*"


@dataclass(frozen=True)
class Filled:
    """What `Template.fill` made.

    Attributes:
        text: all of it.
        holes: what is in each, by name.
        token_ids: the tokens of text and holes.
        model_calls: forward passes.
        is_complete: every hole was closed.
    """

    text: str
    holes: dict[str, str]
    token_ids: list[int]
    model_calls: int
    is_complete: bool


class Template:
    """Fixed text with constrained holes.

    Args:
        text: the text, holes as `{name}`.
        holes: a regular expression, choices or a `Grammar` for each.

    Raises:
        GrammarError: a hole is not in the text, or a regular expression cannot be used.
        ArgumentError: an argument of the wrong kind.

    Example:
        >>> import derivable as dv
        >>> template = Template("I am {age} years old.", age="[1-9][0-9]?")
        >>> vocab = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(128)), None], eos=[128])
        >>> matcher = dv.compile(template.grammar(), vocab).matcher()
        >>> matcher.advance_bytes(b"I am 42 years old.")
        >>> matcher.is_accepting
        True
    """

    def __init__(self, text: str, **holes: Hole) -> None:
        if not isinstance(text, str):
            raise ArgumentError("text", "a str", text)
        self.text = text
        self.holes = {name: _grammar(name, hole) for name, hole in holes.items()}
        pattern = "|".join(rf"\{{{re.escape(name)}\}}" for name in holes)
        pieces = re.split(f"({pattern})", text) if holes else [text]
        #: Text and the names of holes, alternating.
        self.parts: list[str] = [piece[1:-1] if at % 2 else piece for at, piece in enumerate(pieces)]
        missing = sorted(set(holes) - set(self.parts[1::2]))
        if missing:
            raise GrammarError(
                f"the template has no hole {missing[0]!r}",
                source=text,
                hint=f"Write {{{missing[0]}}} where it belongs, or leave the argument out.",
            )

    def grammar(self, form: Literal["fixed", "flexible"] = "fixed") -> Grammar:
        """The texts that the template stands for.

        Args:
            form: see above.

        Raises:
            ArgumentError: another form.
        """
        if form not in ("fixed", "flexible"):
            raise ArgumentError("form", '"fixed" or "flexible"', form)
        operands: list[Grammar | str] = []
        for at, part in enumerate(self.parts):
            if at % 2:
                operands.append(self.holes[part])
            elif form == "fixed":
                operands += [part] if part else []
            else:
                for number, piece in enumerate(re.split(r"[ \t\r\n]+", part)):
                    operands += [_white_space()] if number else []
                    operands += [piece] if piece else []
        return Grammar.concatenate(*operands)

    def fill(self, model: LanguageModel, prompt: str | Sequence[int], **options: Any) -> Filled:
        """Fills the holes one after the other, the text between them as its own tokenization has it (the baseline).

        Args:
            model: the language model.
            prompt: what comes before: text, or tokens (at least one).
            options: those of `generate`; `max_tokens` is for each hole.

        Raises:
            As `generate`.

        Cost: forward passes for the tokens in the holes; the text between them is read along with the next.
        """
        vocabulary = model.vocabulary
        before = prompt_tokens(model, prompt)
        start, text, calls, complete = len(before), "", 0, True
        found: dict[str, str] = {}
        most = integer("max_tokens", options.pop("max_tokens", 256))
        for at, part in enumerate(self.parts):
            if at % 2 == 0:
                before += vocabulary.encode_forced(part.encode("utf-8")) if part else []
                text += part
                continue
            behind = self.parts[at + 1]
            constraint = compile_grammar(Grammar.concatenate(self.holes[part], *filter(None, [behind])), vocabulary)
            room = most + len(behind.encode("utf-8"))
            made: Generation = generate(model, before, constraint, **({"heal": False} | options | {"max_tokens": room}))
            data = made.text_bytes.removesuffix(behind.encode("utf-8")) if made.is_complete else made.text_bytes
            before += _inside(model.vocabulary, made.token_ids, data)
            found[part] = data.decode("utf-8", "replace")
            text += found[part]
            calls += made.stats.model_calls
            complete = complete and made.is_complete
        return Filled(text, found, before[start:], calls, complete)

    def __repr__(self) -> str:
        return f"<Template {self.text[:60]!r} with {', '.join(self.holes) or 'no holes'}>"


def _inside(vocabulary: Vocabulary, token_ids: Sequence[int], data: bytes) -> list[int]:
    """The tokens of a hole: those chosen, as far as they lie in it, and the tokenizer's own for the rest."""
    tokens, at = list[int](), 0
    for token in token_ids:
        end = at + len(vocabulary.token_bytes(token) or b"")
        if end > len(data):
            break
        tokens.append(token)
        at = end
    return tokens + (vocabulary.encode_forced(data[at:]) if at < len(data) else [])


def _grammar(name: str, hole: Any) -> Grammar:
    if isinstance(hole, Grammar):
        return hole
    if isinstance(hole, str):
        return Grammar.from_regex(hole)
    if isinstance(hole, list | tuple):
        return Grammar.from_choices(hole)
    raise ArgumentError(name, "a regular expression, a list of choices, or a Grammar", hole)


@lru_cache(maxsize=1)
def _white_space() -> Grammar:
    return Grammar.from_regex(_WHITE_SPACE)
