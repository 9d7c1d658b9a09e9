"""Token healing: the mask of a healed prompt, and what is taken back."""

from __future__ import annotations

import numpy as np
import pytest
from fixed_models import FixedModel, compiled
from numpy.typing import NDArray

import derivable as dv
from derivable.decoding.healing import Healing, take_back

HEALED = [b"h", b"t", b"p", b":", b"/", b"//", b"://", b"http", b"http:", b":/", b"a", b"/a", b"p:", None]
HEALED_VOCABULARY = dv.Vocabulary.from_bytes(HEALED, eos=[13])


@pytest.mark.parametrize("pattern", ["//a", "(//)?a*", "[/a]{0,4}", "/", "p"])
@pytest.mark.parametrize("rest", [b":", b"p:", b"tp:", b"http:", b"/"])
def test_the_mask_of_a_healed_prompt_is_that_of_the_prefix_and_the_grammar(pattern: str, rest: bytes) -> None:
    def check(healing: Healing, matcher: dv.Matcher, depth: int) -> None:
        bitmask = dv.allocate_bitmask(1, HEALED_VOCABULARY.size)
        healing.fill_bitmask(bitmask)
        allowed = [t for t in range(14) if bitmask[0, 0] >> t & 1]
        assert allowed == matcher.allowed_tokens().tolist()
        for token in range(14):
            after = Healing(HEALED_VOCABULARY, healing.matcher and healing.matcher.fork(), healing.rest)
            if token not in allowed:
                with pytest.raises(dv.TokenRejectedError):
                    after.advance(token)
                assert after.rest == healing.rest
                continue
            after.advance(token)
            whole = matcher.fork()
            whole.advance(token)
            if after.rest and depth:
                check(after, whole, depth - 1)
            elif not after.rest and after.matcher is not None:
                assert after.matcher.allowed_tokens().tolist() == whole.allowed_tokens().tolist()

    literal = rest.decode().replace("/", "\\/")
    inner = compiled(pattern, HEALED_VOCABULARY)
    check(
        Healing(HEALED_VOCABULARY, inner.matcher(), rest),
        compiled(f"{literal}({pattern})", HEALED_VOCABULARY).matcher(),
        3,
    )


def test_what_is_taken_back() -> None:
    def taken(prompt: list[int], pattern: str | None) -> tuple[int, bytes]:
        matcher = None if pattern is None else compiled(pattern, HEALED_VOCABULARY).matcher()
        return take_back(HEALED_VOCABULARY, prompt, matcher)

    assert taken([10, 7, 3], "//a") == (2, b":")  # `://` is a token
    assert taken([10, 7, 3], "a") == (3, b"")  # nothing begins with `:a`
    assert taken([10, 7, 3], None) == (2, b":")
    assert taken([3], "//a") == (1, b"")  # the first token stays
    assert taken([10, 13, 3], "//a") == (2, b":") and taken([10, 3, 13], "//a") == (3, b"")
    assert taken([10, 10, 0, 1, 1, 2], ":a?") == (2, b"http")  # the longest that one token could cover with more
    assert taken([10, 0, 99], "a") == (3, b"")  # not of the vocabulary


def test_a_healed_generation() -> None:
    def logits(ids: list[int]) -> NDArray[np.float32]:
        row = np.zeros(14, np.float32)
        row[6 if ids[-1] == 7 else 10] = 5  # `://` behind `http`, then a
        return row

    model = FixedModel(logits)
    model.vocabulary = HEALED_VOCABULARY
    constraint = compiled("//a{2}", HEALED_VOCABULARY)
    result = dv.generate(model, [10, 7, 3], constraint, temperature=0)
    assert (result.text, result.healed, result.prompt_ids) == ("//aa", b":", [10, 7])
    assert result.token_ids[0] == 6 and result.stats.interventions == 0
    assert result.trace.prompt + "".join(step.text for step in result.trace) == "ahttp://aa"
    assert dv.generate(model, [10, 7, 3], constraint, temperature=0, heal=False).token_ids[0] in (5, 4)
    pieces: list[bytes] = []
    dv.generate(model, [10, 7, 3], constraint, temperature=0, on_token=lambda _, data: pieces.append(data))
    assert b"".join(pieces) == b"//aa"
    for seed in range(30):
        for pattern in ("//a{2}", "(/|a){1,4}", "a*"):
            made = dv.generate(model, [10, 7, 3], compiled(pattern, HEALED_VOCABULARY), seed=seed, max_tokens=30)
            assert HEALED_VOCABULARY.decode([*made.prompt_ids, *made.token_ids]) == b"ahttp:" + made.text_bytes
            whole = compiled(pattern, HEALED_VOCABULARY).matcher()
            whole.advance_bytes(made.text_bytes)
            assert whole.is_accepting and made.finish_reason == "stop"
    cut = dv.generate(model, [10, 7, 3], constraint, temperature=0, max_tokens=1, finish=False)
    assert cut.text == "//" and not cut.is_complete
