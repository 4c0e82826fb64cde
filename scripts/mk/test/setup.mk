# SPDX-License-Identifier: Apache-2.0
# The set-up's choice of a compiler, and that a fetched one is whole; with mutants of the scripts.
.PHONY: check-setup
check-setup:
	$(Q)$(PYTHON) test/setup/test_setup.py
