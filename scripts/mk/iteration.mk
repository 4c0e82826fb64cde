# SPDX-License-Identifier: Apache-2.0
# check-iteration: the detector's tests, and one-line mutants of it (by sed) that each must fail one.
#   name | file in daemon/worker/iteration | sed expression | test that must fail
ITERATION_MUTANTS := blind falling hasty flat-hasty one-kernel proud deep forgetful trusting drops marks gaps \
	gap-floor steps logs trap fallen
ITERATION_blind := period.c|s/if (!out->flat) trough = .*//;s/return out->flat .. period_settled(.*/return~true;/|gradients_as_temporaries
ITERATION_falling := period.c|s/return out->flat .. period_settled(.*/return~true;/|layers_are_no_iterations
ITERATION_hasty := period.h|s/PERIOD_REPEATS 8u/PERIOD_REPEATS 2u/|lasting_gradients
ITERATION_flat-hasty := period.h|s/PERIOD_FLAT_RUN 256u/PERIOD_FLAT_RUN 32u/|without_any_temporaries
ITERATION_one-kernel := period.c|s/out->flat .. !period_varied(p,~s->period)/0/|random_kernels
ITERATION_proud := pattern.c|s/place == 0 .. !q->need/place == 0/|evaluation_now_and_then
ITERATION_deep := pattern.c|s/q->trust = 0;/;/|longer_than_the_window
ITERATION_forgetful := pattern.c|s/q->trust--;/q->trust = 0;/|evaluation_now_and_then
ITERATION_trusting := pattern.c|s/q->trust--;/;/|another_network
ITERATION_drops := iteration.c|s/if (live_bytes < it->low_bytes)/if (0)/|regular_training
ITERATION_marks := iteration.c|s/if (!it->marked) {/{/|only_marks
ITERATION_gaps := iteration.c|s/define GAP_ENOUGH 32/define GAP_ENOUGH 1/|now_and_then_is_no_gap
ITERATION_gap-floor := iteration.c|s/ .. period_at_floor(.*);/;/|no_gap
ITERATION_steps := iteration.c|s/return launches . 2 >.*/return~0;/;s/launches <= .*GAP_MEAN . PERIOD_REPEATS;//|steps_of_a_request
ITERATION_trap := iteration.c|s/^~~~~it->busy_ns~=~now_ns;//|busy_machine
ITERATION_fallen := pattern.c|s/if (low < q->deep .. begins).*//|floor_may_fall
ITERATION_logs := iteration.c|s/launches <= .*GAP_MEAN . PERIOD_REPEATS;/1;/|a_log_now_and_then

ITERATION_SOURCES := daemon/worker/iteration/iteration.c daemon/worker/iteration/pattern.c daemon/worker/iteration/period.c
iteration_part = $(subst ~, ,$(word $(2),$(subst |, ,$(subst $(space),~,$(ITERATION_$(1))))))

.PHONY: check-iteration $(addprefix iteration-mutant-,$(ITERATION_MUTANTS))
check-iteration: $(BUILD)/test/unit/test_iteration $(addprefix iteration-mutant-,$(ITERATION_MUTANTS))
	$(Q)$(BUILD)/test/unit/test_iteration

# The whole detector is compiled from a folder of its own, where one file is the mutant.
define iteration_mutant_rule
iteration-mutant-$(1): test/unit/test_iteration.c $(ITERATION_SOURCES)
	@rm -rf $(BUILD)/mutants/iteration-$(1) && mkdir -p $(BUILD)/mutants/iteration-$(1)/daemon/worker/iteration
	$$(Q)cp daemon/worker/iteration/iteration.[ch] daemon/worker/iteration/period.[ch] daemon/worker/iteration/pattern.[ch] \
		$(BUILD)/mutants/iteration-$(1)/daemon/worker/iteration
	$$(Q)sed -i '$(call iteration_part,$(1),2)' \
		$(BUILD)/mutants/iteration-$(1)/daemon/worker/iteration/$(call iteration_part,$(1),1)
	$$(Q)! cmp -s daemon/worker/iteration/$(call iteration_part,$(1),1) \
		$(BUILD)/mutants/iteration-$(1)/daemon/worker/iteration/$(call iteration_part,$(1),1) || \
		{ echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)cp test/unit/test_iteration.c $(BUILD)/mutants/iteration-$(1)
	$$(Q)cd $(BUILD)/mutants/iteration-$(1) && $(CC) $(CSTD) $(OPT) -D_GNU_SOURCE -I. -I$(CURDIR) -o test \
		test_iteration.c $(ITERATION_SOURCES) -lcriterion
	$$(Q)scripts/must-fail "iteration: $(1)" "FAIL.*$(call iteration_part,$(1),3)" \
		$(BUILD)/mutants/iteration-$(1)/test --filter '*/*$(call iteration_part,$(1),3)*'
endef
$(foreach m,$(ITERATION_MUTANTS),$(eval $(call iteration_mutant_rule,$(m))))

BENCHES += $(BUILD)/test/bench/iteration_bench
$(BUILD)/test/bench/iteration_bench: $(BUILD)/test/bench/iteration_bench.o \
		$(addprefix $(BUILD)/lib,worker.a common.a)
	$(Q)$(LINK) -o $@ $^

# Programs with iterations of many kinds, and recordings of what the worker reads of them.
ITERATION_PROGRAMS := $(call e2e_bin,default-static,accumulate evaluate pair requests aimless)
$(ITERATION_PROGRAMS): test/e2e/programs/net.h
e2e-programs: $(ITERATION_PROGRAMS)
.PHONY: record-iterations
record-iterations: all $(ITERATION_PROGRAMS) $(call e2e_bin,default-static,train)
	BUILD=$(BUILD) $(PYTHON) test/e2e/record_iterations.py test/data/iterations
