# SPDX-License-Identifier: Apache-2.0
# What one user, or a slow reader of the log, may not do to the others: as processes, and mutants of
# what holds them to it.
.PHONY: check-limits
check-limits: $(PROGRAMS)
	$(Q)BUILD=$(BUILD) $(PYTHON) test/e2e/run_limits.py $(LIMIT_TESTS)

# Each mutant is one line made wrong by sed, put in place of the right file; the named test must fail.
#   name := file | sed expression (~ for a space) | unit test | test that must fail
LIMIT_MUTANTS := log-waits log-forgets log-miscounts log-floods log-silent log-one-kind log-hangs
LIMIT_MUTANT_log-waits := common/log_writer.c|/^bool~log_writer_put/,/^}/s/writer.dropped++;/while~(LOG_WRITER_BUFFER_BYTES~-~writer.used~<~bytes)~pthread_cond_wait(\&writer.filled,~\&writer.lock);/|test_log_background|reader_that_has_stopped
LIMIT_MUTANT_log-forgets := common/log_writer.c|s/if (!written) writer.dropped++;//|test_log_background|reader_that_is_gone
LIMIT_MUTANT_log-miscounts := common/log_writer.c|s/if (written) writer.dropped -= count;//|test_log_background|reader_that_has_stopped
LIMIT_MUTANT_log-floods := common/log_limit.c|s/now_ns - k->last_ns >= LIMIT_NS/1/|test_log_background|one_a_second
LIMIT_MUTANT_log-silent := common/log_limit.c|s/k->suppressed++;//|test_log_background|one_a_second
LIMIT_MUTANT_log-one-kind := common/log_limit.c|s/ \&\& strcmp(k->topic, topic) == 0//|test_log_background|counts_until
LIMIT_MUTANT_log-hangs := common/log_writer.c|s/if (done) pthread_join/pthread_join/|test_log_background|wait_for_a_stopped_reader

space := $(subst ,, )
limit_mutant_part = $(word $(2),$(subst |, ,$(subst $(space),~,$(LIMIT_MUTANT_$(1)))))
limit_mutant_text = $(subst ~,$(space),$(call limit_mutant_part,$(1),$(2)))

.PHONY: check-limit-mutants $(addprefix limit-mutant-,$(LIMIT_MUTANTS))
check-limit-mutants: $(addprefix limit-mutant-,$(LIMIT_MUTANTS))

define limit_mutant_rule
limit-mutant-$(1): $(BUILD)/test/unit/$(call limit_mutant_text,$(1),3).o $(TEST_LIB) $(LIBS)
	@mkdir -p $(BUILD)/mutants
	$$(Q)sed '$(call limit_mutant_text,$(1),2)' $(call limit_mutant_text,$(1),1) \
		>$(BUILD)/mutants/limit-$(1).c
	$$(Q)! cmp -s $(call limit_mutant_text,$(1),1) $(BUILD)/mutants/limit-$(1).c || \
		{ echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $(BUILD)/mutants/limit-$(1).c \
		-o $(BUILD)/mutants/limit-$(1).o 2>/dev/null
	$$(Q)$$(LINK) -o $(BUILD)/mutants/limit-$(1) \
		$(BUILD)/test/unit/$(call limit_mutant_text,$(1),3).o $(BUILD)/mutants/limit-$(1).o \
		$(TEST_LIB) -Wl,--start-group $(LIBS) -Wl,--end-group -lcriterion $$(DEVICE_LIBS) \
		$$(BROKER_LIBS) $$(CTL_LIBS)
	$$(Q)scripts/must-fail "limits: $(1)" "(FAIL|CRASH|Timed).*$(call limit_mutant_text,$(1),4)" \
		timeout 60 $(BUILD)/mutants/limit-$(1) --filter '*/*$(call limit_mutant_text,$(1),4)*'
endef
$(foreach m,$(LIMIT_MUTANTS),$(eval $(call limit_mutant_rule,$(m))))
