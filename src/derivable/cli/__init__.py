"""The command line: `derivable generate | check | mask | vocab | compile | report | lint | analyze | measure | trace |
demo`, a file a verb.

Generated text goes to standard output as it comes; figures about it go to standard error, so that
`derivable generate ... > file` writes the text alone. Errors of Derivable are shown without a traceback, exit code 2.
"""

from . import analyze, check, compile, demo, generate, lint, mask, measure, report, trace, vocab  # each adds its verb
from .app import app, main

__all__ = [
    "analyze",
    "app",
    "check",
    "compile",
    "demo",
    "generate",
    "lint",
    "main",
    "mask",
    "measure",
    "report",
    "trace",
    "vocab",
]
