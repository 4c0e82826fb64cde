# SPDX-License-Identifier: Apache-2.0
# The programs of scripts/device-check for a machine with a GPU: probes, and programs that run with and without Salus.
# Except those in .cu, they are built without CUDA's toolkit; all run on the software GPU as well.
DEVICE_PROBE_C := $(wildcard scripts/device-probes/*.c)
DEVICE_PROBES := $(patsubst scripts/device-probes/%.c,$(BUILD)/device/%,$(filter-out %/probe.c,$(DEVICE_PROBE_C)))
DEVICE_PROBES_CU := $(patsubst scripts/device-probes/%.cu,$(BUILD)/device/%,$(wildcard scripts/device-probes/*.cu))
DEVICE_PROGRAMS := $(patsubst scripts/device-probes/programs/%.c,$(BUILD)/device/programs/%,\
	$(filter-out %/work.c,$(wildcard scripts/device-probes/programs/*.c)))
STACK_BENCHES += $(addprefix $(BUILD)/device/programs/,launch copy compute)
DEVICE_PROBE_O := $(BUILD)/scripts/device-probes/probe.o

$(BUILD)/device/%: $(BUILD)/scripts/device-probes/%.o $(DEVICE_PROBE_O)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -ldl -lm
$(BUILD)/device/programs/%: $(BUILD)/scripts/device-probes/programs/%.o \
		$(BUILD)/scripts/device-probes/programs/work.o $(DEVICE_PROBE_O)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -ldl -lm
$(DEVICE_PROBES_CU): $(BUILD)/device/%: scripts/device-probes/%.cu scripts/device-probes/report.h $(DEVICE_PROBE_O)
	@mkdir -p $(@D)
	@$(if $(Q),echo "  NVCC    $@")
	$(Q)$(NVCC) -I. $(NVCC_PROBE_$*) -o $@ $< $(DEVICE_PROBE_O) -ldl -lm $(NVCC_PROBE_LIBS_$*)
# A kernel that launches kernels is linked for the existing devices; PTX is for newer ones.
NVCC_PROBE_child_grids = -rdc=true $(NVCC_ptx75) $(foreach a,80 90 100,-gencode arch=compute_$(a),code=sm_$(a))
NVCC_PROBE_LIBS_child_grids := -lcudadevrt

# Programs in .cu are built if there is a compiler for them, and not with a sanitizer, with which they do not link.
# scripts/device-check names the missing ones.
.PHONY: device-programs
device-programs: $(DEVICE_PROBES) $(DEVICE_PROGRAMS) $(BUILD)/test/random/job build/data/random.unpacked
	@[ -z "$(NVCC)" ] || [ -n "$(SAN)" ] || $(MAKE) --no-print-directory $(DEVICE_PROBES_CU)

# Runs device-check in the reduced form, nested on the software GPU, and checks that the packed files are complete.
.PHONY: check-device device-pack
check-device: all device-programs $(BUILD)/e2e/default-static/train ## device-check in its reduced form, nested: every probe and program
	BUILD=$(BUILD) $(PYTHON) -B test/device/test_device_check.py
device-pack: all device-programs e2e-programs $(E2E_CLIENTS) $(BUILD)/counted/libcuda.so.1 ## the files that scripts/device-check needs on a machine with a GPU, in $(BUILD)/salus-device-check.tar
	BUILD=$(BUILD) scripts/device-check --pack $(BUILD)/salus-device-check.tar
