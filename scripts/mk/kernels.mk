# SPDX-License-Identifier: Apache-2.0
# What a launch pays for its kernel's profile.
BENCHES += $(BUILD)/test/bench/kernels_bench
$(BUILD)/test/bench/kernels_bench: $(addprefix $(BUILD)/test/bench/,kernels_bench.o floor.o) \
		$(addprefix $(BUILD)/lib,worker.a kernels.a proto.a policy.a common.a)
	$(Q)$(LINK) -o $@ $^
