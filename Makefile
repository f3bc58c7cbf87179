# The menu: `make` prints it. Everything is set up on first use, in .venv and in ~/.cache/grove; nothing is installed
# globally. Needed: Python 3.11 or newer, make and git; for the tests on a real Kubernetes also Go.

VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.installed
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
            $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PYTEST := $(PY) -m pytest

.DEFAULT_GOAL := help

help: ## Print this menu
	@awk 'BEGIN {FS = ":.*## "; print "Targets:"} /^[a-z%-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP) ## Show what Grove can do today
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh tools/demo.sh

check: $(STAMP) static ## Lint, types, import rules and the fast tests, in under 30 s
	@echo "== fast tests"
	@$(PYTEST) tests/unit -q -n auto -m "not slow"

test: $(STAMP) static ## Everything that needs no Go, with coverage
	@echo "== tests"
	@$(PYTEST) tests/unit tests/model -n auto --cov --cov-branch --cov-report=term:skip-covered

test-kubernetes: $(STAMP) kubernetes ## The cluster tests, on a real control plane
	@echo "== cluster tests"
	@$(PYTEST) tests/cluster

kubernetes: ## Build a real Kubernetes control plane into the cache (about 10 minutes, once)
	@$(if $(PYTHON),$(PYTHON),$(error Python 3.11 or newer is needed; name it with PYTHON=…)) tools/kubernetes/build.py

bench-%: $(STAMP) ## Run a benchmark: cli, api, cache, client, nodes, operator, scheduler, preemption
	@$(PY) -m tests.bench.$*

bench-client bench-nodes bench-operator bench-scheduler: kubernetes

docs: $(STAMP) ## Write the generated pages of docs/reference
	@$(PY) tools/docs/generate.py

schemas: $(STAMP) kubernetes ## Take the embedded Kubernetes types from the API server that the tests use
	@$(PY) tools/schemas/embed.py

format: $(STAMP) ## Format the code and mend what ruff can mend
	@$(VENV)/bin/ruff check --fix . && $(VENV)/bin/ruff format .

lock: $(STAMP) ## Pin the newest development tools, and clients to compare with
	@$(PY) tools/lock.py

clean: ## Remove what was built here; caches outside stay
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage

static: $(STAMP)
	@echo "== lint"
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@echo "== types"
	@$(VENV)/bin/mypy
	@echo "== import rules"
	@$(VENV)/bin/lint-imports --no-logo

$(STAMP): requirements/dev.lock
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or newer is needed" >&2; \
	  echo "help: install it, or name it: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@echo "== setting up $(VENV) with $$($(PYTHON) --version) (once)"
	@$(PYTHON) -m venv --clear $(VENV) || { echo "error: $(PYTHON) cannot make a virtual environment" >&2; \
	  echo "help: on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@$(PY) -m pip install --disable-pip-version-check --progress-bar off --require-hashes -r requirements/dev.lock
	@$(PY) -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: help demo check test test-kubernetes kubernetes docs schemas format lock clean static
