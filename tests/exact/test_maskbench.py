"""MaskBench (shared data): every instance is accepted or rejected as its label says, but for the order of members."""

from __future__ import annotations

import json

import pytest
from accepting import BYTES, accepts
from shared_data import require_shared

import derivable as dv

REFUSED = {
    "Glaiveai2K---calculate_area_3a8a9f78.json": "no JSON value satisfies this schema",
    "Handwritten---allany17.json": "max_dfa_states",
}
"""Schemas that are refused, and why."""

OTHER_ORDER = [
    "Github_easy---o83258",
    "Github_hard---o29388",
    "Github_hard---o40454",
    "Github_hard---o50673",
    "Github_hard---o58458",
    "Github_hard---o69430",
    "Github_hard---o69474",
    "Github_hard---o74015",
    "Github_hard---o76580",
    "Github_hard---o83840",
    "Github_hard---o83841",
    "Github_hard---o90924",
    "Github_hard---o90970",
    "Github_medium---o47944",
    "Github_medium---o58609",
    "Github_medium---o83151",
    "Github_medium---o84199",
    "Github_ultra---o21840",
    "Glaiveai2K---calculate_area_245ee1e7",
    "Glaiveai2K---calculate_area_2503b276",
    "Glaiveai2K---calculate_area_3c2d01ed",
    "Glaiveai2K---calculate_area_42c63970",
    "Glaiveai2K---calculate_area_c40ef391",
    "JsonSchemaStore---accelerator",
    "JsonSchemaStore---bootstraprc",
    "JsonSchemaStore---chrome-manifest",
    "JsonSchemaStore---dbt_project",
    "JsonSchemaStore---debugsettings",
    "JsonSchemaStore---lintstagedrc.schema",
    "JsonSchemaStore---netlify",
    "JsonSchemaStore---project",
    "JsonSchemaStore---tmlanguage",
    "Kubernetes---kb_1147_Normalized",
    "MCPspec---ServerRequest",
    "Snowplow---sp_247_Normalized",
]
"""Schemas with valid instances whose members are not in the order of the schema.

They are accepted with `key_order="any"`."""

NOT_ANY_ORDER = {"Github_ultra---o21840"}
"""Of these, those with an object that is refused in any order: some member of 14 must fail, which rules count."""


@pytest.mark.slow
def test_every_instance_is_judged_as_its_label_says() -> None:
    path = require_shared("data", "maskbench", "dev.jsonl")
    other_order, refused = set(), set()
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        name = case["id"]
        try:
            constraint = dv.compile(dv.Grammar.from_json_schema(case["schema"], profile="spec"), BYTES)
        except dv.DerivableError as error:
            assert REFUSED[name] in str(error)
            refused.add(name)
            continue
        for test in case["tests"]:
            got = accepts(constraint, json.dumps(test["data"], ensure_ascii=False))
            if got is not test["valid"]:
                assert test["valid"], f"{name}: accepted an invalid instance"
                other_order.add(name.removesuffix(".json"))
                if name.removesuffix(".json") in NOT_ANY_ORDER:
                    with pytest.raises(dv.LimitError, match="max_cases"):
                        dv.Grammar.from_json_schema(case["schema"], key_order="any", profile="spec")
                    continue
                anyhow = dv.compile(dv.Grammar.from_json_schema(case["schema"], key_order="any", profile="spec"), BYTES)
                assert accepts(anyhow, json.dumps(test["data"], ensure_ascii=False)), name
    assert refused == set(REFUSED)
    assert other_order == set(OTHER_ORDER)
