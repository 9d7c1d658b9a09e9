"""TensorRT-LLM: a logits processor for `SamplingParams(logits_processor=...)`.

    from derivable.integrations.tensorrt_llm import Processor

    llm.generate(prompt, SamplingParams(logits_processor=Processor(constraint, max_tokens=200), max_tokens=200))

One object serves any number of requests: each has its own state. Tested against the documented call (`req_id`, logits
of three dimensions, the ids of each beam, the stream, `client_id`) on a CPU; not run on the hardware.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import nullcontext
from typing import Any

try:
    import torch
except ImportError as error:
    raise ImportError("derivable.integrations.tensorrt_llm needs torch, which tensorrt_llm brings") from error

from ..apply import apply_bitmask
from ..constraint import Constraint
from ..errors import BitmaskShapeError
from ..support.arguments import instance
from .following import Follower

__all__ = ["Processor"]

_REQUESTS = 4096  # remembered: a request says when it begins, but not when it ends


class Processor:
    """Masks what the grammar does not allow, in place.

    Args:
        constraint: compiled for the model's vocabulary.
        max_tokens: that of the `SamplingParams`: every text is complete within so many tokens, the end token included.
            `None`: it may be cut off.

    Raises:
        LimitError: no text is known that takes so few tokens.
    """

    def __init__(self, constraint: Constraint, max_tokens: int | None = None) -> None:
        instance("constraint", constraint, Constraint, "a Constraint")
        self.constraint, self.max_tokens = constraint, max_tokens
        constraint.matcher(max_tokens)  # a budget that is too small is refused here, not in the middle of a request
        self._requests: OrderedDict[int, list[Follower]] = OrderedDict()

    def __call__(
        self, req_id: int, logits: Any, token_ids: list[list[int]], stream_ptr: int | None, client_id: int | None = None
    ) -> None:
        """Masks logits [1, beams, V] of a request on its stream.

        Raises:
            TokenRejectedError: a token was chosen that the mask refused.
            BitmaskShapeError: the logits are not of this shape.
            MatcherError: the model has fewer tokens than the constraint's vocabulary.
        """
        if logits.dim() != 3 or logits.shape[0] != 1 or logits.shape[1] != len(token_ids):
            raise BitmaskShapeError(
                f"logits of shape {tuple(logits.shape)} and {len(token_ids)} beams do not go together. "
                "They are to be [1, beams, vocabulary]."
            )
        followers = self._requests.setdefault(req_id, [])
        self._requests.move_to_end(req_id)
        while len(self._requests) > _REQUESTS:
            self._requests.popitem(last=False)
        while len(followers) < len(token_ids):
            followers.append(Follower(self.constraint, max_tokens=self.max_tokens))
        masks = [follower.mask(ids, logits.shape[-1]) for follower, ids in zip(followers, token_ids)]
        with torch.cuda.stream(torch.cuda.ExternalStream(stream_ptr)) if stream_ptr else nullcontext():
            for beam, mask in enumerate(masks):
                apply_bitmask(logits[:, beam], mask)
