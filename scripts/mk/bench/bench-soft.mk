# SPDX-License-Identifier: Apache-2.0
# The software GPU's benchmark. BENCHES collects the programs that `make bench` runs.
BENCHES += $(BUILD)/test/bench/modules/soft_bench
$(BUILD)/test/bench/modules/soft_bench: | build/data/ptx.unpacked
$(BUILD)/test/bench/modules/soft_bench: $(BUILD)/test/bench/modules/soft_bench.o $(addprefix $(BUILD)/test/lib/ptx/,ptxrun.o inparts.o watched.o) \
		$(BUILD)/test/lib/patience.o \
		$(BUILD)/libdevice.a $(BUILD)/libproto.a $(BUILD)/libcommon.a
	$(Q)$(LINK) -o $@ $^ $(DEVICE_LIBS)
