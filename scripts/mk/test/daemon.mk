# SPDX-License-Identifier: Apache-2.0
# salusd and salusctl as processes, on the software GPU; no CUDA compiler needed.
.PHONY: check-daemon
check-daemon: $(PROGRAMS) $(SHIM_SO)
	$(Q)BUILD=$(BUILD) $(PYTHON) test/e2e/control/run_daemon.py $(DAEMON_TESTS)
	$(Q)trap '' INT HUP QUIT; BUILD=$(BUILD) $(PYTHON) test/e2e/control/run_daemon.py interrupt
