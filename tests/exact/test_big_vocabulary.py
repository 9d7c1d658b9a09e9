"""Masks over vocabularies too big for the oracles: every bit against the matcher's own byte-by-byte verdict.

`allows` steps through a token's bytes and never uses the index, so whatever the index does to be fast on large tries
(splitting by difference from a similar state, taking whole subtrees, merging residuals by branch) shows here.
"""

from __future__ import annotations

import random

import pytest
from big_vocabulary import check, synthetic_vocabulary
from shared_data import require_shared

import derivable as dv
from derivable.grammar import Lexing

KEYWORDS = r"""
start: statement+
statement: "if" NAME ":" | "import" NAME ";" | "in" NUMBER | NAME "=" value ";" | "return" value? ";"
value: NAME | NUMBER | STRING | "(" value ")"
NAME: /(?!(?:if|import|in|return)(?![a-z0-9_]))[a-z_][a-z0-9_]*/
NUMBER: /[0-9]+(\.[0-9]+)?(e[0-9]+)?/
STRING: /"([^"\\\n]|\\.)*"/
COMMENT: /#[^\n]*/
WS: /[ \n]+/
%ignore WS
%ignore COMMENT
"""
OBJECT = r"""
root ::= "{" member ("," member)* "}"
member ::= "\"name\":" string | "\"note\":" string | "\"number\":" [0-9]+ | string ":" string
string ::= "\"" ([^"\\] | "\\" ["\\nu])* "\""
"""
# Every position of every token may end a lexeme: there are too many segmentations to list.
AMBIGUOUS = r"""
start: "<" start ">" | start WORDS | start NAME | WORDS | NAME
WORDS: /[^"<>]+/
NAME: /[a-z ]+/
"""
# Contexts that differ in a few terminals, and tokens that are cut in several ways: splits are made of those of others.
OPERATORS = r"""
start: (NAME "=" e ";" | "if" e ":" | "in" "(" e ")" "{" e "}" | "(" ")" NAME ";" | "[" e ("," e)* "]")*
e: NAME | NUMBER | e "-" e | "-" e | NAME "--" | "--" NAME | "(" e ")" | NAME "(" (e ("," e)*)? ")" | NAME "." NAME
NAME: /[a-z_][a-z0-9_]*/
NUMBER: /[0-9]+/
WS: /[ \n]+/
%ignore WS
"""
# Texts of any characters, of nearly any, and of letters.
CHARACTERS = r"""
start: (STRING ";" | NAME "=" REST | MARK NAME)*
NAME: /[^\W\d]\w*/
STRING: /"[^"\n]*"/
REST: /%[^\n\u2028\ufeff]*\n/
MARK: /![^\n]*(?!.)/
COMMENT: /#[^\n\u0085]*/
%ignore COMMENT
%ignore /[ \n]+/
"""
CASES = {
    "keywords longest": (dv.Grammar.from_lark(KEYWORDS), 'if abc: x=12.5; # c\nimport in2; return ("a\\"b");'),
    "keywords basic": (dv.Grammar.from_lark(KEYWORDS, lexing="basic"), "if abc: x=12.5; # c\nimport in2;"),
    "keywords scannerless": (dv.Grammar.from_lark(KEYWORDS, lexing="scannerless"), 'if abc: x=12.5;return ("a\\"b");'),
    "operators longest": (
        dv.Grammar.from_lark(OPERATORS),
        "a=b--- --c;if -(x-y):in(n.a-a(b-1,x--)){- --u}() t;[a,(b),-c(--d)]f=a(",
    ),
    "operators basic": (
        dv.Grammar.from_lark(OPERATORS, lexing="basic"),
        "a=b--- --c;if -(x-y):in(n.a-a(b-1,x--)){- --u}() t;",
    ),
    "object": (dv.Grammar.from_gbnf(OBJECT), '{"name":"a b","number":12,"nam":"x\\"y","notes":"é"}'),
    "ambiguous": (dv.Grammar.from_lark(AMBIGUOUS, lexing="scannerless"), "<ab c>"),
    # Many members are split together; letters of their own in patterns that may stand anywhere.
    "keys that overlap": (
        dv.Grammar.from_json_schema(
            {"patternProperties": {c: {"maxLength": i + 2} for i, c in enumerate("xnae_")}}, profile="spec"
        ),
        '{"x":"ab","b":"name","tn 1":"né\\n","é":12,"\\u0061b":"i"}',
    ),
    "unions of patterns": (
        dv.Grammar.from_json_schema(
            {"anyOf": [{"pattern": p} for p in ("a.{3}$", "^[^i]*r", "né|x", r"\d{2}b", "e$")]}, profile="spec"
        ),
        '"i né aarx_12b\\u00e9 rte"',
    ),
    "a word anywhere": (dv.Grammar.from_json_schema({"pattern": "name|retür"}, profile="spec"), '"i nretür\\t é imp"'),
    # A letter that leads back to where it is read leads nowhere from where another one leads to.
    "words nowhere": (
        dv.Grammar.from_json_schema({"pattern": "^(?!.*est).*$"}, profile="spec"),
        '"a xx_2 né \\u00e9 inres ip"',
    ),
    "counted": (dv.Grammar.from_json_schema({"pattern": "^.{24}$"}, profile="spec"), '"a name inré_é\\u00e9-rt-imp3'),
    "counted among others": (
        dv.Grammar.from_json_schema(
            {"pattern": r"^[^;\s]{3,9};([^;]{2,7};){0,2}(?!.*ab)[ -zé]{1,20}$"}, profile="spec"
        ),
        '"aen\\u00e9_b;name;né ar;bax_ name é',
    ),
    # Two states, each the most similar to the other.
    "alternating": (dv.Grammar.from_regex(r"[^=]*[a-z0-9_]=x"), "d e z a="),
    "regex": (dv.Grammar.from_regex(r'"([^"\\\n]|\\["\\n])*" [a-z]{2,9}(-[a-z0-9]+)*'), '"ab \\"c" abc-d1-x'),
}


@pytest.mark.parametrize("name", CASES)
def test_synthetic(name: str) -> None:
    check(*CASES[name], synthetic_vocabulary())


def characters_vocabulary(seed: int = 7, size: int = 4000) -> dv.Vocabulary:
    """Tokens of characters of one to four bytes, many of which begin or end within one, or are no text at all."""
    rng = random.Random(seed)
    common = 'a9_ ";#%é漢字한д'
    rare = "=!\n\u0080\u0085\u07ff\u0e01\u2028\u3000\u4dff\ud7ff\ue000\ufeff\uffff\U0001f600\U0010ffff"
    tokens = {bytes([b]) for b in range(256)} | {b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe0\x80\x80"}
    while len(tokens) < size:
        data = "".join(rng.choice(common if rng.random() < 0.8 else rare) for _ in range(rng.randint(1, 4))).encode()
        begin, end = (rng.choice([0, 0, 1, 2]) for _ in range(2))
        tokens.add(data[begin : len(data) - end] or b"a")
    return dv.Vocabulary.from_bytes([*sorted(tokens), b"<eos>"], eos=[len(tokens)])


@pytest.mark.parametrize("lexing", ["longest", "basic", "scannerless"])
def test_characters_of_several_bytes(lexing: Lexing) -> None:
    text = '"a漢é\u2028"; д한=%字a\n #é\n !漢 \nx'
    check(dv.Grammar.from_lark(CHARACTERS, lexing=lexing), text, characters_vocabulary())


@pytest.mark.parametrize("pattern", [".{1,12}", "[^%é]{2,7}字?.{3}", "(?!.*é.?é)([^;]{1,3};){0,3}"])
def test_counted_characters_of_several_bytes(pattern: str) -> None:
    check(
        dv.Grammar.from_json_schema({"pattern": f"^{pattern}$"}, profile="spec"),
        '"a漢\U0001f600;д;',
        characters_vocabulary(),
    )


@pytest.fixture(scope="module")
def llama_3() -> dv.Vocabulary:
    return dv.Vocabulary.from_tokenizer_json(require_shared("data", "tokenizers", "llama-3") / "tokenizer.json")


@pytest.mark.parametrize("name", CASES)
def test_llama_3(name: str, llama_3: dv.Vocabulary) -> None:
    check(*CASES[name], llama_3, step=9)
