# SPDX-License-Identifier: Apache-2.0
# NVML, installed beside the driver's library. Its header marks the exported functions, and functions.def lists them.
NVML_OBJS := $(call objs,$(NVML) $(addprefix shim/process/,dial.c gpu_choice.c question.c visible.c) shim/pci.c)
$(NVML_OBJS): OWN_CFLAGS += -fvisibility=hidden
$(NVML_SO): $(NVML_OBJS) $(addprefix $(BUILD)/lib,proto.a policy.a common.a)
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,libnvidia-ml.so.1 -Wl,-Bsymbolic -Wl,-z,relro,-z,now \
		$(if $(SAN),,-Wl,-z,defs) -Wl,--exclude-libs,ALL -o $@ $(filter %.o,$^) $(filter %.a,$^)

check-exports: check-nvml-exports
.PHONY: check-nvml-exports
check-nvml-exports: $(NVML_SO)
	$(Q)sed -n 's/^\(ANSWERED\|REFUSED\)(\(.*\))$$/\2/p' shim/nvml/functions.def | sort >$(BUILD)/nvml.want
	$(Q)nm -D --defined-only $< | awk '{print $$NF}' | sort >$(BUILD)/nvml.have
	$(Q)diff $(BUILD)/nvml.want $(BUILD)/nvml.have

$(BUILD)/test/unit/shim/nvml/tests: $(NVML_OBJS)
