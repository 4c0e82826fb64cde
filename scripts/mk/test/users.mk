# SPDX-License-Identifier: Apache-2.0
# Two users: check-users fills memory as one and searches it as the other, in the real daemon. Needs
# root, for two uids; otherwise it is skipped with a message.
.PHONY: check-users check-users-long check-long
check-users: all $(call e2e_bin,default-static,secret heirs ipc) $(BUILD)/test/e2e/nvml_reader
	BUILD=$(BUILD) $(PYTHON) test/e2e/users/run_users.py $(E2E)
# More rounds, sizes, kills and policies.
check-long-parts: check-users-long
check-users-long: all $(call e2e_bin,default-static,secret heirs ipc) $(BUILD)/test/e2e/nvml_reader
	BUILD=$(BUILD) $(PYTHON) test/e2e/users/run_users.py --long

BENCHES += $(BUILD)/test/bench/modules/clear_bench
$(BUILD)/test/bench/modules/clear_bench: $(BUILD)/test/bench/modules/clear_bench.o \
		$(addprefix $(BUILD)/lib,worker.a device.a proto.a common.a)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(DEVICE_LIBS)
