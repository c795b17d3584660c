# `make run` serves the app, `make test` checks everything. Both set up what they need in .venv,
# and only when requirements-hashed.txt or pyproject.toml changed since the last time.

PORT ?= 8501
ADDRESS ?= localhost
PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled when they are first imported: compiling all that is installed takes longer. Some containers
# forbid Python to keep what it compiled; then every process compiles for two to four seconds what it imports.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: run test pytest browser elsewhere mutants speed thorough docs links pictures lint chromium package lowest newest heavy hashes audit clean
.DELETE_ON_ERROR:

run: $(VENV)/app.stamp
	@exec $(BIN)/python serve.py --server.address "$(ADDRESS)" --server.port "$(PORT)"

test: $(VENV)/dev.stamp
	@$(MAKE) --no-print-directory --jobs=3 --keep-going lint browser pytest

# One thread each: waiting BLAS threads of one process slow the others down. Tests have a low priority, because the
# workers of the app have one, too, and need processor time on a busy machine. Tests in the browser have a process
# of their own: they need not collect the other tests. One worker more than cores, because all wait in between.
TESTS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 nice -n 14 $(BIN)/python -m pytest

pytest: $(VENV)/dev.stamp
	$(TESTS) --dist worksteal -n $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )) --ignore tests/browser $(PYTEST)

browser: chromium
	$(TESTS) -n 0 tests/browser

# What reads files, packaging and documentation, once more: in an empty folder, without .git, git and a browser, by
# another user and the system's own Python if possible.
elsewhere: $(VENV)/dev.stamp
	@nice -n 14 $(BIN)/python -m tests.elsewhere

# Changes random places of calib, one at a time, and lists the changes that no test notices.
MUTANTS ?= calib/data calib/evidence calib/stats calib/calibrators calib/answers
mutants: $(VENV)/dev.stamp
	@nice -n 14 $(BIN)/python -m tests.mutants $(MUTANTS)

# `make test` with what is slow, and the coverage of the library and the pages.
thorough: export PYTEST := --cov
thorough: export HYPOTHESIS_PROFILE := thorough
thorough: test

# Times of the work tree and of another commit by turns, and their ratio; with PAGE=1 also in docs/speed.md.
AGAINST ?=
ROWS ?=
PAGE ?=
speed: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.speed $(ROWS) $(if $(AGAINST),--against $(AGAINST)) $(if $(PAGE),--page)

# The documentation site, in build/site; a warning is an error. `links` follows its links, and asks every outside
# address; without a network it says that it could not.
docs: $(VENV)/docs.stamp
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs build/site
	@echo "open build/site/index.html"

links: $(VENV)/docs.stamp
	@$(BIN)/python -m docs.links

# The pictures of the documentation, made by its tests.
pictures: export HYPOTHESIS_PROFILE := thorough
pictures: export CALIB_PICTURES := 1
pictures: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n 0 tests/browser/test_tour.py tests/browser/test_gallery.py tests/browser/test_animation.py

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

chromium: $(VENV)/dev.stamp
	@$(BIN)/python tests/browser/chromium.py

# PyTorch comes from its own index, without CUDA: 200 MB instead of gigabytes. Elsewhere: make TORCH="--find-links ..."
TORCH ?= --torch-backend cpu

# Wheel and source archive in dist/, and what the wheel gives with each set of extras in a clean environment. Not
# tried unless asked for: torch, which is large, and spark, which needs a Java runtime.
EXTRAS ?= base app onnx skops paper dask
package: $(VENV)/uv.stamp
	@rm -rf dist
	$(BIN)/uv build --quiet
	@set -e; for extras in $(EXTRAS); do \
		echo "calib-diagnostics[$$extras] in a clean environment:"; \
		$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/package; \
		$(BIN)/uv pip install --quiet --compile-bytecode --python $(VENV)/package/bin/python $(TORCH) \
			"`ls dist/*.whl`[`echo $$extras | sed 's/^base$$//'`]"; \
		$(VENV)/package/bin/python tests/installed.py base `echo $$extras | sed 's/^base$$//' | tr , ' '`; \
	done

# The tests that meet other packages, with the lowest versions that pyproject.toml accepts, or the newest there are.
MEETING := tests/calibrators tests/cli tests/datasets tests/export tests/diagrams tests/files/readers tests/app/isolation \
	tests/files/saved tests/report tests/data/test_predictions.py tests/test_package.py
lowest: RESOLUTION := lowest-direct
newest: RESOLUTION := highest
lowest newest: $(VENV)/uv.stamp
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/$@
	$(BIN)/uv pip install --quiet --python $(VENV)/$@/bin/python --resolution $(RESOLUTION) \
		--only-binary :all: --no-binary calib-diagnostics --editable ".[app,dev,onnx]"
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(VENV)/$@/bin/python -m pytest -n auto $(MEETING)

# The tests with PyTorch and MLflow, which `make test` skips because these are large: exports, models put behind a
# network, and the examples of docs/production.md.
heavy: $(VENV)/uv.stamp
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/$@
	$(BIN)/uv pip install --quiet --python $(VENV)/$@/bin/python $(TORCH) \
		--editable ".[app,dev,onnx,torch]" onnxscript mlflow
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(VENV)/$@/bin/python -m pytest -n auto tests/export tests/test_production.py

# All hashes of each pinned version, for every system and Python.
hashes: $(VENV)/uv.stamp
	$(BIN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-header --no-annotate \
		requirements.txt --output-file requirements-hashed.txt

# Known vulnerabilities of what the app runs on; asks pypi.org.
audit: $(VENV)/uv.stamp
	$(BIN)/uv tool run pip-audit --require-hashes --disable-pip -r requirements-hashed.txt

clean:
	rm -rf $(VENV) test-output

$(VENV)/uv.stamp: $(VENV)/python.stamp
	@$(PIP) uv
	@touch $@

$(VENV)/app.stamp: $(VENV)/python.stamp requirements-hashed.txt
	@echo "Installing the app's requirements into $(VENV) (a minute or two, this time only) ..."
	@$(PIP) --require-hashes --only-binary :all: -r requirements-hashed.txt
	@touch $@

$(VENV)/dev.stamp: $(VENV)/app.stamp pyproject.toml
	@echo "Installing the test tools into $(VENV) ..."
	@PYTHONWARNINGS="ignore:Editable installation" $(PIP) --constraint requirements.txt --editable ".[app,dev,onnx]"
	@touch $@

$(VENV)/docs.stamp: $(VENV)/app.stamp pyproject.toml
	@PYTHONWARNINGS="ignore:Editable installation" $(PIP) --constraint requirements.txt --editable ".[docs]"
	@touch $@

# Debian and Ubuntu ship Python without ensurepip; its package is python3-venv.
$(VENV)/python.stamp:
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "calib needs Python 3.11 or newer, and there is no '$(PYTHON)'. Install it, or name yours: make PYTHON=python3.12"; exit 1; }
	@"$(PYTHON)" -c "import sys; sys.exit(sys.version_info < (3, 11))" || { \
		echo "calib needs Python 3.11 or newer; '$(PYTHON)' is `"$(PYTHON)" --version`. Name a newer one: make PYTHON=python3.12"; exit 1; }
	@"$(PYTHON)" -c "import ensurepip, venv" 2>/dev/null || { \
		command -v apt-get >/dev/null && [ "`id -u`" = 0 ] && \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv; } || { \
		echo "This Python cannot make virtual environments. Run: sudo apt-get install python3-venv"; exit 1; }
	@"$(PYTHON)" -m venv --clear $(VENV)
	@$(PIP) --require-hashes --only-binary :all: -r requirements-pip.txt  # Python 3.11's own takes three times as long
	@touch $@
