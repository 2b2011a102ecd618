# Every target installs what it needs. Only Python 3.11 or newer (with venv) and make must exist.
#
# `make help` lists the targets from the comments `## description ## arguments` after their prerequisites.
#
# Packages are pinned with hashes in locks/*.txt. If a lock has changed, the next target that needs it installs it.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -q
INSTALL := $(PIP) install --require-hashes --no-deps --no-build-isolation

ARGS ?=
LOG ?=
DRILLS ?=
VERSION ?=
SEED ?= 1 2

COMPILED := build/compiled
# If the engine was compiled and its sources have changed, the commands that run it compile it again.
FRESH := $(if $(wildcard $(STAMPS)/compiled),$(STAMPS)/compiled)

.DEFAULT_GOAL := help
.PHONY: help play serve live report test test-live fuzz swarm fuzz-transactions fuzz-groups causes mutants explore-ladder explore-swarm lint fidelity record bench compiled pure test-compiled wheel docs sentences lock venv clean

help: ## list these targets
	@awk -F ' ## ' '/^[a-z-]+:.* ## / {sub(/:.*/, "", $$1); printf "make %-25s %s\n", $$1 " " $$3, $$2}' Makefile

play: $(STAMPS)/play $(FRESH) ## open the playground (isrlab play ...) ## [ARGS="..."]
	@$(BIN)/isrlab play $(ARGS)

serve: $(STAMPS)/serve $(FRESH) ## serve the playground to your own browser ## [ARGS="..."]
	@$(BIN)/isrlab serve $(ARGS)

live: $(STAMPS)/live ## install what reads running clusters
	@$(BIN)/isrlab import --help

report: $(STAMPS)/spark ## summarize a session on Spark ## LOG=FILE
	@test -n "$(LOG)" || { echo "make report needs a session's event log: make report LOG=session.jsonl" >&2; exit 2; }
	@$(BIN)/isrlab report $(LOG) $(ARGS)

test: $(STAMPS)/test ## run the whole test suite (pytest ...) ## [ARGS="..."]
	@$(BIN)/python -m pytest -n auto --dist loadgroup --no-loadscope-reorder $(ARGS)

test-live: $(STAMPS)/test ## test with real brokers, and record them (Java) ## [ARGS="..."]
	@ISRLAB_LIVE=$(or $(ISRLAB_LIVE),1) $(BIN)/python -m pytest -n 0 -m live tests/scenarios/live $(ARGS)

fuzz: $(STAMPS)/test ## try random input (--seconds, --seed, --target) ## [ARGS="..."]
	@$(BIN)/python -m tests.fuzz $(ARGS)

swarm: $(STAMPS)/test ## random faults in other models (--model, --seeds) ## [ARGS="..."]
	@$(BIN)/python -m tests.core.models.swarm $(ARGS)

explore-swarm: $(STAMPS)/test ## compare searches with random faults (--cases) ## [ARGS="..."]
	@$(BIN)/python -m tests.scenarios.exploration.swarm $(ARGS)

fuzz-transactions: $(STAMPS)/test ## try transactions under random faults ## [ARGS="..."]
	@$(BIN)/python -m tests.core.properties.transactions $(ARGS)

fuzz-groups: $(STAMPS)/test ## try groups and services under random faults ## [ARGS="..."]
	@$(BIN)/python -m tests.core.properties.groups $(ARGS)

causes: $(STAMPS)/test ## check that harm leads to what was done (--runs) ## [ARGS="..."]
	@$(BIN)/python -m tests.core.properties.causes $(ARGS)

mutants: $(STAMPS)/test ## check that tests find mistakes (--number) ## [ARGS="..."]
	@$(BIN)/python -m tests.mutants $(ARGS)

explore-ladder: $(STAMPS)/test ## search for known harms by release (RUNG ...) ## [ARGS="..."]
	@$(BIN)/python -m tests.scenarios.exploration.ladder $(ARGS)

lint: $(STAMPS)/lint ## check format, style, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

compiled: $(STAMPS)/compiled ## compile the engine (needs a C compiler)
	@$(BIN)/isrlab --version

pure: ## go back to the engine in pure Python
	@$(BIN)/python compile_core.py --leave
	@rm -f $(STAMPS)/compiled
	@$(BIN)/isrlab --version

test-compiled: $(STAMPS)/test $(STAMPS)/compiler ## compare logs of the compiled and pure engines
	@$(BIN)/python compile_core.py $(COMPILED)
	@ISRLAB_COMPILED=$(COMPILED) $(BIN)/python -m pytest tests/core/test_compiled.py tests/test_wheel.py $(ARGS)

wheel: $(STAMPS)/compiler ## build a wheel, compiled if there is a C compiler ## [ARGS=--pure]
	@$(BIN)/python build_wheel.py dist $(ARGS)

fidelity: $(STAMPS)/test ## compare the model with real clusters ## [DRILLS=folder ...]
	@$(BIN)/python -m tests.fidelity $(DRILLS) $(ARGS)

record: $(STAMPS)/test ## record drills on a real cluster ## VERSION=2.7.2 [SEED="1 2"]
	@$(BIN)/python -m tests.fidelity.recorder $(VERSION) $(SEED) $(ARGS)

bench: $(STAMPS)/test $(STAMPS)/compiler ## run the benchmarks
	@for bench in tests/bench/bench_*.py; do echo "== $$bench"; $(BIN)/python $$bench $(ARGS) || exit 1; done

docs: $(STAMPS)/spark ## regenerate pages and pictures from the code
	@$(BIN)/python -m scenarios.logs.event_log_doc
	@$(BIN)/python -m scenarios.language.script_doc
	@$(BIN)/python -m scenarios.models.script_doc
	@$(BIN)/python -m spark_reports.summaries_doc
	@$(BIN)/python -m tests.releases_page docs/releases.md
	@$(BIN)/python -m tests.questions_page docs/questions.md
	@$(BIN)/python -m tests.plan docs/plan.svg
	@$(BIN)/python -m tests.why_page docs/why.md
	@$(BIN)/python -m tui.app.screenshot docs/playground.svg --size 120x36 --seconds 19 --kill 2@10
	@$(BIN)/python -m tui.model_comparison.screenshot docs/compare-models.svg
	@$(BIN)/python -m tui.app.screenshot docs/e1.svg --size 120x38 --scenario e1-data-loss --release 0.10.2 --steps 9

sentences: $(STAMPS)/test ## print all sentences of programs and docs ## [ARGS="..."]
	@$(BIN)/python -m tests.sentences $(ARGS)

venv: $(STAMPS)/test $(STAMPS)/lint ## install all packages, and run nothing

clean: ## remove the environment and temporary files
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment -------------------------------------------------------------------------------------------------

# Find a Python that is new enough and can create virtual environments. PYTHON=… overrides the search.
$(BIN)/python:
	@for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python); do \
	  if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    echo "Preparing $(VENV) with $$($$python -V) …" >&2; \
	    rm -rf $(VENV) && exec $$python -m venv $(VENV); \
	  fi; \
	done; \
	echo "isrlab needs Python 3.11 or newer with its venv module (on Debian and Ubuntu: apt install python3-venv); none was found." >&2; \
	echo "If Python has another name on your machine, set it with: make $(or $(MAKECMDGOALS),play) PYTHON=/path/to/python3" >&2; \
	exit 1

$(STAMPS)/play: locks/play.txt pyproject.toml | $(BIN)/python
	@echo "Installing isrlab and its dependencies …" >&2
	@mkdir -p $(STAMPS)
	@$(INSTALL) -r locks/play.txt
	@$(PIP) install --no-deps --no-build-isolation --no-index -e .
	@touch $@

$(STAMPS)/serve: locks/serve.txt $(STAMPS)/play
	@$(INSTALL) -r locks/serve.txt
	@touch $@

$(STAMPS)/live: locks/live.txt $(STAMPS)/play
	@$(INSTALL) -r locks/live.txt
	@touch $@

$(STAMPS)/spark: locks/spark.txt $(STAMPS)/play
	@echo "Installing PySpark and a Java runtime for it (about 500 MB, once) …" >&2
	@$(INSTALL) -r locks/spark.txt
	@$(BIN)/python -m spark_reports.make_class_archive
	@touch $@

$(STAMPS)/test: locks/test.txt $(STAMPS)/spark
	@echo "Installing the packages for tests …" >&2
	@$(INSTALL) -r locks/test.txt
	@touch $@

$(STAMPS)/lint: locks/lint.txt $(STAMPS)/spark
	@echo "Installing the linters …" >&2
	@$(INSTALL) -r locks/lint.txt
	@touch $@

$(STAMPS)/compiled: compile_core.py $(shell find core -name '*.py') | $(STAMPS)/compiler
	@echo "Compiling the engine (a minute or two) …" >&2
	@$(BIN)/python compile_core.py $(COMPILED) --use
	@touch $@

$(STAMPS)/compiler: locks/compile.txt $(STAMPS)/play
	@echo "Installing mypyc …" >&2
	@$(INSTALL) -r locks/compile.txt
	@touch $@

# --- the locks -------------------------------------------------------------------------------------------------------

LOCK_ENV := build/lock
COMPILE := $(LOCK_ENV)/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-emit-find-links --no-annotate --custom-compile-command "make lock"

lock: | $(BIN)/python ## update the locked dependencies in locks/
	@$(BIN)/python -m venv --clear $(LOCK_ENV)
	@$(LOCK_ENV)/bin/python -m pip --disable-pip-version-check --no-input -q install uv
	@$(COMPILE) pyproject.toml --group build -o locks/play.txt
	@$(COMPILE) pyproject.toml --group build --extra serve -c locks/play.txt -o locks/serve.txt
	@$(COMPILE) pyproject.toml --group build --extra live -c locks/play.txt -o locks/live.txt
	@$(COMPILE) pyproject.toml --group build --extra spark -c locks/serve.txt -o locks/spark.txt
	@$(COMPILE) pyproject.toml --group build --extra spark --extra connect --extra serve --extra live --group test -c locks/spark.txt -o locks/test.txt
	@$(COMPILE) pyproject.toml --group build --extra spark --extra connect --extra serve --group lint -c locks/test.txt -o locks/lint.txt
	@$(COMPILE) pyproject.toml --group build --group compile -c locks/lint.txt -o locks/compile.txt
	@rm -rf $(LOCK_ENV)
