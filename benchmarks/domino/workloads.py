"""The workloads of DOMINO's Table 3 (Beurer-Kellner et al. 2024, Appendix C), for a model of one's own.

The grammars and prompts are the paper's (`data/grammars/domino` of the shared data). Prompts of the embedded model come
from the generators of its training texts; the paper's are used with any other.
"""

from __future__ import annotations

import json
import os
import platform
import random
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from model import TrainedModel
from tasks import problems

import derivable as dv
from derivable.decoding.models import TinyLanguageModel, TransformersLanguageModel, TransformersState, tiny

sys.path.append(str(Path(__file__).resolve().parents[2] / "training"))

from generators import GENERATORS
from generators.common import BOUNDARY

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
DOCUMENTS = {
    "json": ("json_person", "json_record"),
    "schema": ("json_person",),
    "c": ("c_program",),
    "xml": ("xml_person",),
    "template": ("character",),
}
"""The generators of the embedded model's training texts that begin with a prompt for a workload."""


@dataclass(frozen=True)
class Workload:
    """A grammar and prompts."""

    name: str
    grammar: Callable[[], dv.Grammar]
    prompts: tuple[str, ...]


def trained_prompts(name: str, count: int) -> tuple[str, ...]:
    """Different prompts as the embedded model was trained on them, with other names and numbers in them."""
    rng = random.Random(name)
    found: dict[str, None] = {}
    while len(found) < count:
        document = GENERATORS[rng.choice(DOCUMENTS[name])][0](rng)
        if BOUNDARY in document:
            prompt = document[: document.index(BOUNDARY)]
        else:  # up to the end of the line that opens the code, if there is one
            prompt = document[: document.find("\n", document.find("\n```") + 1) + 1] if "\n```" in document else ""
        if prompt.endswith("\n"):
            found[prompt] = None
    return tuple(found)


def workloads(names: list[str], for_tiny: bool, prompts_each: int = 20) -> list[Workload]:
    """Those of the names, with `prompts_each` prompts for the embedded model, or the paper's five."""
    folder = SHARED / "data" / "grammars" / "domino"
    prompts = json.loads((folder / "prompts.json").read_text(encoding="utf-8"))

    def gbnf(name: str) -> Callable[[], dv.Grammar]:
        return lambda: dv.Grammar.from_gbnf((folder / f"{name}.gbnf").read_text(encoding="utf-8"))

    grammars: dict[str, Callable[[], dv.Grammar]] = {
        "json": gbnf("json"),
        "schema": lambda: dv.Grammar.from_json_schema(SCHEMA, profile="spec"),
        "c": gbnf("c"),
        "xml": gbnf("xml"),
        "template": lambda: dv.Grammar.from_lark((folder / "template.lark").read_text(encoding="utf-8")),
    }
    of_paper = prompts | {"schema": prompts["json"]}
    return [
        Workload(name, grammars[name], trained_prompts(name, prompts_each) if for_tiny else tuple(of_paper[name]))
        for name in names
    ]


class Beside:
    """A small model at the price of a larger one: beside every pass of its own, one of a transformers model with random
    weights over the same tokens. What is written is the small model's, what it costs the other's.

    Args:
        own: the small model.
        hidden, layers: of the larger model: 768 and 14 make 102 million parameters with a vocabulary of 1,024 or 3,072.
    """

    def __init__(
        self, own: TinyLanguageModel | TransformersLanguageModel | TrainedModel, hidden: int = 768, layers: int = 14
    ) -> None:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        self._torch, self.own = torch, own
        self.vocabulary, self.context, self.encode = own.vocabulary, own.context, own.encode
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
        return BesideState(self.own.start(), TransformersState(self.large, self._torch))


class BesideState:
    """A sequence in two models."""

    def __init__(self, own: Any, large: TransformersState) -> None:
        self._own, self._large = own, large

    @property
    def length(self) -> int:
        """Number of tokens."""
        return int(self._own.length)

    def append(self, token_ids: Sequence[int]) -> Any:
        """The logits of the one, after a pass of both."""
        self._large.append(token_ids)
        return self._own.append(token_ids)

    def truncate(self, length: int) -> None:
        """In both."""
        self._large.truncate(length)
        self._own.truncate(length)


ENTITIES = r"""
root ::= "{" ws "\"entities\"" ":" ws "[" ws entity (ws "," ws entity)* "]" ws "}" ws
entity ::= "{" ws "\"name\"" ":" ws string "," ws "\"type\"" ":" ws string "}" ws
string ::= "\"" ([^"\\] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F]))* "\"" ws
ws ::= ([ \t\n] ws)?
"""


def task_grammar(task: str) -> dv.Grammar:
    """The paper's grammar of the answers to arithmetic, or one in its style."""
    if task == "entities":
        return dv.Grammar.from_gbnf(ENTITIES)
    return dv.Grammar.from_gbnf((SHARED / "data/grammars/domino/gsm8k.gbnf").read_text(encoding="utf-8"))


def task_workloads(count: int) -> list[Workload]:
    """The tasks that a model was trained for, as workloads: schemas that the model knows."""
    prompts = {
        task: tuple(p.prompt for p in islice(problems(task, 2, True), count)) for task in ("arithmetic", "entities")
    }
    return [Workload(task, partial(task_grammar, task), prompts[task]) for task in prompts]


def load(path: Path | None) -> TinyLanguageModel | TransformersLanguageModel:
    """The embedded model, or one of transformers from a folder."""
    return tiny() if path is None else TransformersLanguageModel(path)


def heading(title: str) -> str:
    """The first lines of a result: its title, and the command that is running."""
    command = shlex.join(["python", f"benchmarks/domino/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    return (
        f"# {title}\n\n`{command}`, {date.today().isoformat()}, Python {platform.python_version()}, "
        f"{platform.machine()}, {os.cpu_count()} processors, derivable {dv.__version__}.\n\n"
    )
