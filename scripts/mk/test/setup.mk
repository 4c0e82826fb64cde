# SPDX-License-Identifier: Apache-2.0
# Tests, with mutants, of the scripts that choose and fetch the compiler, of check-all and check-prose, and of the
# README's picture.
.PHONY: check-setup
check-setup:
	$(Q)$(PYTHON) test/setup/test_setup.py
	$(Q)$(PYTHON) test/setup/test_check_all.py
	$(Q)$(PYTHON) test/setup/test_prose.py
	$(Q)$(PYTHON) test/setup/test_draw_top.py
	$(Q)$(PYTHON) test/setup/test_documents.py
