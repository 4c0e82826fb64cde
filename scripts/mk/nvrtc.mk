# SPDX-License-Identifier: Apache-2.0
# What stands before NVRTC on the software GPU.
NVRTC_OBJS := $(call objs,$(NVRTC))
$(NVRTC_OBJS): OWN_CFLAGS += -fvisibility=hidden
$(NVRTC_SO): $(NVRTC_OBJS)
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) -Wl,-z,relro,-z,now $(if $(SAN),,-Wl,-z,defs) -o $@ $^
