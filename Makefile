# windrow: everything that is built, run and checked here.
# The first target that needs it makes .venv; a stamp keeps later runs from installing again.

PYTHON ?= python3
VENV ?= .venv
FUZZ_SECONDS ?= 600
PAPERS_CASES ?= 10000

# Hundreds of processes are started here, each loads windrow: from bytecode in half a second less.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
# Modules are compiled when they are first imported: most never are, and all take half a minute.
INSTALL := $(BIN)/python -m pip install --no-compile --disable-pip-version-check --no-input -qq -c constraints.txt
RUN_STAMP := $(VENV)/.installed-run
LAB_STAMP := $(VENV)/.installed-lab
TEST_STAMP := $(VENV)/.installed-test
DOCS_STAMP := $(VENV)/.installed-docs

.PHONY: demo test check docs lab bench accept-bench experiments papers checkpoints fuzz slow clean

demo: $(RUN_STAMP)  ## what windrow does, shown on the shipped examples
	$(BIN)/windrow demo

test: $(TEST_STAMP)  ## all but the slow tests; the fast suite comes first
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow and not spark and not long"
	$(BIN)/pytest -q -n 2 --dist worksteal -m "long and not slow" tests
	$(BIN)/pytest -q -n 2 --dist worksteal -m "spark and not slow" tests/spark

check: $(TEST_STAMP)  ## style, types, layers, sizes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/pytest -q tests/test_layers.py tests/test_size.py

docs: $(DOCS_STAMP)  ## the pages as a site, build/site/index.html; a broken link fails
	$(BIN)/mkdocs build --strict

lab: $(LAB_STAMP)  ## the laboratory, src/windrow_lab: `windrow bench` and `windrow experiment`

bench: $(LAB_STAMP)  ## kernel and pipeline, against others and against the last accepted ratios
	@mkdir -p build
	$(BIN)/windrow bench kernel --no-fail | tee build/bench-kernel.txt
	$(BIN)/windrow bench spark --no-fail | tee build/bench-spark.txt
	$(BIN)/windrow bench compare build/bench-kernel.txt benchmarks/kernel.jsonl; kernel=$$?; \
	$(BIN)/windrow bench compare build/bench-spark.txt benchmarks/spark.jsonl && exit $$kernel

accept-bench: $(LAB_STAMP)  ## what `make bench` has found last is what the next one is compared with
	$(BIN)/windrow bench compare build/bench-kernel.txt benchmarks/kernel.jsonl --accept
	$(BIN)/windrow bench compare build/bench-spark.txt benchmarks/spark.jsonl --accept

experiments: $(LAB_STAMP)  ## all experiments, scaled down, into experiments/ (docs/explanation/experiments.md)
	$(BIN)/windrow experiment all

papers: $(TEST_STAMP)  ## random cases: engine, papers' oracle and DuckDB oracle agree
	$(BIN)/python -m tests.papers --cases $(PAPERS_CASES) --jobs 2

checkpoints: $(TEST_STAMP)  ## checkpoints of the present state format as test fixtures; older ones stay
	$(BIN)/python -m tests.checkpoints

fuzz: $(TEST_STAMP)  ## random texts against the parser for FUZZ_SECONDS
	$(BIN)/python -m tests.fuzz.fuzz_language --seconds $(FUZZ_SECONDS)

slow: $(TEST_STAMP)  ## the tests that take minutes
	$(BIN)/pytest -q -m slow || [ $$? -eq 5 ]  # 5: there are none

clean:  ## everything that can be made again
	rm -rf $(VENV) windrow-demo windrow-peers build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

$(LAB_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[lab]'
	@touch $@ $(RUN_STAMP)

$(TEST_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[lab,test,check]'
	@touch $@ $(RUN_STAMP) $(LAB_STAMP)

$(DOCS_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[docs]'
	@touch $@ $(RUN_STAMP)
