"""A whole turn, reasoning and calls of tools, through each host that takes a processor: it is a grammar like others.

The models have random weights, so what has the form of a call has it by the mask.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("tokenizers")

from small_llama import SPECIAL, write_model, write_tokenizer  # noqa: E402

import derivable as dv  # noqa: E402

FIND = {
    "type": "object",
    "properties": {"word": {"enum": ["cat", "dog"]}, "most": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["word"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "find", "parameters": FIND}}]
MOST = 120
PROMPT = "Find something:"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("llama")
    write_model(path, write_tokenizer(path) + 24, SPECIAL.index("<s>"), SPECIAL.index("</s>"))
    return path


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(folder).eval()


@pytest.fixture(scope="module")
def constraint(model: Any, tokenizer: Any) -> dv.Constraint:
    grammar = dv.Grammar.from_turn("qwen-3", tools=TOOLS, tool_choice="required", reasoning_tokens=30)
    return dv.compile(grammar, dv.Vocabulary.from_transformers(tokenizer, size=model.config.vocab_size))


def of_transformers(folder: Path, model: Any, prompt: list[int], constraint: dv.Constraint, seed: int) -> list[int]:
    from derivable.integrations.transformers import DerivableLogitsProcessor

    torch.manual_seed(seed)
    processor = DerivableLogitsProcessor(constraint, max_new_tokens=MOST)
    options: dict[str, Any] = {"max_new_tokens": MOST, "do_sample": True, "top_k": 0, "pad_token_id": 1}
    made = model.generate(input_ids=torch.tensor([prompt]), logits_processor=[processor], **options)
    return made[0, len(prompt) :].tolist()  # type: ignore[no-any-return]


def of_batching(folder: Path, model: Any, prompt: list[int], constraint: dv.Constraint, seed: int) -> list[int]:
    pytest.importorskip("transformers.generation.continuous_batching.cb_logits_processors")
    try:
        from derivable.integrations.transformers_batching import generate_batch
    except ImportError:
        pytest.skip("this transformers has no processors for each request")
    torch.manual_seed(seed)
    config = transformers.GenerationConfig(max_new_tokens=MOST, do_sample=True, eos_token_id=1, pad_token_id=1)
    made = generate_batch(model, [prompt], constraint, max_new_tokens=MOST, generation_config=config)
    return list(made[0].generated_tokens)


def of_mlx(folder: Path, model: Any, prompt: list[int], constraint: dv.Constraint, seed: int) -> list[int]:
    mx = pytest.importorskip("mlx.core", reason="MLX is not installed: make test-hosts installs it")
    mlx_lm = pytest.importorskip("mlx_lm")
    from mlx_lm.sample_utils import make_sampler

    from derivable.integrations.mlx import Processor

    mx.random.seed(seed)
    loaded, tokenizer = mlx_lm.load(str(folder))
    options = {"max_tokens": MOST, "sampler": make_sampler(temp=1.0)}
    processors = [Processor(constraint, max_tokens=MOST)]
    made = mlx_lm.stream_generate(loaded, tokenizer, prompt, logits_processors=processors, **options)
    return [piece.token for piece in made]


def of_tensorrt_llm(folder: Path, model: Any, prompt: list[int], constraint: dv.Constraint, seed: int) -> list[int]:
    """The call that it documents, with logits of the model of transformers."""
    from derivable.integrations.tensorrt_llm import Processor

    torch.manual_seed(seed)
    processor, ids = Processor(constraint, max_tokens=MOST), list(prompt)
    while ids[-1] != 1:
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[:, -1:].float()
        processor(seed, logits, [ids], None, None)
        ids.append(int(torch.multinomial(logits[0, 0].softmax(-1), 1)))
    return ids[len(prompt) :]


@pytest.mark.parametrize("host", [of_transformers, of_batching, of_mlx, of_tensorrt_llm])
def test_a_turn_has_its_reasoning_and_its_calls(
    host: Callable[..., list[int]], folder: Path, model: Any, tokenizer: Any, constraint: dv.Constraint
) -> None:
    prompt = tokenizer(PROMPT).input_ids
    reasoned = 0
    for seed in range(4):
        tokens = host(folder, model, prompt, constraint, seed)
        assert len(tokens) <= MOST
        text = tokenizer.decode(tokens, skip_special_tokens=False).removesuffix("</s>")
        message = constraint.read(text)
        assert message.calls and not message.unfinished, text
        assert all(call.name == "find" and call.arguments["word"] in ("cat", "dog") for call in message.calls)
        reasoned += bool(message.reasoning)
    assert reasoned
