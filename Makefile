# `make demo` and `make test` set up everything they need in .venv; a second run starts at once.

VENV   := .venv
BIN    := $(VENV)/bin
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.PHONY: demo test full proofread check slow msl bench docs format clean
.DEFAULT_GOAL := test

demo: $(VENV)/.ready
	$(BIN)/estimica demo

# Two processes that take tests from each other: the last long file keeps no one waiting.
PYTEST := $(BIN)/python -m pytest -q --numprocesses 2 --dist worksteal

test: proofread
	$(PYTEST) -m "not slow and not msl"

full: proofread
	$(PYTEST) -m "not msl"

# types and pages side by side: each keeps one processor busy
proofread: $(VENV)/.ready-dev
	@$(MAKE) --no-print-directory --jobs 2 check docs

check: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

slow: $(VENV)/.ready-dev
	$(PYTEST) -m "slow and not msl"

msl: $(VENV)/.ready-dev
	$(BIN)/python -m pytest -q -m msl

bench: $(VENV)/.ready-dev
	$(BIN)/python bench/engine.py
	@$(BIN)/python -c "import lmfit" 2>/dev/null || $(BIN)/python -m pip install -q lmfit
	$(BIN)/python bench/fit.py

docs: $(VENV)/.ready-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist site report.html .mypy_cache .ruff_cache .pytest_cache

# Debian's Python comes without ensurepip: then its own pip fills the environment.
$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found on PATH" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
		$(PYTHON) -m venv --without-pip --clear $(VENV) && \
		$(PYTHON) -m pip --python $(BIN)/python install -q pip; }

$(VENV)/.ready: pyproject.toml | $(BIN)/python
	@echo "Installing estimica into $(VENV) (once) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

$(VENV)/.ready-dev: pyproject.toml | $(BIN)/python
	@echo "Installing estimica and its development tools into $(VENV) (once) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev,docs]'
	@touch $(VENV)/.ready $@
