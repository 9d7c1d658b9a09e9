"""The workloads of DOMINO's Table 3 (Beurer-Kellner et al. 2024, Appendix C), for a model of one's own.

The grammars and prompts are the paper's (`data/grammars/domino` of the shared data). Prompts of the embedded model are
phrased as it was trained; the paper's are used with any other.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import derivable as dv
from derivable.decoding.models import TinyLanguageModel, TinyState, TransformersLanguageModel, TransformersState, tiny

SHARED = Path(os.environ.get("DERIVABLE_SHARED", Path(__file__).resolve().parents[3] / "shared"))
RECORD = Path(__file__).resolve().parents[1] / "record" / "domino"
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "email": {"type": "string"},
        "city": {"type": "string"},
        "hobbies": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "age", "email", "city", "hobbies"],
    "additionalProperties": False,
}
TINY_PROMPTS = {
    "json": ["A person as JSON:\n", "A product as JSON:\n", "An order as JSON:\n"],
    "schema": ["A person as JSON:\n"],
    "c": ["A C program that prints the sum of two integers:\n"],
    "xml": ["An XML person with friends:\n", "An XML person:\n"],
    "template": ["A character as JSON:\n"],
}


@dataclass(frozen=True)
class Workload:
    """A grammar and prompts."""

    name: str
    grammar: Callable[[], dv.Grammar]
    prompts: tuple[str, ...]


def workloads(names: list[str], for_tiny: bool) -> list[Workload]:
    """Those of the names."""
    folder = SHARED / "data" / "grammars" / "domino"
    prompts = json.loads((folder / "prompts.json").read_text(encoding="utf-8"))

    def gbnf(name: str) -> Callable[[], dv.Grammar]:
        return lambda: dv.Grammar.from_gbnf((folder / f"{name}.gbnf").read_text(encoding="utf-8"))

    grammars: dict[str, Callable[[], dv.Grammar]] = {
        "json": gbnf("json"),
        "schema": lambda: dv.Grammar.from_json_schema(SCHEMA),
        "c": gbnf("c"),
        "xml": gbnf("xml"),
        "template": lambda: dv.Grammar.from_lark((folder / "template.lark").read_text(encoding="utf-8")),
    }
    own = TINY_PROMPTS if for_tiny else prompts | {"schema": prompts["json"]}
    return [Workload(name, grammars[name], tuple(own[name])) for name in names]


class Beside:
    """The embedded model at the price of a larger one: beside every pass of its own, one of a transformers model with
    random weights over the same tokens. What is written is the embedded model's, what it costs the other's.

    Args:
        hidden, layers: of the larger model: 768 and 12 make 87 million parameters.
    """

    def __init__(self, hidden: int = 768, layers: int = 12) -> None:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        self._torch, self._tiny = torch, tiny()
        self.vocabulary, self.context, self.encode = self._tiny.vocabulary, self._tiny.context, self._tiny.encode
        torch.set_num_threads(1)
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=self.vocabulary.size,
            hidden_size=hidden,
            intermediate_size=hidden * 8 // 3,
            num_hidden_layers=layers,
            num_attention_heads=hidden // 64,
        )
        self.large = LlamaForCausalLM(config).eval()

    def start(self) -> BesideState:
        """A state in both."""
        return BesideState(self._tiny.start(), TransformersState(self.large, self._torch))


class BesideState:
    """A sequence in two models."""

    def __init__(self, own: TinyState, large: TransformersState) -> None:
        self._own, self._large = own, large

    @property
    def length(self) -> int:
        """Number of tokens."""
        return self._own.length

    def append(self, token_ids: Sequence[int]) -> Any:
        """The logits of the one, after a pass of both."""
        self._large.append(token_ids)
        return self._own.append(token_ids)

    def truncate(self, length: int) -> None:
        """In both."""
        self._large.truncate(length)
        self._own.truncate(length)


def load(path: Path | None) -> TinyLanguageModel | TransformersLanguageModel:
    """The embedded model, or one of transformers from a folder."""
    return tiny() if path is None else TransformersLanguageModel(path)


def heading(title: str, command: str) -> str:
    """The first lines of a result."""
    return (
        f"# {title}\n\n`{command}`, {date.today().isoformat()}, Python {platform.python_version()}, "
        f"{platform.machine()}, {os.cpu_count()} processors, derivable {dv.__version__}.\n\n"
    )
