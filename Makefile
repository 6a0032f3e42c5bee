# make demo   installs weft here and trains English to French in about a minute
# make test   the tests, about eight minutes on two cores
# make check  formatter, linter, types
# make campaign  faults tried thousands of times; writes the tables in docs/reliability.md and docs/interop.md
# make docs   these pages and the reference as a site with search, in build/site; opens from disk
# make wheel  the package that pip installs, in dist/

VENV := .venv
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := $(VENV)/Scripts
else
PYTHON ?= python3
BIN := $(VENV)/bin
endif
# Tests start weft many times, which should not compile it each time.
unexport PYTHONDONTWRITEBYTECODE
# What a test that passed has written is deleted at once: gigabytes need not reach the disk.
WORKERS := -n 2 --dist loadfile --no-loadscope-reorder -o tmp_path_retention_policy=failed
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-all campaign check format docs wheel bench clean

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --constraint constraints.txt torch==2.13.0
	$(PIP) install --constraint constraints.txt --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) install --constraint constraints.txt --editable '.[all,dev]'
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(PIP) install --constraint constraints.txt --editable '.[docs]'
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) install --constraint constraints.txt --editable '.[bench]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/weft demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(WORKERS) -m "not slow"

test-all: $(VENV)/.dev
	$(BIN)/python -m pytest $(WORKERS)

campaign: $(VENV)/.dev
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m campaigns

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Strict: a link that leads nowhere, or a page that no other names, fails.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -j auto -d build/doctrees -c docs/site docs build/site
	@echo "build/site/index.html"

# What an earlier build left in build/ would be packed too.
wheel: $(VENV)/.dev
	rm -rf build dist
	$(PIP) wheel --no-build-isolation --no-deps --wheel-dir dist .

bench: $(VENV)/.bench
	$(BIN)/python bench/run.py

clean:
	rm -rf $(VENV) build dist src/*.egg-info .hypothesis .mypy_cache .ruff_cache
