# SPDX-License-Identifier: Apache-2.0
# The same random programs as in the unit test, many more of them; and many more of all launches held to what is
# said of what they touch.
WATCHED_TESTS := $(addprefix $(BUILD)/test/unit/,test_regalloc test_warp test_counts)
.PHONY: check-soft-long check-long-touch
check-long: check-soft-long check-long-touch
check-long-touch: $(WATCHED_TESTS)
	SALUS_TEST_WATCHED=1000000 scripts/run-tests -j$(JOBS) $(WATCHED_TESTS)
check-soft-long: $(BUILD)/test/unit/test_regalloc
	SALUS_TEST_PROGRAMS=$${SALUS_TEST_PROGRAMS:-200000} $<
