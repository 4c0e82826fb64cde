# SPDX-License-Identifier: Apache-2.0
# A latency-bound service beside two best-effort training jobs, under each kernel policy.
#   make colocation                 POLICIES=A,B+KEY=VALUE  REQUESTS=100  REPEAT=10  GAP=60 (ms)
#                                   RESULTS=FILE.md writes the table there as well
#   make check-colocation           results and progress under every policy; E2E=part selects
# Read before e2e.mk, which has the rule that builds the programs.
COLOCATION_PROGRAMS := $(addprefix $(BUILD)/e2e/default-static/,service steps)

.PHONY: colocation check-colocation
colocation: all $(COLOCATION_PROGRAMS)
	@BUILD=$(BUILD) $(PYTHON) test/e2e/sharing/run_colocation.py $(addprefix --policies ,$(POLICIES)) \
		$(addprefix --requests ,$(REQUESTS)) $(addprefix --repeat ,$(REPEAT)) \
		$(addprefix --gap ,$(GAP)) $(addprefix --report ,$(RESULTS))
check-colocation: all $(COLOCATION_PROGRAMS)
	BUILD=$(BUILD) $(PYTHON) test/e2e/sharing/run_colocation.py --check $(E2E)
check-sharing: check-colocation
