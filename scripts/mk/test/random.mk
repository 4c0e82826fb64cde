# SPDX-License-Identifier: Apache-2.0
# Random programs: compares the device's results with the host's (test/random/README.md).
#   check-random       the committed programs, on every build of the handlers
#   check-long-random  new programs, through nvcc and the daemon; RANDOM_FILES of forty kernels each
#   record-random      writes the committed programs again; needs nvcc
RANDOM_FILES ?= 250
RANDOM_SEED ?= 1000
RANDOM_PLAY := $(BUILD)/test/random/play
RANDOM_JOB := $(BUILD)/test/random/job
# Expanded when a recipe uses it, once the files exist.
RANDOM_PAIRS = $(foreach e,$(shell ls build/data/random/*.expected),$(e) $(e:.expected=.ptx))
RANDOM_LIBS := $(BUILD)/test/random/cases.o $(addprefix $(BUILD)/test/lib/,ptx/ptxrun.o ptx/inparts.o patience.o ptx/watched.o) \
	$(addprefix $(BUILD)/lib,device.a proto.a common.a)

$(RANDOM_PLAY): $(BUILD)/test/random/play.o $(RANDOM_LIBS) | build/data/random.unpacked
	$(Q)$(TEST_LINK) $(DEVICE_LIBS)
$(RANDOM_JOB): $(BUILD)/test/random/job.o $(BUILD)/test/random/cases.o $(BUILD)/shim/libcuda.so
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -L$(BUILD)/shim -lcuda

.PHONY: check-random check-long-random record-random
check-random: $(RANDOM_PLAY)
	$(Q)$(RANDOM_PLAY) $(RANDOM_PAIRS)
	$(Q)$(PYTHON) test/random/test_random.py
check-long-parts: check-long-random
check-long-random: all $(RANDOM_PLAY) $(RANDOM_JOB)
	BUILD=$(BUILD) NVCC=$(NVCC) $(PYTHON) test/random/run_random.py hunt --seed $(RANDOM_SEED) --files $(RANDOM_FILES)
record-random:
	BUILD=$(BUILD) NVCC=$(NVCC) $(PYTHON) test/random/run_random.py record
	$(Q)scripts/test-data pack random
