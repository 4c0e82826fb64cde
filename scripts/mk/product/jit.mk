# SPDX-License-Identifier: Apache-2.0
# The library in front of NVIDIA's run-time compilers and linkers, on the software GPU. As a preloaded library it
# exports only their functions.
JIT_OBJS := $(call objs,$(JIT))
JIT_CODE := $(addprefix $(BUILD)/shim/code/,code_file.o fatbin.o link.o linked.o object.o program_memory.o ptx_target.o)
$(JIT_OBJS): OWN_CFLAGS += -fvisibility=hidden
$(JIT_SO): $(JIT_OBJS) $(JIT_CODE) $(BUILD)/libcommon.a scripts/mk/product/jit.map
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) -Wl,-Bsymbolic -Wl,-z,relro,-z,now $(if $(SAN),,-Wl,-z,defs) \
		-Wl,--version-script=scripts/mk/product/jit.map -o $@ $(filter %.o,$^) $(filter %.a,$^)

$(BUILD)/test/unit/shim/jit/tests: $(JIT_OBJS) $(JIT_CODE)
# Links a replacement of NVIDIA's library that belongs to the test.
$(BUILD)/test/unit/shim/jit/alone/test_jit_lto: $(filter-out %/original.o,$(JIT_OBJS)) $(JIT_CODE)
