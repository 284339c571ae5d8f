# Each target does its own set-up: Python >= 3.11 and make are all that a machine must have.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LINT := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Spark needs Java 17 or newer; PyPI has one for machines without.
JAVA_IS_HERE := test -n "$$JAVA_HOME" || java -version 2>&1 | grep -Eq 'version "(1[7-9]|[2-9][0-9])'

.PHONY: setup demo demo-picture test test-long test-spark fuzz sanitize mutations results recheck lint format docs docs-figures wheel release-check clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt setup.py src/sooner/kernels/native/kernels.c
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sooner needs Python 3.11 or newer; run: make PYTHON=python3.11 setup")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[test,lint,bench]'
	@$(JAVA_IS_HERE) || $(PIP) '.[java]'
	@touch $(READY)

demo: setup
	$(BIN)/sooner demo

# The picture in the README.
demo-picture: setup
	$(BIN)/sooner demo --picture docs/demo.png

# Tests start many processes, each of which would compile all of the product if none may write bytecode.
test test-long test-spark fuzz sanitize mutations: export PYTHONDONTWRITEBYTECODE :=

# Two processes: who runs which test, and when, is said in tests/conftest.py. Lint has what they leave of two cores.
test: setup
	@($(LINT)) & lint=$$!; \
	$(BIN)/python -m pytest -m 'not long' -n 2 --dist loadscope --no-loadscope-reorder; tests=$$?; \
	wait $$lint && exit $$tests

# The dashboard is tested in a browser where there is one: apt-get install chromium chromium-driver
test-long: setup
	$(BIN)/python -m pytest

# The tests on Spark with another version of it, in an environment of its own; all of those of Spark Connect.
VERSION ?= 4.0
SPARK_VENV := .venv-spark-$(VERSION)
SPARK_PIP := $(SPARK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check
# Older PySparks leave sockets open, which pytest would take for failures.
SPARK_TEST := $(SPARK_VENV)/bin/python -m pytest -W ignore::pytest.PytestUnraisableExceptionWarning -W ignore::ResourceWarning
test-spark: $(SPARK_VENV)/.ready
	$(SPARK_TEST) -m 'not long' tests/spark
	$(SPARK_TEST) -m long tests/spark/test_connect.py

$(SPARK_VENV)/.ready: pyproject.toml constraints.txt setup.py src/sooner/kernels/native/kernels.c
	$(PYTHON) -m venv $(SPARK_VENV)
	grep -v '^pyspark==' constraints.txt > $(SPARK_VENV)/constraints.txt
	$(SPARK_PIP) --constraint $(SPARK_VENV)/constraints.txt --editable '.[test]' 'pyspark[connect]==$(VERSION).*'
	@$(JAVA_IS_HERE) || $(SPARK_PIP) --constraint $(SPARK_VENV)/constraints.txt '.[java]'
	@touch $@

# Random cases against oracles, half of them under sanitizers; what is wrong is printed with the seed that shows it.
SECONDS ?= 60
fuzz: setup
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS)

# All tests of the compiled loops, and of runs, on a library compiled under sanitizers; SANITIZED=tests/... for others.
SANITIZED ?= tests/kernels tests/runs
sanitize: setup
	PYTHONPATH=tests $(BIN)/python -m fuzz.sanitized_tests -q $(SANITIZED)

# Small faults put into copies of the product, each of which a test must notice; ONLY="name name" runs some of them.
WORKERS ?= 2
mutations: setup
	PYTHONPATH=tests $(BIN)/python -m mutations --workers $(WORKERS) $(addprefix --only ,$(ONLY))

# All experiments of the papers at their own size, on all cores; benchmarks are run one by one, by hand.
results: setup
	$(BIN)/sooner lab run all --seeds 15 --kept .lab --json docs/results
	$(BIN)/sooner results docs/results --to docs/results.md
	$(BIN)/python docs/making/algorithm_figures.py

# Of results of other code, the first seed again: if its curves are the same, they count as of this code.
recheck: setup
	$(BIN)/sooner lab recheck docs/results --kept .lab
	$(BIN)/sooner results docs/results --to docs/results.md

# The docs as a site, in build/site; links and anchors that lead nowhere are errors.
docs: setup
	$(PIP) --editable '.[docs]'
	$(BIN)/mkdocs build --strict --quiet

# What pages of algorithms quote of the results, and their pictures, of which each is drawn from a run.
docs-figures: setup
	$(BIN)/python docs/making/algorithm_figures.py
	$(BIN)/python docs/making/algorithm_pictures.py docs/algorithms

lint: setup
	$(LINT)

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A wheel for machines like this one, with its compiled loops: it installs without a compiler.
wheel: setup
	rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# What a release must be: the wheel in an environment of its own, and a line in the list of changes.
release-check: wheel
	$(BIN)/python tests/release_check.py dist

clean:
	rm -rf $(VENV) .venv-spark-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
