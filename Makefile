# Everything here works on a machine that has Python 3.11 or newer and make, as root or not.
# The first command installs the rest into .venv and node_modules; from then on no network is needed.

# A name that is found may still not run (a shim, for one), so each is tried.
PYTHON := $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& echo "$$candidate" && break; done)
BIN := .venv/bin
ARGS :=

.DEFAULT_GOAL := help
.PHONY: help install demo test test-cluster soak lint format types contracts check bench bench-large bench-sync lock clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

install: ## install what is missing (every other command does this first)
	@$(if $(PYTHON),,$(error Python 3.11 or newer is needed, and none was found on the PATH))
	@$(PYTHON) scripts/bootstrap.py

demo: install ## see what Bayou does, with nothing but this machine
	@$(BIN)/python -m demo

test: install ## run all tests; ARGS="-k name" is passed on to pytest
	@$(BIN)/pytest -n auto --dist loadgroup $(ARGS)

test-cluster: install ## run the jobs on a Spark cluster of two workers, one of which is killed; some minutes
	@$(BIN)/pytest -m cluster $(ARGS)

soak: install ## hammer a folder, and a bucket through several caches: writers killed and stopped, requests lost, clocks wrong
	@for place in folder ministack; do echo; echo "== $$place"; $(BIN)/python -m tests.soak.hammer $$place --ttl 3 $(ARGS) || exit 1; done

lint: install ## check style and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: install ## repair style and formatting
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: install ## check types, strictly
	@$(BIN)/mypy

contracts: install ## check that each room imports only rooms below it
	@$(BIN)/lint-imports

check: lint types contracts test ## everything above that can fail

bench: install ## run the benchmarks, some ten minutes: ratios, measured side by side
	@for one in storage wire imports locks catalog query writes commands; do echo; echo "== $$one"; $(BIN)/python benchmarks/$$one.py $(ARGS) || exit 1; done

lock: install ## bring the locks up to date with pyproject.toml and package.json; ARGS=--upgrade for newer releases
	@$(PYTHON) scripts/bootstrap.py lock $(ARGS)

bench-sync: install ## what a sync costs, beside s5cmd and rclone, two minutes; ARGS=--write for all of it, into docs/benchmarks.md
	@$(BIN)/python -m benchmarks.sync $(if $(ARGS),$(ARGS),--quick)

bench-large: install ## move a file of 5 GiB in and out of a store, and show the memory it takes
	@$(BIN)/python benchmarks/large_file.py $(ARGS)

clean: ## remove everything that was installed or generated
	@rm -rf .venv node_modules .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
