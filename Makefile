# Sets itself up: every target makes .venv first, and does nothing again that has been done.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test fuzz patterns lint bench format clean

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

demo: $(VENV)/.installed ## describe two layouts, lower a reorder between them, and run it
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed-dev ## pytest, lit, ruff and pyright
	$(BIN)/python -m pytest -n auto --dist loadfile
	$(BIN)/lit filecheck
	$(MAKE) --no-print-directory lint

fuzz: $(VENV)/.installed-dev ## random kernels between guard pages; FUZZ="--count 10000 --seed 2" and the like say which
	$(BIN)/python -m tests.random_kernels $(FUZZ)

patterns: $(VENV)/.installed-dev ## a million random bit patterns of every type into every other
	$(BIN)/python -m tests.random_patterns $(PATTERNS)

lint: $(VENV)/.installed-dev ## ruff and pyright
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/.installed-dev ## rewrite the files as ruff formats them
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.installed-bench ## measure compiler and reorders; BENCH="--sizes l2" and the like narrow it down
	$(BIN)/python -m benchmarks.compile_time
	$(BIN)/python -m benchmarks.reorders --json benchmarks/results/reorders.json $(BENCH)

$(VENV)/.installed-bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

clean: ## remove .venv and all that is built
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .hypothesis .ruff_cache

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "layoutc needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# The stamps depend on pyproject.toml alone: the installation is editable, so new sources need none.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ $(VENV)/.installed
