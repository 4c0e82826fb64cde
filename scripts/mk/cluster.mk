# SPDX-License-Identifier: Apache-2.0
# A cluster in virtual time (daemon/place/sim), which salus-sim cluster runs (sim.mk).
$(BUILD)/libplacesim.a: $(call objs,$(call src,daemon/place/sim))

CLUSTER_TESTS := $(patsubst test/unit/%.c,$(BUILD)/test/unit/%,$(wildcard test/unit/test_fleet_*.c test/unit/test_jobset*.c))
$(CLUSTER_TESTS): $(addprefix $(BUILD)/lib,placesim.a)
$(BUILD)/fuzz_jobset: $(BUILD)/libplacesim.a
