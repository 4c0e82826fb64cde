# SPDX-License-Identifier: Apache-2.0
# Prediction of a model's needs before it runs (daemon/predict): salus-predict, which `salusctl predict` calls. ONNX's
# schema comes from Debian (libonnx-dev); the build makes C from it.
PREDICT := $(call src,daemon/predict)
ONNX_PROTO ?= /usr/include/onnx/onnx.proto
ONNX_C := $(BUILD)/gen/onnx.pb-c.c
$(ONNX_C): $(ONNX_PROTO)
	@mkdir -p $(@D)
	@$(if $(Q),echo "  PROTOC  $@")
	$(Q)protoc-c -I$(dir $<) --c_out=$(@D) $<
$(ONNX_C:.c=.h): $(ONNX_C)
$(ONNX_C:.c=.o): $(ONNX_C)
	@$(if $(Q),echo "  CC      $<")
	$(Q)$(COMPILE) -I$(@D) -c $< -o $@
ONNX_USERS := $(call objs,$(PREDICT)) $(BUILD)/daemon/predict/main.o $(BUILD)/daemon/predict/train/main.o
$(ONNX_USERS): $(ONNX_C:.c=.h)
$(ONNX_USERS): OWN_CFLAGS += -isystem $(BUILD)/gen
$(BUILD)/libpredict.a: $(call objs,$(PREDICT)) $(ONNX_C:.c=.o)
check-tidy check-cppcheck: $(ONNX_C:.c=.h)
PREDICT_NEEDS = $(call pkg,--libs,libprotobuf-c) -lcjson -lm
# Prediction walks trees; only the program that grows them links XGBoost.
TRAIN_NEEDS = $(PREDICT_NEEDS) -lxgboost
PREDICT_PROGRAMS := $(addprefix $(BUILD)/,salus-predict salus-predict-train)
$(BUILD)/salus-predict: $(BUILD)/daemon/predict/main.o $(addprefix $(BUILD)/lib,predict.a common.a)
	$(Q)$(LINK) -o $@ $^ $(PREDICT_NEEDS)
$(BUILD)/salus-predict-train: $(BUILD)/daemon/predict/train/main.o $(addprefix $(BUILD)/lib,predict.a common.a)
	$(Q)$(LINK) -o $@ $^ $(TRAIN_NEEDS)
all: $(PREDICT_PROGRAMS)

install: install-predict
.PHONY: install-predict
install-predict: $(PREDICT_PROGRAMS)
	for p in $(notdir $(PREDICT_PROGRAMS)); do \
		$(INSTALL) -D -m 0755 $(BUILD)/$$p $(ROOT_DIR)/libexec/salus/$$p || exit 1; done
	for f in $(wildcard config/predict/*.json); do \
		$(INSTALL) -D -m 0644 $$f $(ROOT_DIR)/share/salus/predict/$$(basename $$f) || exit 1; done
uninstall: uninstall-predict
.PHONY: uninstall-predict
uninstall-predict:
	rm -rf $(ROOT_DIR)/share/salus/predict

# The tests write models themselves, in the same schema.
PREDICT_TEST_SRC := $(wildcard test/lib/predict/*.c)
PREDICT_TESTS := $(BUILD)/test/unit/daemon/predict/tests
PREDICT_TEST_OBJS := $(call objs,$(PREDICT_TEST_SRC)) $(call objs,$(wildcard test/unit/daemon/predict/*.c)) $(addprefix $(BUILD)/test/fuzz/predict/,fuzz_onnx.o fuzz_predictor.o)
$(PREDICT_TEST_OBJS): $(ONNX_C:.c=.h)
$(PREDICT_TEST_OBJS): OWN_CFLAGS += -isystem $(BUILD)/gen
$(BUILD)/libpredicttest.a: $(call objs,$(PREDICT_TEST_SRC))
$(PREDICT_TESTS): $(BUILD)/libpredicttest.a $(BUILD)/libpredict.a
$(PREDICT_TESTS): OWN_LIBS = $(TRAIN_NEEDS)

# Builds only the sources that read the inputs with the fuzzer's flags.
$(BUILD)/fuzz_onnx $(BUILD)/fuzz_predictor: $(BUILD)/fuzz_%: $(BUILD)/test/fuzz/predict/fuzz_%.o $(addprefix $(BUILD)/lib,predict.a common.a)
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $^ $(PREDICT_NEEDS)

# Compares random models with onnx's own shape inference; needs Debian's python3-onnx, with Debian's Python.
ONNX_PYTHON ?= /usr/bin/python3
$(BUILD)/test/predict/shapes: $(BUILD)/test/predict/shapes.o $(addprefix $(BUILD)/lib,predict.a common.a)
	$(Q)$(LINK) -o $@ $^ $(PREDICT_NEEDS)
.PHONY: check-predict
check-predict: all $(addprefix $(BUILD)/test/predict/,shapes netonnx network) ## models' features: shapes compared with onnx's own; salusctl predict as a process
	$(Q)BUILD=$(BUILD) $(ONNX_PYTHON) test/predict/run_shapes.py
	$(Q)BUILD=$(BUILD) $(PYTHON) test/predict/run_predict.py

# Measures again, on a machine where nothing else runs (some minutes), and learns from the results.
.PHONY: measure-models train-soft
measure-models: all $(addprefix $(BUILD)/test/predict/,netonnx network) ## measures networks alone, into config/predict/soft.csv; continues a stopped run
	@mkdir -p config/predict
	BUILD=$(BUILD) $(PYTHON) scripts/measure-models config/predict/soft.csv
train-soft: $(BUILD)/salus-predict-train
	$(BUILD)/salus-predict-train --about "networks of eight families on the software GPU" -o config/predict/soft.json config/predict/soft.csv

# Networks that are trained on the software GPU, and the same networks as ONNX: predictors learn from these.
$(BUILD)/test/predict/netonnx.o $(BUILD)/test/predict/shapes.o: $(ONNX_C:.c=.h)
$(BUILD)/test/predict/netonnx.o: OWN_CFLAGS += -isystem $(BUILD)/gen
$(BUILD)/test/predict/netonnx: $(BUILD)/test/predict/netonnx.o $(addprefix $(BUILD)/lib,predicttest.a predict.a common.a)
	$(Q)$(LINK) -o $@ $^ $(PREDICT_NEEDS)
$(BUILD)/test/predict/network: test/predict/network.cu test/predict/layers.h test/e2e/programs/common.h
	@mkdir -p $(@D)
	@$(if $(Q),echo "  NVCC    $@")
	$(Q)$(NVCC) $(NVCC_default) $(NVCC_static) -o $@ $<
