# The two commands of the README are `make demo` and `make test`; everything they need is set up here.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
OLDEST := .venv-oldest
DIST   := .venv-dist

.PHONY: help setup demo test test-slow test-gpu test-trackers test-ray hard test-oldest lint docs bench pictures clean lock dist check-dist sbom zoo zoo-heldout zoo-verify
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt constraints-libraries.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade --target $(VENV)/libraries/site-packages -r constraints-libraries.txt
	@touch $(READY)

## make setup: create the virtual environment from constraints.txt
setup: $(READY)

## make demo: check an example that repeats and one that does not, and write a report
demo: $(READY)
	@TWINRUN=$(BIN)/twinrun sh examples/demo.sh

## make test: run the tests
test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

## make test-slow: run the tests that are worth running now and then, but not with every change
test-slow: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m slow

## make test-gpu: run those that need a GPU; skipped if TensorFlow sees none
test-gpu: $(READY)
	$(BIN)/python -m pytest -m gpu tests/gpu

## make test-trackers: test against a real MLflow server, TensorBoard, Weights & Biases and pre-commit (half a gigabyte of packages)
test-trackers: $(READY) $(VENV)/.trackers
	$(BIN)/python -m pytest -m "slow or not slow" tests/trackers tests/ci

$(VENV)/.trackers: $(READY) constraints-trackers.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade --target $(VENV)/trackers/site-packages -r constraints-trackers.txt
	@touch $@

## make test-ray: checks on a real Ray cluster of several nodes, all on this machine (a quarter of a gigabyte of packages)
test-ray: $(READY) $(VENV)/.ray
	$(BIN)/python -m pytest -m "slow or not slow" tests/engines

$(VENV)/.ray: $(READY) constraints-ray.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade --target $(VENV)/ray/site-packages -r constraints-ray.txt
	@touch $@

## make hard: kills, a soak, full disks, many checks at once, a long run, fuzzing (an hour); HARD="-k soak --soak 50" for a part
hard: $(READY) $(VENV)/.hard
	@mkdir -p build
	$(BIN)/python -m pytest -s -m "hard or not slow" tests/hard --kills 200 --soak 300 --soak-tensorflow 30 --fills 40 --fuzz 20 \
		--seed $$(date +%s) --figures build/hard.json $(HARD)

# Fuzzing goes without what has no wheel for this Python.
$(VENV)/.hard: $(READY) constraints-hard.txt
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade --target $(VENV)/hard/site-packages -r constraints-hard.txt
	@touch $@

## make test-oldest: test what patches TensorFlow (observing, pinning, sources) on the oldest supported release
test-oldest: $(OLDEST)/.ready
	$(OLDEST)/bin/python -m pytest -n 2 --dist loadfile tests/pinning tests/check tests/frameworks tests/sources tests/twin

$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints-oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

## make lint: ruff, mypy --strict and the import contracts
lint: $(READY)
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports

## make docs: build the site of docs/ into build/site
docs: $(READY) $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=$(VENV)/docs/site-packages $(BIN)/python -m mkdocs build --quiet
	@echo build/site/index.html

$(VENV)/.docs: $(READY) constraints-docs.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade --target $(VENV)/docs/site-packages -r constraints-docs.txt
	@touch $@

## make bench: measure what watching costs (minutes)
bench: $(READY)
	$(BIN)/python benchmarks/run.py

## make zoo: check every open program of the zoo and print how often Twinrun was right (an hour); ZOO="--suite real" for a suite
zoo: $(READY)
	$(BIN)/python zoo/run.py $(ZOO)

## make zoo-heldout: the same on the held-out third; only counts are shown
zoo-heldout: $(READY)
	$(BIN)/python zoo/run.py --heldout $(ZOO)

## make zoo-verify: confirm the zoo's labels by plain runs, without Twinrun (an hour)
zoo-verify: $(READY)
	$(BIN)/python zoo/verify.py $(ZOO)

## make pictures: regenerate docs/images from real checks (needs Chromium; minutes)
pictures: $(READY)
	$(BIN)/python tools/picture.py docs/images/check.svg $(BIN)/twinrun check examples/follows_the_advice.py
	$(BIN)/python tools/report_pictures.py zoo/programs/patch_reconstruction.py docs/images

## make dist: build the wheel and the sdist of the last commit into dist; the same commit gives the same bytes
dist: $(DIST)/.ready
	rm -rf dist
	$(DIST)/bin/python tools/dist.py dist

# Only what the build needs: no framework.
$(DIST)/.ready: constraints-dist.txt
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints-dist.txt
	@touch $@

## make check-dist: check wheel and sdist as an index would (twine, check-wheel-contents)
check-dist: $(READY) $(VENV)/.release
	$(BIN)/python -m pytest -m "slow or not slow" tests/supply_chain

$(VENV)/.release: $(READY) constraints-release.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade --target $(VENV)/release/site-packages -r constraints-release.txt
	@touch $@

## make sbom: write dist/sbom.json, the bill of materials of constraints.txt (CycloneDX)
sbom: $(READY)
	$(BIN)/python tools/sbom.py dist/sbom.json

## make lock: rewrite the constraints*.txt from pyproject.toml
lock:
	$(PYTHON) tools/lock.py
	$(PYTHON) tools/lock.py --oldest

clean:
	rm -rf $(VENV) $(OLDEST) $(DIST) dist .pytest_cache .mypy_cache .ruff_cache
