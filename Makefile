# `make run` needs Python 3.11 or newer and nothing else; PYTHON= chooses one.

PYTHON ?=
PY := .venv/bin/python
ARGS ?=

# The first Python that is new enough; a chosen one is taken or refused.
find_python = \
	for candidate in $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python); do \
		if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
			>/dev/null 2>&1; then python="$$candidate"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "bandmaster: no Python 3.11 or newer found$(if $(PYTHON), as $(PYTHON)): install one," \
			"or name it: PYTHON=/path/to/python3.11 make run" >&2; exit 2; \
	fi

environment = @$(find_python); "$$python" tools/environment.py

.PHONY: help run test check bench e2e e2e-long lab lab-down screenshots pins clean environment environment-dev

help: ## list what make can do
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

environment:
	$(environment)

environment-dev:
	$(environment) dev

run: environment ## install what is missing and start everything
	@exec $(PY) manage.py up $(ARGS)

test: environment-dev ## all tests
	@exec $(PY) -m pytest $(ARGS)

check: environment-dev ## lint, format, types, import arrows, templates, migrations
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	.venv/bin/lint-imports
	find templates -name '*.html' -print0 | xargs -0 .venv/bin/djade --check --target-version 5.2
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) manage.py check --fail-level WARNING

bench: environment-dev ## ratios, measured in one run
	@exec $(PY) -m benchmarks $(ARGS)

e2e: environment-dev ## a real kube-scheduler places pods (builds Kubernetes once; needs Go)
	$(PY) -m tools.lab.build
	@exec $(PY) -m pytest tests -m e2e $(ARGS)

e2e-long: environment-dev ## what make e2e runs, and the tests that take longer
	$(PY) -m tools.lab.build --lab
	@exec $(PY) -m pytest tests -m "e2e or e2e_long" $(ARGS)

lab: environment-dev ## a whole cluster with three real nodes, until Ctrl-C (root, Go)
	@exec $(PY) -m tools.lab up $(ARGS)

lab-down: environment-dev ## end it from elsewhere, or clean up after it
	@exec $(PY) -m tools.lab down

screenshots: environment-dev ## take the pictures of docs/screenshots
	@exec $(PY) -m tests.browser.screenshots $(ARGS)

pins: environment-dev ## compile requirements*.txt (ARGS=--upgrade for newer versions)
	.venv/bin/uv pip compile requirements.in --output-file requirements.txt $(PIN_OPTIONS)
	.venv/bin/uv pip compile requirements-dev.in --output-file requirements-dev.txt $(PIN_OPTIONS)

PIN_OPTIONS := --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make pins" $(ARGS)

clean: ## remove the environment and caches; the data in var/ stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
