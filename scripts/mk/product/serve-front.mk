# SPDX-License-Identifier: Apache-2.0
# The front of salus-serve: the Open Inference Protocol (daemon/serve/infer) over HTTP (daemon/serve/http).
#   make check-serve-front    the front as a process, with raw clients and with Triton's
INFER := $(call src,daemon/serve/infer)
FRONT := $(call src,daemon/serve/http)
FRONT_LIBS := $(addprefix $(BUILD)/lib,front.a infer.a proto.a common.a)
INFER_NEEDS := -lcjson -lm
FRONT_NEEDS = $(call pkg,--libs,libuv) -lhttp_parser $(INFER_NEEDS)
$(BUILD)/libinfer.a: $(call objs,$(INFER))
$(BUILD)/libfront.a: $(call objs,$(FRONT))
INFER_TESTS := $(BUILD)/test/unit/daemon/serve/infer/tests
FRONT_TESTS := $(addprefix $(BUILD)/test/unit/daemon/serve/http/,tests alone/test_front_loop)
$(INFER_TESTS) $(FRONT_TESTS) $(addprefix $(BUILD)/fuzz_,infer session): $(BUILD)/libinfer.a
$(FRONT_TESTS) $(BUILD)/fuzz_session: $(BUILD)/libfront.a
$(INFER_TESTS): OWN_LIBS = $(INFER_NEEDS)
$(FRONT_TESTS) $(BUILD)/fuzz_session: OWN_LIBS = $(FRONT_NEEDS)
$(BUILD)/test/unit/daemon/serve/http/alone/test_front_loop: OWN_LIBS = $(FRONT_NEEDS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

$(BUILD)/test/serve/echo_front: $(BUILD)/test/serve/echo_front.o $(FRONT_LIBS)
	$(Q)$(LINK) -o $@ $^ $(FRONT_NEEDS)

.PHONY: check-serve-front
check-serve-front: $(BUILD)/test/serve/echo_front ## the front of salus-serve, with raw clients and with Triton's
	$(Q)BUILD=$(BUILD) $(PYTHON) test/serve/run_front.py $(SERVE_TESTS)
