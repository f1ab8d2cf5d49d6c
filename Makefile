# Every target sets up what it needs by itself: `make demo` and `make test` work on a fresh clone.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.installed

EDITOR := editors/vscode
VSIX   := src/binnacle/bridge/binnacle.vsix
VSIX_SOURCES := $(wildcard $(EDITOR)/src/*.ts $(EDITOR)/src/*/*.ts $(EDITOR)/*.json $(EDITOR)/*.md $(EDITOR)/pack.py) \
	src/binnacle/bridge/scripts/manifest.json src/binnacle/bridge/debug/fast_debugpy.py \
	src/binnacle/bridge/debug/in_program/binnacle_stop_at_failures.py

.DEFAULT_GOAL := help
.PHONY: help install demo test check format test-all test-portable mutants adapters vsix page bench docs picture \
	snapshots lock clean

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
	@$(BIN)/python tests/as_person.py $(BIN)/python demo/tour.py

test: install  ## run the tests, on SQLite and on a real PostgreSQL
	@echo "==> tests"
	@$(BIN)/python tests/as_person.py $(BIN)/python -m pytest -m "not peers"

check: install  ## what CI runs: format, lint, types, layers, tests
	@echo "==> format"
	@$(BIN)/ruff format --check .
	@echo "==> lint"
	@$(BIN)/ruff check .
	@echo "==> types"
	@$(BIN)/mypy
	@echo "==> layers"
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory test || $(BIN)/python tests/as_person.py $(BIN)/python tests/flaky.py

format: install  ## format the code and fix what lint can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

PORTABLE_TESTS := $(addprefix tests/,processes passthrough bridge lifecycle runner)

test-portable: install  ## run the tests of processes as on macOS: without /proc, pidfd, inotify and prctl
	@echo "==> tests in portable mode"
	@BN_PORTABLE=1 $(BIN)/python tests/as_person.py $(BIN)/python -m pytest -m "not peers" $(PORTABLE_TESTS)

test-all: check adapters vsix test-portable mutants  ## also what needs npm, a browser or VS Code, and mutants
	@echo "==> properties, with more examples"
	@BN_TEST_EXAMPLES=deep $(BIN)/python tests/as_person.py $(BIN)/python -m pytest -m "hypothesis and not peers" --timeout 600
	@echo "==> a night of two hundred tasks"
	@BN_TEST_EXAMPLES=deep $(BIN)/python tests/as_person.py $(BIN)/python -m pytest -n 0 tests/runner/test_nights.py --timeout 600
	@echo "==> kills at every moment"
	@BN_DEBUG_KILLS=1 $(BIN)/python tests/as_person.py $(BIN)/python -m pytest tests/bridge/test_kills.py --timeout 600
	@echo "==> tests with peers"
	@$(BIN)/python tests/as_person.py $(BIN)/python -m pytest -m peers

mutants: install  ## put faults into the code that decides, and see that the tests notice them
	@echo "==> mutants"
	@cd tests && ../$(BIN)/python as_person.py ../$(BIN)/python -m mutation

DEBUGGERS := lldb-19 delve golang-go g++

adapters:  ## install the debuggers and compilers that test-all uses: Debian packages, as root
	@dpkg -s $(DEBUGGERS) >/dev/null 2>&1 || if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "==> installing $(DEBUGGERS)"; \
		apt-get -qq update && apt-get -qq install -y --no-install-recommends $(DEBUGGERS) >/dev/null; \
	else echo "==> not installed: $(DEBUGGERS); tests that need them are skipped"; fi

vsix: $(VSIX)  ## build the extension for VS Code, which bn bridge install-vscode installs

$(VSIX): $(EDITOR)/node_modules/.installed $(VSIX_SOURCES)
	@echo "==> building the extension for VS Code"
	@cd $(EDITOR) && npm run --silent build -- --log-level=warning
	@$(PYTHON) $(EDITOR)/pack.py $@

$(EDITOR)/node_modules/.installed: $(EDITOR)/package.json
	@command -v npm >/dev/null || { echo "the extension is built with npm; install Node 20 or newer"; exit 1; }
	@cd $(EDITOR) && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

PAGE := page

page: install $(PAGE)/node_modules/.installed  ## build the page of bn gui, with the types of what it asks the server
	@$(BIN)/python -m binnacle.web.typescript_types --write
	@cd $(PAGE) && npm run --silent types && npm run --silent build

$(PAGE)/node_modules/.installed: $(PAGE)/package.json
	@command -v npm >/dev/null || { echo "the page is built with npm; install Node 20 or newer"; exit 1; }
	@cd $(PAGE) && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

bench: install  ## measure against peers and floors, a quarter of an hour, and write docs/performance.md
	@$(BIN)/python -m bench

docs: install  ## write the reference pages again
	@$(BIN)/python docs/generate.py

picture: install  ## write the pictures of README and docs again: what the demo shows, and the page
	@$(BIN)/python tests/as_person.py $(BIN)/python demo/tour.py --svg docs/tour.svg
	@$(BIN)/python tests/as_person.py $(BIN)/python tests/page/pictures.py docs

snapshots: install  ## write what agents see of each recipe again, to be looked at with git diff
	@BN_WRITE_SNAPSHOTS=1 $(BIN)/python -m pytest -q -n 0 tests/plan/test_session.py tests/plan/test_golden.py -k "Snapshots or as_it_was"
	@BN_WRITE_SNAPSHOTS=1 $(BIN)/python tests/as_person.py $(BIN)/python -m pytest -q -n 0 tests/runner/test_run_report.py -k "report_says"

lock: install  ## resolve pyproject.toml again into requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--group dev --upgrade pyproject.toml -o requirements.lock

clean:  ## remove what the targets made
	rm -rf $(VENV) $(VSIX) $(EDITOR)/dist $(EDITOR)/node_modules $(PAGE)/node_modules dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
