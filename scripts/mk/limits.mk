# SPDX-License-Identifier: Apache-2.0
# What one user, or a slow reader of the log, may not do to the others: as processes, and mutants of
# what holds them to it.
.PHONY: check-limits
check-limits: $(PROGRAMS) $(SHIM_SO) $(BUILD)/test/e2e/fail_call.so
	$(Q)BUILD=$(BUILD) $(PYTHON) test/e2e/run_limits.py $(LIMIT_TESTS)

$(BUILD)/test/e2e/fail_call.so: test/e2e/fail_call.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -Wall -Wextra -Werror -O1 -fPIC -D_GNU_SOURCE -shared $< -o $@ -ldl

# Each mutant is one line made wrong by sed, put in place of the right file; the named test must fail.
#   name := file | sed expression (~ for a space) | unit test | test that must fail
LIMIT_MUTANTS := log-waits log-forgets log-miscounts log-floods log-silent log-one-kind log-hangs \
	lost-fds first-reset no-reserve last-fds \
	bound-root least-generous group-over-user uncut-section \
	lanes-twice whole-part
LIMIT_MUTANT_log-waits := common/log_writer.c|/^bool~log_writer_put/,/^}/s/writer.dropped++;/while~(LOG_WRITER_BUFFER_BYTES~-~writer.used~<~bytes)~pthread_cond_wait(\&writer.filled,~\&writer.lock);/|test_log_background|reader_that_has_stopped
LIMIT_MUTANT_log-forgets := common/log_writer.c|s/if (!written) writer.dropped++;//|test_log_background|reader_that_is_gone
LIMIT_MUTANT_log-miscounts := common/log_writer.c|s/if (written) writer.dropped -= count;//|test_log_background|reader_that_has_stopped
LIMIT_MUTANT_log-floods := common/log_limit.c|s/now_ns - k->last_ns >= LIMIT_NS/1/|test_log_background|one_a_second
LIMIT_MUTANT_log-silent := common/log_limit.c|s/k->suppressed++;//|test_log_background|one_a_second
LIMIT_MUTANT_log-one-kind := common/log_limit.c|s/ \&\& strcmp(k->topic, topic) == 0//|test_log_background|counts_until
LIMIT_MUTANT_log-hangs := common/log_writer.c|s/if (done) pthread_join/pthread_join/|test_log_background|wait_for_a_stopped_reader
LIMIT_MUTANT_lost-fds := common/fdutil.c|s/(hdr->msg_flags . MSG_CTRUNC) .. room > 0/0/|test_fdutil|may_not_have
LIMIT_MUTANT_first-reset := common/fdutil.c|s/ \&\& (errno != ECONNRESET .. resets++)//|test_fdutil|last_words
LIMIT_MUTANT_no-reserve := daemon/broker/server.c|s/if (s->reserve_fd < 0) return false;/return~false;/|test_broker_client|the_reserve_says_so
LIMIT_MUTANT_last-fds := daemon/broker/server.c|s/if (server_scarce(fd, l == .s->control))/if~(0)/|test_broker_client|not_for_clients
LIMIT_MUTANT_bound-root := daemon/broker/clients/limits.c|s/if (admin) return LIMITS_NONE;//|test_limits|root_and
LIMIT_MUTANT_least-generous := daemon/broker/clients/limits.c|s/value > most/value < most/|test_limits|most_generous
LIMIT_MUTANT_group-over-user := daemon/broker/clients/limits.c|s/if (!r->group .. r->id == uid) return value;//|test_limits|over_groups
LIMIT_MUTANT_uncut-section := daemon/broker/config/config_file.c|s/- line) > SECTION_BYTES/- line) > 500/|test_limits|with_its_line
LIMIT_MUTANT_lanes-twice := daemon/worker/tenant.c|s/if (other > e .. (other == e .. before)) return false;//|test_tenant|counts_once
LIMIT_MUTANT_whole-part := daemon/worker/tenant.c|s/jobs += list_entry(.*/jobs~=~1;/|test_tenant|shared_evenly

# The same with whole daemons: each mutant in the program that it belongs to, run_limits.py over it.
#   name := file | sed expression (~ for a space) | test of run_limits.py that must fail
LIMIT_E2E_MUTANTS := ends-for-parcel worker-ends-for-fd worker-ends-for-newcomer spins lost-is-nonsense \
	no-bound uncounted-end uncounted-move rank-later rank-at-once hoarded-controls silent-controls \
	old-limits unbounded-device unbounded-word untold-limits whole-window unseen-pinned ends-the-oldest
LIMIT_E2E_MUTANT_ends-for-parcel := daemon/broker/worker/supervise.c|s/ \&\& !(nfds > 0 \&\& fdutil_scarce(rc))//|single_call
LIMIT_E2E_MUTANT_worker-ends-for-fd := daemon/worker/link/broker_link.c|s/if (err \&\& !fdutil_scarce(err)) link_gone/if~(err)~link_gone/|single_call
LIMIT_E2E_MUTANT_worker-ends-for-newcomer := daemon/worker/link/broker_link.c|s/return nfds == FDUTIL_LOST ? -EMFILE : -EPROTO;/w->stop~=~true;~return~-EPROTO;/|run_out_in_the_worker
LIMIT_E2E_MUTANT_spins := daemon/broker/server.c|s/uv_poll_stop(.l->poll);//;s/pause_listener(s, l, err);/if~(0)~pause_listener(s,~l,~err);/|cost_no_time
LIMIT_E2E_MUTANT_lost-is-nonsense := daemon/broker/clients/client.c|s/fdutil_scarce(rc = pages_see/0~\&\&~(rc~=~pages_see/|single_call
LIMIT_E2E_MUTANT_no-bound := daemon/broker/clients/users.c|s/if (used < u->limits.value.limit.)/if~(1)/|holds_up_nobody
LIMIT_E2E_MUTANT_uncounted-end := daemon/broker/clients/users.c|s/u->count.kind.--;//|leaves_nothing
LIMIT_E2E_MUTANT_uncounted-move := daemon/broker/clients/users.c|s/u->count.from.--;//|leaves_nothing
LIMIT_E2E_MUTANT_rank-later := daemon/broker/control/change.c|s/if (outranks(q, above))/if~(0)/|needs_the_right
LIMIT_E2E_MUTANT_rank-at-once := daemon/broker/clients/client.c|s/int rc = users_check_job(c->user, .c->asked, why);/int~rc~=~0;/|needs_the_right
LIMIT_E2E_MUTANT_hoarded-controls := daemon/broker/control/control.c|s/>= BROKER_CONTROLS_MAX/>=~100000/|delays_no_status
LIMIT_E2E_MUTANT_silent-controls := daemon/broker/control/control.c|s/control_idle . 1000000/control_idle/|cut_off
LIMIT_E2E_MUTANT_old-limits := daemon/broker/server.c|s/users_reload(s);//|group_sections
LIMIT_E2E_MUTANT_unbounded-device := daemon/worker/tenant.c|s/return c->limits.device_bytes == 0/return~1/|of_device_memory
LIMIT_E2E_MUTANT_unbounded-word := daemon/broker/clients/client.c|s/refuse_too_large(c) .. refuse_device_memory(c)/refuse_too_large(c)/|of_device_memory
LIMIT_E2E_MUTANT_untold-limits := daemon/broker/clients/users.c|s/^        tell_worker(s, u);//|limit_grows
LIMIT_E2E_MUTANT_whole-window := daemon/broker/clients/users.c|s/return most < s->config.window_host_bytes ? most :/return/|of_pinned_memory
LIMIT_E2E_MUTANT_unseen-pinned := daemon/broker/worker/supervise.c|s/users_look(s);//|of_pinned_memory
LIMIT_E2E_MUTANT_ends-the-oldest := daemon/broker/clients/users.c|s/if (!grown .. growth > most)/if~(!grown)/|of_pinned_memory

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

limit_e2e_part = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst $(space),~,$(LIMIT_E2E_MUTANT_$(1))))))

.PHONY: check-long check-limit-daemon-mutants $(addprefix limit-e2e-mutant-,$(LIMIT_E2E_MUTANTS))
check-limit-daemon-mutants: $(addprefix limit-e2e-mutant-,$(LIMIT_E2E_MUTANTS))
check-long: check-limit-daemon-mutants

LIMIT_LINK_broker = $(BUILD)/daemon/broker/main.o $(1) $(addprefix $(BUILD)/lib,broker.a kernels.a proto.a common.a) $(BROKER_LIBS)
LIMIT_LINK_worker = $(BUILD)/daemon/worker/main.o $(1) \
	$(addprefix $(BUILD)/lib,worker.a kernels.a sched.a device.a proto.a common.a) $(DEVICE_LIBS)
LIMIT_PROGRAM_broker := salusd
LIMIT_PROGRAM_worker := salus-gpu
limit_floor = $(notdir $(patsubst %/,%,$(dir $(call limit_e2e_part,$(1),1))))

define limit_e2e_mutant_rule
limit-e2e-mutant-$(1): $(PROGRAMS) $(SHIM_SO) $(BUILD)/test/e2e/fail_call.so
	@rm -rf $(BUILD)/mutants/e2e-$(1) && mkdir -p $(BUILD)/mutants/e2e-$(1)
	$$(Q)sed '$(call limit_e2e_part,$(1),2)' $(call limit_e2e_part,$(1),1) >$(BUILD)/mutants/e2e-$(1)/mutant.c
	$$(Q)! cmp -s $(call limit_e2e_part,$(1),1) $(BUILD)/mutants/e2e-$(1)/mutant.c || \
		{ echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $(BUILD)/mutants/e2e-$(1)/mutant.c \
		-o $(BUILD)/mutants/e2e-$(1)/mutant.o 2>/dev/null
	$$(Q)cp $(PROGRAMS) $(BUILD)/mutants/e2e-$(1)
	$$(Q)$$(LINK) -o $(BUILD)/mutants/e2e-$(1)/$$(LIMIT_PROGRAM_$(call limit_floor,$(1))) \
		$$(call LIMIT_LINK_$(call limit_floor,$(1)),$(BUILD)/mutants/e2e-$(1)/mutant.o)
	$$(Q)BUILD=$(BUILD) SALUS_TEST_PATIENCE=20 SALUS_DAEMON_BUILD=$(BUILD)/mutants/e2e-$(1) scripts/must-fail "limits: $(1)" \
		"FAIL.*$(call limit_e2e_part,$(1),3)" timeout 120 $(PYTHON) test/e2e/run_limits.py $(call limit_e2e_part,$(1),3)
endef
$(foreach m,$(LIMIT_E2E_MUTANTS),$(eval $(call limit_e2e_mutant_rule,$(m))))
