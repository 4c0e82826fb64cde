# SPDX-License-Identifier: Apache-2.0
# The scheduler of a served model: random worlds of requests, its bench, and its test of failing allocations.
BENCHES += $(BUILD)/test/bench/modules/plan_bench
$(BUILD)/test/bench/modules/plan_bench: $(addprefix $(BUILD)/test/bench/,modules/plan_bench.o modules/hull_levels.o lib/floor.o) \
		$(addprefix $(BUILD)/lib,plan.a common.a)
	$(Q)$(LINK) -o $@ $^ -lm

# The test makes each allocation of the scheduler fail once.
$(BUILD)/test/unit/daemon/serve/plan/alone/test_plan_memory: OWN_LIBS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

.PHONY: check-serve-plan
check-serve-plan: $(BUILD)/test/plain/plan_world
	$(Q)for seed in 1 2 3; do $(BUILD)/test/plain/plan_world $$seed || exit 1; done

# The same step in virtual time, for salus-sim serve.
SERVE_SIM := $(call src,daemon/sim/serve)
$(BUILD)/libservesim.a: $(call objs,$(SERVE_SIM))
