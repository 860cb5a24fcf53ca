# Everything a fresh machine needs is Python 3.11 or later and make: each target sets up its own virtual environment
# first, and a stamp per set of extras makes the second run quick.
#
#   make test ARGS="-k laws"      make demo PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
DIST ?= dist
ARGS ?=
RUN = $(VENV)/bin/python

.PHONY: demo test coverage lint format bench build clean

demo: $(VENV)/stamp-examples
	$(RUN) examples/digits.py $(ARGS)

test: $(VENV)/stamp-test
	$(RUN) -m pytest $(ARGS)

coverage: $(VENV)/stamp-test
	$(RUN) -m pytest --cov --cov-report=term-missing $(ARGS)

lint: $(VENV)/stamp-dev
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy --strict srcdiff

format: $(VENV)/stamp-dev
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

bench: $(VENV)/stamp-bench
	$(RUN) -m pytest tests/benchmarks -s $(ARGS)

build: $(VENV)/stamp-dev
	$(RUN) -m build --outdir $(DIST)

clean:
	rm -rf .venv* build dist *.egg-info .coverage .coverage.* htmlcov
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -type d -name __pycache__ -prune -exec rm -rf {} +

# $(VENV)/stamp-<extra>: the environment holds srcdiff (editable) and what that extra names.
$(VENV)/stamp-%: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "srcdiff needs Python 3.11 or later; try make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

.PRECIOUS: $(VENV)/stamp-%
