# SPDX-License-Identifier: Apache-2.0
# The scheduler's bench. check-sched: random worlds of jobs, and every short history of growing jobs. check-lanes: lanes
# under three million random steps, compared with a model.
BENCHES += $(BUILD)/test/bench/modules/sched_bench
$(BUILD)/test/bench/modules/sched_bench: $(BUILD)/test/bench/modules/sched_bench.o $(BUILD)/test/bench/lib/floor.o \
		$(addprefix $(BUILD)/lib,sched.a policy.a common.a)
	$(Q)$(LINK) -o $@ $^

.PHONY: check-sched check-lanes
check-sched: $(addprefix $(BUILD)/test/plain/,sched_world grow_worlds)
	$(Q)$(BUILD)/test/plain/grow_worlds
	$(Q)for seed in 1 2 3; do $(BUILD)/test/plain/sched_world $$seed || exit 1; done
check-lanes: $(BUILD)/test/plain/lane_random
	$(Q)$<

# Identifies the build of the scheduler that a recording's checkpoint belongs to: a hash of all its sources.
SCHED_SOURCES := $(sort $(wildcard daemon/sched/*.[ch] daemon/sched/*/*.[ch])) \
	common/text/scan.c daemon/policy/policies.def daemon/policy/policy_config.h
$(BUILD)/daemon/sched/record/checkpoint.o: $(SCHED_SOURCES)
$(BUILD)/daemon/sched/record/checkpoint.o: OWN_CFLAGS += -DSCHED_BUILD='"$(shell cat $(SCHED_SOURCES) | sha256sum | cut -c1-16)"'
