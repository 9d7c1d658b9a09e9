#!/usr/bin/env bash
# Builds the kernel under AddressSanitizer and UndefinedBehaviorSanitizer and runs the tests that work it hardest; with --thread, under
# ThreadSanitizer, and the tests with threads.
# Usage: tools/sanitize.sh [--thread] [pytest arguments]; needs the environment that `make test` sets up.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${VENV:-.venv}/bin/python
build=build/sanitize kind=address
if [ "${1:-}" = --thread ]; then
    build=build/sanitize-thread kind=thread
    shift
fi
cmake=$(dirname "$python")/cmake
"$cmake" -S . -B "$build" -G Ninja -DCMAKE_MAKE_PROGRAM="$(realpath "$(dirname "$python")")/ninja" -DPython_EXECUTABLE="$(realpath -s "$python")" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDERIVABLE_SANITIZE="$kind" >/dev/null
"$cmake" --build "$build" --parallel 2
# The instrumented kernel next to the package's Python files, ahead of the installed one.
package=$build/package/derivable
rm -rf "$build/package" && mkdir -p "$package"
cp -r src/derivable/. "$package/" && rm -f "$package"/_kernel*.so
cp "$build"/_kernel*.so "$package/"
preload="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)"
[ $kind = thread ] && preload=$(g++ -print-file-name=libtsan.so)
export LD_PRELOAD="$preload $(g++ -print-file-name=libstdc++.so)"
# Only the kernel is instrumented: what Python does under the interpreter's lock cannot be seen, so reports name our frames or nothing. Children of a
# process with threads are part of the tests.
export TSAN_OPTIONS="halt_on_error=1:abort_on_error=1:die_after_fork=0:ignore_noninstrumented_modules=1"
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export PYTHONPATH="$PWD/$build/package:$PWD/tests:$PWD/tests/support"
# An editable install finds its own kernel first, wherever PYTHONPATH points: its finder is left out, by children of the tests, too, but for those that
# are given an environment without the sanitizer.
cat >"$build/package/sitecustomize.py" <<'end'
import os
import sys

if "san.so" in os.environ.get("LD_PRELOAD", ""):
    sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
end
run() {
    "$python" -c '
import derivable._kernel as kernel, pytest, sys
assert "sanitize" in kernel.__file__, kernel.__file__
sys.exit(pytest.main(["-p", "no:cacheprovider", "-m", "not slow", *sys.argv[1:]]))' "$@"
}
if [ $# -gt 0 ]; then
    run "$@"
elif [ $kind = thread ]; then
    run tests/guards/test_threads.py
else
    run tests/kernel/test_kernel.py tests/api/test_matcher.py tests/guards/test_limits.py tests/api/test_warm.py tests/json_schema/test_key_order.py
    run tests/exact/test_exact.py -k "family and (0 or 7)"
fi
