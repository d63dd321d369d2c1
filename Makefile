# Everything from a bare clone with python3, pip and make. Each goal installs what it needs, and no more.
VENV   := .venv
PYTHON := $(VENV)/bin/python
PIP    := $(PYTHON) -m pip install --disable-pip-version-check

# Versions and hashes are those of the lock files (python tools/lock.py writes them).
LOCKED := $(PIP) --require-hashes --no-deps

# Only the tests need PyTorch. PyPI's Linux builds of it need 5 GB of packages for NVIDIA's GPUs. Where there is no such
# GPU the CPU build is taken: from the index that pip is set to use, else from PyTorch's own.
TORCH     := $(shell grep '^torch==' constraints.txt)
CPU_INDEX := https://download.pytorch.org/whl/cpu

# Bytecode is written even where the caller's environment forbids it: tests start many processes that would each compile.
unexport PYTHONDONTWRITEBYTECODE

# What pip prints goes to a log, which is shown only if it fails.
LOG    := $(VENV)/install.log
LOGGED := >>$(LOG) 2>&1 || { cat $(LOG); echo "== The installation failed; the output above is in $(LOG)"; exit 1; }

TOGETHER := $(PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations 15

.PHONY: help run serve test test-slow test-all test-long test-integrations fuzz lint types docs bench clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: $(VENV)/run.installed  ## install MUDY into .venv and extract the keyphrases of an example
	@$(VENV)/bin/mudy extract examples/floodplain.txt
	@echo "Try your own file: $(VENV)/bin/mudy extract FILE (text, Markdown, HTML, PDF, Word ...), or make serve for the web page."

serve: $(VENV)/run.installed  ## start the web page and the service on http://127.0.0.1:8000
	$(VENV)/bin/mudy serve

test: lint types  ## all checks but the heavy ones; those in a browser are skipped where there is no chromium
	$(TOGETHER) -m "not (slow or long or load or heavy_package)"

test-slow: $(VENV)/test.installed  ## the slow ones that give the same answer every time
	$(TOGETHER) -m "slow and not (long or load or heavy_package)"

test-all: test test-slow test-long  ## and the service under load, with the machine to itself: run by hand, not in CI
	$(PYTHON) -m pytest -m load

test-long: $(VENV)/test.installed  ## a Ray node that is killed, kills at random moments, every table of the paper on small data
	$(PYTHON) -m pytest -m long

test-integrations: $(VENV)/test.installed  ## the tools that are too heavy for `test`: BERTopic, Haystack, KeyBERT with its own tests, LlamaIndex, Dask, Spark (which needs Java)
	$(PIP) --constraint constraints.txt --quiet --editable ".[integrations]"
	$(PYTHON) -m pytest tests/integrations
	$(PYTHON) -m tools.keybert_suite

fuzz: $(VENV)/test.installed  ## damaged files and odd command lines, for about twenty minutes
	MUDY_FUZZ_EXAMPLES=4000 $(PYTHON) -m pytest tests/*/test_fuzz_*.py

lint: $(VENV)/test.installed
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/lint-imports
	$(PYTHON) tools/lint_web.py

types: $(VENV)/test.installed
	$(VENV)/bin/mypy

docs: $(VENV)/test.installed  ## the documentation site, in site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict

bench: $(VENV)/test.installed  ## speed and memory on this machine, in half an hour; the report is benchmarks/README.md
	$(PIP) --constraint constraints.txt --requirement benchmarks/requirements.txt
	$(PYTHON) -m benchmarks

$(VENV)/run.installed: lock/run.txt pyproject.toml | announcement $(VENV)/pip.installed
$(VENV)/test.installed: lock/dev.txt pyproject.toml | $(VENV)/torch.installed

.PHONY: announcement
announcement:
	@[ -e $(VENV)/run.installed ] || { \
	  echo "Packages: 177 MB to download, into $(VENV) (566 MB) and pip's cache."; \
	  echo "Models: 322 MB to download, into your cache folder (314 MB; MUDY_HOME sets another)."; }

$(VENV)/%.installed:
	@echo "Installing the packages of $< (log: $(LOG)) ..."
	@$(LOCKED) --requirement $< $(LOGGED)
	@$(PIP) --no-deps --no-build-isolation --editable . $(LOGGED)
	@touch $@

$(VENV)/pip.installed: lock/pip.txt
	@python3 -m venv $(VENV)
	@$(LOCKED) --requirement lock/pip.txt $(LOGGED)
	@touch $@

$(VENV)/torch.installed: lock/cpu.txt lock/cuda.txt | $(VENV)/pip.installed
	@if [ "$$(uname -s)" = Linux ]; then \
	  has_torch() { $(PYTHON) -P -c "import importlib.metadata as m; m.version('torch')" 2>/dev/null; }; \
	  if ! command -v nvidia-smi >/dev/null; then \
	    echo "== No NVIDIA GPU here: looking for the CPU build of $(TORCH)"; \
	    $(LOCKED) --requirement lock/cpu.txt 2>/dev/null; has_torch || \
	    $(LOCKED) --retries 0 --timeout 10 --index-url $(CPU_INDEX) --requirement lock/cpu.txt 2>/dev/null; has_torch || \
	    $(PIP) --no-deps --retries 0 --timeout 10 --index-url $(CPU_INDEX) "$(TORCH)" 2>/dev/null; \
	  fi; \
	  has_torch || { echo "== Taking PyPI's build of $(TORCH)"; $(LOCKED) --requirement lock/cuda.txt; }; \
	fi
	@touch $@

clean:
	rm -rf $(VENV) node_modules site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
