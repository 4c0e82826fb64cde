# SPDX-License-Identifier: Apache-2.0
# check-wait-mutants: proof that the tests would notice a library that takes the end of its context for
# the end of its work, or waits on after it. Each mutant is one line of shim/ made wrong by sed.
#   name := file | sed expression (~ for a space) | test that must fail
space := $(subst ,, )
WAIT_MUTANTS := completion-wins never-asks deaf-to-broker sleeps-through piece-wins answer-lost
WAIT_MUTANT_completion-wins := connection/wait.c|s/return r ? r : state_fault();/return r;/|after_the_fault
WAIT_MUTANT_never-asks := connection/wait.c|s/r = gone(ticked);/r = CUDA_SUCCESS;/;s/CUresult r = gone(false);/CUresult r = CUDA_SUCCESS;/|lets_go
WAIT_MUTANT_deaf-to-broker := connection/wait.c|s/if (lost)/if (0)/|brokers_word
WAIT_MUTANT_sleeps-through := connection/wait.c|s/r = gone(ticked);/r = gone(false);/|connection_ends
WAIT_MUTANT_piece-wins := connection/staging.c|s/r = wait_stream(stream, seq);/wait_stream(stream, seq); r = CUDA_SUCCESS;/|pieces
WAIT_MUTANT_answer-lost := connection/reply.c|s/CUresult r = state_fault();/CUresult r = CUDA_SUCCESS;/|never_comes

wait_mutant_part = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst $(space),~,$(WAIT_MUTANT_$(1))))))
WAIT_MUTANT_OBJS = $(addprefix $(BUILD)/shim/,connection/wait.o connection/submit.o connection/reply.o connection/staging.o)

.PHONY: check-wait-mutants $(addprefix wait-mutant-,$(WAIT_MUTANTS))
check-wait-mutants: $(addprefix wait-mutant-,$(WAIT_MUTANTS))

define wait_mutant_rule
wait-mutant-$(1): $(BUILD)/test/unit/test_shim_wait.o $(WAIT_MUTANT_OBJS) $(BUILD)/libproto.a \
		$(BUILD)/libcommon.a
	@mkdir -p $(BUILD)/mutants
	$$(Q)sed '$(call wait_mutant_part,$(1),2)' shim/$(call wait_mutant_part,$(1),1) \
		>$(BUILD)/mutants/wait-$(1).c
	$$(Q)! cmp -s shim/$(call wait_mutant_part,$(1),1) $(BUILD)/mutants/wait-$(1).c || \
		{ echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $(BUILD)/mutants/wait-$(1).c -o $(BUILD)/mutants/wait-$(1).o \
		2>/dev/null
	$$(Q)$$(LINK) -o $(BUILD)/mutants/wait-$(1) $(BUILD)/test/unit/test_shim_wait.o \
		$(BUILD)/mutants/wait-$(1).o \
		$(filter-out $(BUILD)/shim/$(patsubst %.c,%.o,$(call wait_mutant_part,$(1),1)),$(WAIT_MUTANT_OBJS)) \
		$(BUILD)/libproto.a $(BUILD)/libcommon.a -lcriterion
	$$(Q)scripts/must-fail "wait: $(1)" "(FAIL|CRASH|Timed).*$(call wait_mutant_part,$(1),3)" \
		$(BUILD)/mutants/wait-$(1) --timeout 5 --filter '*/*$(call wait_mutant_part,$(1),3)*'
endef
$(foreach m,$(WAIT_MUTANTS),$(eval $(call wait_mutant_rule,$(m))))

# ---- what a job sees of the ends of others, and of its own -------------------------------------------
# check-chaos: each way in which work ends early, under load; then kills of everything at random beside
# jobs that verify every round, and the same with a worker that shows dropped work as complete, which
# must be found out. check-long-chaos: a thousand kills.
CHAOS_KILLS ?= 60
.PHONY: check-chaos check-long-chaos check-long-chaos-asan check-repeat check-long-repeat
check-chaos: all e2e-programs $(BUILD)/mutants/salus-gpu-no-void
	BUILD=$(BUILD) $(PYTHON) test/e2e/run_ending.py $(E2E)
	BUILD=$(BUILD) $(PYTHON) test/e2e/run_chaos.py --kills $(CHAOS_KILLS)
	BUILD=$(BUILD) scripts/must-fail "chaos: no-void" "a wrong result with success" \
		$(PYTHON) test/e2e/run_chaos.py --kills 200 --worker $(abspath $(BUILD))/mutants/salus-gpu-no-void
check-long: check-long-chaos check-long-chaos-asan
check-long-chaos: all e2e-programs
	BUILD=$(BUILD) $(PYTHON) test/e2e/run_chaos.py --kills 1000
# The daemons under ASan and UBSan: what ends in the middle is where memory errors and leaks would be.
check-long-chaos-asan: all e2e-programs
	@$(MAKE) --no-print-directory BUILD=build-asan SAN=address,undefined \
		build-asan/salusd build-asan/salus-gpu build-asan/salusctl
	BUILD=$(BUILD) SALUS_DAEMON_BUILD=build-asan ASAN_OPTIONS=detect_leaks=1 \
		$(PYTHON) test/e2e/run_chaos.py --kills 200

$(BUILD)/mutants/client-no-void.c: daemon/worker/client.c
	@mkdir -p $(@D)
	$(Q)sed '/^void client_abandon/,/^}/{/fault_void/d}' $< >$@
	$(Q)! cmp -s $< $@ || { echo "no-void: sed changed nothing"; rm $@; exit 1; }
$(BUILD)/mutants/client-no-void.o: $(BUILD)/mutants/client-no-void.c
	$(Q)$(COMPILE) -Wno-error -c $< -o $@ 2>/dev/null
$(BUILD)/mutants/salus-gpu-no-void: $(BUILD)/daemon/worker/main.o $(BUILD)/mutants/client-no-void.o \
		$(addprefix $(BUILD)/lib,worker.a kernels.a sched.a device.a proto.a common.a)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(DEVICE_LIBS)

# ---- whatever runs once runs hundreds of times -------------------------------------------------------
# Every program that prints a checksum, several at a time, under three pairs of policies. The long form
# goes on where it was stopped. One that now and then prints another checksum must be found out.
REPEAT_PROGRAMS = $(E2E_PROGRAMS) accumulate evaluate pair requests aimless managed verify linked/rdc
REPEAT_RUN = BUILD=$(BUILD) $(PYTHON) test/e2e/run_repeat.py
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
check-long: check-long-repeat
check-long-repeat: all e2e-programs
	$(REPEAT_RUN) --programs "$(REPEAT_PROGRAMS)" --runs 500 --state $(BUILD)/repeat.state
