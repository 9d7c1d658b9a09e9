# Sourced: `build_instrumented KIND FOLDER [options of cmake]` builds an instrumented kernel and puts it next to a copy of the package's Python files, ahead of the
# installed one. KIND is a value of DERIVABLE_INSTRUMENT (CMakeLists.txt). Needs the environment that `make test` sets up; sets `python`.
python=${VENV:-.venv}/bin/python

build_instrumented() {
    local kind=$1 build=$2 bin
    bin=$(dirname "$python")
    "$bin/cmake" -S . -B "$build" -G Ninja -DCMAKE_MAKE_PROGRAM="$(realpath "$bin")/ninja" -DPython_EXECUTABLE="$(realpath -s "$python")" \
        -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDERIVABLE_INSTRUMENT="$kind" "${@:3}" >/dev/null
    "$bin/cmake" --build "$build" --parallel 2
    local package=$build/package/derivable
    rm -rf "$build/package" && mkdir -p "$package"
    cp -r src/derivable/. "$package/" && rm -f "$package"/_kernel*.so
    cp "$build"/_kernel*.so "$package/"
    export PYTHONPATH="$PWD/$build/package:$PWD/tests:$PWD/tests/support" DERIVABLE_INSTRUMENTED="$PWD/$build"
    # An editable install finds its own kernel first, wherever PYTHONPATH points: its finder is left out, by children of the tests, too, but for those
    # that are given another environment.
    cat >"$build/package/sitecustomize.py" <<'end'
import os
import sys

if "DERIVABLE_INSTRUMENTED" in os.environ:
    sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
end
}

run_instrumented() {
    "$python" -c '
import os, sys, derivable._kernel as kernel, pytest
assert kernel.__file__.startswith(os.environ["DERIVABLE_INSTRUMENTED"]), kernel.__file__
# What a sanitizer writes is seen: the process ends before pytest would show what it captured.
sys.exit(pytest.main(["-p", "no:cacheprovider", "--capture=sys", "-m", "not slow", *sys.argv[1:]]))' "$@"
}
