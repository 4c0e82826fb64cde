# SPDX-License-Identifier: Apache-2.0
# Real frameworks on the software GPU, in versions from the Python package registry (gigabytes). Optional:
# FRAMEWORKS="--only cupy --case sort"; "--keep" writes the results down.
FRAMEWORKS_RUN = BUILD=$(BUILD) $(PYTHON) test/frameworks/run_frameworks.py
.PHONY: check-frameworks check-frameworks-runner check-frameworks-small frameworks-docs
check-frameworks: all ## CuPy, Numba, Triton, PyTorch, JAX, TensorFlow against the CPU; FRAMEWORKS="--only cupy"
	$(FRAMEWORKS_RUN) $(FRAMEWORKS)
# The smallest framework, for every change: takes seconds, and downloads 150 MB once.
check-frameworks-small: all
	$(FRAMEWORKS_RUN) --only cupy-small
# Checks that the runner notices each kind of failure, and that the page equals its results.
check-frameworks-runner: all
	$(Q)BUILD=$(BUILD) $(PYTHON) test/frameworks/test_runner.py
	$(Q)$(FRAMEWORKS_RUN) --check-docs
frameworks-docs: ## docs/frameworks.md from the recorded results
	$(FRAMEWORKS_RUN) --docs
