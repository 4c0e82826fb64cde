# SPDX-License-Identifier: Apache-2.0
# The cost of a lane switch.
BENCHES += $(BUILD)/test/bench/modules/switch_bench
$(BUILD)/test/bench/modules/switch_bench: $(BUILD)/test/bench/modules/switch_bench.o $(BUILD)/test/lib/worker/fakedev.o $(BUILD)/test/lib/description.o \
		$(addprefix $(BUILD)/test/lib/,worker/wireclient.o patience.o) $(addprefix $(BUILD)/lib,worker.a kernels.a sched.a device.a proto.a policy.a common.a)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(DEVICE_LIBS)
