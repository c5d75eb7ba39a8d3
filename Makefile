# The first Python of these that works; `make demo PYTHON=/path/to/python3.12` chooses another.
PYTHON ?= $(shell for p in python3.11 python3.12 python3; do $$p -c "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))" 2>/dev/null && echo $$p && break; done)
VENV := .venv
RUN := $(VENV)/bin/python

.PHONY: help setup demo study report test test-slow lint wheel matrix docs figures benchmark clean

help: ## show these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/installed ## make .venv with the pinned versions

$(VENV)/installed: requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "Error: Python 3.11 or 3.12 is needed and neither was found: install one, or name it with PYTHON=..."; exit 1; }
	@echo "Setting up .venv with $(PYTHON); two to four minutes the first time"
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-compile -r requirements.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## mean against AND-mask on the paper's synthetic dataset: table and figure
	$(RUN) scripts/demo.py

study: setup ## the CSV behind a figure or table: make study NAME=spirals_demo
	$(RUN) scripts/study.py $(or $(NAME),--list)

report: setup ## one HTML file about the runs below outputs/: make report FOLDERS="outputs/spirals ..."
	$(RUN) scripts/report.py $(FOLDERS)

# The tests start hundreds of processes: Python may keep the compiled sources for the next one.
test test-slow: export PYTHONDONTWRITEBYTECODE =

test: setup ## the tests, but for the slow ones
	$(RUN) -m pytest -n 2 --dist worksteal --durations=25 -m "not slow"

test-slow: setup ## the slow tests: trainings, kills at random moments, fuzzing
	$(RUN) -m pytest -n 2 --dist worksteal --durations=25 -m slow

lint: setup ## style and types
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

wheel: setup ## build sdist and wheel into dist/, test with torch alone; PYTHONS="python3.13 ..." and TORCH=2.11.0 try others
	$(RUN) tests/packaging/check_wheel.py $(if $(TORCH),--torch $(TORCH)) $(PYTHONS)

matrix: setup ## test the library with each torch and Python that it takes; PAIRS="3.10+2.4.0 ..." takes these
	$(RUN) tests/packaging/check_matrix.py $(PAIRS)

docs: setup ## build the site with the API into build/site/; a warning or a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict

figures: setup ## redraw every figure and table from results/, without training
	$(RUN) scripts/make_figures.py

benchmark: setup ## time and memory of the ways to obtain gradients
	$(RUN) scripts/benchmark.py gradients

clean: ## remove .venv (results and outputs stay)
	rm -rf $(VENV)
