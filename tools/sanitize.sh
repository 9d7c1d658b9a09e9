#!/usr/bin/env bash
# Builds the kernel under AddressSanitizer and UndefinedBehaviorSanitizer and runs the tests in C++ and those in Python that work it hardest;
# with --thread, under ThreadSanitizer, and the tests with threads.
# Usage: tools/sanitize.sh [--thread] [pytest arguments]; needs the environment that `make test` sets up.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/instrumented.sh
build=build/sanitize kind=address options=-DDERIVABLE_CPP_TESTS=ON
if [ "${1:-}" = --thread ]; then
    build=build/sanitize-thread kind=thread options=
    shift
fi
build_instrumented $kind $build $options
[ $# -gt 0 ] || [ $kind = thread ] || "$(dirname "$python")/ctest" --test-dir $build --output-on-failure
preload="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)"
[ $kind = thread ] && preload=$(g++ -print-file-name=libtsan.so)
export LD_PRELOAD="$preload $(g++ -print-file-name=libstdc++.so)"
# Only the kernel is instrumented: what Python does under the interpreter's lock cannot be seen, so reports name our frames or nothing. Children of a
# process with threads are part of the tests.
export TSAN_OPTIONS="halt_on_error=1:abort_on_error=1:die_after_fork=0:ignore_noninstrumented_modules=1"
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
if [ $# -gt 0 ]; then
    run_instrumented "$@"
elif [ $kind = thread ]; then
    run_instrumented tests/guards/test_threads.py
else
    run_instrumented tests/kernel/test_kernel.py tests/kernel/test_counting_automaton.py tests/api/test_matcher.py \
        tests/guards/test_limits.py tests/api/test_warm.py tests/json_schema/test_key_order.py
    run_instrumented tests/exact/test_exact.py -k "family and (0 or 7)"
    run_instrumented tests/exact/test_embedded.py -k "True-1 or False-1"
    run_instrumented tests/exact/test_meaning.py -k "not definition or 1"
fi
