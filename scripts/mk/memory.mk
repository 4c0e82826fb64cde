# SPDX-License-Identifier: Apache-2.0
# Proof that the tests of chunks and of clients' memory would notice: each mutant is one line made
# wrong by sed, put in place of the right file, and the named test must fail.
#   file | sed expression | unit test | test that must fail
MEMORY_MUTANTS := stale-chunk stale-range no-undo leaked-chunk high-slot lost-survivor busy-lane \
	swapped-zeros
MEM_stale-chunk := daemon/device/soft/chunk.c|s/if (fallocate(/if (0 \&\& fallocate(/|test_chunk|zero
MEM_stale-range := daemon/device/soft/space.c|s/ranges_without(.*)/ranges_ref(s->ranges)/|test_chunk|own_addresses
MEM_no-undo := daemon/worker/memory_plan.c|s/err \&\& i < done/0/|test_memory|in_the_middle
MEM_leaked-chunk := daemon/worker/memory_plan.c|s/err \&\& i < plan->made_count/0/|test_memory|in_the_middle
MEM_high-slot := daemon/worker/memory_lane.c|s/while (m->slots.slot. != MEMORY_NO_PAGE)/while (slot < m->slot_end)/|test_memory|one_lane
MEM_lost-survivor := daemon/worker/memory_lane.c|s/m->lane ? m->ops->chunk_copy(.*) : 0/0/|test_memory|survivor
MEM_busy-lane := daemon/worker/memory_lane.c|s/m->slot_end > count/0/|test_memory_model|too_small
MEM_swapped-zeros := daemon/worker/memory_swap.c|s/if (p->host) err = .*/;/|test_memory_model|too_small

MEMORY_NEEDS := $(BUILD)/test/lib/fakedev.o $(addprefix $(BUILD)/lib,worker.a device.a common.a)
memory_part = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst $(space),~,$(MEM_$(1))))))

.PHONY: check-memory-mutants $(addprefix memory-mutant-,$(MEMORY_MUTANTS))
check-memory-mutants: $(addprefix memory-mutant-,$(MEMORY_MUTANTS))

define memory_mutant_rule
memory-mutant-$(1): $(BUILD)/test/unit/$(call memory_part,$(1),3).o $(MEMORY_NEEDS)
	@mkdir -p $(BUILD)/mutants
	$$(Q)sed '$(call memory_part,$(1),2)' $(call memory_part,$(1),1) >$(BUILD)/mutants/$(1).c
	$$(Q)! cmp -s $(call memory_part,$(1),1) $(BUILD)/mutants/$(1).c || { echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $(BUILD)/mutants/$(1).c -o $(BUILD)/mutants/$(1).o 2>/dev/null
	$$(Q)$$(LINK) -o $(BUILD)/mutants/$(1) $(BUILD)/test/unit/$(call memory_part,$(1),3).o \
		$(BUILD)/mutants/$(1).o $(MEMORY_NEEDS) -lcriterion $$(DEVICE_LIBS)
	$$(Q)scripts/must-fail "memory: $(1)" "FAIL.*$(call memory_part,$(1),4)" \
		$(BUILD)/mutants/$(1) --filter '*/*$(call memory_part,$(1),4)*'
endef
$(foreach m,$(MEMORY_MUTANTS),$(eval $(call memory_mutant_rule,$(m))))
