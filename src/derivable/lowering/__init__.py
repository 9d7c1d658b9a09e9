"""From a grammar to what the kernel takes: numbered symbols, an automaton for each terminal, flat productions.

```
rules ─ spelled ─▶ leaves ─▶ words, repeats ─▶ numbering ─▶ indentation, endings ─▶ Lowered
```

A file a pass: literals that name special tokens are told from text (`spelled`, once the vocabulary is known); small
regular rules become terminals (`leaves`); long literals and lists of words are found (`words`); repeats become rules
(`repeats`); symbols are numbered and bodies laid flat (`numbering`, with the kernel); blocks by columns get their
symbols (`indentation`), and the end of the text those that it closes (`endings`).
"""

from .indentation import LoweredIndentation, matches_blank_lines
from .numbering import InnerTexts, Lowered, lower, optional_terminals
from .slots import longest_names
from .spelled import with_tokens

__all__ = [
    "InnerTexts",
    "Lowered",
    "LoweredIndentation",
    "longest_names",
    "lower",
    "matches_blank_lines",
    "optional_terminals",
    "with_tokens",
]
