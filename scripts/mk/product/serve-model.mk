# SPDX-License-Identifier: Apache-2.0
# The library that a model program links (daemon/serve/model), and the gateway's side of it (daemon/serve/worker).
SERVE_MODEL := $(call src,daemon/serve/model)
SERVE_MODEL_OBJS := $(call objs,$(SERVE_MODEL))
SERVE_MODEL_SO := $(BUILD)/serve/libsalus_serve.so
SERVE_MODEL_A := $(BUILD)/serve/libsalus_serve.a
$(SERVE_MODEL_SO): $(SERVE_MODEL_OBJS) $(BUILD)/libproto.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a scripts/mk/product/serve-model.map
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) -Wl,-z,relro,-z,now $(if $(SAN),,-Wl,-z,defs) \
		-Wl,--version-script=scripts/mk/product/serve-model.map -o $@ $(filter %.o,$^) $(filter %.a,$^)
# Linked into one object, so that a program which links it sees only its public functions.
$(SERVE_MODEL_A): $(SERVE_MODEL_OBJS) $(BUILD)/libproto.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(Q)$(LD) -r -o $(@D)/salus_serve.o $(filter %.o,$^) --start-group $(filter %.a,$^) --end-group
	$(Q)objcopy --wildcard --keep-global-symbol='salus_serve_*' $(@D)/salus_serve.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(@D)/salus_serve.o
.PHONY: serve-model
all serve-model: $(SERVE_MODEL_SO) $(SERVE_MODEL_A)

# The tests link the objects themselves, since they also call functions that the library does not export.
$(BUILD)/test/unit/daemon/serve/model/tests: $(SERVE_MODEL_OBJS)

# The gateway's side, with correct and with rule-breaking programs.
SERVE_WORKER := $(call src,daemon/serve/worker)
SERVE_PROGRAMS := $(addprefix $(BUILD)/test/serve/,rogue adder)
$(BUILD)/libserve-worker.a: $(call objs,$(SERVE_WORKER))
$(BUILD)/test/serve/rogue: $(BUILD)/test/serve/rogue.o $(BUILD)/libproto.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(Q)$(LINK) -o $@ $^
$(BUILD)/test/serve/adder: $(BUILD)/test/serve/adder.o $(SERVE_MODEL_A)
	$(Q)$(LINK) -o $@ $^
$(BUILD)/test/unit/daemon/serve/worker/alone/test_serve_worker.o: OWN_CFLAGS += -DSERVE_PROGRAMS='"$(BUILD)/test/serve"' \
	-DSERVE_LIBRARY='"$(SERVE_MODEL_SO)"'
$(BUILD)/test/unit/daemon/serve/worker/alone/test_serve_worker: $(BUILD)/libserve-worker.a $(BUILD)/libinfer.a | $(SERVE_PROGRAMS) $(SERVE_MODEL_SO)
$(BUILD)/test/unit/daemon/serve/worker/alone/test_serve_worker: OWN_LIBS = $(INFER_NEEDS)
.PHONY: check-serve-worker
check-serve-worker: $(addprefix $(BUILD)/test/unit/daemon/serve/,model/tests worker/alone/test_serve_worker) ## models' programs: their memory, their library, their supervision
	$(Q)PYTHON=$(PYTHON) scripts/run-tests -j1 $^

install: install-serve-model
uninstall: uninstall-serve-model
.PHONY: install-serve-model uninstall-serve-model
install-serve-model: $(SERVE_MODEL_SO) $(SERVE_MODEL_A)
	$(INSTALL) -D -m 0755 $(SERVE_MODEL_SO) $(ROOT_DIR)/lib/salus/libsalus_serve.so
	$(INSTALL) -D -m 0644 $(SERVE_MODEL_A) $(ROOT_DIR)/lib/salus/libsalus_serve.a
	$(INSTALL) -D -m 0644 daemon/serve/model/salus_serve.py $(ROOT_DIR)/lib/salus/salus_serve.py
	$(INSTALL) -D -m 0644 daemon/serve/model/salus_serve.h $(ROOT_DIR)/include/salus_serve.h
uninstall-serve-model:
	rm -f $(ROOT_DIR)/include/salus_serve.h
