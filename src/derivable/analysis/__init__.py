"""What a grammar and a vocabulary say about each other before any text is written: the constructions of the papers,
as data.

- Willard & Louf 2023: `find_sub_sequences`, `map_states_to_vocabulary`, `automaton`, `scan`, `StateUnions`,
  `stack_preimages`
- Beurer-Kellner et al. 2024 (DOMINO): `SubterminalTrees`, `subterminal_tree`
- Tran-Thien 2025 (streamlining): `is_never_legal`, `is_always_legal`, `are_jointly_legal`,
  `interchangeable_terminals`, `MaskStore`, `StoreLoop`
- Park et al. 2025 (GreatGramma): `LexingTransducer`, `DetokenizingTransducer`, `TokenTransducer`, `SpannerTable`,
  `StackFree`, `ParserTables`, `MaximalMunch`

And what a writer of a grammar wants to know (`derivable lint`): `ambiguity`, `Lexemes`.

Masks come from elsewhere (`derivable.compile`); this is for looking, counting and comparing. How they come about can be
read in `plain`: the algorithm of the kernel on one page of Python (`Plain`, with the parser `Earley`).
"""

from .ambiguity import Ambiguity, ambiguity
from .bar_hillel import intersection_is_empty, is_never_legal
from .earley import Earley
from .legality import Verdict, are_jointly_legal, interchangeable_terminals, is_always_legal, judge
from .lexemes import Lexemes
from .mask_store import STEPS, MaskStore, Streamlined
from .maximal_munch import MaximalMunch, MaximalMunchMatcher
from .parser_tables import LrStacks, ParserTables
from .plain import Plain, PlainMatcher
from .scanner import Scanner
from .sequences import SequenceParser
from .spanner_table import SpannerTable
from .stack_free import LrAutomaton, StackFree
from .state_index import (
    Automaton,
    StateIndex,
    automaton,
    find_sub_sequences,
    map_states_to_vocabulary,
    scan,
    stack_preimages,
)
from .state_unions import Configuration, StateUnions
from .store_loop import StoreLoop, StoreLoopMatcher
from .subterminals import Subterminal, SubterminalTree, SubterminalTrees, subterminal_tree
from .terminals import TerminalGrammar, terminal_grammar
from .transducers import DetokenizingTransducer, LexingTransducer, TokenTransducer

__all__ = [
    "STEPS",
    "Ambiguity",
    "Automaton",
    "Configuration",
    "DetokenizingTransducer",
    "Earley",
    "Lexemes",
    "LexingTransducer",
    "LrAutomaton",
    "LrStacks",
    "MaskStore",
    "MaximalMunch",
    "MaximalMunchMatcher",
    "ParserTables",
    "Plain",
    "PlainMatcher",
    "Scanner",
    "SequenceParser",
    "SpannerTable",
    "StackFree",
    "StateIndex",
    "StateUnions",
    "StoreLoop",
    "StoreLoopMatcher",
    "Streamlined",
    "Subterminal",
    "SubterminalTree",
    "SubterminalTrees",
    "TerminalGrammar",
    "TokenTransducer",
    "Verdict",
    "ambiguity",
    "are_jointly_legal",
    "automaton",
    "find_sub_sequences",
    "interchangeable_terminals",
    "intersection_is_empty",
    "is_always_legal",
    "is_never_legal",
    "judge",
    "map_states_to_vocabulary",
    "scan",
    "stack_preimages",
    "subterminal_tree",
    "terminal_grammar",
]
