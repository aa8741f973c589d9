# Every target sets itself up: on a fresh machine only Python 3.11+, pip and make are needed.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: help demo test slow lint format bench studies docs clean

help:
	@echo "make demo    set up, make a cohort of patients and rank its columns"
	@echo "make test    set up and run the tests"
	@echo "make slow    the tests that take minutes, such as ten thousand damaged files"
	@echo "make lint    ruff, mypy and the order of the rooms"
	@echo "make format  let ruff rewrite the code"
	@echo "make bench   featly against its peers, in one run"
	@echo "make studies published tables again, with a verdict on each claim (FEATLY_DATA names the data)"
	@echo "make docs    build the documentation into docs/_build/html"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.made-run: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.made-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$*]"
	@touch $@

demo: $(VENV)/.made-run
	$(BIN)/python examples/cohort.py
	@echo "  (the command is $(BIN)/featly; '. $(BIN)/activate' puts it at hand)"

test: $(VENV)/.made-test
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

slow: $(VENV)/.made-test
	$(BIN)/python -m pytest -m slow $(ARGS)

lint: $(VENV)/.made-lint $(VENV)/.made-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.made-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.made-bench
	$(BIN)/python -m benchmarks $(ARGS)

studies: $(VENV)/.made-run
	$(BIN)/python -m studies $(ARGS)

docs: $(VENV)/.made-docs
	$(BIN)/python -m sphinx -W -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf $(VENV) docs/_build docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
