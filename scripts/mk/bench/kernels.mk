# SPDX-License-Identifier: Apache-2.0
# The cost per launch of a kernel's profile.
BENCHES += $(BUILD)/test/bench/modules/kernels_bench
$(BUILD)/test/bench/modules/kernels_bench: $(addprefix $(BUILD)/test/bench/,modules/kernels_bench.o lib/floor.o) \
		$(addprefix $(BUILD)/lib,worker.a kernels.a proto.a policy.a common.a)
	$(Q)$(LINK) -o $@ $^
