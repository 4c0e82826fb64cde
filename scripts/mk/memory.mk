# SPDX-License-Identifier: Apache-2.0
# Proof that the tests of chunks and of clients' memory would notice: each mutant is one line made
# wrong by sed, put in place of the right file, and the named test must fail.
#   file | sed expression | unit test | test that must fail
MEMORY_MUTANTS := stale-chunk stale-range no-undo leaked-chunk high-slot lost-survivor busy-lane \
	swapped-zeros enters-unclear grows-unclear clears-own keeps-foreign spills-foreign \
	restores-nobodys packs-nobodys holds-for-ever
MEM_stale-chunk := daemon/device/soft/dev/chunk.c|s/if (fallocate(/if (0 \&\& fallocate(/|test_chunk|zero
MEM_stale-range := daemon/device/soft/dev/space.c|s/ranges_without(.*)/ranges_ref(s->ranges)/|test_chunk|own_addresses
MEM_no-undo := daemon/worker/memory/memory_plan.c|s/err \&\& i < done/0/|test_memory|in_the_middle
MEM_leaked-chunk := daemon/worker/memory/memory_plan.c|s/err \&\& i < plan->made_count/0/|test_memory|in_the_middle
MEM_high-slot := daemon/worker/memory/memory_lane.c|s/while (m->slots.slot. != MEMORY_NO_PAGE)/while (slot < m->slot_end)/|test_memory|one_lane
MEM_lost-survivor := daemon/worker/memory/memory_lane.c|s/return m->ops->chunk_copy(.*m->lane.*)/return 0/|test_memory|survivor
MEM_busy-lane := daemon/worker/memory/memory_lane.c|s/m->slot_end > count/0/|test_memory_model|too_small
MEM_swapped-zeros := daemon/worker/memory/memory_swap.c|s/if (p->host) err = .*/;/|test_memory_model|too_small
MEM_enters-unclear := daemon/worker/memory/memory_clear.c|s/m->clear_end = pages < lane->count.*/m->clear_end = 0;/|test_memory|cleared_for_another
MEM_grows-unclear := daemon/worker/memory/memory_lane.c|s/err = memory_clear_slot(m, m->pages.*/;/|test_memory|backed_during
MEM_clears-own := daemon/worker/memory/memory_clear.c|s/return owner .. owner != m->owner/return owner/|test_memory|cleared_for_another
MEM_keeps-foreign := daemon/worker/memory/memory_lane.c|s/if (!m->lane .. !memory_clear_own(m, p->slot))/if (!m->lane)/|test_memory|neither_kept
MEM_spills-foreign := daemon/worker/memory/memory_swap.c|s/if (memory_clear_own(m, slot)) .*/if (1)/|test_memory|neither_kept
MEM_restores-nobodys := daemon/worker/memory/memory_swap.c|s/m->lane->owners.slot. = m->owner;//;s/if (!memory_clear_own(m, slot)) m->lane->owners.*//|test_memory|came_back
MEM_packs-nobodys := daemon/worker/memory/memory_lane.c|s/if (lane == m->lane .. lane) err = memory_clear_slot(m, n);//|test_memory|is_packed
MEM_holds-for-ever := daemon/worker/memory/memory_clear.c|s/if (lane->holder) lane->holder->clear_next = .*//|test_memory|begins_anew

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
