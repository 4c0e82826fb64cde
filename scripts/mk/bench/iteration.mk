# SPDX-License-Identifier: Apache-2.0
# The iteration detector's bench, and recordings of real programs for its tests.
BENCHES += $(BUILD)/test/bench/modules/iteration_bench
$(BUILD)/test/bench/modules/iteration_bench: $(BUILD)/test/bench/modules/iteration_bench.o \
		$(addprefix $(BUILD)/lib,worker.a common.a)
	$(Q)$(LINK) -o $@ $^

# Programs with iterations of many kinds, and recordings of the records that the worker reads from
# them.
ITERATION_PROGRAMS := $(call e2e_bin,default-static,accumulate evaluate pair requests aimless served)
$(ITERATION_PROGRAMS): test/e2e/programs/jobs/net.h
e2e-programs: $(ITERATION_PROGRAMS)
.PHONY: record-iterations
record-iterations: all $(ITERATION_PROGRAMS) $(call e2e_bin,default-static,train)
	BUILD=$(BUILD) $(PYTHON) test/e2e/results/record_iterations.py build/data/iterations
	$(Q)scripts/test-data pack iterations
