"""What a server does with grammars, as Prometheus reads it.

    from derivable.integrations.metrics import Metrics
    metrics = Metrics()                         # in prometheus_client's own registry
    metrics.compiled(0.012)
    metrics.refused(error)

The names all begin with `derivable_`. `docs/hosts.md` says what each counts, and how vLLM shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import Lock
from time import monotonic
from typing import Any

try:
    from prometheus_client import REGISTRY, Counter, Histogram
except ImportError as error:
    message = "derivable.integrations.metrics needs prometheus-client: pip install 'derivable[metrics]'"
    raise ImportError(message) from error

__all__ = ["Metrics", "shared"]

_SECONDS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_TOKENS = (0, 1, 2, 4, 8, 16, 64, 256, 1024)
_EVERY = 2.0
"""Seconds between two looks at what the masks of all grammars have cost: it looks at each grammar that is kept."""


class Metrics:
    """Counters and histograms. Safe to share between threads; with `PROMETHEUS_MULTIPROC_DIR`, between processes.

    Args:
        registry: of `prometheus_client`; its own by default.

    Raises:
        ValueError: the registry has these names already. Keep the first `Metrics`, or take `shared`.

    Example:
        >>> from prometheus_client import CollectorRegistry, generate_latest
        >>> registry = CollectorRegistry()
        >>> metrics = Metrics(registry)
        >>> metrics.compiled(0.012)
        >>> b"derivable_compile_seconds_count 1.0" in generate_latest(registry)
        True
    """

    def __init__(self, registry: Any = REGISTRY) -> None:
        def counter(name: str, help: str, *labels: str) -> Any:
            return Counter(f"derivable_{name}", help, labels, registry=registry)

        def histogram(name: str, help: str, buckets: tuple[float, ...]) -> Any:
            return Histogram(f"derivable_{name}", help, buckets=buckets, registry=registry)

        self._requests = counter("requests", "Requests whose text is masked by Derivable.", "kind")
        self._refusals = counter("refusals", "Requests that were refused, by the error.", "error")
        self._relaxed = counter("relaxed", "Grammars of which something is not enforced (Grammar.relaxed).")
        self._compile = histogram("compile_seconds", "Compiling a grammar that was not known.", _SECONDS)
        self._first = histogram("first_mask_seconds", "The first mask of a request.", _SECONDS)
        self._left = histogram("tokens_left", "Tokens of its budget that a text has left at its end.", _TOKENS)
        self._masks = counter("masks", "Masks that were asked for.")
        self._misses = counter("mask_misses", "Masks that were not known and had to be computed.")
        self._miss_seconds = counter("mask_miss_seconds", "Time in computing masks that were not known.")
        self._seen: dict[str, int] = {}
        self._lock, self._looked = Lock(), 0.0

    def began(self, kind: str) -> None:
        """A request whose text is masked has begun; `kind` says by what."""
        self._requests.labels(kind).inc()

    def refused(self, error: BaseException) -> None:
        """A request was refused."""
        self._refusals.labels(type(error.__cause__ or error).__name__).inc()

    def compiled(self, seconds: float, *, relaxed: bool = False) -> None:
        """A grammar was compiled; `relaxed`: something of it is not enforced."""
        self._compile.observe(seconds)
        self._relaxed.inc(relaxed)

    def first_mask(self, seconds: float) -> None:
        """The first mask of a request was there."""
        self._first.observe(seconds)

    def ended(self, tokens_left: int | None) -> None:
        """A text has ended; `None`: it had no budget."""
        if tokens_left is not None:
            self._left.observe(tokens_left)

    def look(self, stats: Callable[[], Mapping[str, int]], *, now: bool = False) -> None:
        """Takes over what `Compiler.stats` says of masks, at most every two seconds.

        Args:
            stats: of one compiler, or sums of several.
            now: however long ago the last time was.
        """
        time = monotonic()
        with self._lock:
            if not now and time - self._looked < _EVERY:
                return
            self._looked = time
            found = stats()
            new = {name: max(0, found[name] - self._seen.get(name, 0)) for name in ("masks", "mask_hits", "miss_ns")}
            self._seen = dict(found)
        self._masks.inc(new["masks"])
        self._misses.inc(max(0, new["masks"] - new["mask_hits"]))
        self._miss_seconds.inc(new["miss_ns"] / 1e9)


@lru_cache(maxsize=1)
def shared() -> Metrics:
    """Those of this process, in prometheus_client's own registry."""
    return Metrics()
