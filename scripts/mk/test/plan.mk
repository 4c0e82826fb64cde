# SPDX-License-Identifier: Apache-2.0
# The scheduler of a served model: worlds of requests at random, its bench, its test of a lack of memory.
BENCHES += $(BUILD)/test/bench/modules/plan_bench
$(BUILD)/test/bench/modules/plan_bench: $(addprefix $(BUILD)/test/bench/,modules/plan_bench.o modules/hull_levels.o lib/floor.o) \
		$(addprefix $(BUILD)/lib,plan.a common.a)
	$(Q)$(LINK) -o $@ $^ -lm

# Every allocation of it may be the one that fails.
$(BUILD)/test/unit/daemon/serve/plan/alone/test_plan_memory: OWN_LIBS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

.PHONY: check-serve-plan
check-serve-plan: $(BUILD)/test/plain/plan_world
	$(Q)for seed in 1 2 3; do $(BUILD)/test/plain/plan_world $$seed || exit 1; done

# The same step in virtual time, for salus-sim serve.
SERVE_SIM := $(call src,daemon/sim/serve)
$(BUILD)/libservesim.a: $(call objs,$(SERVE_SIM))
