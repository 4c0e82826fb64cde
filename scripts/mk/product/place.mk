# SPDX-License-Identifier: Apache-2.0
# The choice of a GPU in a cluster for each waiting job (daemon/place): its library, tests and bench.
PLACE := $(filter-out daemon/place/slurm/%,$(call src,daemon/place))
$(BUILD)/libplace.a: $(call objs,$(PLACE))

PLACE_TESTS := $(addprefix $(BUILD)/test/unit/daemon/place/,tests alone/test_place_memory)
$(PLACE_TESTS): $(BUILD)/libplace.a

# The test makes each allocation of the library fail once.
$(BUILD)/test/unit/daemon/place/alone/test_place_memory: OWN_LIBS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

BENCHES += $(BUILD)/test/bench/modules/place_bench
$(BUILD)/test/bench/modules/place_bench: $(addprefix $(BUILD)/test/bench/,modules/place_bench.o lib/floor.o) \
		$(addprefix $(BUILD)/lib,place.a common.a)
	$(Q)$(LINK) -o $@ $^ -lm

# More random worlds; each step is compared with a plain reference.
.PHONY: check-long-place
check-long-parts: check-long-place
check-long-place: $(BUILD)/test/unit/daemon/place/tests $(BUILD)/test/unit/daemon/sim/alone/test_fleet_slow
	SALUS_TEST_SEEDS=100 $< --filter 'place_world/*'
	SALUS_TEST_SEEDS=30 $(BUILD)/test/unit/daemon/sim/alone/test_fleet_slow
