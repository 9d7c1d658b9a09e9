"""The reasoning before a text, as SGLang's reasoning parsers split it off.

SGLang wraps its own grammar backends: a wrapper lets everything pass until the tokens of the last mark have come. For
another backend it has none. Here the reasoning is part of the grammar instead: any text without the parser's marks, the
last mark, then the text. So drafts, trees and budgets go across that border as they do elsewhere, and a reasoning ends
with a text, not with the end of the turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..frontends.structural_tag import grammar_from_structural_tag
from ..grammar import Grammar

__all__ = ["Marks", "marks_of"]


@dataclass(frozen=True)
class Marks:
    """What a parser tells a reasoning by.

    Attributes:
        start, end: the marks. The prompt may have written the first, or the model writes it.
        tool: what ends a reasoning for the parser without its last mark; `None` if nothing does.
    """

    start: str
    end: str
    tool: str | None = None

    def before(self, answer: Grammar, *, most: int | None = None, is_json: bool = False) -> Grammar:
        """The grammar behind a reasoning.

        Args:
            answer: of the text.
            most: tokens of the reasoning, marks apart.
            is_json: a line break or two may come before the text. The parser leaves them in it, so other texts begin
                right behind the mark, as they do with SGLang's own backends.
        """
        marks = [each for each in (self.start, self.end, self.tool) if each]
        content: dict[str, Any] = {"type": "any_text", "excludes": marks}
        if most is not None:
            content["max_tokens"] = most
        tags = [{"type": "tag", "begin": begin, "content": content, "end": self.end} for begin in ("", self.start)]
        elements: list[Any] = [{"type": "or", "elements": tags}]
        if is_json:
            breaks = [{"type": "const_string", "value": value} for value in ("\n", "\n\n")]
            elements.append({"type": "optional", "content": {"type": "or", "elements": breaks}})
        elements.append({"type": "grammar", "grammar": answer})
        return Grammar.of(grammar_from_structural_tag({"type": "sequence", "elements": elements}, "token"))


def marks_of(parser: str, tokenizer: Any) -> Marks:
    """The marks of one of SGLang's parsers.

    Raises:
        ValueError: it reads more than a first and a last mark.
    """
    from sglang.srt.parser.reasoning_parser import BaseReasoningFormatDetector as Base
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    detector: Any = None
    cause: Exception | None = None
    try:
        detector = ReasoningParser(model_type=parser, stream_reasoning=False, tokenizer=tokenizer).detector
    except Exception as error:  # of parsers that want other arguments
        cause = error
    is_plain = (
        detector is not None
        and type(detector).detect_and_parse is Base.detect_and_parse
        and detector.get_answer_frame() is None
        and not detector.think_start_self_label
        and not hasattr(detector, "request_selectable_think_end_tokens")
    )
    if not is_plain:
        raise ValueError(
            f"the grammar backend 'derivable' does not go together with --reasoning-parser {parser}, which reads more "
            "than a first and a last mark (qwen3, deepseek-r1, glm45, kimi_k2, mistral and others do not). Leave the "
            'parser out, and ask for a whole turn: a structural tag {"type": "turn", "model": ...}.'
        ) from cause
    return Marks(detector.think_start_token, detector.think_end_token, detector.tool_start_token)
