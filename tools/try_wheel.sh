#!/usr/bin/env bash
# Makes the source distribution, builds the wheel from it, installs that into an empty environment and runs it there: without the weights of the
# embedded model, and with them.
# Usage: tools/try_wheel.sh; needs the environment that `make test` sets up, for `build`.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${VENV:-.venv}/bin/python
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$python" -m pip install --quiet --disable-pip-version-check build
"$python" -m build --sdist --outdir "$out" . >/dev/null
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$out" "$out"/*.tar.gz packages/derivable-demo
ls -l "$out" | awk 'NR > 1 { print $5, $9 }'
"$python" -m venv "$out/empty"
"$out/empty/bin/python" -m pip install --quiet --disable-pip-version-check "$out"/derivable-0*.whl
cd "$out"
"$out/empty/bin/derivable" --version
"$out/empty/bin/python" -c '
import derivable as dv
matcher = dv.compile(dv.Grammar.builtin("json"), dv.Vocabulary.from_bytes([b"{", b"}", b"x", None], eos=[3])).matcher()
assert matcher.allowed_tokens().tolist() == [0], matcher.allowed_tokens()
try:
    dv.generate("tiny", "Is the sky blue? Answer: ")
except dv.DerivableError as error:
    assert "derivable[demo]" in str(error), error
else:
    raise AssertionError("the weights are not installed")
'
"$out/empty/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --find-links "$out" "derivable[demo]"
"$out/empty/bin/python" -c '
import derivable as dv
text = dv.generate("tiny", "Is the sky blue? Answer: ", dv.Grammar.from_choices(["yes", "no"])).text
assert text in ("yes", "no"), text
print(text)'
