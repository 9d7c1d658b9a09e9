"""Tran-Thien's experiment 2: programs that a model writes under the streamlined mask store are Python.

    python benchmarks/streamlining/generated.py --texts 400 -o record/generated.json

The embedded model writes them, each token drawn from what it predicts (temperature 1) under two masks: that of the
streamlined store, which knows no columns, and that of a constraint, which does. A text is cut where the constraint last
said that it may end, and given to Lark's own parser. That refuses a few: behind any statement its LALR tables expect
`else`, and make a keyword of what can only be a name (docs/lexing.md, what differs from Lark). With `--lexing basic`
all terminals compete everywhere, in the constraint and in Lark. Beside that, at each
step the mask of the store must be the same with and without streamlining (experiment 3, on texts that are not anybody's
files). Texts are the model's, not random walks: what it likes to write decides which masks are met.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections import Counter
from datetime import date
from pathlib import Path
from time import process_time

import numpy as np
from entries import grammar_of
from experiments import refused_by_lark
from follow import MOST_PARSES, Texts

import derivable as dv
from derivable.analysis import MaskStore
from derivable.tiny import TinyModel, tokenizer_path

ROOM = 8
"""Positions of the model's context that are left free."""


class Writer:
    """Writes texts token by token.

    Args:
        texts: the store, streamlined.
        constraint: of the same grammar.
        longest: tokens of one text.
    """

    def __init__(self, texts: Texts, constraint: dv.Constraint, model: TinyModel, longest: int) -> None:
        self.texts, self.constraint, self.model = texts, constraint, model
        self.longest = min(longest, model.context - ROOM)
        self.bitmask = dv.allocate_bitmask(1, constraint.vocabulary.size)

    def mask(self, matcher: dv.Matcher) -> np.ndarray:
        """The constraint's mask, bool [V]."""
        matcher.fill_bitmask(self.bitmask)
        bits = np.unpackbits(np.asarray(self.bitmask).view(np.uint8), axis=1, bitorder="little")
        return bits[0, : self.constraint.vocabulary.size].astype(np.bool_)

    def write(self, seed: int) -> tuple[bytes, Counter[str]]:
        """One text, as far as it is complete, and counts."""
        draw, found = np.random.default_rng(seed), Counter[str]()
        matcher, parses, state = self.constraint.matcher(), self.texts.start(), self.model.start()
        logits, text, complete = self.model.forward(state, [self.model.bos_id])[-1], b"", b""
        for _ in range(self.longest):
            plain, streamlined = self.texts.masks(parses)
            found["masks"] += 1
            found["same"] += bool((plain == streamlined).all())
            allowed = streamlined & self.mask(matcher)
            if not allowed.any():
                break
            scores = np.where(allowed, logits, -np.inf)
            weights = np.exp(scores - scores.max())
            token = int(draw.choice(len(weights), p=weights / weights.sum()))
            matcher.advance(token)
            parses = self.texts.advance(parses, token)
            found["tokens"] += 1
            if not parses or len(parses) > MOST_PARSES:
                found["left"] += 1
                break
            text += self.constraint.vocabulary.token_bytes(token) or b""
            if matcher.is_accepting:
                complete = text
            logits = self.model.forward(state, [token])[-1]
        return complete, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--longest", type=int, default=1_000, help="tokens of one text")
    parser.add_argument("--lexing", choices=["longest", "basic"], default="longest", help="of the constraint and Lark")
    parser.add_argument("--steps", type=int, default=4, help="of streamlining")
    parser.add_argument("--seconds", type=float, default=1e9, help="of processor time to stop after")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    vocabulary, grammar = dv.Vocabulary.from_tokenizer_json(tokenizer_path()), grammar_of("python.lark", options.lexing)
    store = MaskStore(grammar, vocabulary, optional_newlines=True)
    texts = Texts(store, vocabulary, options.steps)
    writer = Writer(texts, dv.compile(grammar, vocabulary), TinyModel.load(), options.longest)
    lexer = "basic" if options.lexing == "basic" else "contextual"
    total: Counter[str] = Counter()
    for seed in range(options.texts):
        if process_time() > options.seconds:
            break
        text, found = writer.write(seed)
        why = refused_by_lark(text.decode() + "\n", lexer) if text else ""
        if why:
            print(f"text {seed}: Lark refuses it: {why}", flush=True)
        total += found + Counter(texts=1, characters=len(text.decode()), taken_by_lark=int(not why))
        if seed % 20 == 19:
            print(f"{dict(total)}; {process_time():.0f} s", flush=True)
    result = {
        "command": f"python {' '.join(sys.argv)}",
        "date": str(date.today()),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        **total,
        "seconds": round(process_time()),
    }
    print(json.dumps(result, indent=1))
    if options.output is not None:
        options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if total["same"] != total["masks"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
