# The two commands of the README. Everything is installed into .venv, nothing elsewhere.
PYTHON ?= python3
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

.PHONY: demo test check clean
.DELETE_ON_ERROR:

demo: .venv/core.done  ## install, get the default model, route example requests
	@$(BIN)/toolroute demo

test: .venv/test.done  ## install what tests need, check types and style, run every test
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest

.venv/core.done: pyproject.toml
	@$(PYTHON) -m venv .venv
	@./install.sh $(BIN)/python -e .
	@touch $@

.venv/test.done: .venv/core.done
	@./install.sh $(BIN)/python -e '.[test,hub]'
	@touch $@

clean:
	rm -rf .venv
