# SPDX-License-Identifier: Apache-2.0
# The set-up's choice of a compiler, and that a fetched one is whole; with mutants of the scripts. How check-all runs steps.
.PHONY: check-setup
check-setup:
	$(Q)$(PYTHON) test/setup/test_setup.py
	$(Q)$(PYTHON) test/setup/test_check_all.py
