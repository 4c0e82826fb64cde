# SPDX-License-Identifier: Apache-2.0
# The front of salus-serve: the Open Inference Protocol (daemon/serve/infer) over HTTP (daemon/serve/http).
INFER := $(call src,daemon/serve/infer)
INFER_NEEDS := -lcjson -lm
$(BUILD)/libinfer.a: $(call objs,$(INFER))
INFER_TESTS := $(patsubst test/unit/%.c,$(BUILD)/test/unit/%,$(wildcard test/unit/test_infer_*.c))
$(INFER_TESTS) $(BUILD)/fuzz_infer: $(BUILD)/libinfer.a
$(INFER_TESTS): OWN_LIBS = $(INFER_NEEDS)
