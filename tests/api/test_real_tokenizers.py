"""The vocabularies of real tokenizers: sizes, ends, round trips, and what their own decoders say."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from shared_data import program_texts, require_shared
from tokenizer_files import TEXTS

from derivable.vocabulary import Vocabulary

# (folder, ids, tokens that are not whole characters, end ids)
REAL = [
    ("llama-2", 32_000, 128, (2,)),
    ("llama-3", 128_256, 1_352, (128_001, 128_009)),
    ("qwen-2", 151_646, 1_448, (151_643, 151_645)),
]
NAMES = [name for name, *_ in REAL]


@pytest.fixture(scope="module", params=NAMES)
def real(request: pytest.FixtureRequest) -> tuple[str, Vocabulary]:
    return request.param, Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", request.param))


def test_real_facts(real: tuple[str, Vocabulary]) -> None:
    name, vocabulary = real
    size, invalid, eos = next(facts for known, *facts in REAL if known == name)
    facts = vocabulary.describe()
    assert vocabulary.size == len(vocabulary.tokens) == facts["size"] == size
    assert facts["invalid_utf8"] == invalid
    assert facts["single_bytes"] == 256
    assert facts["holes"] == facts["empty"] == 0
    assert vocabulary.eos_ids == eos
    assert all(vocabulary.token_bytes(i) is None for i in vocabulary.special_ids.values())
    assert vocabulary == Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", name, "tokenizer.json"))


def test_real_round_trip(real: tuple[str, Vocabulary]) -> None:
    pytest.importorskip("tokenizers")
    _, vocabulary = real
    texts = TEXTS + [
        text for language in ("python", "java", "go", "javascript") for text in program_texts(language, 10)
    ]
    texts += [line for text in program_texts("cpp", 10) for line in text.splitlines()]
    for text in texts:
        ids = vocabulary.encode(text)
        assert vocabulary.decode(ids) == text.encode(), text
        greedy = vocabulary.encode_bytes_greedy(text.encode())
        assert vocabulary.decode(greedy) == text.encode(), text


def test_real_encoding_is_canonical(real: tuple[str, Vocabulary]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    name, vocabulary = real
    reference = tokenizers.Tokenizer.from_file(str(require_shared("data", "tokenizers", name, "tokenizer.json")))
    for text in program_texts("python", 50):
        assert vocabulary.encode(text) == reference.encode(text, add_special_tokens=False).ids


def test_real_agrees_with_the_decoder(real: tuple[str, Vocabulary]) -> None:
    """Every token between two others: its bytes are what the library's decoder prints there."""
    tokenizers = pytest.importorskip("tokenizers")
    name, vocabulary = real
    reference = tokenizers.Tokenizer.from_file(str(require_shared("data", "tokenizers", name, "tokenizer.json")))
    (x,) = vocabulary.encode_bytes_greedy(b"x")
    ids = [i for i, token in enumerate(vocabulary.tokens) if token is not None]
    for token_id, text in zip(ids, reference.decode_batch([[x, token_id, x] for token_id in ids]), strict=True):
        token = vocabulary.token_bytes(token_id)
        assert token is not None
        if "\ufffd" not in text:
            assert text.encode() == b"x" + token + b"x"
        elif token.decode("utf-8", "replace") != text[1:-1]:
            # A byte-fallback decoder prints one U+FFFD for each byte.
            assert len(token) == len(text) - 2
    for token_id in vocabulary.special_ids.values():
        assert reference.decode([x, token_id, x], skip_special_tokens=True) in ("xx", "x x")


def test_transformers_from_a_local_folder(real: tuple[str, Vocabulary]) -> None:
    transformers = pytest.importorskip("transformers")
    name, expected = real
    loaded = transformers.PreTrainedTokenizerFast.from_pretrained(str(require_shared("data", "tokenizers", name)))
    vocabulary = Vocabulary.from_transformers(loaded)
    assert vocabulary.tokens == expected.tokens
    assert vocabulary.eos_ids == expected.eos_ids
    assert vocabulary.special_ids == expected.special_ids
    for text in TEXTS:
        assert vocabulary.decode(vocabulary.encode(text)) == text.encode()
    assert Vocabulary.from_transformers(loaded, size=expected.size + 100).size == expected.size + 100


def test_fingerprint_is_the_same_in_another_process(real: tuple[str, Vocabulary]) -> None:
    name, vocabulary = real
    path = require_shared("data", "tokenizers", name)
    code = (
        "import sys; from derivable.vocabulary import Vocabulary;"
        "print(Vocabulary.from_tokenizer_json(sys.argv[1]).fingerprint)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "7"}
    output = subprocess.run(
        [sys.executable, "-c", code, str(path)], env=environment, capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == vocabulary.fingerprint
