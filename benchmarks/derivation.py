"""From four naive lines to the index, one step at a time: what each step buys (docs/derivation.md tells the story).

    python benchmarks/derivation.py

A small engine for JSON in plain Python: a lexer automaton, LALR tables from Lark, and a mask function that is replaced
step by step. Every step's masks are compared with those of the step before, and in the end with the kernel's. JSON is
simple enough for one thread (no ambiguity, a lexeme ends where it cannot go on), so what is left is the index.

Needs the shared data (`DERIVABLE_SHARED`, or ../shared beside the repository).
"""

from __future__ import annotations

import datetime
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from first_mask import JSON_LARK, instances, machine, shared_folder, table
from lark import Lark
from lark.parsers.lalr_analysis import Shift
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

import derivable as dv

Mask = NDArray[np.uint8]
DEAD = -1
BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])


class Lexer:
    """One automaton over bytes for all terminals; state 0 is between lexemes."""

    def __init__(self, patterns: dict[str, str]) -> None:
        self.rows: list[list[int]] = []
        self.ends: list[str | None] = []  # the terminal that a lexeme is if it ends in this state
        self.may_become: list[frozenset[str]] = []
        starts = {n: dv.compile(dv.Grammar.from_regex(p), BYTES).matcher() for n, p in patterns.items()}
        known: dict[tuple[tuple[str, bytes], ...], int] = {}
        queue: list[dict[str, dv.Matcher]] = []

        def number(members: dict[str, dv.Matcher]) -> int:
            key = tuple((name, m.situation(0)) for name, m in members.items())
            if key not in known:
                known[key] = len(queue)
                queue.append(members)
                self.rows.append([DEAD] * 256)
                self.ends.append(next((name for name, m in members.items() if m.is_accepting), None))
                self.may_become.append(frozenset(members))
            return known[key]

        number(starts)
        for state, members in enumerate(queue):
            for byte in {b for m in members.values() for b in m.next_bytes()}:
                after = {name: m.fork() for name, m in members.items() if byte in m.next_bytes()}
                for m in after.values():
                    m.advance_bytes(bytes([byte]))
                self.rows[state][byte] = number(after)


Stack = tuple[int, ...]


class Parser:
    """An LALR automaton whose stacks are tuples of states."""

    def __init__(self, grammar: str) -> None:
        self.lark = Lark(grammar, parser="lalr")
        tables: Any = self.lark.parser.parser.parser.parse_table
        self.table: dict[int, dict[str, tuple[Any, Any]]] = tables.states
        self.start: Stack = (tables.start_states["start"],)
        self.followers: dict[str, set[str]] = {}  # terminals that may stand behind one
        for row in self.table.values():
            for terminal, (action, state) in row.items():
                if action is Shift:
                    self.followers.setdefault(terminal, set()).update(self.table[state])
        self.lowest = 0  # of a stack's states, the lowest that has been read since this was set

    def feed(self, stack: Stack, terminal: str) -> Stack | None:
        """The stack after a terminal; None if it cannot come now."""
        while (entry := self.table[self.top(stack)].get(terminal)) is not None:
            action, argument = entry
            if action is Shift:
                return (*stack, argument)
            if argument.expansion:
                stack = stack[: -len(argument.expansion)]
            stack = (*stack, self.table[self.top(stack)][argument.origin.name][1])
        return None

    def top(self, stack: Stack) -> int:
        self.lowest = min(self.lowest, len(stack) - 1)
        return stack[-1]


class Place(NamedTuple):
    """Where a text has got to."""

    lexer: int
    stack: Stack


@dataclass
class TrieNode:
    children: dict[int, TrieNode] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)


class Tree(NamedTuple):
    """Level 2: tokens that end inside a lexeme, by what it may become; and what follows, by the terminal that ends."""

    groups: dict[frozenset[str], Mask]
    branches: dict[str, Tree]

    def __len__(self) -> int:
        return 1 + sum(map(len, self.branches.values()))


class Engine:
    """The steps. Each `mask_*` returns the bits of all allowed tokens."""

    def __init__(self, vocabulary: dv.Vocabulary) -> None:
        self.parser = Parser(JSON_LARK)
        self.ignored = set(self.parser.lark.ignore_tokens)
        self.lexer = Lexer({t.name: t.pattern.to_regexp() for t in self.parser.lark.terminals})
        self.size = vocabulary.size
        self.tokens = [vocabulary.token_bytes(t) or b"" for t in range(vocabulary.size)]
        self.trie = TrieNode()
        for token, text in enumerate(self.tokens):
            node = self.trie
            for byte in text:
                node = node.children.setdefault(byte, TrieNode())
            if text:
                node.tokens.append(token)
        self.forget()

    def forget(self) -> None:
        """Empties the index, whose levels are filled where they are first asked."""
        self.inside: dict[int, tuple[dict[frozenset[str], Mask], list[tuple[str, TrieNode]]]] = {}
        self.trees: dict[int, Tree] = {}
        self.finished: dict[int, dict[int, dict[Stack, Mask]]] = {}

    # --- the recogniser

    def step(self, place: Place, byte: int) -> Place | None:
        """One byte further: inside the lexeme, or out of it and into the next."""
        state = self.lexer.rows[place.lexer][byte]
        stack: Stack | None = place.stack
        if state == DEAD:
            stack = self.end(place.lexer, place.stack)
            state = self.lexer.rows[0][byte]
        if stack is None or state == DEAD or not self.wants(stack, self.lexer.may_become[state]):
            return None
        return Place(state, stack)

    def end(self, state: int, stack: Stack) -> Stack | None:
        terminal = self.lexer.ends[state]
        if terminal is None:
            return None
        return stack if terminal in self.ignored else self.parser.feed(stack, terminal)

    def wants(self, stack: Stack, terminals: frozenset[str]) -> bool:
        return any(t in self.ignored or self.parser.feed(stack, t) is not None for t in terminals)

    def after(self, place: Place | None, text: bytes) -> Place | None:
        for byte in text:
            if place is None:
                return None
            place = self.step(place, byte)
        return place

    @property
    def start(self) -> Place:
        return Place(0, self.parser.start)

    def prefix_of_language(self, text: bytes) -> bool:
        return self.after(self.start, text) is not None

    # --- the steps

    def mask_naive(self, text: bytes, place: Place) -> Mask:
        """Step 0."""
        allowed = self.empty()
        for token, more in enumerate(self.tokens):
            if more and self.prefix_of_language(text + more):
                allowed[token >> 3] |= 1 << (token & 7)
        return allowed

    def mask_resumed(self, text: bytes, place: Place) -> Mask:
        """Step 1: the state after the text is kept."""
        allowed = self.empty()
        for token, more in enumerate(self.tokens):
            if more and self.after(place, more) is not None:
                allowed[token >> 3] |= 1 << (token & 7)
        return allowed

    def mask_by_trie(self, text: bytes, place: Place) -> Mask:
        """Step 2: tokens with a common beginning are asked about once."""
        allowed = self.empty()
        self.walk(self.trie, place, allowed)
        return allowed

    def walk(self, node: TrieNode, place: Place, allowed: Mask) -> None:
        todo = [(node, place)]
        while todo:
            node, place = todo.pop()
            for token in node.tokens:
                allowed[token >> 3] |= 1 << (token & 7)
            for byte, child in node.children.items():
                after = self.step(place, byte)
                if after is not None:
                    todo.append((child, after))

    def mask_by_terminals(self, text: bytes, place: Place) -> Mask:
        """Step 3, level 1: what stays inside the lexeme is looked up; only what leaves it is walked."""
        if place.lexer not in self.inside:
            self.inside[place.lexer] = self.split(self.trie, place.lexer)
        groups, exits = self.inside[place.lexer]
        allowed = self.empty()
        for terminals, tokens in groups.items():
            if self.wants(place.stack, terminals):
                allowed |= tokens
        stacks = {t: place.stack if t in self.ignored else self.parser.feed(place.stack, t) for t, _ in exits}
        for terminal, node in exits:
            stack = stacks[terminal]
            if stack is not None:
                self.walk(node, Place(0, stack), allowed)
        return allowed

    def split(self, node: TrieNode, state: int) -> tuple[dict[frozenset[str], Mask], list[tuple[str, TrieNode]]]:
        """Tokens that end inside the lexeme, by what it may become, and the nodes below which it has ended."""
        groups: dict[frozenset[str], Mask] = {}
        exits: list[tuple[str, TrieNode]] = []
        todo = [(node, state)]
        while todo:
            node, state = todo.pop()
            self.note(groups, self.lexer.may_become[state], node.tokens)
            rest = TrieNode()
            for byte, child in node.children.items():
                after = self.lexer.rows[state][byte]
                if after != DEAD:
                    todo.append((child, after))
                else:
                    rest.children[byte] = child
            terminal = self.lexer.ends[state]
            if rest.children and terminal is not None:
                exits.append((terminal, rest))
        return groups, exits

    def mask_by_tree(self, text: bytes, place: Place) -> Mask:
        """Step 4, level 2: the parser walks the tree of terminal sequences, not the vocabulary."""
        if place.lexer not in self.trees:
            self.trees[place.lexer] = self.tree([(self.trie, place.lexer)])
        allowed = self.empty()
        todo = [(self.trees[place.lexer], place.stack)]
        while todo:
            (groups, branches), stack = todo.pop()
            for terminals, tokens in groups.items():
                if self.wants(stack, terminals):
                    allowed |= tokens
            for terminal, below in branches.items():
                after = stack if terminal in self.ignored else self.parser.feed(stack, terminal)
                if after is not None:
                    todo.append((below, after))
        return allowed

    def tree(self, places: list[tuple[TrieNode, int]]) -> Tree:
        groups: dict[frozenset[str], Mask] = {}
        leaving: dict[str, list[tuple[TrieNode, int]]] = {}
        for node, state in places:
            for terminals, tokens in (found := self.split(node, state))[0].items():
                groups[terminals] = groups[terminals] | tokens if terminals in groups else tokens
            for terminal, rest in found[1]:
                leaving.setdefault(terminal, []).append((rest, 0))
        return Tree(groups, {terminal: self.tree(rests) for terminal, rests in leaving.items()})

    def adjacent(self, tree: Tree, last: str | None = None) -> int:
        """Nodes that are left if no branch has two terminals that never stand side by side: a part of level 3."""
        return 1 + sum(
            self.adjacent(below, last if terminal in self.ignored else terminal)
            for terminal, below in tree.branches.items()
            if last is None or terminal in self.ignored or terminal in self.parser.followers[last]
        )

    def mask_by_stack(self, text: bytes, place: Place) -> Mask:
        """Step 5, level 4: the finished mask is kept, under as much of the stack as was read to compute it."""
        known = self.finished.setdefault(place.lexer, {})
        for depth, masks in known.items():
            mask = masks.get(place.stack[-depth:])
            if mask is not None:
                return mask
        self.parser.lowest = len(place.stack)
        mask = self.mask_by_tree(text, place)
        depth = max(1, len(place.stack) - self.parser.lowest)
        known.setdefault(depth, {})[place.stack[-depth:]] = mask
        return mask

    def empty(self) -> Mask:
        return np.zeros((self.size + 7) // 8, dtype=np.uint8)

    def note(self, groups: dict[frozenset[str], Mask], terminals: frozenset[str], tokens: list[int]) -> None:
        if tokens:
            mask = groups.setdefault(terminals, self.empty())
            for token in tokens:
                mask[token >> 3] |= 1 << (token & 7)


STEPS: list[tuple[str, Callable[[Engine], Callable[[bytes, Place], Mask]], int]] = [
    ("0. every token, from the start of the text", lambda e: e.mask_naive, 2),
    ("1. every token, from where the text is", lambda e: e.mask_resumed, 12),
    ("2. the vocabulary as a trie", lambda e: e.mask_by_trie, 12),
    ("3. level 1: terminals looked up", lambda e: e.mask_by_terminals, 1_000),
    ("4. level 2: a tree of terminal sequences", lambda e: e.mask_by_tree, 1_000),
    ("5. level 4: finished masks, by stack", lambda e: e.mask_by_stack, 1_000),
]
"""Each step, and how many masks to measure."""


def places(engine: Engine, vocabulary: dv.Vocabulary, texts: list[str]) -> list[tuple[bytes, Place]]:
    """Every token boundary of the texts."""
    found = []
    for text in texts:
        place, so_far = engine.start, b""
        for token in vocabulary.encode(text):
            found.append((so_far, place))
            more = vocabulary.token_bytes(token) or b""
            so_far += more
            after = engine.after(place, more)
            assert after is not None, text
            place = after
    return found


def spread(found: list[tuple[bytes, Place]], count: int) -> list[tuple[bytes, Place]]:
    """So many of them, evenly spread."""
    return found if count >= len(found) else [found[(2 * i + 1) * len(found) // (2 * count)] for i in range(count)]


def kernel(vocabulary: dv.Vocabulary, texts: list[str]) -> tuple[list[list[float]], list[Mask]]:
    """The real engine at all boundaries: seconds of two passes, and the masks, without the tokens that end the text."""
    constraint = dv.compile(dv.Grammar.from_lark(JSON_LARK), vocabulary)
    bitmask = dv.allocate_bitmask(1, vocabulary.size)
    passes: list[list[float]] = [[], []]
    masks = []
    for seconds in passes:
        for text in texts:
            m = constraint.matcher()
            for token in vocabulary.encode(text):
                begin = time.thread_time()
                m.fill_bitmask(bitmask)
                seconds.append(time.thread_time() - begin)
                row = bitmask[0].view(np.uint8)[: (vocabulary.size + 7) // 8].copy()
                for end in vocabulary.eos_ids:
                    row[end >> 3] &= ~(1 << (end & 7)) & 255
                masks.append(row)
                m.advance(token)
    return passes, masks


def main(
    tokenizer: Annotated[str, typer.Option(help="A folder of shared/data/tokenizers.")] = "llama-3",
    texts: Annotated[int, typer.Option(help="JSON documents to stand in.")] = 12,
) -> None:
    """Time per mask, from four naive lines to the index."""
    console, shared = Console(), shared_folder()
    if shared is None:
        console.print("shared data not found: set DERIVABLE_SHARED, or put it at ../shared; nothing measured")
        return
    vocabulary = dv.Vocabulary.from_tokenizer_json(shared / "data" / "tokenizers" / tokenizer / "tokenizer.json")
    documents = instances(shared, texts, 1_000)
    engine = Engine(vocabulary)
    everywhere = places(engine, vocabulary, documents)
    kernel_passes, masks = kernel(vocabulary, documents)
    exact = {text: mask for (text, _), mask in zip(everywhere, masks)}
    rows = []
    for name, choose, count in track(STEPS, "steps", console=Console(stderr=True)):
        engine.forget()
        mask_of, some = choose(engine), spread(everywhere, count)
        passes: list[list[float]] = [[], []]
        for seconds in passes:
            for text, place in some:
                begin = time.thread_time()
                result = mask_of(text, place)
                seconds.append(time.thread_time() - begin)
                assert (result == exact[text]).all(), (name, text)
            if not (engine.inside or engine.trees):  # it remembers nothing: once more would be the same
                passes[1] = seconds
                break
        rows.append([name, str(len(some)), *map(_time, passes)])
    rows.append(["6. the kernel", str(len(everywhere)), *map(_time, kernel_passes)])
    trees = engine.trees.values()
    finished = [mask for known in engine.finished.values() for at_depth in known.values() for mask in at_depth.values()]
    length = np.mean([len(text) for text, _ in everywhere])
    facts = machine(["ours"]) | {"date": datetime.date.today().isoformat(), "clock": "processor time"}
    page = "\n\n".join(
        [
            f"```\n{shlex.join(['python', 'benchmarks/derivation.py', *sys.argv[1:]])}\n```",
            "\n".join(f"- {key}: {value}" for key, value in facts.items()),
            f"JSON, {tokenizer}: {vocabulary.size:,} tokens, a trie of {_count(engine.trie):,} nodes. {len(documents)} "
            f"documents, {len(everywhere):,} places, on average {length:.0f} bytes from the start.",
            table(["step", "masks measured", "mean of first visits", "mean of later ones"], rows),
            f"In the end the small engine holds {len(engine.lexer.rows)} lexer states, {len(trees)} trees with "
            f"{sum(map(len, trees)):,} nodes ({sum(map(engine.adjacent, trees)):,} without terminals that never stand "
            f"side by side), and {len(finished):,} finished masks, {len({mask.tobytes() for mask in finished}):,} of "
            "them distinct.",
        ]
    )
    console.print(page, markup=False, soft_wrap=True)


def _time(seconds: list[float]) -> str:
    us = float(np.mean(seconds)) * 1e6
    return f"{us / 1e6:,.1f} s" if us > 1e6 else f"{us / 1e3:,.1f} ms" if us > 1e3 else f"{us:,.1f} µs"


def _count(node: TrieNode) -> int:
    todo, count = [node], 0
    while todo:
        todo.extend(todo.pop().children.values())
        count += 1
    return count - 1


if __name__ == "__main__":
    typer.run(main)
