"""How texts are derived: as trees, in the shape that Lark gives them, and what of them is captured.

```
grammar ─ cut ─▶ bodies ─┐
                         ├─ chart ─ derivation ─▶ reading: tree, captures
text ─ lexemes ──────────┘
```

The kernel tells which lexemes a text may be cut into (`lexemes`): that depends on the lexing policy, on columns and on
inner languages, and is decided there for masks, too. Which rules they make up is found out here, and only where
somebody asks: masks need no derivation, so the kernel's grammar has neither names nor empty rules left.
"""

from .reading import Captures, Inner, Trees

__all__ = ["Captures", "Inner", "Trees"]
