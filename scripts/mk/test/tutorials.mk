# SPDX-License-Identifier: Apache-2.0
# The commands of docs/tutorials, run to the letter. TORCH_PYTHON: a Python with PyTorch, for the blocks that need one.
.PHONY: check-tutorials
check-tutorials: all ## the commands of the tutorials, to the letter
	$(Q)$(PYTHON) test/tutorials/test_runner.py
	$(Q)BUILD=$(abspath $(BUILD)) $(PYTHON) test/tutorials/run_tutorials.py
