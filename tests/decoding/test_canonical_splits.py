"""Are masks of canonical tokens those of the definition, where a pattern splits texts before they are merged?"""

from __future__ import annotations

import itertools
import json
import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from small_bpe import splitting, trained

import derivable as dv
from derivable.canonical import search
from derivable.canonical.search import search_of
from derivable.frontends.regex import parse_regex
from derivable.vocabularies.splitting import Splitter

tokenizers = pytest.importorskip("tokenizers")

LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
PATTERNS = {
    "llama-3": LLAMA_3,
    "gpt-2": GPT_2,
    "blanks": r"\s+(?!\S)|\s+|[a-c]+|[^a-c\s]",
    "far ahead": r"a[ab]*1|[ab]| +\n| |[^ab ]",
    "lazy": r"[ab]+?b| ?[^ ]| ",
    "ahead of two": r"a+(?!ab|1)|[ab]|[^ab]",
}


def tokenize(path: Path) -> Any:
    made = tokenizers.Tokenizer.from_file(str(path))
    made.encode_special_tokens = True
    return lambda text: tuple(made.encode(text, add_special_tokens=False).ids)


def defined(texts: list[str], encode: Any) -> dict[tuple[int, ...], set[int]]:
    """The masks behind all beginnings of tokenizations of a language's texts, by the definition; 0 is the end."""
    masks: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for text in texts:
        ids = encode(text)
        for at, token in enumerate((*ids, 0)):
            masks[ids[:at]].add(token)
    return masks


def assert_as_defined(constraint: dv.Constraint, masks: dict[tuple[int, ...], set[int]], most: int = 10**9) -> None:
    matcher = constraint.matcher()
    for ids, allowed in sorted(masks.items(), key=lambda item: item[0])[:most]:
        matcher.reset()
        for token in ids:
            matcher.advance(token)
        assert set(matcher.allowed_tokens().tolist()) == allowed, ids


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("seed", range(4))
def test_masks_are_those_of_the_definition(tmp_path: Path, seed: int, name: str, alone: bool) -> None:
    alphabet = "ab 1\n's"
    path = splitting(tmp_path / "tokenizer.json", seed, PATTERNS[name], alphabet, alone=alone)
    vocabulary, encode = dv.Vocabulary.from_tokenizer_json(path, eos=[0]), tokenize(path)
    for characters, most in ((alphabet, 3), ("a \n", 5), ("a1 ", 5), ("'s a", 4)):
        texts = ["".join(text) for n in range(1, most + 1) for text in itertools.product(characters, repeat=n)]
        shown = characters.replace("\n", "\\n")
        constraint = dv.compile(dv.Grammar.from_regex(f"[{shown}]{{1,{most}}}"), vocabulary, canonical=True)
        assert_as_defined(constraint, defined(texts, encode))
        assert not search_of(constraint).undecided


@pytest.mark.parametrize("name", ["llama-3", "far ahead", None])
@pytest.mark.parametrize("seed", range(4))
def test_bytes_that_are_asked_for_behind_all_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, name: str | None
) -> None:
    """Masks of large vocabularies, where a byte settles most tokens at once, as if these were large."""
    for bound, value in (("_FEW", 0), ("_MANY", 0), ("_MOST_PROBED", 8)):
        monkeypatch.setattr(search, bound, value)
    alphabet = "ab \n" if name else "abc "
    if name:
        path = splitting(tmp_path / "tokenizer.json", seed, PATTERNS[name], alphabet + "é", alone=bool(seed % 2))
    else:
        path = trained(tmp_path / "tokenizer.json", seed)
    vocabulary, encode = dv.Vocabulary.from_tokenizer_json(path, eos=[0]), tokenize(path)
    for characters, most in ((alphabet, 4), ("a é", 3)):
        texts = ["".join(text) for n in range(1, most + 1) for text in itertools.product(characters, repeat=n)]
        shown = characters.replace("\n", "\\n")
        constraint = dv.compile(dv.Grammar.from_regex(f"[{shown}]{{1,{most}}}"), vocabulary, canonical=True)
        assert_as_defined(constraint, defined(texts, encode))
        assert search_of(constraint)._probed and not search_of(constraint).undecided


@pytest.mark.parametrize("pattern", ["blanks", "llama-3", "gpt-2"])
def test_languages_without_a_longest_text(tmp_path: Path, pattern: str) -> None:
    """Behind short texts, masks are those of all texts that are some characters longer: no piece here is."""
    for seed in range(4):
        path = splitting(tmp_path / f"{seed}.json", seed, PATTERNS[pattern], "ab \n", merges=8)
        vocabulary, encode = dv.Vocabulary.from_tokenizer_json(path, eos=[0]), tokenize(path)
        every = ["".join(text) for n in range(9) for text in itertools.product("ab ", repeat=n)]
        lines = ["a" * n + "".join(" " * m + "\n" for m in each) for n in range(6) for each in blanks(9)]
        for regex, texts in (("[ab ]*", every), (r"a*( +\n)*", lines)):
            constraint = dv.compile(dv.Grammar.from_regex(regex), vocabulary, canonical=True)
            masks = defined(texts, encode)
            short = {ids: allowed for ids, allowed in masks.items() if len(vocabulary.decode(ids)) <= 2}
            assert_as_defined(constraint, short)


def blanks(most: int) -> list[list[int]]:
    """Lists of numbers from 1 on with a sum, each one more, of at most `most`."""
    found, work = list[list[int]](), [list[int]()]
    while work:
        each = work.pop()
        found.append(each)
        work += [[*each, m] for m in range(1, most - sum(each) - len(each))]
    return found


def test_special_tokens_end_a_text(tmp_path: Path) -> None:
    """What is before a special token is tokenized as a whole text, and so is what is behind it."""
    path = splitting(tmp_path / "tokenizer.json", 5, LLAMA_3, "ab \n")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["added_tokens"].append(document["added_tokens"][0] | {"id": 30, "content": "<sep>"})
    path.write_text(json.dumps(document), encoding="utf-8")
    vocabulary, encode = dv.Vocabulary.from_tokenizer_json(path, eos=[0]), tokenize(path)
    texts = ["".join(text) for n in range(1, 4) for text in itertools.product("ab ", repeat=n)]
    tokenizations = [(*encode(one), 30, *encode(other)) for one in texts for other in texts]
    masks: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for ids in tokenizations:
        for at, token in enumerate((*ids, 0)):
            masks[ids[:at]].add(token)
    grammar = dv.Grammar.from_lark("start: /[ab ]{1,3}/ <sep> /[ab ]{1,3}/", dialect="llguidance")
    constraint = dv.compile(grammar, vocabulary, canonical=True)
    assert_as_defined(constraint, masks)


def test_a_search_has_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be decided within them is allowed, and texts are complete all the same."""
    path = splitting(tmp_path / "tokenizer.json", 2, PATTERNS["far ahead"], "ab 1\n")
    vocabulary, encode = dv.Vocabulary.from_tokenizer_json(path, eos=[0]), tokenize(path)
    monkeypatch.setattr(search, "_MOST_TRIED", 0)
    texts = ["".join(text) for text in itertools.product("ab 1\n", repeat=4)]
    constraint = dv.compile(dv.Grammar.from_choices(texts), vocabulary, canonical=True)
    masks, rng, canonical = defined(texts, encode), random.Random(0), 0
    for _ in range(200):
        matcher, ids = constraint.matcher(), list[int]()
        while not matcher.is_finished:
            allowed = matcher.allowed_tokens().tolist()
            assert masks.get(tuple(ids), set()) <= set(allowed) and allowed
            token = rng.choice(allowed)
            matcher.advance(token)
            ids += [token] if token else []
        canonical += encode(vocabulary.decode(ids).decode()) == tuple(ids)
    assert search_of(constraint).undecided and 0 < canonical < 200


def test_threads_side_by_side(tmp_path: Path) -> None:
    """One constraint, new to all of them."""
    path = splitting(tmp_path / "tokenizer.json", 3, LLAMA_3, "ab 1\n's", alone=True)
    vocabulary, encode = dv.Vocabulary.from_tokenizer_json(path, eos=[0]), tokenize(path)
    constraint = dv.compile(dv.Grammar.from_regex(r"[ab 1\n's]{1,9}"), vocabulary, canonical=True)

    def walks(seed: int) -> bool:
        rng, canonical = random.Random(seed), True
        for _ in range(30):
            matcher, ids = constraint.matcher(), list[int]()
            while not matcher.is_finished:
                token = rng.choice(matcher.allowed_tokens().tolist())
                matcher.advance(token)
                ids += [token] if token else []
            canonical &= encode(vocabulary.decode(ids).decode()) == tuple(ids)
        return canonical

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(walks, range(8)))


def test_texts_that_a_matcher_spells() -> None:
    """What canonical masks are made from: texts behind tokens, whatever a budget says."""
    vocabulary = dv.Vocabulary.from_bytes([b"a", b"b", None], eos=[2])
    constraint = dv.compile(dv.Grammar.from_regex("a(bb)*"), vocabulary)
    matcher = constraint.matcher(max_tokens=2)
    assert matcher.spells([b"", b"a", b"ab", b"abb", b"b", b"abbb"]) == bytes([1, 2, 1, 2, 0, 1])
    matcher.advance(0)
    assert matcher.spells((b"b", b"bb", b"")) == bytes([1, 2, 2]) and matcher.spells([]) == b""
    assert not matcher.allows(1)
    free = dv.Matcher.__new__(dv.Matcher)
    free.constraint = constraint
    dv._kernel.Matcher.__init__(free, constraint._kernel, state=matcher.state(budget=False))
    assert free.tokens_left is None and free.allows(1)
    for wrong in (None, b"ab", "ab", [1], ["a"], 5):
        with pytest.raises(dv.ArgumentError):
            matcher.spells(wrong)  # type: ignore[arg-type]
    matcher.advance(2)
    assert matcher.spells([b"", b"b"]) == bytes(2)


def test_beginnings_of_characters_that_no_piece_goes_on_with() -> None:
    """As of a token of Qwen 2 that is a letter and the first byte of planes without letters: it ends every way."""
    splitter = Splitter(parse_regex(r"[a-zé]+|[^a-zé]+"))
    letters = splitter.run(splitter.start, b"a")
    assert splitter.step(letters, 0xF3) == splitter.step(letters, 0xE2) == -1
    assert splitter.step(letters, 0xC3) >= 0, "an é begins with it"
    assert splitter.run(letters, b"\xc3\xa8") == -1
    assert splitter.run(splitter.run(splitter.start, b"!"), b"\xf3\xa0\x80\x80") >= 0
