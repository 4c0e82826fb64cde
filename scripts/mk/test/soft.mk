# SPDX-License-Identifier: Apache-2.0
# Many more of the unit test's random programs, and many more checks that launches touch only the memory that is
# predicted for them.
WATCHED_TESTS := $(addprefix $(BUILD)/test/unit/daemon/device/soft/,code/tests exec/tests)
.PHONY: check-soft-long check-long-touch
check-long-parts: check-soft-long check-long-touch
check-long-touch: $(WATCHED_TESTS)
	SALUS_TEST_WATCHED=1000000 $(BUILD)/test/unit/daemon/device/soft/code/tests --filter '@(regalloc|counts)/*'
	SALUS_TEST_WATCHED=1000000 $(BUILD)/test/unit/daemon/device/soft/exec/tests --filter 'warp/*'
check-soft-long: $(BUILD)/test/unit/daemon/device/soft/code/tests
	SALUS_TEST_PROGRAMS=$${SALUS_TEST_PROGRAMS:-200000} $< --filter 'regalloc/*'
