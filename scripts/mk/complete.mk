# SPDX-License-Identifier: Apache-2.0
# check-wait-mutants: proof that the tests would notice a library that takes the end of its context for
# the end of its work, or waits on after it. Each mutant is one line of shim/ made wrong by sed.
#   name := file | sed expression (~ for a space) | test that must fail
space := $(subst ,, )
WAIT_MUTANTS := completion-wins never-asks deaf-to-broker sleeps-through piece-wins answer-lost
WAIT_MUTANT_completion-wins := wait.c|s/return r ? r : state_fault();/return r;/|after_the_fault
WAIT_MUTANT_never-asks := wait.c|s/r = gone(ticked);/r = CUDA_SUCCESS;/;s/CUresult r = gone(false);/CUresult r = CUDA_SUCCESS;/|lets_go
WAIT_MUTANT_deaf-to-broker := wait.c|s/if (lost)/if (0)/|brokers_word
WAIT_MUTANT_sleeps-through := wait.c|s/r = gone(ticked);/r = gone(false);/|connection_ends
WAIT_MUTANT_piece-wins := staging.c|s/r = wait_stream(stream, seq);/wait_stream(stream, seq); r = CUDA_SUCCESS;/|pieces
WAIT_MUTANT_answer-lost := reply.c|s/CUresult r = state_fault();/CUresult r = CUDA_SUCCESS;/|never_comes

wait_mutant_part = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst $(space),~,$(WAIT_MUTANT_$(1))))))
WAIT_MUTANT_OBJS = $(addprefix $(BUILD)/shim/,wait.o submit.o reply.o staging.o)

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
