# SPDX-License-Identifier: Apache-2.0
# A cluster in virtual time (daemon/sim/place), which salus-sim cluster runs (sim.mk).
#   make sim-cluster     the papers' experiments, as tables: daemon/sim/papers/sim-cluster; PART=table6 of them
#   make check-cluster   salus-sim cluster as a program
$(BUILD)/libplacesim.a: $(call objs,$(call src,daemon/sim/place))

$(BUILD)/fuzz_jobset: $(BUILD)/libplacesim.a

check-sim: check-cluster
.PHONY: sim-cluster check-cluster
check-cluster: $(BUILD)/salus-sim ## salus-sim cluster as a program, and the papers' experiments in a small form
	$(Q)BUILD=$(BUILD) $(PYTHON) test/sim/run_cluster.py
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/sim-cluster --quick
sim-cluster: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/sim-cluster $(PART)
