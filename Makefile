# Needs git, make and Python 3.11 or newer; everything else is installed into .venv.
PYTHON ?= $(shell command -v python3.13 || command -v python3.12 || command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/demo.db

.PHONY: demo test check format lint types contracts golden wheel bench eval clean

$(VENV)/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "codelens needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: $(VENV)/ready  ## set up, index sample_repos, search, and ask why
	$(BIN)/codelens index --db $(DEMO) sample_repos/*/repo
	$(BIN)/codelens search --db $(DEMO) "where is the shopping cart total computed"
	$(BIN)/codelens why --db $(DEMO) -m 3 "where is the shopping cart total computed"

test: $(VENV)/ready  ## the whole suite
	$(BIN)/pytest -n 2

check: format lint types contracts test wheel  ## all that must hold before a change lands

format: $(VENV)/ready
	$(BIN)/ruff format --check codelens tests

lint: $(VENV)/ready
	$(BIN)/ruff check codelens tests

types: $(VENV)/ready
	$(BIN)/mypy

contracts: $(VENV)/ready
	$(BIN)/lint-imports

golden: $(VENV)/ready  ## rewrite expected outputs; read the diff before you commit it
	$(BIN)/pytest --golden

wheel: $(VENV)/ready  ## build it, install it into an empty environment, index and search there
	PYTHON=$(PYTHON) sh tests/wheel.sh $(BIN)/python

bench: $(VENV)/ready  ## speed beside public tools: make bench TREE=path/to/a/tree
	$(BIN)/python -m codelens.evaluation.bench $(TREE)

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
