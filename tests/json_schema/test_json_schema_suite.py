"""The official JSON Schema test suite, drafts 7, 2019-09 and 2020-12: every instance byte by byte through the grammar.

An instance is accepted or rejected as the suite says, or the schema is refused by name (`REFUSED` lists what may be).
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from accepting import accepts
from shared_data import require_shared

import derivable as dv

referencing = pytest.importorskip("referencing")
pytest.importorskip("referencing.jsonschema")

BYTES = dv.Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], eos=[256])
DRAFTS = {"draft7": "draft7", "draft2019-09": "2019-09", "draft2020-12": "2020-12"}

REFUSED = {"$vocabulary", "max_dfa_states"}
"""What the suite asks for and is refused by name (`max_dfa_states`: `multipleOf: 0.123456789`)."""

ASIDE = {  # files of optional tests of what is an annotation here, and why
    "optional/content": "contentMediaType and contentEncoding are annotations",
    "optional/format/idn-hostname": "an annotation: needs the tables of RFC 5892",
}
PUNYCODE = "xn--"
BACK_REFERENCE = "\\k<"


def registry(root: Path) -> Any:
    """The documents under `remotes`, by the addresses the suite gives them."""
    resources = []
    for path in sorted((root / "remotes").rglob("*.json")):
        contents = json.loads(path.read_text(encoding="utf-8"))
        name = path.relative_to(root / "remotes").as_posix()
        default = referencing.jsonschema.DRAFT202012
        if name.startswith("draft7"):
            default = referencing.jsonschema.DRAFT7
        elif name.startswith("draft2019-09"):
            default = referencing.jsonschema.DRAFT201909
        resources.append(
            (
                f"http://localhost:1234/{name}",
                referencing.Resource.from_contents(contents, default_specification=default),
            )
        )
    from jsonschema_specifications import REGISTRY

    return REGISTRY.with_resources(resources)


def orders(value: Any) -> Any:
    """Whether the instance is one in which the order of members could matter."""
    if isinstance(value, dict):
        return len(value) > 1 or any(map(orders, value.values()))
    return isinstance(value, list) and any(map(orders, value))


def compiled(schema: Any, **options: Any) -> dv.Constraint | str | None:
    """The constraint; the name of what is not supported; or `None` if no value satisfies the schema."""
    try:
        grammar = dv.Grammar.from_json_schema(schema, **options, profile="spec")
    except dv.UnsupportedFeatureError as error:
        assert error.pointer is not None
        return error.feature
    except dv.LimitError as error:
        return error.limit
    except dv.GrammarError as error:
        if "no JSON value satisfies" in str(error):
            return None
        raise
    return dv.compile(grammar, BYTES)


def run(path: Path, name: str, draft: str, found: Any) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    formats = "assert" if "optional/format/" in name or name.endswith("format-assertion") else "annotation"
    for group in json.loads(path.read_text(encoding="utf-8")):
        options: dict[str, Any] = {"registry": found, "formats": formats}
        if not (isinstance(group["schema"], dict) and "$schema" in group["schema"]):
            options["draft"] = DRAFTS[draft]
        constraint = compiled(group["schema"], **options)
        if isinstance(constraint, str):
            counts[f"refused: {constraint}"] += len(group["tests"])
            if constraint not in REFUSED:
                wrong.append(f"{name}: {group['description']}: refuses {constraint}")
            continue
        anyhow = None
        for test in group["tests"]:
            data = test["data"]
            if formats == "assert" and isinstance(data, str) and PUNYCODE in data.lower():
                counts["aside: punycode is not decoded"] += 1
                continue
            if "regex" in name and isinstance(data, str) and BACK_REFERENCE in data:
                counts["aside: back references are left out of format regex"] += 1
                continue
            text = json.dumps(data, ensure_ascii=False)
            got = constraint is not None and accepts(constraint, text)
            if got is not test["valid"] and test["valid"] and orders(data):
                # Listed order: the same value with its members in another order must be accepted.
                if anyhow is None:
                    anyhow = compiled(group["schema"], key_order="any", **options)
                assert isinstance(anyhow, dv.Constraint)
                got = accepts(anyhow, text)
                counts["other order"] += got
            if got is test["valid"]:
                counts["accepted" if got else "rejected"] += 1
            else:
                wrong.append(
                    f"{name}: {group['description']}: {test['description']}: "
                    f"{'accepted' if got else 'rejected'} {text[:80]}"
                )
    return counts, wrong


@pytest.mark.slow
@pytest.mark.parametrize("draft", DRAFTS)
def test_official_suite(draft: str) -> None:
    root = require_shared("data", "json-schema-test-suite")
    found = registry(root)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for path in sorted((root / "tests" / draft).rglob("*.json")):
        name = path.relative_to(root / "tests" / draft).with_suffix("").as_posix()
        if name in ASIDE:
            continue
        got, bad = run(path, name, draft, found)
        counts += got
        wrong += bad
    print(draft, dict(counts))
    assert wrong == []
