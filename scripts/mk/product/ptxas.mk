# SPDX-License-Identifier: Apache-2.0
# salus-ptxas, and the directory in which XLA looks for a CUDA toolkit's ptxas.
PTXAS := $(call src,daemon/ptxas)
PTXAS_LIBS := $(addprefix $(BUILD)/lib,ptxas.a device.a proto.a common.a)
$(BUILD)/libptxas.a: $(call objs,$(PTXAS))
$(BUILD)/salus-ptxas: $(BUILD)/daemon/ptxas/main.o $(PTXAS_LIBS)
	$(Q)$(LINK) -o $@ $^ $(DEVICE_LIBS)
$(BUILD)/cuda/bin/ptxas: $(BUILD)/salus-ptxas
	@mkdir -p $(@D)
	$(Q)ln -sf ../../salus-ptxas $@
all: $(BUILD)/salus-ptxas $(BUILD)/cuda/bin/ptxas
$(BUILD)/test/unit/daemon/ptxas/tests: $(BUILD)/libptxas.a

.PHONY: install-ptxas
install: install-ptxas
install-ptxas: $(BUILD)/salus-ptxas
	$(INSTALL) -D -m 0755 $(BUILD)/salus-ptxas $(ROOT_DIR)/libexec/salus/salus-ptxas
	$(INSTALL) -d $(ROOT_DIR)/libexec/salus/cuda/bin
	ln -sf ../../salus-ptxas $(ROOT_DIR)/libexec/salus/cuda/bin/ptxas
