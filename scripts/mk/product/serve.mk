# SPDX-License-Identifier: Apache-2.0
# salus-serve: the front, the scheduler and the models' programs, joined (daemon/serve/gateway).
#   make check-serve    salus-serve as a process: real clients, programs that end under load
GATEWAY := $(call src,daemon/serve/gateway)
$(BUILD)/libgateway.a: $(call objs,$(GATEWAY))
$(BUILD)/salus-serve: $(BUILD)/daemon/serve/gateway/main.o \
		$(addprefix $(BUILD)/lib,gateway.a front.a serve-worker.a plan.a infer.a proto.a policy.a common.a)
	$(Q)$(LINK) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -linih $(FRONT_NEEDS)
all: $(BUILD)/salus-serve

$(BUILD)/test/unit/daemon/serve/gateway/tests $(BUILD)/fuzz_models_file: $(addprefix $(BUILD)/lib,gateway.a plan.a infer.a)

$(BUILD)/test/serve/slow $(BUILD)/test/serve/mirror: $(BUILD)/test/serve/%: $(BUILD)/test/serve/%.o $(SERVE_MODEL_A)
	$(Q)$(LINK) -o $@ $^
$(BUILD)/test/serve/early: test/serve/early.cu $(SERVE_MODEL_A)
	@mkdir -p $(@D)
	@$(if $(Q),echo "  NVCC    $@")
	$(Q)$(NVCC) $(NVCC_default) $(NVCC_static) -I. -o $@ $< $(SERVE_MODEL_A)
check-serve: $(BUILD)/e2e/default-static/trainer
$(BUILD)/test/unit/daemon/serve/gateway/tests: $(SERVE_MODEL_OBJS)

.PHONY: check-serve
check-serve: $(BUILD)/salus-serve all $(addprefix $(BUILD)/test/serve/,adder slow mirror rogue early) ## salus-serve as a process
	$(Q)BUILD=$(BUILD) $(PYTHON) test/serve/run_serve.py $(SERVE_TESTS)

# The tutorial with PyTorch, from the Python package registry (gigabytes). Optional, like check-frameworks.
.PHONY: check-serve-torch
check-serve-torch: $(BUILD)/salus-serve all ## the tutorial with a PyTorch model
	BUILD=$(BUILD) $(PYTHON) test/serve/run_torch.py

# The part of requests answered in time, by policy, alone and beside training: docs/results/2026-11-serving.md. Takes
# half an hour on an idle machine.
.PHONY: bench-serving
bench-serving: all $(BUILD)/test/serve/early $(call e2e_bin,default-static,trainer) ## salus-serve with real clients: SLO=5 LOADS=0.5,0.9
	$(Q)BUILD=$(BUILD) $(PYTHON) test/bench/serving/serving.py $(addprefix --slo ,$(SLO)) $(addprefix --loads ,$(LOADS))

install: install-serve
uninstall: uninstall-serve
.PHONY: install-serve uninstall-serve
install-serve: $(BUILD)/salus-serve
	$(INSTALL) -D -m 0755 $(BUILD)/salus-serve $(ROOT_DIR)/bin/salus-serve
	$(INSTALL) -D -m 0644 config/salus-serve.conf $(ROOT_DIR)/share/doc/salus/salus-serve.conf
	$(INSTALL) -d $(ROOT_DIR)/lib/systemd/system
	sed 's|@PREFIX@|$(PREFIX)|' config/salus-serve.service >$(ROOT_DIR)/lib/systemd/system/salus-serve.service
uninstall-serve:
	rm -f $(ROOT_DIR)/bin/salus-serve $(ROOT_DIR)/lib/systemd/system/salus-serve.service
