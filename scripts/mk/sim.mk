# SPDX-License-Identifier: Apache-2.0
# The simulator: the program, its library, what its tests link, the papers' experiments.
SIM := $(call src,daemon/sim)
SIM_LIBS := $(addprefix $(BUILD)/lib,sim.a sched.a common.a)
$(BUILD)/libsim.a: $(call objs,$(SIM))
$(BUILD)/salus-sim: $(BUILD)/daemon/sim/main.o $(SIM_LIBS)
	$(Q)$(LINK) -o $@ $^ -lm
all: $(BUILD)/salus-sim
SIM_TESTS := $(patsubst test/unit/%.c,$(BUILD)/test/unit/%,$(wildcard test/unit/test_sim_*.c))
$(SIM_TESTS) $(BUILD)/fuzz_workload: $(BUILD)/libsim.a

.PHONY: install-sim uninstall-sim
install: install-sim
uninstall: uninstall-sim
install-sim: $(BUILD)/salus-sim
	$(INSTALL) -D -m 0755 $(BUILD)/salus-sim $(ROOT_DIR)/bin/salus-sim
uninstall-sim:
	rm -f $(ROOT_DIR)/bin/salus-sim
