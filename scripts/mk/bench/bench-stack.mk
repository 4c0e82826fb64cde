# SPDX-License-Identifier: Apache-2.0
# Benches of the whole stack: test/bench/run_bench.py starts a private daemon for them.
STACK_DRIVER := $(addprefix $(BUILD)/test/bench/,stack/shim_bench stack/copy_bench stack/load_bench stack/recovery_bench \
	sharing/slo_bench sharing/share_bench)
STACK_BENCHES := $(STACK_DRIVER) $(BUILD)/test/bench/stack/reply_bench
BENCHES += $(BUILD)/test/bench/modules/worker_bench
STACK_COMMON := $(BUILD)/test/bench/lib/gpu.o $(BUILD)/test/bench/lib/floor.o $(BUILD)/libcommon.a
$(STACK_DRIVER): $(BUILD)/test/bench/%: $(BUILD)/test/bench/%.o $(STACK_COMMON) \
		$(BUILD)/shim/libcuda.so
	$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) -L$(BUILD)/shim -lcuda -Wl,-rpath,$(abspath $(BUILD)/shim)
$(BUILD)/test/bench/stack/reply_bench: $(BUILD)/test/bench/stack/reply_bench.o $(STACK_COMMON) \
		$(addprefix $(BUILD)/lib,shim.a proto.a policy.a common.a)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group
$(BUILD)/test/bench/modules/worker_bench: $(BUILD)/test/bench/modules/worker_bench.o $(BUILD)/test/lib/worker/fakedev.o $(BUILD)/test/lib/description.o \
		$(addprefix $(BUILD)/test/lib/,worker/wireclient.o patience.o) $(addprefix $(BUILD)/lib,worker.a kernels.a sched.a device.a proto.a policy.a common.a)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(DEVICE_LIBS)

# A worker whose time-only kernels share the multiprocessors: its object is linked before the library's.
STACK_BENCHES += $(BUILD)/test/bench/sharing/salus-gpu-fluid
$(BUILD)/test/bench/sharing/salus-gpu-fluid: $(BUILD)/daemon/worker/main.o $(BUILD)/test/bench/sharing/fluid_timeline.o \
		$(addprefix $(BUILD)/lib,worker.a kernels.a sched.a device.a proto.a policy.a common.a)
	$(Q)$(LINK) -o $@ $^ $(DEVICE_LIBS)

# Requests through salus-serve to a model that adds, and a relay that does the least that a process between the two must
# do.
STACK_BENCHES += $(addprefix $(BUILD)/test/bench/serving/,request_bench relay) $(BUILD)/test/serve/adder
$(BUILD)/test/bench/serving/request_bench $(BUILD)/test/bench/serving/relay: $(BUILD)/test/bench/%: $(BUILD)/test/bench/%.o $(BUILD)/libcommon.a
	$(Q)$(LINK) -o $@ $^

# Measures how well each controller holds a latency goal in the real daemon; takes a quarter of an hour.
.PHONY: slo-daemon
slo-daemon: bench-programs
	$(Q)BUILD=$(BUILD) $(PYTHON) test/bench/sharing/slo.py $(addprefix --rounds ,$(ROUNDS)) $(if $(NESTED),--nested)
$(BUILD)/test/unit/daemon/device/soft/dev/alone/test_fluid_timeline: $(BUILD)/test/bench/sharing/fluid_timeline.o
