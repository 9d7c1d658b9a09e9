"""The embedded model: a 2.4-million-parameter Llama with its own byte-level BPE, run by numpy alone.

It exists so that examples, tests and experiments need no model of yours. Its data (5 MB) is a package of its own:
``pip install 'derivable[demo]'``; a checkout has it in ``packages/derivable-demo``. It writes small JSON, XML, SQL and
programs well enough to be worth constraining, and badly enough that constraining it matters.
``training/README.md`` in the repository says what it was trained on and how prompts should be phrased.

    >>> from derivable.tiny import TinyModel, TinyTokenizer
    >>> model, tokenizer = TinyModel.load(), TinyTokenizer.load()
    >>> state = model.start()
    >>> logits = model.forward(state, [model.bos_id, *tokenizer.encode("A person as JSON:\\n")])
    >>> int(logits[-1].argmax())  # doctest: +SKIP
"""

from __future__ import annotations

from derivable.tiny.model import State, TinyModel
from derivable.tiny.tokenizer import TinyTokenizer, tokenizer_path

__all__ = ["State", "TinyModel", "TinyTokenizer", "tokenizer_path"]
