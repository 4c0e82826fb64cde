# SPDX-License-Identifier: Apache-2.0
# The scripts that choose and fetch the compiler, check-all, check-prose and the README's picture; with mutants.
.PHONY: check-setup
check-setup:
	$(Q)$(PYTHON) test/setup/test_setup.py
	$(Q)$(PYTHON) test/setup/test_check_all.py
	$(Q)$(PYTHON) test/setup/test_prose.py
	$(Q)$(PYTHON) test/setup/test_draw_top.py
	$(Q)$(PYTHON) test/setup/test_documents.py
