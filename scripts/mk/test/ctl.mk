# SPDX-License-Identifier: Apache-2.0
# Tests of salusctl with real jobs; needs the CUDA programs of the end-to-end tests.
.PHONY: check-ctl
check-ctl: all e2e-programs $(BUILD)/e2e/default-static/paced
	BUILD=$(BUILD) $(PYTHON) test/e2e/control/run_ctl.py $(E2E)
	BUILD=$(BUILD) $(PYTHON) test/e2e/control/run_transparent.py $(E2E)
