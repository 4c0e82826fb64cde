# SPDX-License-Identifier: Apache-2.0
# The same random programs as in the unit test, many more of them.
.PHONY: check-soft-long
check-long: check-soft-long
check-soft-long: $(BUILD)/test/unit/test_regalloc
	SALUS_TEST_PROGRAMS=$${SALUS_TEST_PROGRAMS:-200000} $<
