# SPDX-License-Identifier: Apache-2.0
# The shim's own switches and what its unit tests link.
#   DRIVER_VALIDITY=0   leaves out the answer to the CUDA runtime's validity question
DRIVER_VALIDITY ?= 1
$(BUILD)/shim/private/validity.o: CFLAGS += -DDRIVER_VALIDITY=$(DRIVER_VALIDITY)

# Its calls of its own entry points stay inside, whatever else the program preloads.
$(SHIM_SO): LDFLAGS += -Wl,-Bsymbolic

$(BUILD)/test/unit/test_vmem: $(BUILD)/shim/memory/vmem.o
$(BUILD)/test/unit/test_shim_learn: $(BUILD)/shim/memory/learn.o
$(BUILD)/test/unit/test_bins: $(BUILD)/shim/memory/bins.o
$(BUILD)/test/unit/test_shim_fatbin: $(BUILD)/shim/code/fatbin.o
$(BUILD)/test/unit/test_shim_conn: $(BUILD)/shim/connection/conn.o $(BUILD)/shim/connection/profile.o
$(BUILD)/test/unit/test_shim_mem: $(addprefix $(BUILD)/shim/,memory/mem.o memory/vmem.o memory/learn.o)
$(BUILD)/test/unit/test_shim_submit: $(addprefix $(BUILD)/shim/,connection/submit.o connection/mark.o)
$(BUILD)/test/unit/test_shim_wait: $(addprefix $(BUILD)/shim/,connection/wait.o connection/submit.o connection/reply.o connection/staging.o)
$(BUILD)/test/unit/test_shim_nvtx: $(BUILD)/shim/private/nvtx.o

# What programs may include.
.PHONY: install-header uninstall-header
install: install-header
uninstall: uninstall-header
install-header:
	$(INSTALL) -D -m 0644 shim/salus.h $(ROOT_DIR)/include/salus.h
uninstall-header:
	rm -f $(ROOT_DIR)/include/salus.h

# What is refused is said: each mutant is one line of the shim made wrong by sed, and the named test
# must fail.
#   file | sed expression | test that must fail
REFUSE_OBJS := $(addprefix $(BUILD)/shim/,connection/refuse.o private/slots.o)
$(BUILD)/test/unit/test_refuse: $(REFUSE_OBJS)
REFUSE_MUTANTS := says-all one-for-both endless-calls cut-remedy not-strict strict-always \
	all-errors other-slot each-time overwritten ends-for-memory
REFUSE_says-all := connection/refuse.c|s/? LOG_WARN : LOG_ERROR/? LOG_ERROR : LOG_ERROR/|the_first_kernel
REFUSE_one-for-both := connection/refuse.c|s/^static enum/static _Atomic uint32_t both; &/;s/exchange(said,/exchange(\&both,/|does_not_silence
REFUSE_endless-calls := connection/refuse.c|s/few ? LOG_ERROR : LOG_WARN/LOG_ERROR/|up_to_a_number
REFUSE_cut-remedy := connection/refuse.c|s/return bytes < REFUSE_REASON_MAX .*/return (int)bytes;/|one_bounded_line
REFUSE_not-strict := connection/refuse.c|s/if (!state.strict) return;/return;/|strict_job
REFUSE_strict-always := connection/refuse.c|s/if (!state.strict) return;//|strict_job
REFUSE_ends-for-memory := connection/refuse.c|/^void refuse_memory/,/^}/s/shown(reason_bytes), reason);/& end_if_strict();/|ends_nobody
REFUSE_all-errors := connection/refuse.c|s/return err == ERR_INVALID_IMAGE/return err/|only_refused_code
REFUSE_other-slot := private/slots.c|s/slots.slot_count..slot = i;/slots[slot_count].slot = i + 1;/|which_it_is
REFUSE_each-time := private/slots.c|s/if (atom_exchange(.*/;/|which_it_is
REFUSE_overwritten := private/slots.c|s/if (table.i.) continue;//|which_it_is

refuse_part = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst $(space),~,$(REFUSE_$(1))))))

.PHONY: check-refuse-mutants $(addprefix refuse-mutant-,$(REFUSE_MUTANTS))
check-refuse-mutants: $(addprefix refuse-mutant-,$(REFUSE_MUTANTS))

define refuse_mutant_rule
refuse-mutant-$(1): $(BUILD)/test/unit/test_refuse.o $(REFUSE_OBJS) $(BUILD)/libcommon.a
	@mkdir -p $(BUILD)/mutants
	$$(Q)sed '$(call refuse_part,$(1),2)' shim/$(call refuse_part,$(1),1) >$(BUILD)/mutants/refuse-$(1).c
	$$(Q)! cmp -s shim/$(call refuse_part,$(1),1) $(BUILD)/mutants/refuse-$(1).c || \
		{ echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $(BUILD)/mutants/refuse-$(1).c -o $(BUILD)/mutants/refuse-$(1).o 2>/dev/null
	$$(Q)$$(LINK) -o $(BUILD)/mutants/refuse-$(1) $(BUILD)/test/unit/test_refuse.o \
		$(BUILD)/mutants/refuse-$(1).o $(filter-out %/$(patsubst %.c,%.o,$(call refuse_part,$(1),1)),$(REFUSE_OBJS)) \
		$(BUILD)/libcommon.a -lcriterion
	$$(Q)scripts/must-fail "refuse: $(1)" "FAIL.*$(call refuse_part,$(1),3)" \
		timeout 60 $(BUILD)/mutants/refuse-$(1) --filter '*/*$(call refuse_part,$(1),3)*'
endef
$(foreach m,$(REFUSE_MUTANTS),$(eval $(call refuse_mutant_rule,$(m))))
