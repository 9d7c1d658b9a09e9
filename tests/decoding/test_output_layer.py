"""Are the texts the same where a model is asked about the allowed tokens alone?"""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import derivable as dv
from derivable.decoding import output_layer
from derivable.decoding.models import TransformersLanguageModel
from derivable.tiny.export import export

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PROPERTIES = {
    "job": {"enum": ["baker", "smith"]},
    "name": {"type": "string", "maxLength": 9},
    "n": {"type": "integer"},
}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": list(PROPERTIES)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(export(tmp_path_factory.mktemp("model") / "tiny"))


@pytest.fixture
def models(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[TransformersLanguageModel, TransformersLanguageModel]:
    """One that is always asked about all tokens, since it is small, and one that is taken for large."""
    whole = TransformersLanguageModel(folder)
    monkeypatch.setattr(output_layer, "_LEAST_WEIGHTS", 1)
    return whole, TransformersLanguageModel(folder)


def test_texts_are_the_same(models: tuple[TransformersLanguageModel, TransformersLanguageModel]) -> None:
    whole, narrow = models
    options: list[dict[str, Any]] = [
        {"temperature": 0},
        {"temperature": 1.0, "seed": 3},
        {"temperature": 1.0, "top_p": 0.9, "repetition_penalty": 1.2},
        {"temperature": 0.7, "top_k": 5, "logit_bias": {40: 3.0}, "opportunistic": False},
        {"temperature": 1.0, "speculate": 0, "forced": False},
        {"temperature": 1.0, "min_p": 0.1, "heal": False},
    ]
    narrowed = 0
    for each in options:
        one, other = (dv.generate(m, "A person as JSON:\n", SCHEMA, max_tokens=60, **each) for m in (whole, narrow))
        assert one.token_ids == other.token_ids, each
        assert one.stats.narrowed == 0 < other.stats.narrowed < other.stats.model_calls
        known = [step for step in other.trace.steps if step.wanted is not None]
        assert not any(step.intervention for step in other.trace.steps if step not in known)
        narrowed += other.stats.narrowed
    assert narrowed > 40


def test_what_looks_at_all_logits_has_them(models: tuple[TransformersLanguageModel, TransformersLanguageModel]) -> None:
    _, narrow = models
    for each in ({"trace": True}, {"choices": True}):
        assert dv.generate(narrow, "JSON:\n", SCHEMA, max_tokens=60, **each).stats.narrowed == 0
    assert dv.generate(narrow, "JSON:\n", None, max_tokens=5).stats.narrowed == 0


def test_logits_are_those_of_the_whole_layer(
    models: tuple[TransformersLanguageModel, TransformersLanguageModel],
) -> None:
    """And what is left out is negative infinity."""
    whole, narrow = models
    prompt = narrow.encode("A person as JSON:\n")
    wanted, few = whole.start().append(prompt)[-1], np.array([1, 5, 77, 300], dtype=np.int32)
    (row,) = narrow.start().append_few(prompt, few)
    assert np.allclose(row[few], wanted[few], atol=1e-5) and np.isfinite(row).sum() == len(few)
    assert np.array_equal(narrow.start().append(prompt)[-1], wanted)  # the layer is whole again


def test_layers_that_are_not_plain_are_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_layer, "_LEAST_WEIGHTS", 1)

    class Other(torch.nn.Linear):  # type: ignore[misc, name-defined]
        """As quantized layers and adapters are."""

    lm = transformers.AutoModelForCausalLM.from_pretrained(folder)
    layer = lm.get_output_embeddings()
    other = Other(layer.in_features, layer.out_features, bias=False)
    other.weight = layer.weight
    lm.set_output_embeddings(other)
    model = TransformersLanguageModel(lm, transformers.AutoTokenizer.from_pretrained(folder))
    assert model.start().few == 0


def test_other_threads_see_the_whole_layer(
    models: tuple[TransformersLanguageModel, TransformersLanguageModel],
) -> None:
    whole, narrow = models
    prompt = narrow.encode("A person as JSON:\n")
    wanted = whole.start().append(prompt)[-1]
    results: list[bool] = []

    def ask(few: np.ndarray | None) -> None:
        for _ in range(20):
            if few is None:
                results.append(np.allclose(narrow.start().append(prompt)[-1], wanted, atol=1e-5))
            else:
                row = narrow.start().append_few(prompt, few)[0]
                results.append(np.isfinite(row).sum() == len(few) and np.allclose(row[few], wanted[few], atol=1e-5))

    threads = [
        Thread(target=ask, args=[few]) for few in (None, np.array([3, 9], np.int32), None, np.array([8], np.int32))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80 and all(results)
