#!/usr/bin/env bash
# Builds the kernel with counters, runs the fast tests that are closest to it, and fails where they reach fewer of its lines than the least that is
# stated here. Usage: tools/coverage.sh; needs the environment that `make test` sets up. The page: build/coverage/report/index.html.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/instrumented.sh
least=89
build_instrumented coverage build/coverage
find build/coverage -name '*.gcda' -delete
run_instrumented tests/kernel tests/exact/test_accelerators.py tests/api/test_matcher.py tests/api/test_warm.py tests/api/test_batch.py tests/api/test_apply_bitmask.py \
    tests/api/test_store.py tests/guards/test_limits.py tests/exact/test_golden.py tests/exact/test_repeated.py tests/exact/test_indentation.py \
    tests/exact/test_max_tokens.py tests/exact/test_regions.py tests/exact/test_embedded.py tests/frontends/test_inner_encodings.py \
    tests/json_schema/test_key_order.py tests/json_schema/test_json_schema_keywords.py \
    tests/trees/test_trees.py tests/exact/test_resumed.py tests/exact/test_meaning.py tests/api/test_mask_table.py
mkdir -p build/coverage/report
"$(dirname "$python")/gcovr" --root . --filter src/kernel/ --object-directory build/coverage --exclude-unreachable-branches --exclude-throw-branches \
    --merge-mode-functions=merge-use-line-min --print-summary --html-details build/coverage/report/index.html --txt --fail-under-line "$least"
