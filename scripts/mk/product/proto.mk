# SPDX-License-Identifier: Apache-2.0
# The driver API: generated files, and the checks that compare them with their spec.

CUDA_HOME ?= $(shell scripts/find-nvcc --home)
# The spec is that of CUDA 13.5. An older toolkit can check the part that it has; of the older ones, only 13.0 was
# tried.
CUDA_INCLUDE := $(shell grep -Eqs '^.define CUDA_VERSION 130[05]0$$' $(CUDA_HOME)/include/cuda.h && \
	echo $(CUDA_HOME)/include)

# Only the tests that compare with the toolkit's own header may include it.
$(BUILD)/test/lib/cuda/cuda_abi_theirs.o: OWN_CFLAGS += $(if $(CUDA_INCLUDE),-isystem $(CUDA_INCLUDE))

.PHONY: gen check-gen
gen: ## generate the files of proto/driver.api and others again
	$(Q)$(PYTHON) scripts/gen-driver-api
	$(Q)$(PYTHON) scripts/gen-promises

check-gen:
	$(Q)$(PYTHON) scripts/gen-driver-api --check $(if $(CUDA_INCLUDE),--toolkit $(CUDA_HOME))
	$(Q)$(PYTHON) test/gen/test_driver_api.py --quiet
	$(Q)$(PYTHON) scripts/gen-promises --check
	$(Q)$(PYTHON) test/gen/test_promises.py --quiet
	@$(if $(CUDA_INCLUDE),,echo "  SKIP    no CUDA 13.0 or 13.5 toolkit in $(CUDA_HOME): spec not compared with cuda.h")

# Checks that the shim's exports are exactly those of the spec.
.PHONY: check-exports
check-exports: $(SHIM_SO)
	$(Q)sed -n 's/^ *\([A-Za-z0-9_]*\);$$/\1/p' proto/gen/libcuda.map | sort > $(BUILD)/exports.want
	$(Q)nm -D --defined-only $< | awk '{print $$NF}' | sort > $(BUILD)/exports.have
	$(Q)diff $(BUILD)/exports.want $(BUILD)/exports.have
