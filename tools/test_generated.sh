#!/usr/bin/env bash
# Values that hypothesis-jsonschema makes, against the grammars. It wants a hypothesis of 2024: an environment of its own, ten minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
VENV="${GENERATED_VENV:-.generated-venv}"
PYTHON="${PYTHON:-python3}"
export PIP_DISABLE_PIP_VERSION_CHECK=1

if [ ! -e "$VENV/.installed" ]; then
    "$PYTHON" -m venv "$VENV"
    "$VENV/bin/python" -m pip install --quiet . "hypothesis==6.112.1" "hypothesis-jsonschema==0.23.1" pytest jsonschema jsonschema-rs
    touch "$VENV/.installed"
fi
"$VENV/bin/python" -m pytest -q -s -W default -m slow tests/json_schema/test_generated_values.py
