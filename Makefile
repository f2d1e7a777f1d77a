# The front door. Every target sets up what it needs; none of them holds logic.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
GRPC_READY := .venv-grpc/.ready
LOCK_READY := build/lock/.ready
COMPILE = UV_CUSTOM_COMPILE_COMMAND='make lock' build/lock/bin/uv pip compile --quiet --universal \
	--python-version 3.11 --fork-strategy fewest --no-emit-index-url --generate-hashes $(LOCK)
GRPC_EXTRAS = $(addprefix --extra ,mysql orjson postgresql punq rocketmq-grpc sqlalchemy testing)

define REQUIRE_PYTHON
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
endef

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format services services-stop services-status e2e model once faults guards bench docs lock wheel clean

help: ## Show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 18

setup: $(READY) $(GRPC_READY) ## Make .venv with everything for working on the project, and .venv-grpc

demo: $(READY) ## Run the demonstration
	$(BIN)/python -m examples.demo

test: $(READY) $(GRPC_READY) ## Run the tests; those that need a service that is not there are skipped
	$(BIN)/python -m tests.suites

check: $(READY) ## Lint, format, types and import rules
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY) ## Format the code and apply the safe fixes
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

services: ## Start PostgreSQL, MariaDB, RocketMQ, Kafka, RabbitMQ and Redis on this machine
	$(REQUIRE_PYTHON)
	$(PYTHON) tests/services start

services-stop: ## Stop them
	$(REQUIRE_PYTHON)
	$(PYTHON) tests/services stop

services-status: ## Say which of them are up
	$(REQUIRE_PYTHON)
	$(PYTHON) tests/services status

e2e: $(READY) $(GRPC_READY) services ## Start the services and run the end-to-end story against them
	$(BIN)/python -m tests.acceptance.e2e

model: $(READY) ## Run the model of the outbox; another run with SEED=7, a longer one with EXAMPLES=2000
	$(BIN)/pytest tests/model $(if $(SEED),--hypothesis-seed=$(SEED))

faults: $(READY) services ## Kill, stop, crowd and cut off real processes; QUICK=1, PARTS="kill outage"
	$(BIN)/python -m tests.acceptance.faults $(if $(QUICK),--quick) $(PARTS)

once: $(READY) services ## Kill consumers that are given duplicates in the wrong order; each effect once; QUICK=1
	$(BIN)/python -m tests.acceptance.once $(if $(QUICK),--quick)

guards: $(READY) services ## Take each guard of a promise out of the code, and see its test fail; PARTS=G4
	$(BIN)/python -m tests.acceptance.guards $(PARTS)

bench: $(READY) $(GRPC_READY) services ## Measure what the outbox costs; QUICK=1, STRICT=1, PARTS="drain store"
	$(BIN)/python -m tests.benchmarks $(if $(QUICK),--quick) $(if $(STRICT),--strict) $(PARTS)

docs: $(READY) ## Build the documentation into build/docs
	$(BIN)/sphinx-build -W -E --keep-going -b html -d build/docs/.doctrees docs build/docs/html

lock: $(LOCK_READY) ## Write requirements/*.txt anew; LOCK=--upgrade takes newer versions
	$(COMPILE) pyproject.toml --extra all requirements/dev.in -o requirements/dev.txt
	$(COMPILE) --resolution lowest-direct pyproject.toml --extra all requirements/test.in \
		-o requirements/minimum.txt
	$(COMPILE) pyproject.toml $(GRPC_EXTRAS) requirements/test.in -c requirements/dev.txt \
		-o requirements/grpc.txt
	$(COMPILE) requirements/lock.in -o requirements/lock.txt

wheel: $(READY) ## Build the wheel into build/dist
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/dist .

clean: ## Remove .venv, .venv-grpc, build/ and every cache
	rm -rf .venv .venv-grpc build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .nox
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements/dev.txt pyproject.toml
	$(REQUIRE_PYTHON)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo 'installing the packages of requirements/dev.txt into .venv: some minutes the first time'
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# RocketMQ's two clients do not live together: the tests of the second one have their own.
$(GRPC_READY): requirements/grpc.txt pyproject.toml
	$(REQUIRE_PYTHON)
	test -x .venv-grpc/bin/python || $(PYTHON) -m venv .venv-grpc
	@echo 'installing the packages of requirements/grpc.txt into .venv-grpc: some minutes the first time'
	.venv-grpc/bin/python -m pip install --quiet --require-hashes -r requirements/grpc.txt
	.venv-grpc/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(LOCK_READY): requirements/lock.txt
	$(REQUIRE_PYTHON)
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --require-hashes -r requirements/lock.txt
	@touch $@
