# SPDX-License-Identifier: Apache-2.0
# The scheduler's bench, and check-sched: worlds of jobs at random.
BENCHES += $(BUILD)/test/bench/sched_bench
$(BUILD)/test/bench/sched_bench: $(BUILD)/test/bench/sched_bench.o $(BUILD)/test/bench/floor.o \
		$(addprefix $(BUILD)/lib,sched.a common.a)
	$(Q)$(LINK) -o $@ $^

.PHONY: check-sched
check-sched: $(BUILD)/test/plain/sched_world
	$(Q)for seed in 1 2 3; do $(BUILD)/test/plain/sched_world $$seed || exit 1; done
