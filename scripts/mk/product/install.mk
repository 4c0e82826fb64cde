# SPDX-License-Identifier: Apache-2.0
# make install PREFIX=/usr DESTDIR=/tmp/stage. Starts and enables nothing, and does not write to
# /etc.
DESTDIR ?=
INSTALL ?= install
ROOT_DIR = $(DESTDIR)$(PREFIX)

.PHONY: install uninstall check-install
install: $(PROGRAMS) $(SHIM_SO) $(NVML_SO) $(JIT_SO) $(MAN_PAGES) ## installs to PREFIX (and DESTDIR)
	$(INSTALL) -D -m 0755 $(BUILD)/salusd $(ROOT_DIR)/sbin/salusd
	$(INSTALL) -D -m 0755 $(BUILD)/salusctl $(ROOT_DIR)/bin/salusctl
	$(INSTALL) -D -m 0755 $(BUILD)/salus-gpu $(ROOT_DIR)/libexec/salus/salus-gpu
	$(INSTALL) -D -m 0755 $(SHIM_SO) $(ROOT_DIR)/lib/salus/libcuda.so.1
	ln -sf libcuda.so.1 $(ROOT_DIR)/lib/salus/libcuda.so
	$(INSTALL) -D -m 0755 $(NVML_SO) $(ROOT_DIR)/lib/salus/libnvidia-ml.so.1
	ln -sf libnvidia-ml.so.1 $(ROOT_DIR)/lib/salus/libnvidia-ml.so
	$(INSTALL) -D -m 0755 $(JIT_SO) $(ROOT_DIR)/lib/salus/libsalus-jit.so
	$(INSTALL) -D -m 0644 config/salus.conf $(ROOT_DIR)/share/doc/salus/salus.conf
	$(INSTALL) -D -m 0644 config/salus.sysusers $(ROOT_DIR)/lib/sysusers.d/salus.conf
	$(INSTALL) -D -m 0644 config/salus.tmpfiles $(ROOT_DIR)/lib/tmpfiles.d/salus.conf
	$(INSTALL) -D -m 0644 config/salusctl.bash $(ROOT_DIR)/share/bash-completion/completions/salusctl
	$(INSTALL) -d $(ROOT_DIR)/lib/systemd/system
	sed 's|@PREFIX@|$(PREFIX)|' config/salusd.service >$(ROOT_DIR)/lib/systemd/system/salusd.service
	for p in $(notdir $(MAN_PAGES)); do \
		$(INSTALL) -D -m 0644 $(BUILD)/man/$$p $(ROOT_DIR)/share/man/man$${p##*.}/$$p; done

uninstall: ## removes the files that install put there
	rm -f $(ROOT_DIR)/sbin/salusd $(ROOT_DIR)/bin/salusctl $(ROOT_DIR)/lib/sysusers.d/salus.conf \
		$(ROOT_DIR)/lib/tmpfiles.d/salus.conf $(ROOT_DIR)/lib/systemd/system/salusd.service
	rm -f $(ROOT_DIR)/share/bash-completion/completions/salusctl
	rm -rf $(ROOT_DIR)/libexec/salus $(ROOT_DIR)/lib/salus $(ROOT_DIR)/share/doc/salus
	for p in $(notdir $(MAN_PAGES)); do rm -f $(ROOT_DIR)/share/man/man$${p##*.}/$$p; done

# Checks that the installed programs find their own parts: a private daemon, its worker, the
# library. (Not inside $(BUILD): "tmpfiles.d" would be taken for a dependency file.)
check-install:
	$(Q)rm -rf $(BUILD)-stage
	$(Q)$(MAKE) --no-print-directory -s install PREFIX=/usr DESTDIR=$(abspath $(BUILD)-stage)
	$(Q)timeout 60 $(BUILD)-stage/usr/bin/salusctl run --private -- env -u LD_PRELOAD sh -c \
		'until $(abspath $(BUILD)-stage)/usr/bin/salusctl gpu list | grep -q ready; do sleep 0.1; done'
	$(Q)$(MAKE) --no-print-directory -s uninstall PREFIX=/usr DESTDIR=$(abspath $(BUILD)-stage)
	$(Q)test -z "$$(find $(BUILD)-stage -type f -o -type l)" || \
		{ echo "uninstall left: $$(find $(BUILD)-stage -type f -o -type l)"; exit 1; }
	@echo "check-install: installed, served, removed"
