"""Is what the grammar of HTML takes read by html5lib without a parse error, tags and attributes included?"""

from __future__ import annotations

import random
from functools import cache
from html.entities import html5

import pytest
from accepting import BYTES, accepts, random_rest
from piece_walks import check_mask, small, walk
from references import REFERENCES

import derivable as dv
from derivable.testing import check_meaning


def grammar(extend: str = "") -> dv.Grammar:
    return dv.Grammar.builtin("html", well_formed=True, extend=extend)


@cache
def compiled() -> dv.Constraint:
    return dv.compile(grammar(), BYTES)


ACCEPTED = [
    "<p>a</p>",
    "<x-a><X-A></x-a></X-a>",
    "<x-a><x-b></x-b><x-c></x-c></x-a>",
    "<p a=1 b=2><b a=1></b></p>",
    "<img a=1/><img a=1><br a=1 />",
    "<svg a=1><path a=1 /><g a=1></g></svg>",
]

REFUSED = {  # text: the first byte that cannot stand
    "<x-a></x-b>": 9,
    "<x-a><x-b></x-a></x-b>": 14,
    "<x-a></x-ab>": 10,
    "<p a=1 a=2></p>": 8,
    "<p Data=1 dATA=2></p>": 14,
    "<br a a>": 7,
    "<svg><path d=a d=b /></svg>": 16,
}


@pytest.mark.parametrize("text", ACCEPTED)
def test_documents_are_taken(text: str) -> None:
    assert accepts(compiled(), text)
    assert REFERENCES["html"]()([text.encode()]) == [True]


@pytest.mark.parametrize("text", REFUSED)
def test_what_does_not_match_is_refused_where_it_stands(text: str) -> None:
    assert accepts(dv.compile(dv.Grammar.builtin("html"), BYTES), text)
    matcher, data = compiled().matcher(), text.encode()
    matcher.advance_bytes(data[: REFUSED[text]])
    assert not matcher.allows(data[REFUSED[text]])
    assert REFERENCES["html"]()([data]) == [False]


def test_an_end_tag_repeats_the_name() -> None:
    for text, end in (("<section><p>a</", b"p"), ("<my-tab>a</", b"my-tab")):
        matcher = compiled().matcher()
        matcher.advance_bytes(text.encode())
        assert set(matcher.allowed_tokens().tolist()) == set(end[:1] + end[:1].upper())


def test_characters_by_number_are_those_that_a_page_may_have() -> None:
    reference = REFERENCES["html"]()
    codes = [0, 1, 8, 9, 10, 12, 13, 31, 32, 38, 126, 127, 159, 160, 55295, 55296, 57343, 57344, 64975, 64976, 65007]
    codes += [65008, 65533, 65534, 65535, 65536, 131069, 131070, 131072, 983040, 1114109, 1114110, 1114111, 1114112]
    for code in codes:
        for text in (f"&#{code};", f"&#x{code:x};", f"&#X00{code:X};", f"<p a=&#{code};></p>"):
            if code not in (12, 0x1FFFE):  # a form feed is white space; html5lib does not know this one
                assert accepts(compiled(), text) == reference([text.encode()])[0], text


def test_names_of_characters_are_names() -> None:
    matcher = compiled().matcher()
    matcher.advance_bytes(b"&")
    known = {name for name in html5 if name.endswith(";") and accepts(compiled(), f"&{name}")}
    assert {"amp;", "lt;", "nbsp;", "copy;", "apos;", "Eacute;"} <= known and len(known) == 253


PIECES = [
    *(
        "<div id=a class='b c'>",
        "</div>",
        "<p>some <b>bold</b> text</p>",
        "<p>",
        "</p>",
        "<ul><li>one</li></ul>",
        "<ul>",
    ),
    *(
        "<li>",
        "</li>",
        "</ul>",
        "<table><tr><td>1</td></tr></table>",
        "<table>",
        "<tr>",
        "<td>",
        "</td></tr>",
        "</table>",
    ),
    *("<img src=a.png alt=''>", "<br/>", "<script>if (a < b) { }</script>", "<style>p > a {}</style>", "<!-- note -->"),
    *("<x-tab name=1>", "</x-tab>", "text & more", "&copy; ", "<svg viewBox='0 0 1 1'><path d='M0 0'/></svg>"),
    *(
        "<select><option selected>a</option></select>",
        "<textarea>\n&lt;</textarea>",
        "<h1>",
        "</h1>",
        "<span>",
        "</span>",
    ),
    *(
        "<dl><dt>a</dt><dd>b</dd></dl>",
        "<ruby>a<rt>b</rt></ruby>",
        "<math><mi>x</mi></math>",
        "<template>",
        "</template>",
    ),
]
WHOLE = ["<!DOCTYPE html>\n<html lang=en>", "<head><title>a &amp; b</title></head>", "<body>", "</body></html>"]


@pytest.mark.parametrize("seed", range(4))
def test_walks_have_no_parse_errors(seed: int) -> None:
    vocab, tokenizer = small()
    constraint = dv.compile(grammar(), vocab)
    reference, rng = REFERENCES["html"](), random.Random(seed)
    texts = []
    for _ in range(8):
        pieces = PIECES + WHOLE * rng.randint(0, 4)
        texts.append(
            walk(constraint, tokenizer, pieces, rng, rng.randint(20, 150), between="", cut=rng.choice([0, 0.1]))
        )
    # A page begins with its type. `<form>`, `<a>` and `<button>` within themselves are not asked about.
    texts = [text for text in texts if not ("<html" in text.lower() and "<!doctype" not in text.lower())]
    assert len(texts) > 3
    wrong = [text for text, ok in zip(texts, reference([text.encode() for text in texts])) if not ok]
    assert [text for text in wrong if not nests(text)] == []


def nests(text: str) -> bool:
    return any(text.lower().count(f"<{name}") > 1 for name in ("form", "a", "button"))


@pytest.mark.parametrize("seed", range(2))
def test_masks_are_what_each_token_is(seed: int) -> None:
    vocab, tokenizer = small()
    constraint = dv.compile(grammar(), vocab)
    rng = random.Random(seed)
    for _ in range(4):
        text = "".join(rng.choice(PIECES) for _ in range(12))
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        check_mask(constraint, tokens[: rng.randint(1, len(tokens))])


FEW = r"""
%override start: _flow
%override _flow: ((_element{"b"i, _flow} | _custom{_flow} | _void{"br"i}))*
%override SPACE: " "
%override EQUALS: "="
%override VALUE: "a"
%override ATTRIBUTE: /[ab]{1,2}/i
%override CUSTOM: /[ab]-[ab]?/i
"""
"""Texts that are hardly anything but tags, so that names meet again."""


def test_no_beginning_is_a_dead_end() -> None:
    assert check_meaning(grammar(FEW), walks=60, longest=60) == []


def test_end_tags_that_are_owed_are_in_a_budget() -> None:
    constraint, rng = dv.compile(grammar(FEW), BYTES), random.Random(0)
    for _ in range(10):
        text = random_rest(constraint.matcher(max_tokens=50), rng)
        assert accepts(constraint, text.decode())


def test_a_state_travels() -> None:
    matcher = compiled().matcher()
    matcher.advance_bytes(b"<x-a><p A=1 b=2 ")
    resumed = compiled().resume(matcher.to_bytes())
    with pytest.raises(dv.TokenRejectedError):
        resumed.fork().advance_bytes(b"a=")
    resumed.advance_bytes(b"c></p></X-A>")
    assert resumed.is_accepting


def test_pages_in_other_texts() -> None:
    fenced = dv.compile(dv.Grammar.fenced({"html": "html"}), BYTES)
    assert accepts(fenced, "So:\n```html\n<p>a</p>\n```\n") and not accepts(fenced, "So:\n```html\n<p>a</b>\n```\n")
    schema = {"type": "string", "contentMediaType": "text/html"}
    held = dv.compile(dv.Grammar.from_json_schema(schema, contents="builtin"), BYTES)
    assert accepts(held, '"<p class=\\"a\\">b</p>"') and not accepts(held, '"<p>"')
