"""Bad and hostile input: every refusal is a typed error that shows the place or says what to do, and comes quickly."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from paths import python_path

import derivable as dv
from derivable.expr import Bytes, Concat, Ref
from derivable.grammar import Terminal

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), b"</s>"], eos=[256])
Make = Callable[[], object]


def regex(pattern: str, **limits: int) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_regex(pattern), BYTES, limits=dv.Limits(**limits))


def gbnf(text: str, **limits: int) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_gbnf(text), BYTES, limits=dv.Limits(**limits))


def lark(text: str, **limits: int) -> dv.Constraint:
    return dv.compile(dv.Grammar.from_lark(text), BYTES, limits=dv.Limits(**limits))


def terminal(pattern: str, **limits: int) -> dv.Constraint:
    """Read as Python's `re` reads it, so by a table."""
    return lark(f"start: A\nA: /{pattern}/", **limits)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Of the processor; what hangs takes minutes."""
    begin = time.process_time()
    yield
    assert time.process_time() - begin < seconds


def caret(error: dv.GrammarError) -> str:
    """The text above the carets of the message."""
    lines = str(error).splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip() and set(line.strip()) == {"^"})
    begin, end = lines[at].index("^"), len(lines[at])
    return lines[at - 1][begin:end]


# What cannot be parsed: the caret stands at the place


@pytest.mark.parametrize(
    ("make", "span", "under", "words"),
    [
        pytest.param(lambda: regex("a(b"), (1, 2), "(", "missing )", id="regex-open-group"),
        pytest.param(lambda: regex("ab)"), (2, 3), ")", "unbalanced", id="regex-closed-group"),
        pytest.param(lambda: regex("x[a"), (1, 2), "[", "character set", id="regex-open-class"),
        pytest.param(lambda: regex("ab**"), (3, 4), "*", "multiple repeat", id="regex-two-stars"),
        pytest.param(lambda: gbnf('root ::= "a" @'), (13, 14), "@", "unexpected", id="gbnf-character"),
        pytest.param(lambda: gbnf('root ::= "a'), (9, 10), '"', "never closed", id="gbnf-open-string"),
        pytest.param(lambda: gbnf('x ::= "é"\nroot ::= "a" @'), (23, 24), "@", "unexpected", id="gbnf-second-line"),
        pytest.param(lambda: lark('start: "a" )'), (11, 12), ")", "cannot be parsed", id="lark-bracket"),
        pytest.param(lambda: lark("start: /a(/"), None, "(", "missing )", id="lark-regex"),
    ],
)
def test_syntax_errors_show_the_place(make: Make, span: tuple[int, int] | None, under: str, words: str) -> None:
    with pytest.raises(dv.GrammarSyntaxError, match=words.replace(")", r"\)")) as caught:
        make()
    error = caught.value
    assert span is None or error.span == span
    assert caret(error) == under
    assert error.hint and error.hint in str(error)


# What parses and means nothing


@pytest.mark.parametrize(
    ("make", "under"),
    [
        pytest.param(lambda: gbnf('root ::= "a" foo'), "foo", id="gbnf-rule"),
        pytest.param(lambda: lark('start: "a" foo'), "foo", id="lark-rule"),
        pytest.param(lambda: lark('start: "a" FOO'), "FOO", id="lark-terminal"),
    ],
)
def test_undefined_names_show_the_place(make: Make, under: str) -> None:
    with pytest.raises(dv.GrammarError, match=under) as caught:
        make()
    assert caret(caught.value) == under
    assert caught.value.hint and "Define" in caught.value.hint


A = Terminal(Bytes(b"a"))


@pytest.mark.parametrize(
    ("make", "problem", "hint"),
    [
        (lambda: dv.Grammar.from_gbnf('root ::= "a"', start="nope"), "'nope' is not defined", "rules: root"),
        (lambda: dv.Grammar.from_lark('start: "a"', start="nope"), "'nope' is not defined", "rules: start"),
        (lambda: dv.Grammar({"s": Ref("A")}, {"A": A}, "q"), "'q' is not defined", "rules: s"),
        (lambda: dv.Grammar({"s": Ref("B")}, {"A": A}, "s"), "'B', used in rule 's'", "spelling"),
        (lambda: dv.Grammar({"s": Ref("A")}, {"A": A}, "s", ignore=("W",)), "ignored terminal 'W'", "Only terminals"),
        (lambda: dv.Grammar.from_lark('start: "a"', lexing="greedy"), "policy 'greedy'", "longest"),  # type: ignore[arg-type]
        (lambda: dv.Grammar.from_choices([]), "no choices", "at least one"),
        (lambda: dv.Grammar.from_choices([1]), "choice 0", "string"),  # type: ignore[list-item]
        (lambda: regex("(?!)a"), "never match", "pattern"),
        (lambda: regex("a$b"), "never match", "pattern"),
        (lambda: regex(r"[^\s\S]"), "never match", "pattern"),
        (lambda: lark('start: A "b"\nA: /(?!)a/'), "terminal A can never match", "pattern"),
        (lambda: lark('start: A "b"\nA: /a*?/'), "no lexeme is empty", "pattern"),
        (lambda: gbnf('root ::= "a" root'), "no text at all", "recurse"),
        (lambda: lark('start: "a" start'), "no text at all", "recurse"),
        (lambda: gbnf('root ::= "b" | x\nx ::= "a" x'), "'x' never ends", "recurse"),
    ],
)
def test_meaningless_grammars(make: Make, problem: str, hint: str) -> None:
    with pytest.raises(dv.GrammarError) as caught:
        make()
    assert problem in caught.value.problem
    assert caught.value.hint and hint in caught.value.hint


@pytest.mark.parametrize("lexing", ["longest", "basic"])
def test_an_ignored_terminal_in_a_rule(lexing: dv.Lexing) -> None:
    # Lark's lexer drops it, whatever waits for it; so nothing is left of a rule that must have it.
    text = "start: A WS A\nA: /a/\nWS: / /\n%ignore WS"
    with pytest.raises(dv.GrammarError) as caught:
        dv.compile(dv.Grammar.from_lark(text, lexing=lexing), BYTES)
    assert caught.value.hint
    # The same grammar without a source: the lowering itself refuses.
    rules, terminals = {"s": Concat((Ref("A"), Ref("W")))}, {"A": A, "W": Terminal(Bytes(b" "))}
    grammar = dv.Grammar(rules, terminals, "s", ignore=("W",), lexing=lexing)
    with pytest.raises(dv.GrammarError, match="'W' is ignored"):
        dv.compile(grammar, BYTES)
    assert dv.compile(grammar.with_lexing("scannerless"), BYTES).matcher().next_bytes() == b" a"


@pytest.mark.parametrize("lexing", ["longest", "basic"])
def test_bare_text_in_a_rule(lexing: dv.Lexing) -> None:
    grammar = dv.Grammar({"s": Concat((Bytes(b"x"), Ref("A")))}, {"A": A}, "s", lexing=lexing)
    with pytest.raises(dv.GrammarError, match="bare text") as caught:
        dv.compile(grammar, BYTES)
    assert caught.value.hint == "Name it as a terminal."
    dv.compile(grammar.with_lexing("scannerless"), BYTES).matcher().advance_bytes(b"xa")


# What cannot be enforced exactly


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?P<x>a)(?P=x)"])
def test_refused_by_name(pattern: str) -> None:
    with pytest.raises(dv.UnsupportedFeatureError, match="backreference") as caught:
        lark(f"start: /{pattern}/")
    assert caught.value.feature == "backreference" and "Write an alternative" in str(caught.value.hint)


def test_a_look_behind_inside_its_own_lexeme_works() -> None:
    constraint = lark("start: A\nA: /a(?<=a)b/")
    constraint.matcher().advance_bytes(b"ab")


# Vocabularies


def test_a_vocabulary_without_a_first_byte() -> None:
    vocabulary = dv.Vocabulary.from_bytes([b"x", b"y", b"</s>"], eos=[2])
    with pytest.raises(dv.VocabularyError, match=r"(?s)b'a'.*Use the vocabulary"):
        dv.compile(dv.Grammar.from_regex("a"), vocabulary)
    # The empty text needs no byte.
    assert dv.compile(dv.Grammar.from_regex("a?"), vocabulary).matcher().allowed_tokens().tolist() == [2]


def test_a_vocabulary_without_a_later_byte() -> None:
    """Only the beginning is checked at compile time; further on the mask says honestly that no token fits."""
    vocabulary = dv.Vocabulary.from_bytes([b"x", b"y", b"</s>"], eos=[2])
    matcher = dv.compile(dv.Grammar.from_regex("xa"), vocabulary).matcher()
    matcher.advance(0)
    assert matcher.allowed_tokens().tolist() == []
    assert matcher.next_bytes() == b"a"


@pytest.mark.parametrize("token", [-1, 257, 2**31, 2**63 - 1, -(2**63)])
def test_token_ids_out_of_range(token: int) -> None:
    matcher = regex("a+").matcher()
    for call in (matcher.advance, matcher.allows, matcher.explain):
        with pytest.raises(dv.TokenRejectedError, match="257 tokens") as caught:
            call(token)
        assert caught.value.token_id == token and caught.value.token_bytes is None
    assert matcher.count_valid([97, token, 97]) == 1 and matcher.length == 0


# Bounds


@pytest.mark.parametrize(
    ("make", "limit", "allowed"),
    [
        pytest.param(lambda: regex("(a|b)*a(a|b){22}", max_dfa_states=10_000), "max_dfa_states", 10_000, id="blow-up"),
        pytest.param(lambda: regex("(a|b)*a(a|b){22}"), "max_dfa_states", 100_000, id="blow-up-default"),
        pytest.param(lambda: terminal("(ab){1000}", max_nfa_states=100), "max_nfa_states", 100, id="nfa"),
        pytest.param(lambda: gbnf('root ::= "a" root "b" | "c"', max_symbols=3), "max_symbols", 3, id="symbols"),
        pytest.param(lambda: regex("(" * 30_000 + "a" + ")" * 30_000), "max_depth", 500, id="deep-regex"),
        pytest.param(lambda: regex("(" * 30_000), "max_depth", 500, id="deep-open-regex"),
        pytest.param(lambda: gbnf("root ::= " + "(" * 30_000 + '"a"' + ")" * 30_000), "max_depth", 500, id="deep-gbnf"),
        pytest.param(lambda: gbnf("root ::= " + "(" * 30_000), "max_depth", 500, id="deep-open-gbnf"),
        pytest.param(lambda: lark("start: " + "(" * 30_000 + '"a"' + ")" * 30_000), "max_depth", 500, id="deep-lark"),
        pytest.param(lambda: terminal("a{1000000}(?!b)"), "max_dfa_states", 100_000, id="repeat-one-byte"),
        pytest.param(
            lambda: regex(".*(" + "|".join("a" * n for n in range(400)) + ")", max_dfa_states=5_000),
            "max_dfa_states",
            5_000,
            id="subsets",
        ),
        pytest.param(lambda: terminal(".*a.{0,3000}b(?!c)"), "max_dfa_states", 100_000, id="long-subsets"),
        pytest.param(lambda: terminal("(ab?){1000000}(?!c)"), "max_nfa_states", 2_000_000, id="repeat-group"),
        pytest.param(
            lambda: lark("start: T0\n" + "".join(f"T{i}: T{i + 1} T{i + 1}\n" for i in range(14)) + 'T14: "a"'),
            "max_symbols",
            2_000_000,
            id="doublings",
        ),
    ],
)
def test_bounds(make: Make, limit: str, allowed: int) -> None:
    with within(10), pytest.raises(dv.LimitError, match=rf"{limit} reached.*Limits\({limit}=") as caught:
        make()
    assert (caught.value.limit, caught.value.allowed) == (limit, allowed)
    assert caught.value.used > allowed


@pytest.mark.parametrize("rounds", [1_000, 1_000_000_000])
@pytest.mark.parametrize("pattern", ["a{%d}", "(ab?){%d}", ".*a.{0,%d}b", "((ab){%d}c){%d}", "(a{1,%d}b){1,%d}"])
def test_rounds_are_no_states(pattern: str, rounds: int) -> None:
    """Where no leftmost match counts."""
    with within(10):
        matcher = regex(pattern.replace("%d", str(rounds)), max_nfa_states=1_000, max_dfa_states=1_000).matcher()
        matcher.advance_bytes(b"ab" if pattern != "a{%d}" else b"aa")
        matcher.allowed_tokens()


def test_pasts_of_look_behind_are_bounded() -> None:
    grammar = "start: A+\nA: /(?<=a.{%d})b|[a-z]/"
    lark(grammar % 7, max_dfa_states=10_000)
    with pytest.raises(dv.LimitError, match="one for each text that its look-behind tells apart") as caught:
        lark(grammar % 7, max_dfa_states=1_200)
    assert caught.value.limit == "max_dfa_states" and caught.value.used < 2 * 1_200
    with within(10), pytest.raises(dv.LimitError, match="max_dfa_states"):
        lark(grammar % 40)


def test_a_counted_repeat_of_a_terminal_is_bounded_in_time() -> None:
    # In a process of its own, which can be stopped: the work releases no control.
    code = (
        "import derivable as dv\n"
        "v = dv.Vocabulary.from_bytes([b'a', b'</s>'], eos=[1])\n"
        "try: dv.compile(dv.Grammar.from_lark('start: A~10000\\nA: \"a\"'), v)\n"
        "except dv.LimitError: pass\n"
    )
    source = str(Path(dv.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": source}, timeout=20, check=True)


@pytest.mark.parametrize("pattern", ["a\x00b", r"a\0b", r"a\x00b", "a[\x00]b"])
def test_nul_is_a_character(pattern: str) -> None:
    matcher = regex(pattern).matcher()
    assert matcher.forced_bytes() == b"a\x00b"
    matcher.advance_bytes(b"a\x00b")
    assert matcher.is_accepting


def test_threads_are_bounded_and_a_refusal_leaves_no_trace() -> None:
    # After "a", the lexeme is A, or a longer one: two parses.
    text = "start: (A|B)+\nA: /a/\nB: /aa+b/"
    grammar = dv.Grammar.from_lark(text)
    dv.compile(grammar, BYTES, limits=dv.Limits(max_parses=2)).matcher().advance_bytes(b"aaaab")
    matcher = dv.compile(grammar, BYTES, limits=dv.Limits(max_parses=1)).matcher()
    matcher.advance(97)
    allowed = matcher.allowed_tokens().tolist()
    with pytest.raises(dv.LimitError, match="max_parses reached") as caught:
        for _ in range(10):
            matcher.advance(97)
    assert caught.value.limit == "max_parses" and caught.value.allowed == 1
    assert matcher.length == 1 and matcher.allowed_tokens().tolist() == allowed


@pytest.mark.parametrize("text", ['root ::= root root | "a"', 'root ::= "a" root? root?'])
def test_ambiguous_grammars_are_bounded_in_what_they_keep(text: str) -> None:
    matcher = dv.compile(dv.Grammar.from_gbnf(text), BYTES).matcher()
    for _ in range(320):
        matcher.advance(97)
    assert matcher.constraint.stats()["stack_nodes"] < 20 * 320


@pytest.mark.parametrize(
    ("low", "high"), [(0, 3), (17, 17), (3, 80), (0, 100), (65, 130), (5, 1000), (0, 1_000_000), (70, None)]
)
def test_counted_repeats_in_rules(low: int, high: int | None) -> None:
    """Few nonterminals whatever the counts, and the counts exact."""
    count = f"{{{low},{'' if high is None else high}}}"
    with within(10):
        matcher = gbnf(f'root ::= "<" item{count} ">"\nitem ::= "a" | "(" item ")"').matcher()
        matcher.advance_bytes(b"<")
        for n in range(min(high if high is not None else 500, 1000) + 1):
            follows = matcher.next_bytes()
            assert (b">" in follows) == (n >= low), n
            assert (b"a" in follows) == (high is None or n < high), n
            if b"a" in follows:
                matcher.advance_bytes(b"a" if n % 7 else b"((a))")
    assert matcher.constraint.stats()["lr_states"] < 10_000


# Odds and ends


@pytest.mark.parametrize("pattern", ["a\ud800b", r"a\ud800", "\ud83d\ude00", "(?i)\udc00"])
def test_half_a_surrogate_pair_is_no_character(pattern: str) -> None:
    with pytest.raises(dv.GrammarSyntaxError, match="half of a surrogate pair") as caught:
        regex(pattern)
    str(caught.value).encode()  # can be printed
    regex("[a\ud800-\udfff]")  # in a class it changes nothing


def test_fixed_bounds_say_that_they_are_fixed() -> None:
    assert "cannot be raised" in str(dv.LimitError("lexer states", 2, 1))
    assert "Limits(max_depth=...)" in str(dv.LimitError("max_depth", 2, 1))
    with pytest.raises(dv.VocabularyError, match="70,000 bytes"):
        dv.Vocabulary.from_bytes([b"a" * 70_000], eos=[])


@pytest.mark.parametrize("token", [2**70, -(2**70), 2**63, -1, 256 + 10**6])
def test_numbers_that_are_no_tokens(token: int) -> None:
    matcher = regex("a*").matcher()
    assert matcher.count_valid([97, token]) == 1
    for refuse in (matcher.advance, matcher.allows, matcher.explain):
        with pytest.raises(dv.TokenRejectedError) as caught:
            refuse(token)
        assert caught.value.token_id == token
    with pytest.raises(TypeError):
        matcher.advance("a")  # type: ignore[arg-type]


def test_a_deep_tree_is_refused() -> None:
    from derivable.expr import Repeat

    deep: dv.grammar.Expr = Bytes(b"a")
    for _ in range(5000):
        deep = Repeat(Concat((deep, Bytes(b"b"))), 0, None)
    with pytest.raises(dv.LimitError, match="nesting"):
        dv.compile(dv.Grammar({"s": deep}, {}, "s"), BYTES)


def test_errors_about_half_characters_can_be_printed() -> None:
    for make in (dv.Grammar.from_gbnf, dv.Grammar.from_ebnf):
        with pytest.raises(dv.GrammarSyntaxError, match="half of a surrogate pair") as caught:
            make('root ::= "\ud83d"')
        str(caught.value).encode()


DIVISIONS = r"""
start: (A ("/" "/"?)? ";")*
A: /[a-z]+/
C: /\/\/[^\n]*\n/ | /\/\*[^*]*\*\//
%ignore C
%ignore " "
"""
COMMENTS = r"""
start: (A | B ";")+
A: /[a-z]+/
B: /[a-z]+;[0-9]/
D: "/"
_C: /\/\*.*?\*\// | " "
%ignore _C
"""
IGNORED_TEXT = r"""
start: (NAME "=" (NAME | "/") ";")*
NAME: /[a-z]+/
TEXT: /"[^"]*"/
%ignore TEXT
%ignore " "
"""

POINTERS = r"""
start: (NAME "=" expr ";")+
?expr: NAME | TEXT | NUMBER | expr "/" expr | "*" expr | ("new" | "size" | "not") expr
NAME: /(?!(?:new|size|not)(?![a-z]))[a-z]+/
NUMBER: /[0-9]+/
TEXT: /"[^"\\\n]*"/
COMMENT: /\/\*[^*]*\*+([^*\/][^*]*\*+)*\//
LINE: /\/\/[^\n]*\n/
%ignore / +/
%ignore COMMENT
%ignore LINE
"""


def replay(constraint: dv.Constraint, steps: Sequence[bytes]) -> list[list[int] | None]:
    """The mask before each step of a text, None where it was refused; the last is empty if a step was rejected."""
    matcher, seen = constraint.matcher(), list[list[int] | None]()
    for step in steps:
        try:
            seen.append(matcher.allowed_tokens().tolist())
        except dv.LimitError:
            seen.append(None)
        try:
            matcher.advance_bytes(step)
        except dv.TokenRejectedError:
            return [*seen, []]
        except dv.LimitError:
            break
    return seen


def letters(text: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in text]


@pytest.mark.parametrize("text", [DIVISIONS, COMMENTS, IGNORED_TEXT], ids=["divisions", "comments", "ignored-text"])
def test_a_question_refused_half_way_leaves_nothing_wrong_behind(text: str) -> None:
    """Asked again it is refused again, or answered as without a bound."""
    texts = [b"a b1;", b"ab;1 x;", b"x=/ ;y=a;", b"/* a */b;", b"zz9;", b"b;1 b;1b;"]

    free = lark(text)
    refused = 0
    for limit in (1, 3, 10, 30, 60, 100, 200, 400, 800, 1600, 3200, 6400, 12800):
        try:
            bounded = lark(text, max_liveness_steps=limit)
        except dv.LimitError:
            refused += 1
            continue
        for sample in texts * 2:
            for mine, right in zip(replay(bounded, letters(sample)), replay(free, letters(sample)), strict=False):
                refused += mine is None
                assert mine is None or mine == right, (limit, sample)
    assert refused


def test_walks_refused_half_way_leave_nothing_wrong_behind() -> None:
    """As above with tokens of several bytes, in a process of its own: what walks keep for one another stays whole.

    Behind `a/*` a comment may never be closed: what can still follow there is only asked within a text.
    """
    code = (
        "import derivable as dv\n"
        "from guards.test_limits import POINTERS, letters, replay\n"
        "tokens = [*(bytes([b]) for b in range(256)), *b'a b_a/_//_;b_/*_*/_ a_/*b_ /*'.split(b'_'), b'</s>']\n"
        "vocabulary = dv.Vocabulary.from_bytes(tokens, eos=[len(tokens) - 1])\n"
        "texts = [b'a=b/*c;', b'a=b//c;', b'a=/* a */b;', b'a=b/c;a=b//c\\n;', b'x=a/ *b/*\"d\";']\n"
        "grammar = dv.Grammar.from_lark(POINTERS)\n"
        "refused = 0\n"
        "free = dv.compile(grammar, vocabulary)\n"
        "right = {text: replay(free, letters(text)) for text in texts}\n"
        "for limit in range(1000, 3000, 16):\n"
        "    try:\n"
        "        bounded = dv.compile(grammar, vocabulary, limits=dv.Limits(max_liveness_steps=limit))\n"
        "    except dv.LimitError:\n"
        "        continue\n"
        "    for text in texts * 2:\n"
        "        for mine, expected in zip(replay(bounded, letters(text)), right[text]):\n"
        "            refused += mine is None\n"
        "            assert mine is None or mine == expected, (limit, text)\n"
        "assert refused\n"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": python_path()}, timeout=120, check=True)


@pytest.mark.parametrize("terminals", ["X.1: /a/\nY: /(?<!a)b/\nZ: /(?<=a)b/", 'X.1: /ab|a/\nY: /(?<!b)b/\nZ: "ba"'])
def test_a_fixpoint_refused_half_way_is_taken_up_again(terminals: str) -> None:
    """Summaries that were still growing when a question was refused are no answer to the next one."""
    tokens = b"a b aa ab ba bb aaa aab aba abb baa bab bba bbb".split()
    vocabulary = dv.Vocabulary.from_bytes([*tokens, b"</s>"], eos=[len(tokens)])
    grammar = dv.Grammar.from_lark(f"start: (X start Y start | Z)?\n{terminals}")

    free = dv.compile(grammar, vocabulary)
    texts = [text.split() for text in (b"aa a aaa aab", b"aab a b b", b"ab ab abb b", b"a a b ab b b")]
    refused = 0
    for limit in range(60, 1000, 60):
        bounded = dv.compile(grammar, vocabulary, limits=dv.Limits(max_liveness_steps=limit))
        for text in texts * 2:
            for mine, right in zip(replay(bounded, text), replay(free, text), strict=False):
                refused += mine is None
                assert mine is None or mine == right, (limit, text)
    assert refused


def test_looks_that_multiply_are_bounded() -> None:
    """Each "a" doubles the ways in which the text may answer those before it: memory without end, once."""
    looks = "a(?=.{5,40}x)|a(?=.{5,40}y)|a(?=.{7}b)"
    with within(10), pytest.raises(dv.LimitError, match="cannot be raised") as caught:
        lark(f"start: A+ X\nA: /{looks}/\nX: /[abxy]/").matcher().advance_bytes(b"a" * 60)
    assert caught.value.limit == "obligations of a lexer"
