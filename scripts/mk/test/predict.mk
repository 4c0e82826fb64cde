# SPDX-License-Identifier: Apache-2.0
# Compares the simulator with the daemon, with real programs: daemon/sim/papers/predict.
#   make predict REPEAT=3        RESULTS=FILE.md writes the table there as well
#   make predict EXCLUSIVE=1     records one lane at a time
#   make check-prediction        one quick workload, within a factor of 2
#   make predict-pairs REPEAT=3  ten pairs by salus-sim advise: daemon/sim/papers/predict-pairs; CALIBRATE=left or wait
.PHONY: predict check-prediction predict-pairs
predict: all $(call e2e_bin,default-static,trainer)
	@BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/predict $(addprefix --repeat ,$(REPEAT)) \
		$(if $(EXCLUSIVE),--exclusive) $(addprefix --report ,$(RESULTS))
check-prediction: all $(call e2e_bin,default-static,trainer)
	BUILD=$(BUILD) $(PYTHON) test/e2e/sharing/run_prediction.py
predict-pairs: all $(call e2e_bin,default-static,trainer steps accumulate graph_trainer train evaluate)
	@BUILD=$(BUILD) $(PYTHON) daemon/sim/papers/predict-pairs $(addprefix --repeat ,$(REPEAT)) \
		$(addprefix --calibrate ,$(CALIBRATE)) $(addprefix --report ,$(RESULTS))
check-sharing: check-prediction
