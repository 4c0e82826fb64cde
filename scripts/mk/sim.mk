# SPDX-License-Identifier: Apache-2.0
# The simulator: the program, its library and what its tests link.
SIM := $(call src,daemon/sim)
SIM_LIBS := $(addprefix $(BUILD)/lib,sim.a sched.a common.a)
$(BUILD)/libsim.a: $(call objs,$(SIM))
$(BUILD)/salus-sim: $(BUILD)/daemon/sim/main.o $(SIM_LIBS)
	$(Q)$(LINK) -o $@ $^ -lm
SIM_TESTS := $(patsubst test/unit/%.c,$(BUILD)/test/unit/%,$(wildcard test/unit/test_sim_*.c))
$(SIM_TESTS) $(BUILD)/fuzz_workload: $(BUILD)/libsim.a
