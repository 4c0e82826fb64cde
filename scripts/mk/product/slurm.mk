# SPDX-License-Identifier: Apache-2.0
# Salus on Slurm (daemon/place/slurm): the plugin and the placer. Needs libslurm-dev, which `make all` does without.
#   make slurm               builds both
#   make check-slurm         tests both in clusters of two nodes on this machine; installs slurmdbd and MariaDB, for sacct
#   make check-slurm-fresh   follows docs/slurm.md on a bare Debian; needs root, debootstrap and bubblewrap
#   make check-slurm-long    hundreds of jobs on sixteen nodes, with kills
#   make measure-slurm       200 jobs on sixteen nodes, by policy
SLURM_PLUGIN := $(BUILD)/slurm/salus.so
SLURM_PLACER := $(BUILD)/slurm/salus-placer
SLURM_SHARED := $(wildcard daemon/place/slurm/*.c)
SLURM_SPANK := $(wildcard daemon/place/slurm/spank/*.c)
SLURM_PLACING := $(filter-out %/main.c,$(wildcard daemon/place/slurm/placer/*.c))
# Sources without libslurm, tested also on machines that lack it.
SLURM_PURE := $(SLURM_SHARED) $(filter-out %/plugin.c %/job.c,$(SLURM_SPANK)) $(filter-out %/ctld.c %/records.c %/placer.c,$(SLURM_PLACING))
$(BUILD)/libslurmpure.a: $(call objs,$(SLURM_PURE))
SLURM_TESTS := $(BUILD)/test/unit/daemon/place/slurm/tests
$(SLURM_TESTS) $(BUILD)/fuzz_slurm_report: $(addprefix $(BUILD)/lib,slurmpure.a place.a)

# The process that loads the plugin provides the functions of libslurm.
$(SLURM_PLUGIN): $(call objs,$(SLURM_SPANK) $(SLURM_SHARED)) $(addprefix $(BUILD)/lib,proto.a policy.a common.a) scripts/mk/product/slurm.map
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,--version-script=scripts/mk/product/slurm.map -Wl,-z,relro,-z,now -Wl,--exclude-libs,ALL -o $@ \
		$(filter %.o,$^) $(filter %.a,$^)
$(SLURM_PLACER): $(BUILD)/daemon/place/slurm/placer/main.o $(call objs,$(SLURM_PLACING) $(SLURM_SHARED)) \
		$(addprefix $(BUILD)/lib,place.a proto.a policy.a common.a)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ -lslurm -lcjson -lm

.PHONY: slurm
slurm: $(SLURM_PLUGIN) $(SLURM_PLACER) ## the plugin and the placer for Slurm; need libslurm-dev

# The folder in which Debian's Slurm looks for plugins.
SLURM_PLUGIN_DIR ?= $(DESTDIR)/usr/lib/$(shell $(CC) -print-multiarch)/slurm-wlm

# The forged values that a user's own plugin may pass in place of ours.
SLURM_FORGE := $(BUILD)/slurm/forge.so
$(SLURM_FORGE): $(BUILD)/test/slurm/forge.o
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -o $@ $<

.PHONY: check-slurm check-slurm-small check-slurm-fresh setup-slurm install-slurm uninstall-slurm
setup-slurm:
	scripts/setup --slurm
check-slurm: setup-slurm all slurm $(SLURM_FORGE) $(addprefix $(BUILD)/e2e/default-static/,train paced) ## jobs of sbatch in clusters of two nodes; SLURM=part
	BUILD=$(BUILD) $(PYTHON) test/slurm/run_slurm.py $(SLURM)
# A small form for every change: a job in a lane, a placed job, options that sbatch refuses, a salusd that is down.
check-slurm-small: all slurm $(BUILD)/e2e/default-static/train
	BUILD=$(BUILD) $(PYTHON) test/slurm/run_slurm.py lane_of least bad_options without_its
# SLURM_ROOT=DIR keeps the root file system there.
check-slurm-fresh:
	scripts/bare-root-check "$(SLURM_ROOT)" env SALUS_TEST_FRESH=1 python3 test/slurm/run_slurm.py to_the_letter

# Sixteen nodes: a small form of measure-slurm, and random kills.
.PHONY: check-slurm-long measure-slurm
check-slurm-long: setup-slurm all slurm $(BUILD)/e2e/default-static/paced ## 200 jobs of sbatch on sixteen nodes, with daemons killed at random
	BUILD=$(BUILD) $(PYTHON) test/slurm/many.py --jobs 48 --scale 0.004 --policies horus
	BUILD=$(BUILD) $(PYTHON) test/slurm/many.py --kills
measure-slurm: setup-slurm all slurm $(BUILD)/e2e/default-static/paced ## 200 jobs of sbatch on sixteen nodes, by policy; SLURM="--seeds 3"
	BUILD=$(BUILD) $(PYTHON) test/slurm/many.py $(SLURM)

install-slurm: $(SLURM_PLUGIN) $(SLURM_PLACER) ## the plugin and the placer, in addition to `make install`
	$(INSTALL) -D -m 0755 $(SLURM_PLUGIN) $(SLURM_PLUGIN_DIR)/salus.so
	$(INSTALL) -D -m 0755 $(SLURM_PLACER) $(ROOT_DIR)/sbin/salus-placer
	$(INSTALL) -D -m 0755 config/slurm/salus-report $(ROOT_DIR)/libexec/salus/salus-report
	$(INSTALL) -D -m 0755 config/slurm/salus-predictor $(ROOT_DIR)/libexec/salus/salus-predictor
	$(INSTALL) -d $(ROOT_DIR)/share/doc/salus/slurm $(ROOT_DIR)/lib/systemd/system
	$(INSTALL) -m 0644 config/slurm/*.conf config/slurm/job_submit.lua $(ROOT_DIR)/share/doc/salus/slurm
	sed 's|@PREFIX@|$(PREFIX)|' config/slurm/salus-placer.service >$(ROOT_DIR)/lib/systemd/system/salus-placer.service
uninstall-slurm:
	rm -f $(SLURM_PLUGIN_DIR)/salus.so $(ROOT_DIR)/sbin/salus-placer $(ROOT_DIR)/libexec/salus/salus-report $(ROOT_DIR)/libexec/salus/salus-predictor \
		$(ROOT_DIR)/lib/systemd/system/salus-placer.service
	rm -rf $(ROOT_DIR)/share/doc/salus/slurm
