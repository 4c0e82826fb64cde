# SPDX-License-Identifier: Apache-2.0
# Drivers for tests of the device for the real GPU: a fake one, and one that makes another driver's calls fail. Never
# installed.
FAKE_DRIVER := $(BUILD)/test/lib/driver/fake/libcuda.so.1
FAULTY_DRIVER := $(BUILD)/test/lib/driver/faulty/libcuda.so.1
$(FAKE_DRIVER): $(call objs,$(wildcard test/lib/driver/fake_*.c))
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -o $@ $^
$(FAULTY_DRIVER): $(call objs,$(wildcard test/lib/driver/faulty*.c)) $(BUILD)/daemon/device/cuda/driver/driver.o $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -o $@ $^

CUDA_TESTS := $(addprefix $(BUILD)/test/unit/daemon/device/cuda/,tests alone/test_cuda_allocations) \
	$(patsubst test/plain/%.c,$(BUILD)/test/plain/%,$(wildcard test/plain/cuda_*.c))
$(CUDA_TESTS): | $(FAKE_DRIVER) $(FAULTY_DRIVER)

# test/lib/allocations.h counts what these programs allocate.
ALLOCATIONS_WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=aligned_alloc,--wrap=strdup,--wrap=mmap
$(addprefix $(BUILD)/test/unit/daemon/device/,cuda/alone/test_cuda_allocations soft/dev/alone/test_soft_allocations): \
	OWN_LIBS = $(ALLOCATIONS_WRAP)

# Makes each call of the driver fail, in each of several ways: the first and the last of its kind and some between, or
# all.
.PHONY: check-faults check-long-faults
check-faults: $(BUILD)/test/plain/cuda_faults
	$(Q)$< 4
check-long-faults: $(BUILD)/test/plain/cuda_faults
	$(Q)$< 100000
check-long-parts: check-long-faults
