# SPDX-License-Identifier: Apache-2.0
# Tests with real processes the limits on the harm that a user, or a slow reader of the log, can do to others.
.PHONY: check-limits
check-limits: $(PROGRAMS) $(SHIM_SO) $(BUILD)/test/e2e/fail_call.so
	$(Q)BUILD=$(BUILD) $(PYTHON) test/e2e/users/run_limits.py $(LIMIT_TESTS)

$(BUILD)/test/e2e/fail_call.so: test/e2e/clients/fail_call.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -Wall -Wextra -Werror -O1 -fPIC -D_GNU_SOURCE -shared $< -o $@ -ldl
