# SPDX-License-Identifier: Apache-2.0
# A cluster in virtual time (daemon/place/sim), which salus-sim cluster runs (sim.mk).
#   make sim-cluster     the papers' experiments, as tables: scripts/sim-cluster; PART=table6 of them
$(BUILD)/libplacesim.a: $(call objs,$(call src,daemon/place/sim))

CLUSTER_TESTS := $(patsubst test/unit/%.c,$(BUILD)/test/unit/%,$(wildcard test/unit/test_fleet_*.c test/unit/test_jobset*.c))
$(CLUSTER_TESTS): $(addprefix $(BUILD)/lib,placesim.a)
$(BUILD)/fuzz_jobset: $(BUILD)/libplacesim.a

.PHONY: sim-cluster
sim-cluster: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) scripts/sim-cluster $(PART)
