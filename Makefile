# Everything from a bare clone with python3, pip and make.
VENV   := .venv
PYTHON := $(VENV)/bin/python

.PHONY: run serve test test-all lint types bench clean

run: $(VENV)/installed  ## the keyphrases of an example, with the embedded model
	$(VENV)/bin/mudy extract examples/floodplain.txt

serve: $(VENV)/installed  ## the page and the service, on http://127.0.0.1:8000
	$(VENV)/bin/mudy serve

test: lint types  ## all checks but the heavy ones; those in a browser are skipped where there is no chromium
	$(PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations 15 -m "not load"

test-all: test  ## and the service under load, with the machine to itself
	$(PYTHON) -m pytest -m load

lint: $(VENV)/installed
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check

types: $(VENV)/installed
	$(VENV)/bin/mypy

bench: $(VENV)/installed  ## speed and memory on this machine, over an hour; the report is benchmarks/README.md
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --requirement benchmarks/requirements.txt
	$(PYTHON) -m benchmarks

$(VENV)/installed: pyproject.toml constraints.txt
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --upgrade "pip>=24.1"
	$(PYTHON) -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
