# The two commands of the README are `make demo` and `make test`; everything they need is set up here.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: help setup demo test lint bench clean lock
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

## make setup: create the virtual environment from constraints.txt
setup: $(READY)

## make demo: check an example that repeats and one that does not, and write a report
demo: $(READY)
	@TWINRUN=$(BIN)/twinrun sh examples/demo.sh

## make test: run the tests
test: $(READY)
	$(BIN)/python -m pytest

## make lint: ruff and mypy --strict
lint: $(READY)
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy

## make bench: measure what watching costs (minutes)
bench: $(READY)
	$(BIN)/python benchmarks/run.py

## make lock: write constraints.txt anew from pyproject.toml
lock:
	$(PYTHON) tools/lock.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
