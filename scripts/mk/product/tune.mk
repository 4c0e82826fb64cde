# SPDX-License-Identifier: Apache-2.0
# Fluid, which shares GPUs among the trials of a tuning job (daemon/tune): its library, its bench.
#   make check-tune    the library as others load it
#   make sim-tuning    the thesis's experiments, as tables
#   make check-ray     Ray Tune under it (scripts/ray), with Ray from the Python package registry
TUNE := $(call src,daemon/tune)
FLUID_SO := $(BUILD)/tune/libsalus-fluid.so.1
$(BUILD)/libfluid.a: $(call objs,$(TUNE))
$(FLUID_SO): $(call objs,$(TUNE)) $(BUILD)/libcommon.a scripts/mk/product/tune.map
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) -Wl,-z,relro,-z,now $(if $(SAN),,-Wl,-z,defs) \
		-Wl,--version-script=scripts/mk/product/tune.map -Wl,--exclude-libs,ALL -o $@ \
		$(filter %.o,$^) $(filter %.a,$^) -lm
$(FLUID_SO:.1=): $(FLUID_SO)
	$(Q)ln -sf $(<F) $@
all: $(FLUID_SO) $(FLUID_SO:.1=)

# The same step in virtual time, which salus-sim tune runs (sim.mk).
$(BUILD)/libtunesim.a: $(call objs,$(call src,daemon/sim/tune))

TUNE_TESTS := $(addprefix $(BUILD)/test/unit/daemon/tune/,tests alone/test_tune_create)
$(TUNE_TESTS): $(addprefix $(BUILD)/lib,tunesim.a fluid.a)

# The test makes each allocation of the library fail once.
$(BUILD)/test/unit/daemon/tune/alone/test_tune_create: OWN_LIBS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

BENCHES += $(BUILD)/test/bench/modules/tune_bench
$(BUILD)/test/bench/modules/tune_bench: $(addprefix $(BUILD)/test/bench/,modules/tune_bench.o lib/floor.o) \
		$(addprefix $(BUILD)/lib,fluid.a common.a)
	$(Q)$(LINK) -o $@ $^ -lm

.PHONY: sim-tuning
sim-tuning: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/sim-tuning

.PHONY: check-tune check-tune-mutants install-tune uninstall-tune
check-tune: $(FLUID_SO) ## Fluid's library, as others load it
	$(Q)BUILD=$(BUILD) $(PYTHON) test/tune/run_library.py
	$(Q)BUILD=$(BUILD) $(PYTHON) test/tune/run_package.py
check-tune-mutants: $(FLUID_SO) ## small faults in the package for Ray Tune, which its tests must notice
	$(Q)BUILD=$(BUILD) $(PYTHON) test/tune/package_mutants.py

install: install-tune
uninstall: uninstall-tune
install-tune: $(FLUID_SO)
	$(INSTALL) -D -m 0755 $(FLUID_SO) $(ROOT_DIR)/lib/salus/libsalus-fluid.so.1
	ln -sf libsalus-fluid.so.1 $(ROOT_DIR)/lib/salus/libsalus-fluid.so
	$(INSTALL) -D -m 0644 daemon/tune/salus_fluid.h $(ROOT_DIR)/include/salus_fluid.h
uninstall-tune:
	rm -f $(ROOT_DIR)/include/salus_fluid.h

# Ray Tune, from the Python package registry (some 150 MB). Optional, like check-frameworks.
.PHONY: check-ray bench-ray install-ray
check-ray: all $(BUILD)/e2e/default-static/tuned ## Ray Tune under Fluid on two software GPUs; RAY=part
	BUILD=$(BUILD) $(PYTHON) test/ray/run.py $(RAY)
bench-ray: all $(BUILD)/e2e/default-static/tuned
	BUILD=$(BUILD) $(PYTHON) test/ray/run.py --makespans $(WAYS)
# Installs into the Python environment of `pip`, usually a virtual one. Installs from a copy, since setuptools leaves
# files beside the sources.
PIP ?= pip
install-ray: ## the Python package for Ray Tune; PIP=.../bin/pip
	$(Q)rm -rf $(BUILD)/ray-package && cp -r scripts/ray $(BUILD)/ray-package
	$(PIP) install $(BUILD)/ray-package
