"""The papers' tables: golden data, and the decoder of GreatGramma against its lexer's definition."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

import derivable as dv
from derivable.analysis import (
    DetokenizingTransducer,
    LexingTransducer,
    LrAutomaton,
    MaskStore,
    MaximalMunch,
    Scanner,
    SequenceParser,
    SpannerTable,
    StackFree,
    StateIndex,
    Subterminal,
    TerminalGrammar,
    find_sub_sequences,
    intersection_is_empty,
    map_states_to_vocabulary,
    scan,
    stack_preimages,
    subterminal_tree,
)

BC = {"B": "ab+", "C": "ac+"}
FIGURE_1 = [b"a", b"b", b"c", b"ab", b"ac", b"aba"]


def vocabulary(*tokens: bytes) -> dv.Vocabulary:
    return dv.Vocabulary.from_bytes([*tokens, None], eos=[len(tokens)])


# --- Park et al.


@pytest.fixture(scope="module")
def figure_1() -> SpannerTable:
    return SpannerTable(Scanner.from_patterns(BC), vocabulary(*FIGURE_1))


def test_figure_1d_in_full(figure_1: SpannerTable) -> None:
    expected = {
        "q0": ["B,C", "", "", "B", "C", "BB,BC"],
        "q1": ["", "B", "C", "", "", ""],
        "q2": ["BB,BC", "B", "", "BB", "BC", "BBB,BBC"],
        "q3": ["CB,CC", "", "C", "CB", "CC", "CBB,CBC"],
    }
    for state, row in enumerate(expected.values()):
        for token_id, cell in enumerate(row):
            found = ",".join("".join(sequence) for sequence in figure_1.entry(state, token_id))
            assert found == cell, (state, FIGURE_1[token_id])
    printed = str(figure_1).splitlines()
    assert printed[0].split() == ["a", "b", "c", "ab", "ac", "aba"] and printed[4].startswith("q3  CB, CC")


def test_the_inverse_table(figure_1: SpannerTable) -> None:
    aba, ac = FIGURE_1.index(b"aba"), FIGURE_1.index(b"ac")
    assert aba in figure_1.tokens_for(0, "BC") and ac in figure_1.tokens_for(2, "BC")
    assert figure_1.tokens_for(1, "BC") == ()
    assert {figure_1.names(s) for s in figure_1.realizable} == {
        *map(tuple, ("B", "C", "BB", "BC", "CB", "CC", "BBB", "BBC", "CBB", "CBC"))
    }
    assert [{figure_1.scanner.terminals[t] for t in p} for p in figure_1.producible] == [{"B", "C"}] * 2 + [
        {"B"},
        {"C"},
    ]
    assert figure_1.sizes["inverse entries"] == 16 and figure_1.sizes["realizable sequences"] == 10


def test_the_lexing_transducer_of_figure_2() -> None:
    transducer = LexingTransducer.of(Scanner.from_patterns(BC))
    names = transducer.scanner.terminals
    moves = {(q, chr(c), "".join(names[t] for t in out), r) for q, c, out, r in transducer.transitions}
    inside = {(0, "a", "", 1), (1, "b", "", 2), (1, "c", "", 3), (2, "b", "", 2), (3, "c", "", 3)}
    assert moves == inside | {(2, "a", "B", 1), (3, "a", "C", 1)}


def test_the_detokenizing_transducer_shares_prefixes() -> None:
    transducer = DetokenizingTransducer.of(dict(enumerate(FIGURE_1)))
    assert transducer.num_bytes == 10 and len(transducer.edges) == 1 + 6  # a, ab, aba, ac; b; c
    spelled = {}
    todo = [(0, b"")]
    while todo:
        state, text = todo.pop()
        spelled |= dict.fromkeys(transducer.ends[state], text)
        todo += [(after, text + bytes([byte])) for byte, after in transducer.edges[state]]
    assert [spelled[i] for i in range(6)] == FIGURE_1


LISTS = TerminalGrammar.from_rules({"S": ["( L )", "( )"], "L": ["L , E", "E"], "E": ["x", "S"]})


def test_stack_free_answers_hold_on_every_stack() -> None:
    """Propositions 3.5 and 3.6 against the grammar: what a state says holds behind all texts that lead to it."""
    sequences = [s for n in (1, 2, 3) for s in product(LISTS.terminals, repeat=n)]
    found = StackFree.of(LISTS, sequences)
    lr = found.automaton
    met: set[str] = set()
    for size in range(6):
        for text in product(range(len(LISTS.terminals)), repeat=size):
            if not is_prefix(LISTS, text):
                continue
            for state in tops(lr, text):
                for sequence in sequences:
                    verdict = found.of_state(state)[sequence]
                    met.add(verdict)
                    legal = is_prefix(LISTS, text + LISTS.symbols(sequence))
                    assert verdict == "dependent" or legal == (verdict == "accepted"), (text, sequence, verdict)
    assert met == {"accepted", "rejected", "dependent"} and sum(found.shares) == pytest.approx(1)


def is_prefix(grammar: TerminalGrammar, text: tuple[int, ...]) -> bool:
    moves = {t: [(len(text), len(text))] for t in range(len(grammar.terminals))}
    for i, symbol in enumerate(text):
        moves[symbol].append((i, i + 1))
    return not intersection_is_empty(grammar, moves, 0, [len(text)], len(text) + 1)


def tops(lr: LrAutomaton, text: tuple[int, ...]) -> set[int]:
    """Uppermost states of the stacks behind a text: LR(0), all alternatives, full stacks."""
    stacks = {(0,)}
    for symbol in text:
        todo, found = list(stacks), set(stacks)
        while todo:
            stack = todo.pop()
            for production in lr.reductions[stack[-1]]:
                head, body = lr.grammar.productions[production]
                below = stack[: len(stack) - len(body)]
                after = (*below, lr.shifts[below[-1]][head]) if below and head in lr.shifts[below[-1]] else None
                if after is not None and after not in found:
                    found.add(after)
                    todo.append(after)
        stacks = {(*s, lr.shifts[s[-1]][symbol]) for s in found if symbol in lr.shifts[s[-1]]}
    return {stack[-1] for stack in stacks}


# --- Appendix C.1, from its definition


def lexings(patterns: dict[str, str], text: str) -> set[tuple[tuple[str, ...], str]]:
    """Lex(w) for w without its end: {(terminals, what is left)}, character by character as the appendix has it."""
    import re

    def begins(piece: str) -> bool:
        return any(re.fullmatch(p, piece + tail) for p in patterns.values() for tail in TAILS)

    at: set[tuple[tuple[str, ...], str]] = {((), "")}
    for c in text:
        after = set()
        for terminals, left in at:
            if begins(left + c):
                after.add((terminals, left + c))
            elif begins(c):
                after |= {((*terminals, name), c) for name, p in patterns.items() if left and re.fullmatch(p, left)}
        at = after
    return at


TAILS = ["", "b", "c", "x", "a", "ab", "ac", ")", "=", "=="]


@pytest.mark.parametrize(
    ("source", "patterns", "alphabet"),
    [
        ("start: (B C)+\nB: /ab+/\nC: /ac+/", BC, "abc"),
        (
            'start: A | "(" start ")" | start "=" start\nA: /a+/',
            {"A": "a+", "LPAR": r"\(", "RPAR": r"\)", "EQUAL": "="},
            "a(=)",
        ),
    ],
)
def test_masks_under_the_papers_lexer(source: str, patterns: dict[str, str], alphabet: str) -> None:
    """Algorithm 6 against all texts up to a length: a token is in the mask if and only if some text goes on with it."""
    import re

    grammar = dv.Grammar.from_lark(source)
    letters = [c.encode() for c in alphabet]
    tokens = [*letters, *(a + b for a in letters for b in letters), letters[0] + letters[1] + letters[0]]
    of = MaximalMunch(grammar, vocabulary(*tokens))
    names = of.terminals

    @cache
    def is_sentence(terminals: tuple[str, ...]) -> bool:
        moves: dict[int, list[tuple[int, int]]] = {t: [] for t in range(len(names.terminals))}
        for i, name in enumerate(terminals):
            moves[names.symbol(name)].append((i, i + 1))
        return not intersection_is_empty(names, moves, 0, [len(terminals)], len(terminals) + 1)

    @cache
    def is_member(text: str) -> bool:
        return any(
            is_sentence((*terminals, name))
            for terminals, left in lexings(patterns, text)
            for name, pattern in patterns.items()
            if left and re.fullmatch(pattern, left)
        )

    longest = 8 if len(alphabet) == 3 else 7
    members = {t for n in range(1, longest + 1) for t in map("".join, product(alphabet, repeat=n)) if is_member(t)}
    prefixes = {m[:i] for m in members for i in range(len(m) + 1)}
    room = longest - 4  # what a prefix of this length can do shows within `longest`

    def check(text: str, matcher: object, depth: int) -> None:
        allowed = matcher.allowed_tokens().tolist()  # type: ignore[attr-defined]
        for token_id, token in enumerate(tokens):
            after = text + token.decode()
            if len(after) <= room:
                assert (token_id in allowed) == (after in prefixes), (text, token)
        assert (len(tokens) in allowed) == (text in members), text
        if depth:
            for token_id in [t for t in allowed if t < len(letters)]:
                further = of.matcher()
                for letter in text:
                    further.advance(alphabet.index(letter))
                further.advance(token_id)
                check(text + alphabet[token_id], further, depth - 1)

    check("", of.matcher(), room - 1)
    with pytest.raises(dv.TokenRejectedError):
        of.matcher().advance(len(alphabet) - 1)


# --- Willard & Louf

NAME = r"(?a:[^\W\d]\w*)"


def test_sub_sequences_of_the_paper() -> None:
    """Its automaton of NAME has three states; a minimal one does not tell the last two apart."""
    assert find_sub_sequences(NAME, "f") == ((0, 1), (1, 1))
    as_printed = {state: min(state, 1) for state in (0, 1, 2)}
    assert {tuple(as_printed[s] for s in path) for path in ((0, 1), (1, 2), (2, 2))} == set(
        find_sub_sequences(NAME, "f")
    )
    assert find_sub_sequences(NAME, "f(") == ()


def test_the_map_of_figure_1() -> None:
    tokens = [b"A", b".", b"42", b".2", b"1"]
    index: StateIndex = map_states_to_vocabulary(r"([0-9]*)?\.?[0-9]*", vocabulary(*tokens))

    def named(ids: tuple[int, ...]) -> set[bytes]:
        return {tokens[i] for i in ids}

    assert named(index.tokens[0]) == {b".", b"42", b".2", b"1"}
    assert named(index.after(".2")) == {b"42", b"1"} and named(index.after("1")) == {b".", b"42", b".2", b"1"}
    assert index.after("A") == ()


def test_scanning_section_4() -> None:
    terminals = {"DEF": "def", "NAME": NAME, "LPAR": r"\("}
    assert (
        scan(terminals, "de") == {"DEF", "NAME"}
        and scan(terminals, "defa") == {"NAME"}
        and scan(terminals, "1") == set()
    )


def test_stack_preimages_are_what_stacks_need() -> None:
    """Behind every text: a terminal can be read if and only if the stack begins with a sub-stack of the pre-image."""
    lr = LrAutomaton(LISTS)
    for size in range(1, 6):
        for text in product(range(len(LISTS.terminals)), repeat=size):
            for stack in full_stacks(lr, text):
                for terminal in range(len(LISTS.terminals)):
                    wanted = stack_preimages(lr, stack[0], LISTS.names((terminal,)), deepest=10)
                    can = any(stack[: len(s)] == s for s in wanted)
                    assert can == is_prefix(LISTS, (*text, terminal)), (text, terminal)


def full_stacks(lr: LrAutomaton, text: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Stacks right behind a text, the uppermost state first. The grammar is LR(0) but for what comes after it."""
    stacks = {(0,)}
    for symbol in text:
        todo, found = list(stacks), set(stacks)
        while todo:
            stack = todo.pop()
            for production in lr.reductions[stack[-1]]:
                head, body = lr.grammar.productions[production]
                below = stack[: len(stack) - len(body)]
                if below and head in lr.shifts[below[-1]] and symbol in lr.follow[production]:
                    after = (*below, lr.shifts[below[-1]][head])
                    if after not in found:
                        found.add(after)
                        todo.append(after)
        stacks = {(*s, lr.shifts[s[-1]][symbol]) for s in found if symbol in lr.shifts[s[-1]]}
    return {stack[::-1] for stack in stacks}


# --- DOMINO


def test_figure_3() -> None:
    """E: int | (E) | E+E, int ([1-9][0-9]*)|(0+), behind "(12"."""
    patterns = {"int": "([1-9][0-9]*)|(0+)", "(": r"\(", ")": r"\)", "+": r"\+"}
    tokens = [b"0", b"1", b"12", b"+", b")", b"(", b"+1", b"1+", b"1(", b"a"]
    scanner = Scanner.from_patterns(patterns, "apart")
    tree = subterminal_tree(scanner, vocabulary(*tokens), "12")["int"]
    grammar = TerminalGrammar.from_rules({"E": ["int", "( E )", "E + E"]})
    behind = grammar.symbols(["(", "int"])

    def reached(lookahead: int | None) -> set[bytes]:
        """The tree pruned by the parser: what of it is legal behind "(" and an int in progress."""
        found: set[int] = set()

        def walk(node: object, read: tuple[int, ...], begun: int) -> None:
            if lookahead is not None and begun > lookahead:
                return
            found.update(node.tokens)  # type: ignore[attr-defined]
            for subterminal, child in node.children.items():  # type: ignore[attr-defined]
                own = subterminal.kind in ("continuation", "end")
                after = read if own else read + grammar.symbols([subterminal.terminal])
                if is_prefix(grammar, after):
                    walk(child, after, begun + (read != behind and not own) + (own and False))

        walk(tree, behind, 0)
        return {tokens[i] for i in found}

    assert reached(0) >= {b"0", b"1", b"12", b"+", b")"} and b"+1" not in reached(0)
    assert b"+1" in reached(1)
    assert reached(None) == {b"0", b"1", b"12", b"+", b")", b"+1", b"1+"}  # "(" and what holds it never
    assert set(tree.within(None)) == set(range(9))  # without the parser: all that can be cut into terminals at all


def test_labels_of_subterminals() -> None:
    scanner = Scanner.from_patterns({"word": "abc|abcd*e", "=": "="}, "apart")
    tree = subterminal_tree(scanner, vocabulary(b"abc", b"ab", b"abcd"))[""]
    assert {(str(s), tuple(node.tokens)) for _, s, node in tree.walk()} == {
        ("word:full or more", (0,)),
        ("word:start", (1, 2)),
    }
    tree = subterminal_tree(scanner, vocabulary(b"c", b"b", b"bc=", b"bcd", b"="), "a")["word"]
    assert Subterminal("word", "continuation") in tree.children and Subterminal("word", "end") in tree.children
    assert tree.children[Subterminal("word", "end")].children[Subterminal("=", "full")].tokens == [2]


# --- Tran-Thien's store


def test_streamlining_changes_no_mask() -> None:
    """Every state, behind every text of a family: the masks with and without, and the counts that only fall."""
    source = """
        start: stmt+
        stmt: NAME "=" sum ";" | "def" NAME "(" [NAME ("," NAME)*] ")" ";"
        sum: sum ("+" | "-") atom | atom
        atom: NAME | NUMBER | "(" sum ")" | "-" atom
        NAME: /[a-z]+/
        NUMBER: /[0-9]+/
        %ignore " "
    """
    pieces = b"a b ab def de f = + - ( ) ; 1 12 a= =1 1; 1+ +a -a -- (( )) ); () (a ,b a) ;a"
    tokens = [*pieces.split(), b" ", b" =", b"= ", b", b", b"; def"]
    store = MaskStore(dv.Grammar.from_lark(source), vocabulary(*tokens))
    found = store.streamline()
    assert found.counts[0] == sum(len(store.entries(row)) for row in store.rows)
    assert (
        all(a >= b for a, b in zip(found.counts, found.counts[1:], strict=False))
        and found.counts[-1] < found.counts[0] / 3
    )
    asked = {s for each in found.representatives for s in each.values() if s}
    parser = SequenceParser(store.terminals, {*store.sequences(), *asked})
    seen = 0
    for text in (b"a=1+-b;", b"def f(a, b);a=(b+1);", b"ab = ((1)-a) ;"):
        threads = [(0, parser.parser())]
        for byte in text:
            for state, at in threads:
                legal = parser.legal(at)
                row = store.rows[store.row_of[state]]
                chosen = found.representatives[store.row_of[state]]

                def ask(sequence: tuple[int, ...], legal: object = legal) -> bool:
                    return not sequence or bool(legal[parser.numbers[sequence]])  # type: ignore[index]

                assert (store.mask(row, ask) == store.mask(row, ask, chosen)).all()
                seen += 1
            after = []
            for state, at in threads:
                for next_state, added in store.advance(state, bytes([byte])):
                    moved = at.fork()
                    try:
                        parser.read(moved, added)
                    except dv.TokenRejectedError:
                        continue
                    after.append((next_state, moved))
            threads = after
            assert threads, text
    assert seen > 40


def test_a_newline_outside_brackets_is_never_nothing() -> None:
    """Else every block of a text would double its stacks: a line behind a colon is a block, too."""
    source = """
        start: (_NL | line)*
        line: NAME "=" value _NL | "if" value ":" block
        block: NAME "=" value _NL | _NL _INDENT line+ _DEDENT
        value: NAME | "(" value ")"
        NAME: /[a-z]/
        _NL: /\\n[ ]*/
        %ignore " "
        %declare _INDENT _DEDENT
    """
    grammar = dv.Grammar.from_lark(
        source, indentation=dv.Indentation("_NL", "_INDENT", "_DEDENT", brackets=(("LPAR", "RPAR"),))
    )
    store = MaskStore(
        grammar, vocabulary(b"if", b"a", b"=", b"(", b")", b":", b" ", b"\n", b"\n "), optional_newlines=True
    )
    parser = SequenceParser(store.terminals, store.sequences())

    def follow(text: bytes) -> int:
        """In how many ways the beginnings of a text can be read, at most; 0 if it is not in the language."""
        threads, most = [(0, 0, parser.parser())], 0
        for byte in text:
            after = []
            for state, depth, at in threads:
                for next_state, added in store.advance(state, bytes([byte])):
                    kept, open_then = store.between_brackets(added, depth)
                    moved = at.fork()
                    try:
                        parser.read(moved, kept)
                    except dv.TokenRejectedError:
                        continue
                    after.append((next_state, open_then, moved))
            threads, most = after, max(most, len(after))
        return most if threads else 0

    blocks = b"".join(b" " * n + b"if a:\n" for n in range(12)) + b" " * 12 + b"a = a\n"
    assert follow(blocks) == 2  # the first byte of "if" may also be a name
    assert follow(b"if (\n(a\n)):\n a = (\na)\n") == 2
    assert follow(b"a =\na\n") == 0
    assert store.between_brackets(store.terminals.symbols(["LPAR", "_NL", "NAME", "RPAR", "_NL"]), 0) == (
        store.terminals.symbols(["LPAR", "NAME", "RPAR", "_NL"]),
        0,
    )
