# SPDX-License-Identifier: Apache-2.0
# Work that ends early, and programs that run repeatedly.

# ---- the end of jobs, as they and others see it ------------------------------------------------------
# check-chaos: ends work early in each possible way, under load, with jobs that go on with the next worker. Then kills
# everything at random beside jobs that verify every round. The same with a worker that reports dropped work as complete
# must fail. check-long-chaos: a thousand kills.
CHAOS_KILLS ?= 60
# Accepts that now and then such a worker ends with its own fault before a job has looked at its results.
NO_VOID_IS_FOUND = BUILD=$(BUILD) scripts/must-fail "chaos: no-void" "a wrong result with success" \
	$(PYTHON) test/e2e/faults/run_chaos.py --kills 200 --worker $(abspath $(BUILD))/mutants/salus-gpu-no-void
.PHONY: check-chaos check-long-chaos check-long-chaos-asan check-long-recovery check-repeat check-long-repeat
check-chaos: all e2e-programs $(BUILD)/mutants/salus-gpu-no-void
	BUILD=$(BUILD) $(PYTHON) test/e2e/faults/run_ending.py $(E2E)
	BUILD=$(BUILD) $(PYTHON) test/e2e/faults/run_recovery.py $(E2E)
	BUILD=$(BUILD) $(PYTHON) test/e2e/faults/run_chaos.py --kills $(CHAOS_KILLS)
	for try in 1 2 3; do $(NO_VOID_IS_FOUND) && exit 0; done; exit 1
check-long-parts: check-long-chaos check-long-chaos-asan check-long-recovery
check-long-recovery: all e2e-programs
	BUILD=$(BUILD) SALUS_RECOVERY_ROUNDS=25 $(PYTHON) test/e2e/faults/run_recovery.py
check-long-chaos: all e2e-programs
	BUILD=$(BUILD) $(PYTHON) test/e2e/faults/run_chaos.py --kills 1000
# The daemons under ASan and UBSan: memory errors and leaks would be in work that ends early.
check-long-chaos-asan: all e2e-programs
	@$(MAKE) --no-print-directory BUILD=build-asan SAN=address,undefined \
		build-asan/salusd build-asan/salus-gpu build-asan/salusctl
	BUILD=$(BUILD) SALUS_DAEMON_BUILD=build-asan ASAN_OPTIONS=detect_leaks=1 \
		$(PYTHON) test/e2e/faults/run_chaos.py --kills 200

$(BUILD)/mutants/salus-gpu-no-void: $(BUILD)/salus-gpu test/mutants/worker.mutants
	@mkdir -p $(@D)
	$(Q)BUILD=$(BUILD) scripts/mutants link worker/no-void salus-gpu $@

# ---- programs that run once run hundreds of times -----------------------------------------------------
# Runs every program that prints a checksum, several at a time, under three pairs of policies. The long form continues
# where it was stopped. A program that sometimes prints another checksum must be found.
REPEAT_PROGRAMS = $(E2E_PROGRAMS) accumulate evaluate pair requests aimless managed verify linked/rdc
REPEAT_RUN = BUILD=$(BUILD) $(PYTHON) test/e2e/results/run_repeat.py
$(BUILD)/mutants/fickle:
	@mkdir -p $(@D)
	$(Q)printf '#!/bin/sh\nd=$$(cat "$$0.runs" 2>/dev/null); echo $$((d + 1)) >"$$0.runs"\n%s\n' \
		'echo "fickle checksum 00000000000000$$([ $${d:-0} -lt 3 ] && echo 00 || echo 01)"' >$@
	$(Q)chmod +x $@
check-repeat: all e2e-programs $(BUILD)/mutants/fickle
	$(REPEAT_RUN) --programs "$(REPEAT_PROGRAMS)" --runs 4 --seconds 60 || [ $$? -eq 3 ]
	$(Q)rm -f $(BUILD)/mutants/fickle.runs
	$(Q)scripts/must-fail "repeat: fickle" "fickle under .* run [0-9]+: checksum 0*1, alone 0*" \
		env $(REPEAT_RUN) --programs "$(abspath $(BUILD))/mutants/fickle vecadd" --runs 4 --at-once 1 --pairs pack/streams
check-long-parts: check-long-repeat
check-long-repeat: all e2e-programs
	$(REPEAT_RUN) --programs "$(REPEAT_PROGRAMS)" --runs 500 --state $(BUILD)/repeat.state
