# SPDX-License-Identifier: Apache-2.0
# The scheduler's own bench.
BENCHES += $(BUILD)/test/bench/sched_bench
$(BUILD)/test/bench/sched_bench: $(BUILD)/test/bench/sched_bench.o $(BUILD)/test/bench/floor.o \
		$(addprefix $(BUILD)/lib,sched.a common.a)
	$(Q)$(LINK) -o $@ $^
