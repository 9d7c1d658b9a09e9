"""What grammar and vocabulary say about each other before any text is written: the constructions of the four papers, as data.

- streamlining (Tran-Thien): `is_never_legal`, `is_always_legal`, `are_jointly_legal`, `interchangeable_terminals`
"""

from .bar_hillel import intersection_is_empty, is_never_legal
from .legality import Verdict, are_jointly_legal, interchangeable_terminals, is_always_legal, judge
from .terminals import TerminalGrammar, terminal_grammar

__all__ = [
    "TerminalGrammar",
    "Verdict",
    "are_jointly_legal",
    "interchangeable_terminals",
    "intersection_is_empty",
    "is_always_legal",
    "is_never_legal",
    "judge",
    "terminal_grammar",
]
