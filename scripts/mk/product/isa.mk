# SPDX-License-Identifier: Apache-2.0
# Handlers that change the rounding mode must not have their arithmetic folded or moved.
$(foreach f,arithmetic/directed arithmetic/convert arithmetic/pair matrix/matrix,$(foreach v,base v3 v4,$(BUILD)/daemon/device/soft/isa/$(f).$(v).o)): \
	OWN_CFLAGS += -frounding-math

# The instructions that the tests run are generated and committed.
.PHONY: check-alu-ptx
check-alu-ptx:
	@mkdir -p $(BUILD)
	$(Q)$(PYTHON) scripts/gen-alu-ptx $(BUILD)/alu-ptx
	$(Q)diff -r $(BUILD)/alu-ptx test/data/ptx/alu
