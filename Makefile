# Everything starts from Python 3.11+ and make; PyPI is all that has to be reachable.
#   make up        set up and run the platform        make check    format, lint, types, layers
#   make test      set up and pass the tests          make compat   foreign clients and Apache Kafka's tools
#   make test-all  and the slow ones among them       make crash, make fuzz, make simulate, make bench, make bench-fanout and others: slower, see README
#   make venv      set up only                        make bench-micro   what an operation costs, beside BASELINE=HEAD
#   make profile   where the broker's time goes

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.7
UV := VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv
READY := $(VENV)/.ready
BROWSER := $(VENV)/.browser

# Some shells say that Python is not to keep what it has compiled. Here it is: hundreds of processes
# start that load the same packages, and each would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv lock up test test-all check format compat crash fuzz simulate bench bench-transactions bench-fixture bench-compaction bench-fanout bench-schemas bench-spark bench-upserts bench-micro cluster profile clean

help:
	@sed -n 's/^#   //p' Makefile

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "kafkaesque needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(UV) pip install --quiet --require-hashes -r requirements.lock
	$(UV) pip install --quiet --no-deps --editable .
	@touch $@

# The console's tests need a Chromium: found, or fetched once, before any test has to wait for it.
$(BROWSER): $(READY)
	@$(BIN)/python scripts/browser.py && touch $@ || echo "the console's tests will be skipped" >&2

venv: $(READY)

lock: ; $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--all-extras --group dev --custom-compile-command "make lock" pyproject.toml -o requirements.lock

up: $(READY)
	$(BIN)/kafkaesque up

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

# Two processes: half of the tests wait for something most of the time. If one of them crashes, that
# is the end: with another in its place xdist would wait for ever.
IN_TWO := -n 2 --dist loadfile --no-loadscope-reorder --max-worker-restart=0

# Every part once for real.
test: $(READY) $(BROWSER)
	$(BIN)/pytest $(IN_TWO) --hypothesis-profile=quick -m 'not slow and not cluster and not compat and not crash and not fuzz'

# What CI runs: the slow ones too.
test-all: $(READY) $(BROWSER)
	$(BIN)/pytest $(IN_TWO)

compat: $(READY) $(BROWSER)
	$(BIN)/pytest -m compat tests/compat

# Spark with executors of its own: a standalone master with two workers, and a local cluster.
cluster: $(READY)
	$(BIN)/pytest -m cluster tests/e2e

crash: $(READY)
	$(BIN)/pytest -m crash tests/crash

fuzz: $(READY)
	$(BIN)/pytest -m fuzz tests/crash

# The whole broker on virtual time, 20,000 seeds; others, or one: SIMULATE='--seed 17'
simulate: $(READY)
	$(BIN)/python -m tests.simulation $(SIMULATE)

# Some twenty minutes on two cores; a part of it: BENCH='--only rate,trip', less of each: BENCH=--quick; beside a commit
# instead of Kafka: BENCH='--baseline HEAD~1'
bench: $(READY)
	$(BIN)/python -m benchmarks $(BENCH)

bench-transactions: $(READY)
	$(BIN)/python -m benchmarks --only transactions $(BENCH)

bench-fixture: $(READY)
	$(BIN)/python -m benchmarks.fixture

bench-compaction: $(READY)
	$(BIN)/python -m benchmarks.compaction

# Some twenty-five minutes; a part of it: BENCH='--only compare --connections 2000'
bench-fanout: $(READY)
	$(BIN)/python -m benchmarks.fanout $(BENCH)
	$(BIN)/python -m benchmarks.predicates

# Columns, serializers and the registry, each beside its peer.
bench-schemas: $(READY)
	$(BIN)/python -m benchmarks.columns
	$(BIN)/python -m benchmarks.serdes
	$(BIN)/python -m benchmarks.registry

# The source and a windowed job beside Spark's own connector, Bytewax, Pathway and Quix Streams, and how late a record is beside
# Spark's own defaults: the better part of an hour; fewer rounds of each: BENCH='--rounds 1'
bench-spark: $(READY)
	$(BIN)/python -m benchmarks.spark_source $(BENCH)
	$(BIN)/python -m benchmarks.spark_windows $(BENCH)
	$(BIN)/python -m benchmarks.spark_latency $(BENCH)

bench-upserts: $(READY)
	$(BIN)/python -m benchmarks.upserts $(BENCH)

BASELINE ?= HEAD
bench-micro: $(READY)
	$(BIN)/python -m benchmarks.micro --baseline $(BASELINE)

profile: $(READY)
	$(BIN)/python -m benchmarks.profiling

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
