# SPDX-License-Identifier: Apache-2.0
# The library in front of NVIDIA's compilers and linkers at run time, on the software GPU. A
# preloaded library exports only their functions.
JIT_OBJS := $(call objs,$(JIT))
JIT_CODE := $(addprefix $(BUILD)/shim/code/,code_file.o fatbin.o link.o linked.o object.o program_memory.o ptx_target.o)
$(JIT_OBJS): OWN_CFLAGS += -fvisibility=hidden
$(JIT_SO): $(JIT_OBJS) $(JIT_CODE) $(BUILD)/libcommon.a scripts/mk/product/jit.map
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) -Wl,-Bsymbolic -Wl,-z,relro,-z,now $(if $(SAN),,-Wl,-z,defs) \
		-Wl,--version-script=scripts/mk/product/jit.map -o $@ $(filter %.o,$^) $(filter %.a,$^)

$(BUILD)/test/unit/shim/jit/tests: $(JIT_OBJS) $(JIT_CODE)
# With a library of NVIDIA's that is the test's own.
$(BUILD)/test/unit/shim/jit/alone/test_jit_lto: $(filter-out %/original.o,$(JIT_OBJS)) $(JIT_CODE)
