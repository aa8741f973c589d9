# Every target sets itself up: on a fresh machine only Python 3.11+, pip and make are needed.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

# tests start Python many times: compiled bytecode is kept, also where the environment says not to
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-repo test-all test-gpu browser screenshots lint format bench studies docs dist clean

help:
	@echo "make demo    set up, make a cohort of patients, rank its columns and report on them"
	@echo "make test    set up and run the tests of the package"
	@echo "make test-repo  the tests of the documentation, studies, benchmarks and words"
	@echo "make test-all   all of these, and fuzzing, kills, processes, memory, all golden images"
	@echo "make test-gpu  the tests of what computes on a GPU, by an environment that has CuPy (GPU_PYTHON)"
	@echo "make browser the tests of the report in a headless browser, accessibility too (Chromium, npm)"
	@echo "make screenshots  the pictures of the README, from the report of the demo (Chromium)"
	@echo "make lint    ruff, mypy --strict, complete public types, the order of the packages"
	@echo "make format  let ruff rewrite the code"
	@echo "make bench   featly against its peers, in one run"
	@echo "make studies published tables again, with a verdict on each claim (FEATLY_DATA names the data)"
	@echo "make dist    build the sdist and the wheel, check them, run the demo from the wheel alone"
	@echo "make docs    build the documentation into docs/_build/html, run its gallery, check its links"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.made-run: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.made-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$*]"
	@touch $@

demo: $(VENV)/.made-report
	$(BIN)/python examples/cohort.py
	@echo "  (the command is $(BIN)/featly; '. $(BIN)/activate' puts it at hand)"
	@echo
	@echo "6. All of it in one page: featly report demo/cohort.csv --schema demo/schema.toml"
	@echo "---------------------------------------------------------------------------------"
	$(BIN)/featly report demo/cohort.csv --schema demo/schema.toml --output demo/report.html

PYTEST = $(BIN)/python -m pytest -n 2 --dist worksteal --durations=10

test: $(VENV)/.made-test
	$(PYTEST) --ignore=tests/repo $(ARGS)

test-repo: $(VENV)/.made-test
	$(PYTEST) tests/repo $(ARGS)

test-all: $(VENV)/.made-test
	$(PYTEST) -m "not browser" $(ARGS)

# CuPy comes in a build for each version of CUDA, so it is not for pip to choose: by default the
# Python at hand is taken, with whatever it has
GPU_PYTHON ?= $(PYTHON)

test-gpu:
	PYTHONPATH="src:$$PYTHONPATH" $(GPU_PYTHON) -m pytest -p no:cacheprovider -o addopts="" tests/gpu $(ARGS)

$(VENV)/browser/node_modules/axe-core/axe.min.js: | $(BIN)/python
	npm install --silent --no-fund --no-audit --prefix $(VENV)/browser axe-core@4

browser: $(VENV)/.made-test $(VENV)/browser/node_modules/axe-core/axe.min.js
	FEATLY_AXE=$(CURDIR)/$(VENV)/browser/node_modules/axe-core/axe.min.js \
	  $(BIN)/python -m pytest -m browser $(ARGS)

screenshots: $(VENV)/.made-report
	$(BIN)/python docs/screenshots.py

lint: $(VENV)/.made-lint $(VENV)/.made-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/repo/typed_use.py
	$(BIN)/basedpyright --pythonpath $(BIN)/python --level error tests/repo/typed_use.py
	PYTHONPATH=src:$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))") \
	  $(BIN)/basedpyright --verifytypes featly --ignoreexternal
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
	$(BIN)/python docs/check_links.py docs/_build/html
	@echo "open docs/_build/html/index.html"

dist: $(VENV)/.made-dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python release/check_dist.py dist

clean:
	rm -rf $(VENV) dist build docs/_build docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
