# SPDX-License-Identifier: Apache-2.0
# check-soft-mutants: proof that the tests of what kernel-level scheduling rests on would notice: levels,
# counts and beginnings on the software GPU, occupancy. Each mutant is a file made wrong by sed; the unit
# that has it in is compiled again, put in place of the right one, and the named test must fail.
#   name := file | sed expression (~ for a space) | unit, where it is not the file | unit test | test that must fail
SOFT_MUTANTS := one-level level-later cancel-waits starts-early old-counts last-warp own-is-global \
	constants-count atomics-free rows-free far-steps overlap-twice high-bits whole-regs rounds-down
SOFT_MUTANT_one-level := daemon/device/soft/pool.c|s/SOFT_LEVELS - 1 : task->queue->level/0 : 0/||test_soft|level_1_goes_first
SOFT_MUTANT_level-later := daemon/device/soft/queue.c|s/if (moves) pool_add/if (0) pool_add/||test_soft|with_operations_in_flight
SOFT_MUTANT_cancel-waits := daemon/device/soft/pool.c|s/over ? SOFT_LEVELS - 1 : //||test_soft|waits_for_no_level
SOFT_MUTANT_starts-early := daemon/device/soft/queue.c|s/bool first = list_empty/t->op->start_ns = fdutil_now_ns();~&/||test_soft|when_the_device_begins
SOFT_MUTANT_old-counts := daemon/device/soft/block.c|s/ = x->sectors = 0/ = 0/||test_counts|known_accesses
SOFT_MUTANT_last-warp := daemon/device/soft/grid.c|s/r->memory_bytes += /r->memory_bytes = /||test_counts|however_it_runs
SOFT_MUTANT_own-is-global := daemon/device/soft/mem.c|s/bool client = !own .*;/bool client = true;/||test_counts|known_accesses
SOFT_MUTANT_constants-count := daemon/device/soft/operand.c|s/c->target .= CODE_CONSTANT/(void)0/||test_counts|known_accesses
SOFT_MUTANT_atomics-free := daemon/device/soft/atomics.c|s/mem_count(x, at);//||test_counts|known_accesses
SOFT_MUTANT_rows-free := daemon/device/soft/isa/access.c|s/x->sectors += sectors_runs/(void)sectors_runs/||test_counts|known_accesses
SOFT_MUTANT_far-steps := daemon/device/soft/sectors.h|s/> 2 \* SECTOR_BYTES/> 3 * SECTOR_BYTES/|daemon/device/soft/isa/access.c|test_counts|known_accesses
SOFT_MUTANT_overlap-twice := daemon/device/soft/sectors.h|s/ - (end > lo ? end - lo : 0)//|daemon/device/soft/isa/access.c|test_counts|known_accesses
SOFT_MUTANT_high-bits := daemon/device/soft/sectors.h|s/if (high)/if (0)/|daemon/device/soft/isa/access.c|test_counts|far_apart
SOFT_MUTANT_whole-regs := common/occupancy.c|s,/ QUARTERS / warp_regs \* QUARTERS,/ warp_regs,||test_occupancy|each_limit
SOFT_MUTANT_rounds-down := common/occupancy.c|s/ + (blocks % each != 0)//||test_occupancy|multiprocessors

space := $(subst ,, )
soft_part = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst ||,|-|,$(subst $(space),~,$(SOFT_MUTANT_$(1)))))))
soft_unit = $(if $(filter -,$(call soft_part,$(1),3)),$(call soft_part,$(1),1),$(call soft_part,$(1),3))
# Of the builds of the handlers, that which every processor runs.
soft_flags = $(if $(filter daemon/device/soft/isa/%,$(call soft_unit,$(1))),-O3 $(ISA_base) -DISA=base)
SOFT_MUTANT_LIBS := $(BUILD)/test/lib/ptxrun.o $(addprefix $(BUILD)/lib,device.a common.a)

.PHONY: check-soft-mutants $(addprefix soft-mutant-,$(SOFT_MUTANTS))
check-soft-mutants: $(addprefix soft-mutant-,$(SOFT_MUTANTS))

define soft_mutant_rule
soft-mutant-$(1): SOFT_DIR := $(BUILD)/mutants/soft-$(1)
soft-mutant-$(1): $(BUILD)/test/unit/$(call soft_part,$(1),4).o $(SOFT_MUTANT_LIBS)
	@mkdir -p $$(SOFT_DIR)/$(dir $(call soft_part,$(1),1))
	$$(Q)sed '$(call soft_part,$(1),2)' $(call soft_part,$(1),1) >$$(SOFT_DIR)/$(call soft_part,$(1),1)
	$$(Q)! cmp -s $(call soft_part,$(1),1) $$(SOFT_DIR)/$(call soft_part,$(1),1) || \
		{ echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)unit=$$(SOFT_DIR)/$(call soft_unit,$(1)); [ -f $$$$unit ] || unit=$(call soft_unit,$(1)); \
		$$(COMPILE) -Wno-error $(call soft_flags,$(1)) -iquote $$(SOFT_DIR) -c $$$$unit \
		-o $$(SOFT_DIR)/unit.o 2>/dev/null
	$$(Q)$$(LINK) -o $$(SOFT_DIR)/test $(BUILD)/test/unit/$(call soft_part,$(1),4).o $$(SOFT_DIR)/unit.o \
		$(SOFT_MUTANT_LIBS) -lcriterion $$(DEVICE_LIBS)
	$$(Q)scripts/must-fail "soft: $(1)" "(FAIL|CRASH|Timed).*$(call soft_part,$(1),5)" \
		$$(SOFT_DIR)/test --timeout 20 --filter '*/*$(call soft_part,$(1),5)*'
endef
$(foreach m,$(SOFT_MUTANTS),$(eval $(call soft_mutant_rule,$(m))))
