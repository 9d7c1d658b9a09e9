"""Does a document of XML have tags that match and attributes that differ, as expat and libxml2 see it?"""

from __future__ import annotations

import random
from functools import cache
from xml.etree import ElementTree
from xml.parsers import expat

import pytest
from accepting import BYTES, accepts
from piece_walks import check_mask, small, walk

import derivable as dv
from derivable.testing import check_meaning

ACCEPTED = [
    "<a/>",
    "<a></a>",
    "<a><b></b><b/></a >",
    "<a><a><a></a></a></a>",
    "<ab><a></a></ab>",
    "<a x='1' xx='2' y=\"3\"><b x='1'/></a>",
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE b>\n<a>x &amp; y<!-- </b> --><![CDATA[</c>]]><?d </e> ?></a>\n',
    "<a:b xmlns:a='u'><a:c a:d='1' d='2'/></a:b>",
    "<É é='&#233;'>é</É>",
]

REFUSED = {  # text: the first byte that cannot stand
    "<a></b>": 5,
    "<a></ab>": 6,
    "<ab></a>": 7,
    "<a><b></a></b>": 8,
    "<a><b></b></b>": 12,
    "<a></a><b/>": 8,
    "<a x='1' x='2'/>": 10,
    "<a><b x='1' xy='2' x='3'></b></a>": 20,
    "<É></é>": 7,
}


def parsed(text: str) -> bool:
    """By expat. Names of namespaces are no matter of XML itself."""
    try:
        expat.ParserCreate().Parse(text.encode(), True)
    except expat.ExpatError:
        return False
    return True


def grammar(extend: str = "") -> dv.Grammar:
    return dv.Grammar.builtin("xml", well_formed=True, extend=extend)


NAMES_OF_EXPAT = "%override _NAME_START: /[A-Z_a-z]/\n%override _NAME_CHARACTER: /[-.0-9A-Z_a-z]/\n"
"""It knows letters of the fourth edition. `ElementTree` wants prefixes that are declared, so there are no colons."""


@cache
def compiled() -> dv.Constraint:
    return dv.compile(grammar(), BYTES)


@pytest.mark.parametrize("text", ACCEPTED)
def test_documents_are_taken(text: str) -> None:
    assert parsed(text)
    assert checked_by_expat(text)
    assert accepts(compiled(), text)


@pytest.mark.parametrize("text", REFUSED)
def test_what_does_not_match_is_refused_where_it_stands(text: str) -> None:
    assert not parsed(text)
    assert accepts(dv.compile(dv.Grammar.builtin("xml"), BYTES), text) == (text != "<a></a><b/>")
    matcher, data = compiled().matcher(), text.encode()
    matcher.advance_bytes(data[: REFUSED[text]])
    assert not matcher.allows(data[REFUSED[text]])


def test_an_end_tag_is_forced() -> None:
    vocab = dv.Vocabulary.from_bytes([b"<list", b">", b"</", b"li", b"st", b"x", None], eos=[6])
    matcher = dv.compile(grammar(), vocab).matcher()
    matcher.advance_bytes(b"<list></")
    assert [vocab.token_bytes(token) for token in matcher.forced_tokens()][:2] == [b"li", b"st"]


FEW = r"""
%override _NAME_START: /[ab]/
%override _NAME_CHARACTER: /[ab]/
%override _misc: SPACE?
%override SPACE: " "
%override EQUALS: "="
%override VALUE: "''"
%override TEXT: "c"
%override _content: TEXT? (element TEXT?)*
"""
"""Texts that are hardly anything but tags, so that names meet again."""


def test_no_beginning_is_a_dead_end() -> None:
    assert check_meaning(grammar(FEW), walks=100, longest=60) == []


@pytest.mark.parametrize("seed", range(4))
def test_tokens_may_hold_several_tags_and_end_within_names(seed: int) -> None:
    rng = random.Random(seed)
    names = ["a", "b", "ab", "ba", "aab", "abb"]
    for _ in range(25):
        words = {bytes([byte]) for byte in b"<>/ab='c "}
        while len(words) < 40:
            x, y = rng.choice(names), rng.choice(names)
            texts = [f"<{x}></{x}><{y}/>", f"<{x}><{y}></{y}></{x}>", f"<{x} {y}='' {x}=''></{x}>", f"<{x}></{y}>"]
            text = rng.choice(texts).encode()
            begin, end = sorted(rng.sample(range(len(text) + 1), 2))
            words.add(text[begin:end])
        tokens = sorted(words)
        matcher = dv.compile(grammar(FEW), dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)])).matcher()
        for _ in range(25):
            allowed = matcher.allowed_tokens().tolist()
            assert allowed == [token for token in range(len(tokens) + 1) if matcher.allows(token)]
            if matcher.is_finished:
                break
            matcher.advance(rng.choice(allowed))


def test_a_state_travels() -> None:
    constraint = compiled()
    matcher = constraint.matcher()
    matcher.advance_bytes(b"<a><b x='1' y")
    resumed = constraint.resume(matcher.to_bytes())
    with pytest.raises(dv.TokenRejectedError):
        resumed.fork().advance_bytes(b"='2' x=")
    resumed.advance_bytes(b"='2'></b></a>")
    assert resumed.is_accepting


def test_end_tags_that_are_owed_are_in_a_budget() -> None:
    constraint = compiled()
    matcher = constraint.matcher(max_tokens=60)
    text = b""
    while not matcher.is_finished:  # as deep as it gets
        wanted = b"<abcdefgh>"[len(text) % 10]
        token = wanted if matcher.allows(wanted) else int(matcher.allowed_tokens()[0])
        matcher.advance(token)
        text += bytes([token]) if token < 256 else b""
    assert parsed(text.decode()) and text.count(b"<abcdefgh>") >= 2


PIECES = [
    "<",
    "<item",
    ' id="1"',
    " name='x'",
    ">",
    "/>",
    "</item>",
    "</",
    "<list><item id='1'>one</item><item/></list>",
    "text &amp; more",
    "<!-- a comment -->",
    "<![CDATA[ x < y ]]>",
    "<?php echo ?>",
    '<a href="u" class="c">',
    "</a>",
    '<?xml version="1.0"?>\n',
]


@pytest.mark.parametrize("seed", range(3))
def test_what_masks_lead_to_is_parsed(seed: int) -> None:
    vocab, tokenizer = small()
    constraint = dv.compile(grammar(NAMES_OF_EXPAT if seed else ""), vocab)
    check = checked_by_libxml2 if seed == 0 else checked_by_expat
    rng = random.Random(seed)
    for _ in range(60):
        text = walk(constraint, tokenizer, PIECES, rng, rng.randint(10, 120), between="")
        assert check(text), text


def checked_by_expat(text: str) -> bool:
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return False
    return True


def checked_by_libxml2(text: str) -> bool:
    etree = pytest.importorskip("lxml.etree")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=True)
    etree.fromstring(text.encode(), parser)
    # What namespaces ask beyond XML itself is theirs; and `<?xml-... ?>` is worth a warning.
    errors = [error for error in parser.error_log if error.level_name != "WARNING"]
    return all(error.domain_name == "NAMESPACE" for error in errors)


@pytest.mark.parametrize("seed", range(3))
def test_masks_are_what_each_token_is(seed: int) -> None:
    vocab, tokenizer = small()
    constraint = dv.compile(grammar(), vocab)
    rng = random.Random(seed)
    for _ in range(6):
        tokens = tokenizer.encode("".join(rng.choice(PIECES) for _ in range(12)), add_special_tokens=False).ids
        check_mask(constraint, tokens[: rng.randint(1, len(tokens))])


def test_another_language_has_no_tags() -> None:
    with pytest.raises(dv.GrammarError, match="no tags"):
        dv.Grammar.builtin("json", well_formed=True)
    with pytest.raises(dv.ArgumentError, match="well_formed"):
        dv.Grammar.builtin("xml", well_formed="yes")  # type: ignore[arg-type]
