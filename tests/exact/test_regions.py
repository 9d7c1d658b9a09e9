"""Dead ends where the inside of a string would swallow all that stands outside of it (docs/design/liveness.md).

Grammars of templates are like that: quotes, text, `${`, an expression, `}`. Whatever is acceptable in an expression
loses against the text inside of quotes, but never meets it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import lark
import numpy as np
import pytest
from families import Case, sample
from paths import TESTDATA
from region_grammars import region_cases
from shared_data import require_shared
from test_exact import Comparison

import derivable as dv

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
HCL2 = (TESTDATA / "lark/hcl2.lark").read_text()
NETWORK = (TESTDATA / "lark/network.tf").read_text()
IN_SMALL = r"""
start: (nl? item)* nl?
item: NAME EQ sum | NAME (NAME | string)* "{" nl? (item nl?)* "}"
sum: sum "+" nl? value nl? | value
value: "(" nl? sum nl? ")" | NAME | string | "[" nl? (sum nl? "," nl?)* (sum nl?)? "]"
  | "{" nl? (NAME EQ sum nl?)* "}" | NAME "(" (sum ",")* sum? ")" | value "[" nl? sum nl? "]" | value "." NAME
string: QUOTE (CHARS | "${" sum "}")* QUOTE
nl: NL+
EQ: /[ ]*=(?!=)/
QUOTE: "\""
CHARS: /[^"$]+/
NAME: /[a-z]+/
NL: /\n/
%ignore " "
"""


def without_heredocs(grammar: str) -> str:
    """A heredoc ends with the tag that it began with: no terminal of a grammar does that."""
    kept = [line for line in grammar.splitlines() if "heredoc" not in line.lower() or line.startswith("//")]
    return "\n".join(kept)


def with_tags(grammar: str) -> str:
    """With heredocs of one tag, which are regular."""
    bodies = {
        "HEREDOC_TEMPLATE ": r"/<<EOF\n(?:(?:.|\n)*?\n)??EOF\n/",
        "HEREDOC_TEMPLATE_TRIM ": r"/<<-EOF\n(?:.|\n)*?\n\s*EOF\n/",
    }
    lines = []
    for line in grammar.splitlines():
        name, colon, body = line.partition(":")
        lines.append(name + colon + bodies.get(name, body))
    return "\n".join(lines)


HEREDOC = """locals {
  m = { for k, v in var.m : k => v... }
  t = <<EOF
hello
EOF
  n = a / b
}
"""


def first_masks(constraint: dv.Constraint, tokens: Sequence[int]) -> dv.Matcher:
    """Every mask of a text, each asked for once: what it takes is bounded by the constraint's limits."""
    matcher, bitmask = constraint.matcher(), dv.allocate_bitmask(1, constraint.vocabulary.size)
    for token in tokens:
        matcher.fill_bitmask(bitmask)
        assert bitmask[0, token >> 5] >> (token & 31) & 1, token
        matcher.advance(token)
    return matcher


def compare(cases: list[Case]) -> None:
    for case in cases:
        comparison = Comparison(case)
        comparison.run()
        assert comparison.undecided == 0


@pytest.mark.parametrize("part", range(6))
def test_family(part: int) -> None:
    compare(sample(list(region_cases()), 12)[part::6])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(60))
def test_large_family(part: int) -> None:
    compare(sample(list(region_cases()), 600)[part::60])


def test_in_small() -> None:
    """It met the bound on dead ends behind the first quote, however often it was asked."""
    constraint = dv.compile(dv.Grammar.from_lark(IN_SMALL), BYTES, limits=dv.Limits(max_step_work=500_000))
    for text in ('a b "c" {\n d = [1, x]\n}\n'.replace("1", "y"), 'a = {b = ("x${f(y) + "${z}"}" + c[d.e])}\n'):
        assert first_masks(constraint, text.encode()).is_accepting


BRACKETS = {
    "quotes": ('"b"', '"b"', ""),
    "a pair": ('"b"', '"c"', ""),
    "two openers": ("/b|d/", '"b"', ""),
    "longer": ('"bb"', '"b"', ""),
    "others beside them": ('"b"', '"b"', 'r: L N? M\nL: "l"\nM: "m"'),
    "others that do not nest": ('"b"', '"b"', 'r: L N M L M | M L L M\nL: "l"\nM: "m"'),
}


@pytest.mark.parametrize("name", BRACKETS)
def test_brackets_are_found_or_not(name: str) -> None:
    """Whatever opens and closes, and whether it nests or not: what Lark reads is allowed, token by token, and ends."""
    opening, closing, rest = BRACKETS[name]
    source = f"""start: (N | s {"| r" if rest else ""})+
s: O (C | I start E)* Z
O: {opening}
Z: {closing}
C: /[^bc${{}}]+/
I: "${{"
E: "}}"
N: /a+/
{rest}
%ignore " "
"""
    begin, end = {"/b|d/": "d"}.get(opening, opening.strip('"')), closing.strip('"')
    text = f"a {begin}a x${{a {begin}{end}}} y{end} a"
    lark.Lark(source, parser="earley").parse(text)
    assert first_masks(dv.compile(dv.Grammar.from_lark(source), BYTES), text.encode()).is_accepting


def vocabulary() -> dv.Vocabulary:
    return dv.Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", "llama-3", "tokenizer.json"))


def test_hcl2_with_a_real_vocabulary() -> None:
    """Each mask along a real text, at its first visit, takes no more than one call may: some milliseconds."""
    limits = dv.Limits(max_step_work=1_000_000)
    vocab = vocabulary()
    for source, text in ((without_heredocs(HCL2), NETWORK), (with_tags(HCL2), HEREDOC)):
        constraint = dv.compile(dv.Grammar.from_lark(source), vocab, limits=limits)
        assert first_masks(constraint, vocab.encode(text)).is_accepting


def test_hcl2_ends_and_is_what_lark_reads() -> None:
    source = without_heredocs(HCL2)
    vocab = vocabulary()
    constraint = dv.compile(dv.Grammar.from_lark(source), vocab)
    by_bytes = dv.compile(dv.Grammar.from_lark(source), BYTES)
    reference = lark.Lark(source, parser="lalr")
    liked = sorted(set(vocab.encode(NETWORK)))
    bitmask = dv.allocate_bitmask(1, vocab.size)

    def reads(text: str) -> bool:
        try:
            reference.parse(text)
        except lark.exceptions.LarkError:
            return False
        return True

    def accepts(text: str) -> bool:
        matcher = by_bytes.matcher()
        try:
            matcher.advance_bytes(text.encode())
        except dv.TokenRejectedError:
            return False
        return matcher.is_accepting

    texts = [NETWORK]
    for seed in range(30):
        rng = random.Random(seed)
        matcher, written = constraint.matcher(max_tokens=rng.choice((12, 30, 60))), b""
        while not matcher.is_finished:
            matcher.fill_bitmask(bitmask)
            allowed = np.flatnonzero(np.unpackbits(bitmask[0].view(np.uint8), bitorder="little"))
            chosen = [t for t in rng.sample(liked, 30) if bitmask[0, t >> 5] >> (t & 31) & 1]
            token = int(rng.choice(chosen) if chosen and rng.random() < 0.9 else rng.choice(allowed))
            matcher.advance(token)
            written += vocab.token_bytes(token) or b""
        text = written.decode(errors="replace").removesuffix("<|end_of_text|>")
        if "\N{REPLACEMENT CHARACTER}" not in text:
            assert reads(text), text
            texts.append(text)
    rng = random.Random(0)
    for text, sign in itertools.product(texts, ["", " ", "\n", '"', "${", "}", "{", "="]):
        at = rng.randrange(len(text))
        changed = text[:at] + sign + text[at + (not sign) :]
        assert accepts(changed) == reads(changed), changed


def test_a_heredoc_is_refused_with_a_way_out() -> None:
    with pytest.raises(dv.UnsupportedFeatureError, match="backreference") as caught:
        dv.Grammar.from_lark(HCL2)
    assert caught.value.source is not None and caught.value.span is not None
    assert HCL2[slice(*caught.value.span)] == "(?P=" and "tag of a heredoc" in str(caught.value.hint)
