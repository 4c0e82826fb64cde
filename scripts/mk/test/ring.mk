# SPDX-License-Identifier: Apache-2.0
# check-ring: tests the properties of the ring and of the doorbell, each with mutants that must fail. About a minute.
PROOF := $(BUILD)/proofs
PROOF_CC = $(CC) $(CSTD) $(WARN) -g -D_GNU_SOURCE -I. -pthread $(CFLAGS)
PROOF_DEPS := common/err.c common/fdutil.c
PROOF_HEADERS := $(wildcard common/*.h proto/wire/ring.h test/proofs/*.h)
MUST_FAIL := $(Q)scripts/must-fail
# These compilers' ThreadSanitizer needs limited address randomisation.
PROOF_TSAN = TSAN_OPTIONS=halt_on_error=1:exitcode=66 \
	$(shell setarch -R true 2>/dev/null && echo setarch -R)

# $(1) program  $(2) source  $(3) ring, or its mutant  $(4) flags
define proof_rule
$(PROOF)/$(1): $(2) $(3) $(PROOF_DEPS) proto/wire/ring.c $(PROOF_HEADERS) scripts/mk/test/ring.mk
	@mkdir -p $$(@D)
	@$$(if $$(Q),echo "  CC      $$@")
	$$(Q)$$(PROOF_CC) $(4) -o $$@ $(2) $(3) $(PROOF_DEPS)
endef
honest = $(eval $(call proof_rule,$(1),$(2),proto/wire/ring.c,$(3)))
mutant = $(eval $(call proof_rule,$(1).$(4),$(2),test/proofs/mutant.c,$(3) -DMUTANT=MUTANT_$(4)))

STRESS := test/plain/ring_stress.c
TSAN_MUTANTS := WORD_STORE WORD_LOAD CREDIT GENEROUS
$(call honest,stress,$(STRESS),-O1 -fsanitize=thread)
$(foreach m,$(TSAN_MUTANTS),$(call mutant,stress,$(STRESS),-O1 -fsanitize=thread,$(m)))
$(call mutant,stress,$(STRESS),-O1 -fsanitize=thread,MUTE)
$(foreach p,kill attack quiet,$(call honest,$(p),test/proofs/ring_$(p).c,-O2))
$(call mutant,kill,test/proofs/ring_kill.c,-O2,EARLY)
$(call mutant,quiet,test/proofs/ring_quiet.c,-O2,LOUD)

.PHONY: check-ring check-ring-model check-ring-tsan check-ring-kill check-ring-attack check-ring-quiet
check-ring: check-ring-model check-ring-tsan check-ring-kill check-ring-attack check-ring-quiet

DOORBELL := test/proofs/doorbell.pml
DOORBELL_MUTANTS := NO_PRODUCER_FENCE NO_CONSUMER_FENCE NO_SECOND_LOOK NO_CREDIT
check-ring-model:
	$(Q)CC='$(CC)' test/proofs/run-spin $(DOORBELL) $(PROOF)/spin -DRINGS=2 -DRECORDS=3
	$(Q)CC='$(CC)' test/proofs/run-spin $(DOORBELL) $(PROOF)/spin -DRINGS=3 -DRECORDS=1
	$(foreach m,$(DOORBELL_MUTANTS),$(MUST_FAIL) model:$(m) "invalid end state" \
		env CC='$(CC)' test/proofs/run-spin $(DOORBELL) $(PROOF)/spin -D$(m)$(newline))

check-ring-tsan: $(PROOF)/stress $(TSAN_MUTANTS:%=$(PROOF)/stress.%) $(PROOF)/stress.MUTE
	$(Q)$(PROOF_TSAN) $(PROOF)/stress 1000000
	$(foreach m,$(TSAN_MUTANTS),$(MUST_FAIL) tsan:$(m) "WARNING: ThreadSanitizer: data race|torn, lost or out of order" \
		env $(PROOF_TSAN) $(PROOF)/stress.$(m)$(newline))
	$(MUST_FAIL) tsan:MUTE "lost wake-up" env $(PROOF_TSAN) $(PROOF)/stress.MUTE

check-ring-kill: $(PROOF)/kill $(PROOF)/kill.EARLY
	$(Q)$(PROOF)/kill 8
	$(MUST_FAIL) kill:EARLY "torn in round" $(PROOF)/kill.EARLY 60
	$(MUST_FAIL) kill:EARLY,after "torn in round" $(PROOF)/kill.EARLY 60 after

# The mutant, a naive reader, runs inside and must be fooled.
check-ring-attack: $(PROOF)/attack
	$(Q)$(PROOF)/attack

check-ring-quiet: $(PROOF)/quiet $(PROOF)/quiet.LOUD
	$(Q)$(PROOF)/quiet
	$(MUST_FAIL) quiet:LOUD "a system call after" $(PROOF)/quiet.LOUD

# A newline, for one recipe line per mutant.
define newline


endef
