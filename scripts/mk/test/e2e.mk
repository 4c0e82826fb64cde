# SPDX-License-Identifier: Apache-2.0
# End-to-end: programs compiled by nvcc in variants, run through the real daemon.
NVCC ?= $(shell scripts/find-nvcc)

# Programs that print a checksum of results; complete.mk also runs them repeatedly.
E2E_PROGRAMS := vecadd matmul reduce norm histogram pipeline train tensor staged textures thrust cub \
	texture_refs cluster tiles graphs graph_memory
E2E_TOOLS := managed features offender launches badimage trainer accumulate marks \
	lacking contextless registered whole link verify secret virtual ipc heirs graph_features \
	graph_trainer device_heap values green unified printing ranks promises activities racing exits \
	many headroom
E2E_VARIANT_PROGRAMS := vecadd matmul train
NVCC_default :=
NVCC_debug := -O0 -G
NVCC_lineinfo := -lineinfo
NVCC_ptx75 := -gencode arch=compute_75,code=compute_75
NVCC_ptx80 := -gencode arch=compute_80,code=compute_80
NVCC_ptx90 := -gencode arch=compute_90,code=compute_90
NVCC_ptxmany := $(foreach a,75 86 90 120,-gencode arch=compute_$(a),code=compute_$(a))
NVCC_sassonly := -gencode arch=compute_90,code=sm_90
NVCC_static :=
NVCC_shared := -cudart shared
E2E_BUILDS := default debug lineinfo ptx75 ptx90
# Each build with one cudart, half of all pairs; check-matrix has the other half.
E2E_PAIRS := default-shared debug-static lineinfo-shared ptx75-static ptx90-shared

# Programs are in folders by topic; their names are unique. All include common.h.
vpath %.cu $(wildcard test/e2e/programs/*)
E2E_NVCC = $(NVCC) -Itest/e2e/programs
e2e_bin = $(patsubst %,$(BUILD)/e2e/$(1)/%,$(2))
E2E_BASE := $(call e2e_bin,default-static,$(E2E_PROGRAMS) $(E2E_TOOLS)) \
	$(call e2e_bin,sassonly-static,vecadd refused machine) $(call e2e_bin,default-static,machine) $(call e2e_bin,ptxmany-static,capability) $(addprefix $(BUILD)/e2e/linked/,rdc newer grids nested conditions device_graphs changing_graphs) \
	$(call e2e_bin,ptx80-static,staged) $(call e2e_bin,ptx90-static,staged) \
	$(addprefix $(BUILD)/e2e/linked/link_unit,.o .a .cubin) \
	$(addprefix $(BUILD)/e2e/linked/libcurand_,capability.so asks.so)
E2E_PAIR_BINS := $(foreach p,$(E2E_PAIRS),$(call e2e_bin,$(p),$(E2E_VARIANT_PROGRAMS)))
E2E_ALL_BINS := $(foreach b,$(E2E_BUILDS),$(foreach c,static shared,\
	$(call e2e_bin,$(b)-$(c),$(E2E_VARIANT_PROGRAMS))))

define e2e_rule
$(BUILD)/e2e/$(1)-$(2)/%: %.cu test/e2e/programs/common.h
	@mkdir -p $$(@D)
	@$(if $(Q),echo "  NVCC    $$@")
	$(Q)$$(E2E_NVCC) $$(NVCC_$(1)) $$(NVCC_$(2)) -o $$@ $$< $(if $(filter sassonly,$(1)),,$$(NVCC_LIBS_$$*))
endef
$(foreach b,$(E2E_BUILDS) sassonly ptxmany ptx80,$(foreach c,static shared,$(eval $(call e2e_rule,$(b),$(c)))))
# Two translation units, linked on the device.
$(BUILD)/e2e/linked/rdc: test/e2e/programs/code/rdc.cu test/e2e/programs/code/rdc_unit.cu test/e2e/programs/common.h
	@mkdir -p $(@D)
	@$(if $(Q),echo "  NVCC    $@")
	$(Q)$(E2E_NVCC) -rdc=true -o $@ $(filter %.cu,$^)
# One of two translation units has code only for newer devices.
$(BUILD)/e2e/linked/newer: test/e2e/programs/code/newer.cu test/e2e/programs/code/newer_unit.cu test/e2e/programs/common.h
	@mkdir -p $(@D)
	@$(if $(Q),echo "  NVCC    $@")
	$(Q)$(E2E_NVCC) -gencode arch=compute_120,code=sm_120 -c -o $@.unit.o $(filter %_unit.cu,$^)
	$(Q)$(E2E_NVCC) $(NVCC_ptx75) -o $@ $(filter %newer.cu,$^) $@.unit.o
# Programs that need CUDA's device runtime.
$(addprefix $(BUILD)/e2e/linked/,grids nested conditions device_graphs changing_graphs): $(BUILD)/e2e/linked/%: %.cu test/e2e/programs/common.h
	@mkdir -p $(@D)
	@$(if $(Q),echo "  NVCC    $@")
	$(Q)$(E2E_NVCC) -rdc=true $(NVCC_ptx75) -o $@ $< -lcudadevrt
# Inputs of a link at run time.
$(BUILD)/e2e/linked/link_unit.%: test/e2e/programs/code/link_unit.cu
	@mkdir -p $(@D)
	@$(if $(Q),echo "  NVCC    $@")
	$(Q)$(E2E_NVCC) -rdc=true $(NVCC_UNIT_$*) -o $@ $<
NVCC_UNIT_o := -c $(NVCC_ptx75)
NVCC_UNIT_cubin := -cubin -arch=sm_90
$(BUILD)/e2e/linked/link_unit.a: $(BUILD)/e2e/linked/link_unit.o
	$(Q)rm -f $@ && $(AR) rc $@ $<
$(BUILD)/e2e/default-static/marks: shim/salus.h
$(BUILD)/e2e/default-static/promises: test/e2e/programs/api/gen_promises.inc
# Clusters and tensor maps need compute capability 9.0.
$(foreach p,cluster tiles,$(addprefix $(BUILD)/e2e/,default-static/$(p) newest-static/$(p))): NVCC_default := $(NVCC_ptx90)
# The programs as libraries named like one of NVIDIA's: one with its own CUDA runtime, one with the program's.
$(BUILD)/e2e/linked/libcurand_%.so: %.cu test/e2e/programs/common.h $(BUILD)/shim/libcuda.so
	@mkdir -p $(@D)
	@$(if $(Q),echo "  NVCC    $@")
	$(Q)$(E2E_NVCC) $(NVCC_ptxmany) $(NVCC_LIBRARY_$*) -shared -Xcompiler -fPIC -Dmain=tell -o $@ $< $(NVCC_LIBS_$*)
NVCC_LIBRARY_asks := -cudart shared
# Programs that call the driver API by name link our library as they would link CUDA's.
E2E_DRIVER := badimage contextless whole link virtual ipc heirs texture_refs values green promises many headroom
$(foreach p,$(E2E_DRIVER) capability,$(eval NVCC_LIBS_$(p) = -L$$(BUILD)/shim -lcuda))
$(call e2e_bin,default-static,$(E2E_DRIVER)) $(call e2e_bin,ptxmany-static,capability): $(BUILD)/shim/libcuda.so

$(BUILD)/test/e2e/%: $(BUILD)/test/e2e/clients/%.o $(BUILD)/libproto.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(Q)$(LINK) -o $@ $^
# A plain C program that calls the driver as a worker with the real driver does.
$(BUILD)/test/e2e/driver_worker: $(call objs,$(wildcard test/e2e/driver/*.c)) $(BUILD)/libcommon.a
	$(Q)$(LINK) -o $@ $^
$(BUILD)/test/e2e/describe: $(BUILD)/scripts/device-probes/describe.o
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ -ldl
E2E_CLIENTS := $(addprefix $(BUILD)/test/e2e/,garbage_client nvml_reader driver_worker describe)

# Runs these tests on a busy machine: their deadlines must only end a wait for an event that never comes, not depend on
# the machine's speed.
LOADED_PARTS := programs_together jobs_are iterations_are marks values registered killed garbage prints_at_once
.PHONY: check-loaded
check-loaded: all e2e-programs $(E2E_CLIENTS) ## a part of check-e2e on a busy machine: beside two busy processes per processor
	BUILD=$(BUILD) scripts/under-load $(PYTHON) test/e2e/results/run_e2e.py $(or $(E2E),$(LOADED_PARTS))

.PHONY: e2e-programs check-e2e check-nested check-sharing check-e2e-asan check-matrix
e2e-programs: $(E2E_BASE) $(E2E_PAIR_BINS)
check-e2e: all e2e-programs $(E2E_CLIENTS) $(BUILD)/counted/libcuda.so.1 ## nvcc's programs through the real daemon; E2E=part
	BUILD=$(BUILD) $(PYTHON) test/e2e/results/run_e2e.py $(E2E)
# The same tests on the real driver's device, with our own library as the driver, over a second daemon
# (test/e2e/lib/nested.py lists what is left out).
NESTED_PARTS := programs offender killed_in_an_endless feature separate values unified registered linked graph virtual marks ipc callbacks jobs_are descriptors_keep
# Workers that the nested tests must find: one that takes operations for complete too early, which a driver that
# reorders exposes, and one that does not check that its driver still exists.
EARLY_WORKER := $(BUILD)/mutants/salus-gpu-cuda-number-first
DEAF_WORKER := $(BUILD)/mutants/salus-gpu-cuda-never-asked
$(EARLY_WORKER) $(DEAF_WORKER): $(BUILD)/mutants/salus-gpu-%: $(BUILD)/salus-gpu test/mutants/device.mutants
	@mkdir -p $(@D)
	$(Q)BUILD=$(BUILD) scripts/mutants link device/$* salus-gpu $@
check-nested: all e2e-programs $(E2E_CLIENTS) $(BUILD)/counted/libcuda.so.1 $(FAULTY_DRIVER) $(EARLY_WORKER)
	BUILD=$(BUILD) SALUS_TEST_NESTED=1 $(PYTHON) test/e2e/results/run_e2e.py $(or $(E2E),$(NESTED_PARTS))
	BUILD=$(BUILD) SALUS_TEST_NESTED=1 SALUS_TEST_SUBGRIDS=1 SALUS_E2E_EACH=1 $(PYTHON) test/e2e/results/run_e2e.py programs_together
	BUILD=$(BUILD) $(PYTHON) test/e2e/faults/run_faults.py
	BUILD=$(BUILD) scripts/must-fail "faults: an early worker" "WRONG|wrong data" \
		$(PYTHON) test/e2e/faults/run_faults.py --worker $(abspath $(EARLY_WORKER)) disorder
	BUILD=$(BUILD) SALUS_TEST_NESTED=1 $(PYTHON) test/e2e/faults/run_recovery.py
	BUILD=$(BUILD) SALUS_TEST_NESTED=1 $(PYTHON) test/e2e/faults/run_chaos.py --kills 25
	BUILD=$(BUILD) SALUS_CULPRIT_ROUNDS=4 $(PYTHON) test/e2e/faults/run_culprit.py
	BUILD=$(BUILD) SALUS_TEST_NESTED=1 $(PYTHON) test/e2e/users/run_users.py killed wait_rather finds lends
	BUILD=$(BUILD) SALUS_TEST_NESTED=1 $(PYTHON) test/e2e/sharing/run_gpus.py shows_both on_both policies
.PHONY: check-long-nested
check-long-parts: check-long-nested
check-long-nested: all e2e-programs $(E2E_CLIENTS) $(BUILD)/counted/libcuda.so.1 $(FAULTY_DRIVER) \
		$(BUILD)/mutants/salus-gpu-no-void $(DEAF_WORKER)
	for suite in e2e ending recovery sharing gpus "users --long" "chaos --kills 500"; do set -- $$suite; name=$$1; shift; \
		BUILD=$(BUILD) SALUS_TEST_NESTED=1 $(PYTHON) test/e2e/*/run_$$name.py "$$@" || exit 1; done
	BUILD=$(BUILD) SALUS_TEST_NESTED=1 SALUS_TEST_SUBGRIDS=1 $(PYTHON) test/e2e/results/run_e2e.py $(NESTED_PARTS)
	BUILD=$(BUILD) $(PYTHON) test/e2e/faults/run_faults.py --rounds 100 moment
	BUILD=$(BUILD) SALUS_CULPRIT_ROUNDS=40 $(PYTHON) test/e2e/faults/run_culprit.py
	SALUS_TEST_NESTED=1 SALUS_TEST_PATIENCE=30 BUILD=$(BUILD) scripts/must-fail "chaos: a deaf worker" "not within 30 s" \
		$(PYTHON) test/e2e/faults/run_chaos.py --kills 200 --worker $(abspath $(DEAF_WORKER))
	for try in 1 2 3; do SALUS_TEST_NESTED=1 $(NO_VOID_IS_FOUND) && exit 0; done; exit 1
check-sharing: all e2e-programs
	BUILD=$(BUILD) $(PYTHON) test/e2e/sharing/run_sharing.py $(E2E)
# The daemons under ASan and UBSan, with clients from the ordinary build: hostile and dying clients would expose memory
# errors of the worker.
check-e2e-asan: all e2e-programs $(E2E_CLIENTS)
	@$(MAKE) --no-print-directory BUILD=build-asan SAN=address,undefined \
		build-asan/salusd build-asan/salus-gpu build-asan/salusctl
	BUILD=$(BUILD) SALUS_DAEMON_BUILD=build-asan ASAN_OPTIONS=detect_leaks=1 \
		$(PYTHON) test/e2e/results/run_e2e.py feature offender killed garbage image together
check-matrix: all $(E2E_BASE) $(E2E_ALL_BINS)
	BUILD=$(BUILD) SALUS_E2E_MATRIX=1 $(PYTHON) test/e2e/results/run_e2e.py variant
