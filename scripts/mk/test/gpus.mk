# SPDX-License-Identifier: Apache-2.0
# Several GPUs under one daemon, with real programs on software GPUs.
.PHONY: check-gpus
check-gpus: all $(E2E_BASE) $(BUILD)/test/e2e/nvml_reader ## two software GPUs under one daemon
	BUILD=$(BUILD) $(PYTHON) test/e2e/sharing/run_gpus.py $(E2E)
