# make run    a fresh machine to measured agents
# make test   a fresh machine to a tested repository
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := $(sort $(wildcard packages/*/pyproject.toml))
STAMP := $(VENV)/.installed

.PHONY: run test lint slow clean

run: $(STAMP)
	$(BIN)/wmbench run --agent iris --out-dir results/iris-demo
	$(BIN)/wmbench run --agent random --game ALE/Pong-v5 --episodes 4 --num-envs 4 --seeds 2 --out-dir results/first-run

test: $(STAMP)
	$(BIN)/python -m pytest -q -n 2

slow: $(STAMP)
	$(BIN)/python -m pytest -q -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(foreach package,$(PACKAGES),$(dir $(package))src)

$(STAMP): constraints.txt requirements-dev.txt pyproject.toml $(PACKAGES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		$(foreach package,$(PACKAGES),-e $(dir $(package)))
	touch $@

clean:
	rm -rf $(VENV) results runs dist
