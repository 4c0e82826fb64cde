# SPDX-License-Identifier: Apache-2.0
# The compiler must not fold or move the arithmetic of handlers that change the rounding mode.
$(foreach f,arithmetic/directed arithmetic/convert arithmetic/pair matrix/matrix,$(foreach v,base v3 v4,$(BUILD)/daemon/device/soft/isa/$(f).$(v).o)): \
	OWN_CFLAGS += -frounding-math

# The instructions that tests run one by one.
build/data/alu.made: scripts/gen-alu-ptx
	$(Q)rm -rf build/data/alu && $(PYTHON) scripts/gen-alu-ptx build/data/alu && touch $@
