# SPDX-License-Identifier: Apache-2.0
# check-soft-mutants: proof that the tests of the software GPU would notice: what kernel-level scheduling
# rests on (levels, counts and beginnings, occupancy), and execution (registers in slots, alignment, loops
# that give way, vectors that move at once). Each mutant is a file made wrong by sed; the unit that has it in is compiled again, put
# in place of the right one, and the named test must fail.
#   name := file | sed expression (~ for a space) | unit, where it is not the file | unit test | test that must fail
SOFT_MUTANTS := one-level level-later cancel-waits starts-early old-counts last-warp own-is-global \
	constants-count atomics-free rows-free far-steps overlap-twice high-bits whole-regs rounds-down \
	shared-left registers-left frames-left
SOFT_MUTANT_one-level := daemon/device/soft/dev/pool.c|s/SOFT_LEVELS - 1 : task->queue->level/0 : 0/||test_soft|level_1_goes_first
SOFT_MUTANT_level-later := daemon/device/soft/dev/queue.c|s/if (moves) pool_add/if (0) pool_add/||test_soft|with_operations_in_flight
SOFT_MUTANT_cancel-waits := daemon/device/soft/dev/pool.c|s/over ? SOFT_LEVELS - 1 : //||test_soft|waits_for_no_level
SOFT_MUTANT_starts-early := daemon/device/soft/dev/queue.c|s/bool first = list_empty/t->op->start_ns = fdutil_now_ns();~&/||test_soft|when_the_device_begins
SOFT_MUTANT_old-counts := daemon/device/soft/exec/block.c|s/ = x->sectors = 0/ = 0/||test_counts|known_accesses
SOFT_MUTANT_last-warp := daemon/device/soft/exec/grid.c|s/r->memory_bytes += /r->memory_bytes = /||test_counts|however_it_runs
SOFT_MUTANT_own-is-global := daemon/device/soft/exec/mem.c|s/bool client = !own .*;/bool client = true;/||test_counts|known_accesses
SOFT_MUTANT_constants-count := daemon/device/soft/code/operand.c|s/c->target .= CODE_CONSTANT/(void)0/||test_counts|known_accesses
SOFT_MUTANT_atomics-free := daemon/device/soft/exec/atomics.c|s/mem_count(x, at);//||test_counts|known_accesses
SOFT_MUTANT_rows-free := daemon/device/soft/isa/access.c|s/x->sectors += sectors_runs/(void)sectors_runs/||test_counts|known_accesses
SOFT_MUTANT_far-steps := daemon/device/soft/exec/sectors.h|s/> 2 \* SECTOR_BYTES/> 3 * SECTOR_BYTES/|daemon/device/soft/isa/access.c|test_counts|known_accesses
SOFT_MUTANT_overlap-twice := daemon/device/soft/exec/sectors.h|s/ - (end > lo ? end - lo : 0)//|daemon/device/soft/isa/access.c|test_counts|known_accesses
SOFT_MUTANT_high-bits := daemon/device/soft/exec/sectors.h|s/if (high)/if (0)/|daemon/device/soft/isa/access.c|test_counts|far_apart
SOFT_MUTANT_whole-regs := common/occupancy.c|s,/ QUARTERS / warp_regs \* QUARTERS,/ warp_regs,||test_occupancy|each_limit
SOFT_MUTANT_rounds-down := common/occupancy.c|s/ + (blocks % each != 0)//||test_occupancy|multiprocessors
SOFT_MUTANT_shared-left := daemon/device/soft/exec/block.c|s/memset(b->shared, 0, b->shared_room);//||test_leftovers|shared_memory
SOFT_MUTANT_registers-left := daemon/device/soft/exec/block.c|s/memset(x->root->regs, 0, .*);//||test_leftovers|registers
SOFT_MUTANT_frames-left := daemon/device/soft/exec/frame.c|s/memset(frame, 0, bytes);/memset(frame, 0, sizeof *frame);/||test_leftovers|frames

SOFT_REGALLOC := daemon/device/soft/code/regalloc.c
SOFT_MUTANTS += pred-is-16 sink-is-64 guard-ends guard-ends-all no-in-edge no-out-edge table-no-flow table-no-block \
	branch-no-flow no-fall one-pass no-second no-vector no-arguments no-guard-read ends-early dead-is-free
SOFT_MUTANT_pred-is-16 := $(SOFT_REGALLOC)|s/case 0: return REGALLOC_PRED/case 0: return REGALLOC_16/||test_regalloc|random_programs
SOFT_MUTANT_sink-is-64 := $(SOFT_REGALLOC)|s/default: return REGALLOC_SINK/default: return REGALLOC_64/||test_regalloc|random_programs
SOFT_MUTANT_guard-ends := $(SOFT_REGALLOC)|s/bool guarded = .*/bool guarded = false;/||test_regalloc|a_guarded_write
SOFT_MUTANT_guard-ends-all := $(SOFT_REGALLOC)|s/bool guarded = .*/bool guarded = false;/||test_regalloc|random_programs
SOFT_MUTANT_no-in-edge := $(SOFT_REGALLOC)|s/for (uint64_t bits = in;/for (uint64_t bits = 0;/||test_regalloc|random_programs
SOFT_MUTANT_no-out-edge := $(SOFT_REGALLOC)|s/for (uint64_t bits = out;/for (uint64_t bits = 0;/||test_regalloc|random_programs
SOFT_MUTANT_table-no-flow := $(SOFT_REGALLOC)|s/uint32_t t = 0; leaves/uint32_t t = 0; 0/||test_regalloc|random_programs
SOFT_MUTANT_table-no-block := $(SOFT_REGALLOC)|s/uint32_t t = 0; i->op/uint32_t t = 99; i->op/||test_regalloc|random_programs
SOFT_MUTANT_branch-no-flow := $(SOFT_REGALLOC)|s/if (leaves .* PTX_OP_bra) regalloc_join/if (0) regalloc_join/||test_regalloc|random_programs
SOFT_MUTANT_no-fall := $(SOFT_REGALLOC)|s/i->pred != CODE_NO_SLOT) .. last/0) \&\& last/||test_regalloc|random_programs
SOFT_MUTANT_one-pass := $(SOFT_REGALLOC)|s/bool changed = true; changed;/bool changed = true, once = true; once; once = false/||test_regalloc|random_programs
SOFT_MUTANT_no-second := $(SOFT_REGALLOC)|s/if (i->d2 >= 0) fn/if (0) fn/||test_regalloc|random_programs
SOFT_MUTANT_no-vector := $(SOFT_REGALLOC)|s/if (x->uses.k..slot >= 0)/if (0)/||test_regalloc|random_programs
SOFT_MUTANT_no-arguments := $(SOFT_REGALLOC)|s/if (x->args.q..in_slot)/if (0)/||test_regalloc|random_programs
SOFT_MUTANT_no-guard-read := $(SOFT_REGALLOC)|s/{&i->pred, &i->a/{\&i->a, \&i->a/||test_regalloc|random_programs
SOFT_MUTANT_ends-early := $(SOFT_REGALLOC)|s/items.0.. < at)/items[0]] <= at)/||test_regalloc|random_programs
SOFT_MUTANT_dead-is-free := $(SOFT_REGALLOC)|s/r->end.v. = at;/r->end[v] = at - (r->start[v] == at);/||test_regalloc|nobody_reads
SOFT_MUTANTS += frame-anywhere lines-only no-padding shared-1024 dynamic-16 params-64
SOFT_MUTANT_frame-anywhere := daemon/device/soft/exec/frame.c|s/(end + f->local_align - 1) .*;/end;/||test_align|local_arrays
SOFT_MUTANT_lines-only := daemon/device/soft/exec/block.c|s/local_align > 64 ? c->kernel->local_align : 64/local_align > 64 ? 64 : 64/||test_align|local_arrays
SOFT_MUTANT_no-padding := daemon/device/soft/code/code.c|s/return f ? f->local_align - 16u : 0/return 0 * (f ? f->local_align : 0)/||test_align|stacks_have_room
SOFT_MUTANT_shared-1024 := daemon/device/soft/exec/block.c|s/shared_align > 1024 ? c->kernel->shared_align/shared_align > 1024 ? 1024/||test_align|variables
SOFT_MUTANT_dynamic-16 := daemon/device/soft/code/code.c|s/dynamic_offset + align - 1) . .(align - 1)/dynamic_offset + 15) \& -16ull/||test_align|variables
SOFT_MUTANT_params-64 := daemon/device/soft/exec/grid.c|s/if (f->params.k.->align > align) align/if (0) align/||test_align|variables
SOFT_MUTANTS += tables-never calls-never
SOFT_MUTANT_tables-never := daemon/device/soft/exec/warp.c|s/back .= t->table.*;//||test_soft|through_a_table
SOFT_MUTANT_calls-never := daemon/device/soft/exec/warp.c|s/turns = back .. i->op == PTX_OP_call/turns = back/||test_grid|every_endless
SOFT_VECTOR := daemon/device/soft/isa/vector.c
SOFT_MUTANTS += torn-pairs-stored torn-pairs-loaded torn-stores torn-loads torn-copies-stored torn-copies-loaded \
	torn-rows torn-elements absent-is-own absent-is-stale
SOFT_MUTANT_torn-pairs-stored := $(SOFT_VECTOR)|s/vector_store_2x32(s, at, mask);/{ element_store32(s[0], at, 0, mask); element_store32(s[1], at, 4, mask); }/||test_tearing|stores_behind
SOFT_MUTANT_torn-pairs-loaded := $(SOFT_VECTOR)|s/vector_load_2x32(d, at, mask);/{ element_load32(d[0], at, 0, mask); element_load32(d[1], at, 4, mask); }/||test_tearing|loads_behind
SOFT_MUTANT_torn-stores := $(SOFT_VECTOR)|s/vector_store_2x64(s + k, at, k . 8, mask);/{ element_store64(s[k], at, k * 8, mask); element_store64(s[k + 1], at, k * 8 + 8, mask); }/||test_tearing|stores_behind
SOFT_MUTANT_torn-loads := $(SOFT_VECTOR)|s/vector_load_4x32(d + k, at, k . 4, mask);/for (uint32_t c = k; c < k + 4; c++) element_load32(d[c], at, c * 4, mask);/||test_tearing|loads_behind
SOFT_MUTANT_torn-copies-stored := $(SOFT_VECTOR)|s/ELEMENT_LOOP(mask, vector_move(at.l., here.*/for (uint32_t k = 0; k < e->use_count; k++) element_store(i, SLOT(void, w, e->uses[k].slot), e->uses[k].bytes, at, k * size, mask);/||test_tearing|stores_behind
SOFT_MUTANT_torn-copies-loaded := $(SOFT_VECTOR)|s/ELEMENT_LOOP(mask, vector_move(here.*/memcpy(here, at, sizeof here);/||test_tearing|loads_behind
SOFT_MUTANT_torn-rows := daemon/device/soft/isa/element.h|s/size_t k = 0;/size_t k = 0; for (size_t b = 0; b < bytes; b++) ((volatile char *)to)[b] = ((const volatile char *)from)[b]; if (!k) return;/|daemon/device/soft/isa/access.c|test_tearing|stores_behind
SOFT_MUTANT_torn-elements := daemon/device/soft/isa/element.h|s/ELEMENT(element_u64, at.l. + k) = s.l.;/ELEMENT(element_u32, at[l] + k) = (uint32_t)s[l]; ELEMENT(element_u32, at[l] + k + 4) = (uint32_t)(s[l] >> 32);/|daemon/device/soft/isa/access.c|test_tearing|stores_behind
SOFT_MUTANT_absent-is-own := daemon/device/soft/exec/rendezvous.c|s/m->a.j . 31. : 0;/m->a[j \& 31] : m->a[lane];/||test_warp|take_no_part
SOFT_MUTANT_absent-is-stale := daemon/device/soft/exec/rendezvous.c|s/m->a.j . 31. : 0;/m->a[j \& 31] : m->a[j \& 31];/;s/if (i->a == CODE_NO_SLOT) return;/& if (i->a_bytes != 8) memcpy(m->a, SLOT(uint32_t, \&w, i->a), sizeof m->a);/||test_warp|take_no_part

space := $(subst ,, )
soft_part = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst ||,|-|,$(subst $(space),~,$(SOFT_MUTANT_$(1)))))))
soft_unit = $(if $(filter -,$(call soft_part,$(1),3)),$(call soft_part,$(1),1),$(call soft_part,$(1),3))
# Of the builds of the handlers, that which every processor runs.
soft_flags = $(if $(filter daemon/device/soft/isa/%,$(call soft_unit,$(1))),-O3 $(ISA_base) -DISA=base)
SOFT_MUTANT_LIBS := $(BUILD)/test/lib/ptxrun.o $(BUILD)/test/lib/ptxrandom.o $(addprefix $(BUILD)/lib,device.a common.a)

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

# The same random programs as in the unit test, many more of them.
.PHONY: check-soft-long
check-long: check-soft-long
check-soft-long: $(BUILD)/test/unit/test_regalloc
	SALUS_TEST_PROGRAMS=$${SALUS_TEST_PROGRAMS:-200000} $<
