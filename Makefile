# Every target sets up what it needs by itself: `make demo` and `make test` work on a fresh clone.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test check format test-all bench docs snapshots lock clean

help:  ## show the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(READY)  ## create .venv and install the locked dependencies

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "binnacle needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "==> creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "==> installing the locked dependencies (about 20 s the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@echo "==> installing bn"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: install  ## see the product work on a temporary repository
	@$(BIN)/python demo/tour.py

test: install  ## run the tests, on SQLite and on a real PostgreSQL
	@echo "==> tests"
	@$(BIN)/python -m pytest -m "not peers"

check: install  ## what CI runs: format, lint, types, layers, tests
	@echo "==> format"
	@$(BIN)/ruff format --check .
	@echo "==> lint"
	@$(BIN)/ruff check .
	@echo "==> types"
	@$(BIN)/mypy
	@echo "==> layers"
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory test

format: install  ## format the code and mend what lint can mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

test-all: check  ## also what needs npm, a browser or VS Code
	@echo "==> tests with peers"
	@$(BIN)/python -m pytest -m peers

bench: install  ## measure, print a table and write bench/results/
	@$(BIN)/python -m bench

docs: install  ## write the reference pages and the picture anew
	@$(BIN)/python docs/generate.py
	@$(BIN)/python demo/tour.py --svg docs/tour.svg

snapshots: install  ## write what agents see of each recipe anew, to be looked at with git diff
	@BN_WRITE_SNAPSHOTS=1 $(BIN)/python -m pytest -q -n 0 tests/plan/test_session.py -k Snapshots

lock: install  ## resolve pyproject.toml anew into requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--group dev --upgrade pyproject.toml -o requirements.lock

clean:  ## remove what the targets made
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
