# SPDX-License-Identifier: Apache-2.0
# Random programs: what the device gives against what the host gives (test/random/README.md).
#   check-random       the committed programs, on every build of the handlers, and the mutants
#   check-long-random  new programs, through nvcc and the daemon; RANDOM_FILES of forty kernels each
#   record-random      writes the committed programs again; needs nvcc
RANDOM_FILES ?= 250
RANDOM_SEED ?= 1000
RANDOM_PLAY := $(BUILD)/test/random/play
RANDOM_JOB := $(BUILD)/test/random/job
RANDOM_DATA := $(wildcard test/data/random/*.expected)
RANDOM_PAIRS := $(foreach e,$(RANDOM_DATA),$(e) $(e:.expected=.ptx))
RANDOM_LIBS := $(BUILD)/test/random/cases.o $(BUILD)/test/lib/ptxrun.o $(addprefix $(BUILD)/lib,device.a common.a)

$(RANDOM_PLAY): $(BUILD)/test/random/play.o $(RANDOM_LIBS)
	$(Q)$(TEST_LINK) $(DEVICE_LIBS)
$(RANDOM_JOB): $(BUILD)/test/random/job.o $(BUILD)/test/random/cases.o $(BUILD)/shim/libcuda.so
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -L$(BUILD)/shim -lcuda

.PHONY: check-random check-random-programs check-random-mutants check-long-random record-random
check-random: check-random-programs check-random-mutants
check-random-programs: $(RANDOM_PLAY)
	$(Q)$(RANDOM_PLAY) $(RANDOM_PAIRS)
	$(Q)$(PYTHON) test/random/test_random.py
check-long: check-long-random
check-long-random: all $(RANDOM_PLAY) $(RANDOM_JOB)
	BUILD=$(BUILD) NVCC=$(NVCC) $(PYTHON) test/random/run_random.py hunt --seed $(RANDOM_SEED) --files $(RANDOM_FILES)
record-random:
	BUILD=$(BUILD) NVCC=$(NVCC) $(PYTHON) test/random/run_random.py record

# Proof that the committed programs would notice: each mutant is a file of the software GPU made wrong by
# sed, and some kernel must differ. What they cannot notice is named in test/random/README.md.
#   name := file | sed expression (~ for a space)
RANDOM_MUTANTS := layouts-mixed guarded-ends dead-too-early merge-any-pc merge-forgets locals-overlap locals-anywhere \
	calls-lose-bytes jump-off-by-one shift-wraps shift-sign sign-of-bytes selp-swapped carry-lost borrow-kept \
	min-unsigned cas-always inc-wraps shuffle-clamp shuffle-up vote-all match-all reduce-signed barrier-early \
	prmt-sign bfe-sign fma-twice directed-nearest
RANDOM_MUTANT_layouts-mixed := code/regalloc.c|s/case 0: return REGALLOC_PRED;/case 0: return REGALLOC_16;/
RANDOM_MUTANT_guarded-ends := code/regalloc.c|s/if (def && !guarded) regalloc_put/if (def) regalloc_put/;s/(!def .. guarded) &&/!def \&\&/
RANDOM_MUTANT_dead-too-early := code/regalloc.c|s/(int32_t)r->block_start.b + 1. - 1);/(int32_t)r->block_start[b]);/
RANDOM_MUTANT_merge-any-pc := exec/warp.c|s/s->pc != pc/0/
RANDOM_MUTANT_merge-forgets := exec/warp.c|s/warp_mutant != WARP_MUTANT_NO_MERGE_MASK/pc % 7/
RANDOM_MUTANT_locals-overlap := exec/frame.c|s/parent->local_offset + parent->func->local_bytes/parent->local_offset/
RANDOM_MUTANT_locals-anywhere := exec/frame.c|s/(end + f->local_align - 1) .*;/end;/
RANDOM_MUTANT_calls-lose-bytes := exec/frame.c|s/in ? actual : formal, bytes/in ? actual : formal, bytes > 8 ? 8 : bytes/
RANDOM_MUTANT_jump-off-by-one := exec/warp.c|s/x->frame, t->table.index.lane.., 1u/x->frame, t->table[index[lane] == 1 ? 0 : index[lane]], 1u/
RANDOM_MUTANT_shift-wraps := isa/logic.c|s/y < bits ? (uint64_t)x << (y & (bits - 1)) : 0/(uint64_t)x << (y \& (bits - 1))/
RANDOM_MUTANT_shift-sign := isa/logic.c|s/x >> (y < bits ? y : bits - 1)/x >> (y \& (bits - 1))/
RANDOM_MUTANT_sign-of-bytes := isa/access.c|s/(s8_\(..\), element_s8/(s8_\1, element_u8/
RANDOM_MUTANT_selp-swapped := isa/logic.c|s/v = p >> l & 1 ? a.l. : b.l./v = p >> l \& 1 ? b[l] : a[l]/
RANDOM_MUTANT_carry-lost := isa/carry.c|s/i->op == PTX_OP_addc ? w->carry : 0/0/
RANDOM_MUTANT_borrow-kept := isa/carry.c|s/i->op == PTX_OP_subc ? w->carry : ISA_FULL/ISA_FULL/
RANDOM_MUTANT_min-unsigned := exec/atomics.c|s/if (i->type == PTX_S32)/if (0)/
RANDOM_MUTANT_cas-always := exec/atomics.c|s/case PTX_SUB_CAS: return old == b ? c : old;/case PTX_SUB_CAS: return c;/
RANDOM_MUTANT_inc-wraps := exec/atomics.c|s/return old >= b ? 0 : old + 1/return old > b ? 0 : old + 1/
RANDOM_MUTANT_shuffle-clamp := exec/rendezvous.c|s/(clamp & .seg), j;/31, j;/
RANDOM_MUTANT_shuffle-up := exec/rendezvous.c|s/ok = (int32_t)j >= (int32_t)high/ok = (int32_t)j > (int32_t)high/
RANDOM_MUTANT_vote-all := exec/rendezvous.c|s/ALL   ? yes == m->mask/ALL ? yes == ~0u/
RANDOM_MUTANT_match-all := exec/rendezvous.c|s/same == m->mask ? same : 0/same/
RANDOM_MUTANT_reduce-signed := exec/rendezvous.c|s/bool is_signed = i->type == PTX_S32/bool is_signed = true/
RANDOM_MUTANT_barrier-early := exec/bar.c|s/return b->arrived >= block->live_threads/return b->arrived + 32 >= block->live_threads/
RANDOM_MUTANT_prmt-sign := isa/bits.c|s/s & 8 ? (byte & 128/s \& 8 ? (byte \& 64/
RANDOM_MUTANT_bfe-sign := isa/bits.c|s/const bool fill = sign && len && x >> top & 1;/const bool fill = sign \&\& x >> top \& 1 \&\& len > 1;/
RANDOM_MUTANT_fma-twice := isa/real.c|s/real_nan32(fmaf(x, y, z))/real_nan32(x * y + z)/
RANDOM_MUTANT_directed-nearest := isa/directed.c|s/PTX_RZ ? FE_TOWARDZERO/PTX_RZ ? FE_TONEAREST/

space := $(subst ,, )
random_part = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst $(space),~,$(RANDOM_MUTANT_$(1))))))
random_file = daemon/device/soft/$(call random_part,$(1),1)
random_flags = $(if $(filter isa/%,$(call random_part,$(1),1)),-O3 $(ISA_base) -DISA=base)

.PHONY: $(addprefix random-mutant-,$(RANDOM_MUTANTS))
check-random-mutants: $(addprefix random-mutant-,$(RANDOM_MUTANTS))

define random_mutant_rule
random-mutant-$(1): RANDOM_DIR := $(BUILD)/mutants/random-$(1)
random-mutant-$(1): $(BUILD)/test/random/play.o $(RANDOM_LIBS)
	@mkdir -p $$(RANDOM_DIR)
	$$(Q)sed '$(call random_part,$(1),2)' $(call random_file,$(1)) >$$(RANDOM_DIR)/mutant.c
	$$(Q)! cmp -s $(call random_file,$(1)) $$(RANDOM_DIR)/mutant.c || { echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error $(call random_flags,$(1)) -c $$(RANDOM_DIR)/mutant.c -o $$(RANDOM_DIR)/mutant.o 2>/dev/null
	$$(Q)$$(LINK) -o $$(RANDOM_DIR)/play $(BUILD)/test/random/play.o $$(RANDOM_DIR)/mutant.o $(RANDOM_LIBS) $$(DEVICE_LIBS)
	$$(Q)scripts/must-fail "random: $(1)" "^differs: .*" $$(RANDOM_DIR)/play --isa base --threads 1 --slice 100000 \
		--most 1 $(RANDOM_PAIRS)
endef
$(foreach m,$(RANDOM_MUTANTS),$(eval $(call random_mutant_rule,$(m))))
