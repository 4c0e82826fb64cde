# SPDX-License-Identifier: Apache-2.0
# Real frameworks on the software GPU, in versions from the Python package registry (gigabytes).
# Optional: FRAMEWORKS="--only cupy --case sort", "--keep" writes down what came out.
FRAMEWORKS_RUN = BUILD=$(BUILD) $(PYTHON) test/frameworks/run_frameworks.py
.PHONY: check-frameworks check-frameworks-runner check-frameworks-small frameworks-docs
check-frameworks: all ## CuPy, Numba, Triton, PyTorch, JAX, TensorFlow against the CPU; FRAMEWORKS="--only cupy"
	$(FRAMEWORKS_RUN) $(FRAMEWORKS)
# The smallest one, for every change: seconds, and a download of 150 MB once.
check-frameworks-small: all
	$(FRAMEWORKS_RUN) --only cupy-small
# The runner finds out whatever is not right; the page is as it was made.
check-frameworks-runner: all
	$(Q)BUILD=$(BUILD) $(PYTHON) test/frameworks/test_runner.py
	$(Q)$(FRAMEWORKS_RUN) --check-docs
frameworks-docs: ## docs/frameworks.md from the results that are kept
	$(FRAMEWORKS_RUN) --docs
