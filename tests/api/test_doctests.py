"""The examples in docstrings are run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest
from embedded_model import needs_weights

import derivable as dv

PACKAGE = Path(dv.__file__).parent
OPTIONAL = {
    "frontends/json_schema/reading/sources.py": "pydantic",
    "frontends/languages.py": "pydantic",
    "integrations/metrics.py": "prometheus_client",
    "integrations/spans.py": "opentelemetry",
}
MODULES = sorted(
    path.relative_to(PACKAGE).as_posix()
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8") and "examples" not in path.parts
)


DOCUMENTS = sorted(
    path for path in (PACKAGE.parents[1] / "docs").glob("**/*.md") if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_examples_of_documents(document: Path) -> None:
    if needs_weights.args[0] and "tiny" in document.read_text(encoding="utf-8"):
        pytest.skip(needs_weights.kwargs["reason"])
    found = doctest.testfile(str(document), module_relative=False)
    assert found.attempted and not found.failed


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str) -> None:
    if module in OPTIONAL:
        pytest.importorskip(OPTIONAL[module])
    name = "derivable." + module.removesuffix(".py").replace("/", ".")
    found = doctest.testmod(importlib.import_module(name.removesuffix(".__init__")))
    assert found.attempted and not found.failed
