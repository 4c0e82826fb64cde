# SPDX-License-Identifier: Apache-2.0
# The scheduler's bench; check-sched: worlds of jobs at random; check-lanes: lanes under three million
# random steps beside a model.
BENCHES += $(BUILD)/test/bench/sched_bench
$(BUILD)/test/bench/sched_bench: $(BUILD)/test/bench/sched_bench.o $(BUILD)/test/bench/floor.o \
		$(addprefix $(BUILD)/lib,sched.a common.a)
	$(Q)$(LINK) -o $@ $^

.PHONY: check-sched check-lanes
check-sched: $(BUILD)/test/plain/sched_world
	$(Q)for seed in 1 2 3; do $(BUILD)/test/plain/sched_world $$seed || exit 1; done
check-lanes: $(BUILD)/test/plain/lane_random
	$(Q)$<
