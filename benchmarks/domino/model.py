"""The model that `train_model.py` made, run by the embedded model's numpy."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

# Before numpy is loaded: a second thread that waits for the first is processor time, too (8 ms a token instead of 1.2).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from tokenizers import Tokenizer

import derivable as dv
from derivable.decoding.models import TinyState
from derivable.tiny import TinyModel


class TrainedModel:
    """A language model for `dv.generate`.

    Args:
        folder: what `train_model.py` wrote.
    """

    def __init__(self, folder: Path) -> None:
        with np.load(folder / "weights.npz") as archive:
            arrays = {name: archive[name] for name in archive.files}
        config = json.loads(arrays.pop("config").tobytes())
        self._model = TinyModel(config, arrays)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.context: int | None = self._model.context
        self.vocabulary = dv.Vocabulary.from_tokenizer_json(folder / "tokenizer.json", eos=[self._model.eos_id])
        self.training = json.loads((folder / "training.json").read_text(encoding="utf-8"))

    def start(self) -> TinyState:
        """A state without tokens."""
        return TinyState(self._model, self._model.start())

    def append_batch(self, states: Sequence[TinyState], token_ids: Sequence[Sequence[int]]) -> Any:
        """Appends to each state its own tokens, in one pass."""
        return self._model.forward_batch([state._state for state in states], token_ids)

    def encode(self, text: str) -> list[int]:
        """The tokens of a prompt, the begin token first."""
        return [self._model.bos_id, *self._tokenizer.encode(text, add_special_tokens=False).ids]

    def decode(self, token_ids: Iterable[int]) -> str:
        """The text of tokens."""
        return self.vocabulary.decode(token_ids).decode("utf-8", "replace")
