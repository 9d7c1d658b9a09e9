"""The embedded model and its tokenizer: round trips, cache, export, size, determinism."""

from __future__ import annotations

import importlib
import random
import string
import sys
import unicodedata
from importlib.machinery import PathFinder
from pathlib import Path

import numpy as np
import pytest

from derivable.errors import DerivableError, VocabularyError
from derivable.tiny import TinyModel, TinyTokenizer, tokenizer_path
from derivable.tiny.data import data_file
from derivable.tiny.export import export

TEXTS = [
    "",
    " ",
    'A person as JSON:\n{\n  "name": "John Smith",\n  "age": 34\n}',
    "def f(self, x):\n    return {'a': [1, 22, 333]}\n\n\n\tif x:\r\n\r\n  pass  ",
    "Zoë Müller naïve façade — “quotes” … ½ ² Ⅷ ٣ x\u0301",
    "日本語のテキスト、漢字かな交じり。 한국어 中文",
    "👩‍👩‍👧 🎉🎉 \U0001f9ff ok",
    "\u00a0\u2003 \u3000x \x1c\x1d\x85 \u2028\u200b_a __b' 's don't",
    "<|begin|> is text <|end|>",
]


def random_texts() -> list[str]:
    """Mixed strings from ASCII, white space and all of Unicode, always the same."""
    rng = random.Random(7)
    pools = [string.printable, " \t\n\r\"'{}[]():;,_aZ09", "aé½²Ⅷ中 あ👩\u200d\u0301\u00a0\u2028\u3000ǅʰ٣"]
    texts = ["".join(rng.choices(rng.choice(pools), k=rng.randint(1, 60))) for _ in range(400)]
    for _ in range(200):
        codes = [rng.choice([rng.randrange(0xD800), rng.randrange(0xE000, 0x20000)]) for _ in range(20)]
        texts.append("".join(map(chr, codes)))
    return texts


def greedy(model: TinyModel, prompt: list[int], count: int) -> list[int]:
    state, ids = model.start(), list(prompt)
    logits = model.forward(state, ids)[-1]
    for _ in range(count):
        ids.append(int(logits.argmax()))
        logits = model.forward(state, ids[-1:])[-1]
    return ids


@pytest.fixture(scope="module")
def model() -> TinyModel:
    return TinyModel.load()


@pytest.fixture(scope="module")
def tokenizer() -> TinyTokenizer:
    return TinyTokenizer.load()


def test_round_trip(tokenizer: TinyTokenizer) -> None:
    for text in TEXTS + random_texts():
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_same_ids_as_the_tokenizers_library(tokenizer: TinyTokenizer) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    reference = tokenizers.Tokenizer.from_file(str(tokenizer_path()))
    assert reference.get_vocab_size() == tokenizer.size
    for text in TEXTS[:-1] + random_texts():
        if any(unicodedata.category(char) == "Cn" for char in text):
            continue  # unassigned here, perhaps a letter in the library's Unicode version
        assert tokenizer.encode(text) == reference.encode(text, add_special_tokens=False).ids, repr(text)


def test_special_tokens_are_not_text(model: TinyModel, tokenizer: TinyTokenizer) -> None:
    assert tokenizer.special_ids["<|begin|>"] == model.bos_id
    assert tokenizer.special_ids["<|end|>"] == model.eos_id
    assert all(tokenizer.token_bytes(token) is None for token in tokenizer.special_ids.values())
    assert not set(tokenizer.encode("<|end|>")) & set(tokenizer.special_ids.values())
    with pytest.raises(VocabularyError):
        tokenizer.token_bytes(tokenizer.size)


def test_tokens_cross_terminals(tokenizer: TinyTokenizer) -> None:
    known = {tokenizer.token_bytes(token) for token in range(tokenizer.size)}
    assert {b'":', b' {"', b" },\n", b"(self", b");\n"} <= known


def test_cache_gives_the_logits_of_one_forward(model: TinyModel, tokenizer: TinyTokenizer) -> None:
    ids = [model.bos_id, *tokenizer.encode(TEXTS[2] + "\n" + TEXTS[3])]
    whole = model.forward(model.start(), ids)
    assert whole.shape == (len(ids), model.vocab_size) and whole.dtype == np.float32
    state = model.start()
    single = np.concatenate([model.forward(state, [token]) for token in ids])
    np.testing.assert_allclose(single, whole, atol=2e-4, rtol=1e-4)
    state = model.start()
    chunks = np.concatenate([model.forward(state, ids[i : i + 7]) for i in range(0, len(ids), 7)])
    np.testing.assert_allclose(chunks, whole, atol=2e-4, rtol=1e-4)


def test_truncate_and_copy(model: TinyModel, tokenizer: TinyTokenizer) -> None:
    ids = [model.bos_id, *tokenizer.encode(TEXTS[2])]
    state = model.start()
    expected = model.forward(state, ids)[-1]
    branch = state.copy()
    model.forward(branch, tokenizer.encode("something else entirely"))
    assert state.length == len(ids) < branch.length
    branch.truncate(len(ids) - 1)
    np.testing.assert_allclose(model.forward(branch, ids[-1:])[-1], expected, atol=2e-4, rtol=1e-4)
    with pytest.raises(DerivableError):
        branch.truncate(branch.length + 1)


def test_bounds(model: TinyModel) -> None:
    assert model.context >= 1024
    for bad in ([], [-1], [model.vocab_size]):
        with pytest.raises(DerivableError):
            model.forward(model.start(), bad)
    state = model.start()
    model.forward(state, [model.bos_id] * model.context)
    with pytest.raises(DerivableError):
        model.forward(state, [model.bos_id])


def test_greedy_output_is_deterministic_and_sensible(model: TinyModel, tokenizer: TinyTokenizer) -> None:
    prompt = [model.bos_id, *tokenizer.encode("A JSON file of a person John Smith:\n")]
    first = greedy(model, prompt, 40)
    assert first == greedy(model, prompt, 40)
    text = tokenizer.decode(first[len(prompt) :])
    assert text.lstrip().startswith("{") and '"John Smith"' in text


def test_an_installed_package_is_found_and_its_absence_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("derivable.tiny.data._CHECKOUT", tmp_path / "nowhere")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setattr("sys.meta_path", [PathFinder])  # an editable install has a finder of its own
    monkeypatch.delitem(sys.modules, "derivable_demo", raising=False)
    with pytest.raises(DerivableError, match=r"pip install 'derivable\[demo\]'"):
        tokenizer_path()
    (tmp_path / "derivable_demo").mkdir()
    with pytest.raises(DerivableError, match="derivable"):  # a folder without the data
        tokenizer_path()
    (tmp_path / "derivable_demo" / "tokenizer.json").write_text("{}")
    importlib.invalidate_caches()
    assert tokenizer_path() == tmp_path / "derivable_demo" / "tokenizer.json"


def test_weights_are_small() -> None:
    assert data_file("weights.npz").stat().st_size < 8_000_000


def test_export_agrees_with_transformers(model: TinyModel, tokenizer: TinyTokenizer, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = str(export(tmp_path / "tiny"))
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    assert fast.eos_token_id == model.eos_id and theirs.config.eos_token_id == model.eos_id
    ids = [model.bos_id, *tokenizer.encode(TEXTS[2])]
    assert fast(TEXTS[2], add_special_tokens=False)["input_ids"] == ids[1:]
    with torch.no_grad():
        reference = theirs(torch.tensor([ids])).logits[0].numpy()
    np.testing.assert_allclose(model.forward(model.start(), ids), reference, atol=1e-3, rtol=1e-3)


def test_vocabulary_reads_the_tokenizer(tokenizer: TinyTokenizer) -> None:
    vocabulary = pytest.importorskip("derivable.vocabulary")
    vocab = vocabulary.Vocabulary.from_tokenizer_json(tokenizer_path(), eos=["<|end|>"])
    assert vocab.size == tokenizer.size
    assert list(vocab.eos_ids) == [tokenizer.special_ids["<|end|>"]]
    assert all(vocab.token_bytes(token) == tokenizer.token_bytes(token) for token in range(tokenizer.size))
