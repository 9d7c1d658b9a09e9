"""Are terminals with back-references, in grammars of Lark, the texts that `re.fullmatch` takes, wherever they stand?"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
from accepting import BYTES, accepts, random_rest
from captured_texts import Patterns, members
from lark import Lark, Token, Tree
from piece_walks import check_mask, small, walk

import derivable as dv
from derivable.testing import check_meaning

LUA = r"""
start: (NAME "=" value ";")*
value: HEREDOC | LONG | NUMBER
HEREDOC: /<<(?P<tag>[A-Z]+)\n(?:[^\n]*\n)*?(?P=tag)\n/
LONG: /\[(?P<signs>=*)\[(?:.|\n)*?\](?P=signs)\]/
NAME: /[a-z]+/
NUMBER: /[0-9]+/
COMMENT: /--\[(?P<around>=*)\[(?:.|\n)*?\](?P=around)\]/
%ignore COMMENT
%ignore /[ \n]+/
"""


def lua(text: str = LUA) -> dv.Grammar:
    return dv.Grammar.from_lark(text, lexing="scannerless")


@cache
def compiled() -> dv.Constraint:
    return dv.compile(lua(), BYTES)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("a=<<EOT\nb\nEOT\n;", True),
        ("a=<<EOT\nb\nEO\n;", False),
        ("a = <<A\nA\n; b = <<B\n A\nB\n;", True),
        ("a=<<A\nB\n;b=<<B\nB\n;", False),
        ("a=<<A\nB\n;b=<<B\nA\n;", True),  # one heredoc, with the second one in it
        ("a=<<A \nA\n;", False),  # nothing is ignored within
        ("a=<<A\n--[[ ]]A\n;", False),
        ("a=[[]]--[=[ ]] ]=];--[[]]", True),
        ("--[==[]]]=]]==]a=[=[]]]=];", True),
        ("a=[==[]=];", False),
        ("a=--[=[]];b=1;", False),
    ],
)
def test_terminals_stand_in_several_places(text: str, is_one: bool) -> None:
    assert accepts(compiled(), text) == is_one


class Texts:
    """By the definition: in which pieces a text may be cut, and each piece by `re` itself."""

    def __init__(self, rules: Any, ignored: str) -> None:
        self._rules, self._ignored = rules, ignored

    def has(self, text: str) -> bool:
        return any(len(text) in self._ends(self._rules, text, at) for at in self._skipped(text, 0))

    def _skipped(self, text: str, at: int) -> set[int]:
        found, todo = set[int](), [at]
        while todo:
            begin = todo.pop()
            if begin not in found:
                found.add(begin)
                todo += self._matches(self._ignored, text, begin) if self._ignored else []
        return found

    @staticmethod
    def _matches(pattern: str, text: str, at: int) -> list[int]:
        return [end for end in range(at, len(text) + 1) if re.fullmatch(pattern, text[at:end])]

    def _ends(self, rule: Any, text: str, at: int) -> set[int]:
        if isinstance(rule, str):
            ends = (self._skipped(text, end) for end in self._matches(rule, text, at))
            return set[int]().union(*ends)
        kind, *parts = rule
        if kind == "or":
            return set[int]().union(*(self._ends(part, text, at) for part in parts))
        found = {at}
        if kind == "then":
            for part in parts:
                found = {end for begin in found for end in self._ends(part, text, begin)}
            return found
        todo = [at]
        while todo:
            for end in self._ends(parts[0], text, todo.pop()) - found:
                found.add(end)
                todo.append(end)
        return found


class Rules:
    """Random rules over terminals, as Lark's text and for `Texts`."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self.patterns = rng, list[str]()

    def terminal(self) -> tuple[str, str]:
        if len(self.patterns) < 3:
            self.patterns.append(Patterns(self._rng).some(2))
        at = self._rng.randrange(len(self.patterns))
        return f"T{at}", self.patterns[at]

    def some(self, depth: int) -> tuple[str, Any]:
        kind = self._rng.choice(["terminal", "then", "or", "star"]) if depth else "terminal"
        if kind == "terminal":
            return self.terminal()
        if kind == "star":
            written, rule = self.some(depth - 1)
            return f"({written})*", ("star", rule)
        (one, first), (other, second) = self.some(depth - 1), self.some(depth - 1)
        return f"({one} {'|' if kind == 'or' else ''} {other})", (kind, first, second)


def random_grammars(seed: int) -> Iterator[tuple[str, Texts]]:
    rng = random.Random(seed)
    while True:
        rules = Rules(rng)
        written, rule = rules.some(2)
        ignored = rng.choice(["", "", "c", r"(c)a?\1"])
        text = f"start: {written}\n" + "".join(f"T{at}: /{each}/\n" for at, each in enumerate(rules.patterns))
        if "\\" in text:
            yield text + (f"%ignore /{ignored}/\n" if ignored else ""), Texts(rule, ignored)


@pytest.mark.parametrize("seed", range(4))
def test_texts_are_those_of_the_definition(seed: int) -> None:
    every = ["".join(word) for length in range(5) for word in product("abc", repeat=length)]
    compared = 0
    for text, texts in random_grammars(seed):
        wanted = {each for each in every if texts.has(each)}
        try:
            found = members(lua(text), "abc", 4)
        except dv.UnsupportedFeatureError as error:
            assert error.feature == "backreference" and "may be empty" in str(error)
            continue
        except dv.GrammarError as error:
            assert "no text" in str(error) or "never" in str(error) or "match nothing" in str(error), error
            assert wanted == set()
            continue
        assert found == wanted, text
        compared += 1
        if compared == 25:
            break


def test_lark_itself_takes_the_same() -> None:
    """Its own lexer drops what is ignored only where nothing else can stand, so nothing is ignored here."""
    text = 'start: (NAME "=" HEREDOC)+\nNAME: /[a-z]+/\nHEREDOC: /<<(?P<tag>[A-Z]+)\\n(?:[a-z]\\n)*?(?P=tag)\\n/'
    parser = Lark(text, parser="earley", lexer="dynamic_complete")
    constraint = dv.compile(lua(text), BYTES)
    for tags in product("AB", repeat=4):
        sample = "a=<<{}\nb\n{}\nc=<<{}\n{}\n".format(*tags)
        try:
            parser.parse(sample)
        except Exception:
            assert not accepts(constraint, sample)
        else:
            assert accepts(constraint, sample)


def test_a_terminal_is_a_token_in_trees() -> None:
    tree = compiled().parse("a = <<A\nb\nA\n --[[x]]; b = 1;")
    values = [each.children for each in tree.find_data("value")]
    assert values == [[Token("HEREDOC", "<<A\nb\nA\n")], [Token("NUMBER", "1")]]
    assert (values[0][0].type, values[0][0].start_pos, values[0][0].end_pos) == ("HEREDOC", 4, 12)


def test_what_is_left_out_of_trees_is_left_out() -> None:
    text = 'start: _QUOTED A | all\n!all: _QUOTED "c"\n_QUOTED: /(["\'])b\\1/\nA: "a"'
    constraint = dv.compile(lua(text), BYTES)
    assert constraint.parse("'b'a") == Tree("start", [Token("A", "a")])
    assert constraint.parse("'b'c") == Tree("start", [Tree("all", [Token("_QUOTED", "'b'"), Token("C", "c")])])


def test_a_start_that_is_a_terminal() -> None:
    grammar = dv.Grammar.from_lark(r"T: /(a|b)c\1/" + "\nstart: T", start="T", lexing="scannerless")
    assert members(grammar, "abc", 4) == {"aca", "bcb"}


def test_terminals_in_terminals() -> None:
    inner = r"INNER: /(?P<x>a|b)c(?P=x)/"
    assert members(lua(f'start: OUTER\nOUTER: "b" INNER*\n{inner}'), "abc", 4) == {"b", "baca", "bbcb"}
    with pytest.raises(dv.UnsupportedFeatureError, match="other numbers") as caught:
        lua("start: OUTER\nOUTER: /(b)/ INNER\nINNER: /(a|b)c\\1/")
    assert caught.value.source is not None and caught.value.span is not None
    assert caught.value.source[slice(*caught.value.span)] == "OUTER"
    lua(r"start: T" + "\nT: /(a)[\\1]\\\\1/ /b/")  # no references


def test_flags_of_terminals() -> None:
    assert members(lua("start: /(?a:(a)b\\1)/i"), "abAB", 3) == {f"{x}{y}{z}" for x, y, z in product("aA", "bB", "aA")}
    assert members(lua("start: /(a)  \\1 # twice\n/x"), "a", 3) == {"aa"}


@pytest.mark.parametrize(
    ("terminal", "what", "at"),
    [
        (r"/(a)(?=b)\1/", "look-around", 1),
        (r"/((a)b)\1\2/", "side by side", 1),
        (r"/(?:(a*)b?)*\1/", "round may be empty", 1),
        (r"/(a)\1/i", "ASCII", 1),
    ],
)
def test_what_is_not_exact_is_refused_where_it_stands(terminal: str, what: str, at: int) -> None:
    text = f'start: "x" T U\nT: /(a)\\1/\nU: {terminal}'
    with pytest.raises(dv.UnsupportedFeatureError, match=what) as caught:
        lua(text)
    assert caught.value.feature == "backreference"
    assert caught.value.span is not None and caught.value.span[0] == text.rindex(terminal) + at


@pytest.mark.parametrize("lexing", ["longest", "basic"])
def test_where_a_lexeme_ends_by_its_longest_match_references_are_refused(lexing: dv.Lexing) -> None:
    with pytest.raises(dv.UnsupportedFeatureError, match="backreference") as caught:
        dv.Grammar.from_lark(LUA, lexing=lexing)
    assert 'lexing="scannerless"' in str(caught.value.hint)
    for grammar in (lua(), dv.Grammar.from_regex(r"(a)\1")):
        with pytest.raises(dv.UnsupportedFeatureError, match="longest match") as caught:
            grammar.with_lexing(lexing)
        assert caught.value.feature == "backreference" and "docs/names.md" in str(caught.value.hint)
        assert grammar.with_lexing("scannerless") == grammar


def test_other_mistakes_are_blamed_on_what_they_are() -> None:
    with pytest.raises(dv.GrammarError, match="'b' used but not defined"):
        lua("start: T b\nT: /(a)\\1/")
    with pytest.raises(dv.UnsupportedFeatureError, match="atomic group"):
        lua("start: T U\nT: /(a)\\1/\nU: /(?>a)b/")
    with pytest.raises(dv.GrammarError, match="redefinition of group name"):
        lua('start: U\nU: T ";" T\nT: /(?P<x>a)(?P=x)/')


# Beside a meaning


class Twice(dv.Meaning):
    """A name is given at most twice, and never `no`."""

    slots = ("name",)

    def start(self) -> tuple[str, ...]:
        return ()

    def names(self, state: Any, slot: str) -> dv.Names:
        return dv.Names([*{name for name in state if state.count(name) == 2}, "no"], others=True)

    def read(self, state: Any, slot: str, text: str) -> tuple[str, ...]:
        return (*state, text)


NAMED = LUA.replace('NAME "="', 'name "="') + "name: NAME\n"


def test_a_meaning_stands_beside_them() -> None:
    grammar = lua(NAMED).with_meaning(Twice())
    constraint = dv.compile(grammar, BYTES)
    assert accepts(constraint, "a=<<A\nA\n; a = [[]];") and not accepts(constraint, "a=<<A\nA\n; a = [[]]; a = 1;")
    assert not accepts(constraint, "a=<<A\nB\n;") and not accepts(constraint, "no=1;")
    assert check_meaning(grammar, walks=20, longest=60) == []
    again = dv.compile(grammar.with_meaning(Twice()), BYTES)
    assert accepts(again, "a=1;a=1;") and not accepts(again, "a=<<A\nB\n;")
    matcher = constraint.matcher()
    matcher.advance_bytes(b"a=1;a=<<EOT\nEO")
    resumed = constraint.resume(matcher.to_bytes())
    resumed.advance_bytes(b"T\n;")
    assert resumed.is_accepting
    resumed.advance_bytes(b"a=1;")  # a third one; or a line of the heredoc, which then goes on
    assert not resumed.is_accepting
    assert "Twice" in repr(grammar.meaning) and "HEREDOC" in repr(grammar.meaning)


class Even(Twice):
    """And in the end an even number of them."""

    longest = 1

    def may_end(self, state: Any) -> bool:
        return len(state) % 2 == 0


class Told(Even):
    growth = {"name": "x=1;"}

    def missing(self, state: Any) -> list[str]:
        return ["x=1;"] if len(state) % 2 else []


@pytest.mark.parametrize("kind", [Twice, Told])
def test_texts_end_in_time(kind: type[Twice]) -> None:
    constraint = dv.compile(lua(NAMED).with_meaning(kind()), BYTES)
    rng = random.Random(0)
    for _ in range(10):
        text = random_rest(constraint.matcher(max_tokens=60), rng)
        assert accepts(constraint, text.decode(errors="replace")) or b"\xff" in text


def test_an_end_that_is_owed_is_waited_for() -> None:
    constraint = dv.compile(lua(NAMED).with_meaning(Even()), BYTES)
    assert accepts(constraint, "a=1;b=<<A\nA\n;") and not accepts(constraint, "a=1;")


class Unsure(Told):
    def missing(self, state: Any) -> Any:
        return None


def test_a_meaning_that_is_not_sure_what_is_missing_is_told_so() -> None:
    constraint = dv.compile(lua(NAMED).with_meaning(Unsure()), BYTES)
    with pytest.raises(dv.MeaningError, match="what is missing in every state"):
        constraint.matcher(max_tokens=40).allowed_tokens()


class Long(Twice):
    def names(self, state: Any, slot: str) -> dv.Names:
        return dv.Names(["n" * 70])


def test_names_are_no_longer_than_was_said() -> None:
    with pytest.raises(dv.MeaningError, match="`longest` is 64"):
        dv.compile(lua(NAMED).with_meaning(Long()), BYTES).matcher().allowed_tokens()


class Slots(dv.Meaning):
    def __init__(self, *slots: str) -> None:
        self.slots = slots


def test_a_terminal_with_references_is_no_slot() -> None:
    with pytest.raises(dv.GrammarError, match="back-references, which are slots themselves"):
        lua().with_meaning(Slots("NAME", "HEREDOC"))
    with pytest.raises(dv.GrammarError, match="'COMMENT' is ignored"):
        lua().with_meaning(Slots("COMMENT"))
    with pytest.raises(dv.GrammarError, match="more than one terminal"):
        dv.compile(lua().with_meaning(Slots("value")), BYTES)


# With a real vocabulary


@pytest.mark.parametrize("seed", range(2))
def test_texts_of_a_real_vocabulary(seed: int) -> None:
    vocab, tokenizer = small()
    text = 'start: (NAME "=" HEREDOC)+\nNAME: /[a-z]+/\nHEREDOC: /<<(?P<tag>[A-Z]+)\\n(?:[^\\n]*\\n)*?(?P=tag)\\n/'
    constraint = dv.compile(lua(text + "\n%ignore / +/"), vocab)
    rng = random.Random(seed)
    pieces = ["a = <<EOT\n", "EOT\n", "\n", "some text", "E", "OT", "<<", "END", " b = <<END\n"]
    for _ in range(10):
        written = walk(constraint, tokenizer, pieces, rng, rng.randint(8, 60), between="")
        assert re.fullmatch(r"(?: *[a-z]+ *= *<<([A-Z]+)\n(?:[^\n]*\n)*?\1\n)+ *", written), written
        tokens = tokenizer.encode(written, add_special_tokens=False).ids
        check_mask(constraint, tokens[: rng.randint(1, len(tokens))])
