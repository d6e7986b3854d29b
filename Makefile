# The names of what can be done here; `make help` lists them. Needs only Python 3.11 or later (PYTHON=python3.12 names another) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
IMAGES ?=
SEED ?= 7
WORKERS ?= 2
# For one more option to pytest, chaos or bench: make test ARGS="-k claim"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-all test-slow chaos chaos-smoke bench kind-up kind-test kind-test-more kind-demo kind-down lint lock docs pages pictures manifests clean release version

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(VENV)/.test ## the virtual environment with all tools, from requirements/test.lock

demo: $(VENV)/.demo ## photographs become thumbnails, one process per task, on an embedded server (IMAGES=dir/ for your own)
	$(BIN)/python -m demo $(if $(IMAGES),--images "$(IMAGES)") $(ARGS)

test: lint ## checks and tests on the embedded server, under 3 minutes
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-all: lint ## all tests in full: embedded server, redis-server, Cluster and Sentinel
	$(BIN)/python -m pytest -n $(WORKERS) --full $(ARGS)

test-slow: $(VENV)/.test ## what make test leaves out for its length: whole runs of bench, chaos, demo and release, long waits
	$(BIN)/python -m pytest -n $(WORKERS) -m slow --full $(ARGS)

chaos: $(VENV)/.test ## 2,000 tasks in each mode while workers, controllers and Redis are killed (SEED=7)
	$(BIN)/python -m chaos --seed $(SEED) $(ARGS)

chaos-smoke: $(VENV)/.test ## the same with 300 tasks, under 90 seconds
	$(BIN)/python -m chaos --tasks 300 --seed 7 --within 90 $(ARGS)

bench: $(VENV)/.test ## speed and cost beside rq, dramatiq and raw redis-py
	$(BIN)/python -m bench $(ARGS)

kind-up: ## a kind cluster with KEDA and this tree's images in it (needs docker, kind, kubectl, helm)
	@bash deploy/kind/up.sh

kind-test: $(VENV)/.test ## from nothing to verdict on a kind cluster, under 20 minutes (KEEP=1 keeps it, FULL=1 has more tasks)
	@bash deploy/kind/test.sh $(ARGS)

kind-test-more: $(VENV)/.test ## the same on two nodes, one of which is lost
	@MORE=1 bash deploy/kind/test.sh $(ARGS)

kind-demo: $(VENV)/.demo ## the demo's photographs as Jobs in the cluster of kind-up
	@bash deploy/kind/demo.sh $(ARGS)

kind-down: ## delete that cluster
	@bash deploy/kind/down.sh

lint: $(VENV)/.test ## ruff, mypy --strict, the layers
	$(BIN)/ruff check bench chaos demo deploy examples pages release runner tests
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs ## the docs as a site in build/site; a broken link or anchor fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pages: $(VENV)/.test ## write the pages that come out of the code: docs/settings.md, errors.md, values.md
	$(BIN)/python -m pages

pictures: $(VENV)/.demo ## write docs/pictures/*.svg: screens of the command line after a small real run
	$(BIN)/python -m pages.pictures

release: $(VENV)/.release ## wheel, sdist, chart, images, SBOMs and checksums at one version in dist/ (ARGS=--require-image)
	$(BIN)/python -m release $(ARGS)

version: $(VENV)/.test ## write a new version wherever it stands, and into CHANGELOG.md: make version V=0.2.0
	$(BIN)/python -m release.versions $(V)

manifests: ## write deploy/keda/*.yaml from the chart (needs helm)
	sh deploy/render.sh

lock: $(VENV)/.test ## renew requirements/*.lock (the newest versions that pyproject.toml allows)
	$(BIN)/python -m pip install --quiet uv
	sh requirements/lock.sh $(BIN)/uv

clean: ## remove everything that was built here
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache demo-out chaos/out bench/out
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "runner needs Python 3.11 or later; name one with: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "this Python has no venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Two stamps, so that a demo on a fresh machine does not wait for the test tools; the second lock holds the first one's versions.
$(VENV)/.demo: requirements/demo.lock pyproject.toml | $(BIN)/python
	@echo "installing the demo's libraries into $(VENV)"
	@test -e $(VENV)/.test || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test: requirements/test.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.demo

# Beside the tests' libraries, whose versions its lock keeps.
$(VENV)/.docs: requirements/docs.lock | $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/.release: requirements/release.lock | $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@
