# SPDX-License-Identifier: Apache-2.0
# The simulator: the program, its library, the objects that its tests link, the papers' experiments.
#   make sim-papers    the Salus paper's experiments; tables and a picture in $(BUILD)/sim-papers
#   make sim-orion     the Orion paper's experiments, with the tables of kernels in ../shared/data/orion; 20 min
#   make sim-arrivals  the gain of slack from foreseeing requests, with the same tables; 10 min
#   make sim-slices    the gain of slack if kernels can be stopped, with the same tables; 15 min
#   make sim-sizes     the gain from right-sizing and sub-grids, with the same tables; 15 min
#   make sim-gpucolo   GPUColo's experiments, with jobs of its own; PART=held-out: other shapes of work; PART=jobs: twelve jobs
#   make serving-figures   the thesis's experiments on serving, with the gaps in ../shared/data/orion; some minutes
#   make calibrate-contention   the search for the parameters in daemon/sched/policy/contention.h
#   make check-sim     tests of traces, outputs, and the experiments' invariants
SIM_ROOMS := base workload device run report compare verbs
SIM := $(call src,$(addprefix daemon/sim/,$(SIM_ROOMS)))
SIM_LIBS := $(addprefix $(BUILD)/lib,sim.a placesim.a place.a servesim.a plan.a tunesim.a fluid.a sched.a policy.a common.a)
SIM_NEEDS = $(call pkg,--libs,libseccomp) -lm
$(BUILD)/libsim.a: $(call objs,$(SIM))
$(BUILD)/salus-sim: $(BUILD)/daemon/sim/main.o $(SIM_LIBS)
	$(Q)$(LINK) -o $@ $^ $(SIM_NEEDS)
all: $(BUILD)/salus-sim
SIM_TESTS := $(addprefix $(BUILD)/test/unit/daemon/sim/,tests alone/test_fleet_slow alone/test_sim_kernels)
$(SIM_TESTS) $(BUILD)/fuzz_workload $(BUILD)/fuzz_trace: $(BUILD)/libsim.a $(BUILD)/libservesim.a \
	$(BUILD)/libtunesim.a $(BUILD)/libfluid.a $(BUILD)/libplacesim.a $(BUILD)/libplace.a
$(SIM_TESTS): OWN_LIBS = $(SIM_NEEDS)

$(BUILD)/test/sim/calibrate: $(BUILD)/test/sim/calibrate.o $(SIM_LIBS)
	$(Q)$(LINK) -o $@ $^ $(SIM_NEEDS)

.PHONY: calibrate-contention
calibrate-contention: $(BUILD)/test/sim/calibrate
	$(Q)$<
.PHONY: install-sim uninstall-sim sim-papers sim-orion sim-arrivals sim-slices sim-sizes sim-gpucolo serving-figures check-sim
install: install-sim
uninstall: uninstall-sim
install-sim: $(BUILD)/salus-sim
	$(INSTALL) -D -m 0755 $(BUILD)/salus-sim $(ROOT_DIR)/bin/salus-sim
uninstall-sim:
	rm -f $(ROOT_DIR)/bin/salus-sim

sim-papers: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/sim-papers
sim-orion: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/sim-orion
sim-arrivals: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/sim-arrivals
sim-slices: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/sim-slices
sim-sizes: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/sim-sizes
sim-gpucolo: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/sim-gpucolo $(addprefix --,$(PART))
serving-figures: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/serving-figures
check-sim: $(BUILD)/salus-sim check-sim-orion
	$(Q)BUILD=$(BUILD) $(PYTHON) test/sim/run_sim.py
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/sim-papers --quick
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/serving-figures --quick

.PHONY: check-sim-orion
check-sim-orion: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/sim-orion --quick
