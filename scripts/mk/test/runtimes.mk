# SPDX-License-Identifier: Apache-2.0
# Tests with CUDA runtimes of other versions than the compiler's, from the Python package registry.
$(BUILD)/e2e/runtime.fatbin: test/e2e/programs/code/runtime_kernels.cu
	@mkdir -p $(@D)
	@$(if $(Q),echo "  NVCC    $@")
	$(Q)$(NVCC) -fatbin $(NVCC_ptx75) -o $@ $<
$(BUILD)/e2e/objects/%.o: %.cu test/e2e/programs/common.h
	@mkdir -p $(@D)
	@$(if $(Q),echo "  NVCC    $@")
	$(Q)$(E2E_NVCC) -c -o $@ $<

.PHONY: check-runtimes
check-runtimes: all $(foreach v,default-static default-shared,$(call e2e_bin,$(v),vecadd matmul train)) $(BUILD)/e2e/runtime.fatbin \
		$(BUILD)/e2e/objects/train.o $(BUILD)/test/e2e/runtime ## runtimes of CUDA 11.8 to 13.5, shared and static
	BUILD=$(BUILD) $(PYTHON) test/e2e/results/run_runtimes.py $(E2E)

# The same programs built by the newest compiler, and the driver compared with its headers. If it cannot be downloaded,
# that is reported and nothing is tested.
NEWEST := build/toolkit-newest
$(BUILD)/e2e/newest-static/%: %.cu test/e2e/programs/common.h
	@mkdir -p $(@D)
	@$(if $(Q),echo "  NVCC    $@")
	$(Q)$(NEWEST)/bin/nvcc -Itest/e2e/programs $(NVCC_default) -o $@ $<
.PHONY: check-long-nvcc newest-programs check-long
newest-programs: $(call e2e_bin,newest-static,$(E2E_PROGRAMS))
check-long-parts: check-long-nvcc
check-long-nvcc: all
	$(Q)scripts/fetch-nvcc newest || { echo "SKIPPED newest nvcc; skipped: all"; exit 0; } && \
		$(PYTHON) scripts/gen-driver-api --check --toolkit $(NEWEST) && \
		$(MAKE) --no-print-directory test T=test_cuda_abi BUILD=$(BUILD)/newest CUDA_HOME=$(NEWEST) && \
		$(MAKE) --no-print-directory newest-programs && \
		BUILD=$(BUILD) $(PYTHON) test/e2e/results/run_e2e.py variant_newest
