# make demo: set up and run the main job on the embedded model. make test: set up and run the tests.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
KERNEL := $(wildcard src/kernel/*/*.cpp src/kernel/*/*.hpp) CMakeLists.txt pyproject.toml

# A file of tests runs in one process, for what it loads; in the order of folders, the last of which are small, so that the processes end together.
SPREAD := -n auto --dist loadfile --no-loadscope-reorder
MEASURED := $(addprefix tests/,analysis api decoding frontends json_schema trees)
PYTHON_FOLDERS := src tests benchmarks tools training

.PHONY: demo test test-all test-cpp test-hosts test-generated coverage-kernel lint format docs sanitize clean

demo: $(STAMP)
	$(BIN)/derivable demo

# With COVERAGE=1 the lines of the Python code are counted (that part takes half as long again); the least that may be reached is in pyproject.toml.
test: $(STAMP)
ifdef COVERAGE
	$(BIN)/python -m pytest -m "not slow" $(SPREAD) --cov --cov-report=html:build/coverage-python $(MEASURED)
	$(BIN)/python -m pytest -m "not slow" $(SPREAD) $(addprefix --ignore=,$(MEASURED))
else
	$(BIN)/python -m pytest -m "not slow" $(SPREAD)
endif

test-all: $(STAMP)
	$(BIN)/python -m pytest $(SPREAD)

# The tests in C++, of the kernel alone: no sanitizers, for quick turns. `make sanitize` runs them with.
test-cpp: $(STAMP)
	$(BIN)/cmake -S . -B build/cpp -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DPython_EXECUTABLE=$(abspath $(BIN))/python \
	    -DCMAKE_BUILD_TYPE=Release -DDERIVABLE_CPP_TESTS=ON
	$(BIN)/cmake --build build/cpp --target cpp_tests
	$(BIN)/ctest --test-dir build/cpp --output-on-failure

# The kernel is built with counters; the least that may be reached is in tools/coverage.sh.
coverage-kernel: $(STAMP)
	bash tools/coverage.sh

# Hosts that bring an engine of their own (vLLM, Ray, SGLang, llama-cpp-python), in environments of their own. Parts of it: make test-hosts PARTS="vllm server".
test-hosts:
	PYTHON=$(PYTHON) bash tools/test_hosts.sh $(PARTS)

# Values that hypothesis-jsonschema makes of random schemas, in an environment of its own.
test-generated:
	PYTHON=$(PYTHON) bash tools/test_generated.sh

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet $(PYTHON_FOLDERS)
	$(BIN)/clang-format --dry-run -Werror src/kernel/*/*.[ch]pp tests/cpp/*.[ch]pp
	$(BIN)/mypy

# What `make lint` checks of the layout, applied.
format: $(STAMP)
	$(BIN)/ruff check --quiet --fix --select I .
	$(BIN)/ruff format --quiet $(PYTHON_FOLDERS)
	$(BIN)/clang-format -i src/kernel/*/*.[ch]pp tests/cpp/*.[ch]pp

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "sphinx>=8" myst-parser furo sphinx-copybutton sphinxcontrib-mermaid
	touch $(VENV)/.docs

sanitize:
	bash tools/sanitize.sh

# An editable install: Python files are used where they are; the kernel is built once and again when it changes.
$(STAMP): $(KERNEL)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[dev]"
	touch $(STAMP)

clean:
	rm -rf build $(VENV) .hosts-venv .generated-venv .pytest_cache .mypy_cache .ruff_cache
