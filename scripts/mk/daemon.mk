# SPDX-License-Identifier: Apache-2.0
# salusd and salusctl as processes, on the software GPU; no CUDA compiler needed.
.PHONY: check-daemon
check-daemon: $(PROGRAMS) $(SHIM_SO)
	$(Q)BUILD=$(BUILD) $(PYTHON) test/e2e/run_daemon.py $(DAEMON_TESTS)
	$(Q)trap '' INT HUP QUIT; BUILD=$(BUILD) $(PYTHON) test/e2e/run_daemon.py interrupt

# Proof that the tests would notice: each mutant is one line of the broker made wrong by sed, put in
# place of the right file, and the named test must fail.
#   name | file | sed expression | unit test | test that must fail
BROKER_MUTANTS := scan magic-only other-major lost-word unsealed silent-worker dead-process \
	same-windows open-control anybody did-nobody same-group whole-word torn-board \
	oldest-stays cut-iterations share-of-all late-look \
	last-iteration thinks-twice \
	comes-back fatal-profile short-batch others-hints open-text any-text silent-import kept-time \
	shows-all lists-others shows-others exports-others faults-told ends-told
MUTANT_scan := proto/ctl_msg.c|s/s.children > (uint64_t)/0 \&\& s.children > (uint64_t)/|test_ctl_msg|64_gib
MUTANT_magic-only := daemon/broker/clients/hello.c|s/h.magic != WIRE_MAGIC/0/|test_broker_client|wrong_magic
MUTANT_other-major := daemon/broker/clients/hello.c|s/h.major != WIRE_MAJOR/0/|test_broker_client|another_major
MUTANT_lost-word := daemon/broker/clients/pages.c|s/(uint32_t)-err/1/|test_broker_worker|its_death_is_told
MUTANT_unsealed := daemon/broker/clients/pages.c|s/fd < 0 .. fdutil_check_sealed.* < 0/fd < 0/|test_broker_client|too_small
MUTANT_silent-worker := daemon/broker/worker/supervise.c|s/on_silence, silence_ms(s), 0/on_silence, 3600000, 0/|test_broker_worker|silent_one
MUTANT_dead-process := daemon/broker/clients/client.c|s/uv_poll_start(.c->death.*/;/|test_broker_client|dies_is_noticed
MUTANT_same-windows := daemon/broker/clients/slots.c|s/s->used.i. = true/(void)0/|test_broker_client|two_clients
MUTANT_open-control := daemon/broker/server.c|s/"ctl.sock", 0660/"ctl.sock", 0666/|test_ctl_cli|modes
MUTANT_anybody := daemon/broker/clients/limits.c|s/return uid == 0 .*/return true;/|test_broker_control|daemons_user
MUTANT_did-nobody := daemon/broker/control/change.c|s/take_back(s, c);/(void)0;/|test_broker_control|cannot_do_is_taken_back
MUTANT_same-group := daemon/broker/clients/groups.c|s/number == 0 .. find_number(g, number)/number == 0/|test_broker_job|never_collide
MUTANT_whole-word := daemon/broker/clients/client.c|s/job->persistent_bytes + job->ephemeral_bytes <= device/job->persistent_bytes <= device/|test_broker_job|with_the_numbers
MUTANT_torn-board := daemon/broker/worker/board.c|s/before & 1/0/|test_broker_control|torn_one
MUTANT_oldest-stays := daemon/broker/store/profile.c|s/drop(p, known);/(void)0;/|test_profile|shrink_slowly
MUTANT_cut-iterations := daemon/broker/store/profile.c|s/if (measured->iterations == 0).*/;/|test_profile|shrink_slowly
MUTANT_share-of-all := daemon/ctl/top_draw.c|s/o->lane == 0 .. o->lane != j->lane/o->lane == 0/|test_ctl_top|of_the_lane
MUTANT_last-iteration := daemon/ctl/recording.c|s/ + (p->ended ? 1 : 0)//|test_ctl_top|the_end_counts
MUTANT_thinks-twice := daemon/ctl/recording.c|s/ \&\& !has_requests(j);/;/|test_ctl_top|time_to_think
MUTANT_late-look := daemon/ctl/recording.c|s/if (!p->ended) p->job/p->job/|test_ctl_top|seen_before

MUTANT_comes-back := daemon/broker/worker/kernel_link.c|s/if (b->turn != s->kernels.turn) return;//|test_broker_kernels|does_not_come_back
MUTANT_fatal-profile := daemon/broker/store/kernel_store.c|s/kprofile_check(p, why)/0/|test_broker_kernels|wrong_is_dropped
MUTANT_short-batch := daemon/kernels/kwire.c|s/ \&\& bytes == kwire_batch_bytes(m->batch.count)//|test_broker_kernels|none_ends_the_worker
MUTANT_others-hints := daemon/broker/control/kernel_verbs.c|s/!all .. from->hint_count/0/|test_broker_kernels|his_own
MUTANT_open-text := daemon/broker/control/kernel_verbs.c|s/fd < 0 .. fdutil_check_sealed(fd, 1) < 0/fd < 0/|test_broker_kernels|cannot_be_imported
MUTANT_any-text := daemon/broker/control/control.c|s/in_fd >= 0 .. r.verb != CTL_V_PROFILE_IMPORT/0/|test_broker_kernels|cannot_be_imported
MUTANT_silent-import := daemon/broker/control/kernel_verbs.c|s/kernel_link_imported(q->s);//|test_broker_kernels|given_to_the_worker
MUTANT_kept-time := daemon/kernels/kadopt.c|s/h.duration_ns = 0;//|test_kwire|of_another_device
MUTANT_shows-all := daemon/broker/control/kernel_report.c|s/p->key.uid != r->args.uid/0/|test_ctl_profile|of_a_user
MUTANT_lists-others := daemon/broker/control/kernel_verbs.c|s/if (!change_permitted(q->uid)) {/if (0) {/|test_broker_kernels|his_own
MUTANT_shows-others := daemon/broker/control/kernel_verbs.c|s/if (foreign(q)) return refuse_foreign(q);//|test_broker_kernels|his_own
MUTANT_exports-others := daemon/broker/control/kernel_verbs.c|/^static int export/,/^}/s/if (foreign(q)) return refuse_foreign(q);//|test_broker_kernels|his_own
MUTANT_faults-told := daemon/broker/control/report_job.c|s/r->fault_text.0. = .*/;/|test_broker_control|users_affair
MUTANT_ends-told := daemon/broker/control/history.c|s/report_ended_hide(uid, &e);//|test_broker_control|who_reads_it

mutant_part = $(word $(2),$(subst |, ,$(subst $(space),~,$(MUTANT_$(1)))))
space := $(subst ,, )
mutant_text = $(subst ~,$(space),$(call mutant_part,$(1),$(2)))

.PHONY: check-broker-mutants $(addprefix broker-mutant-,$(BROKER_MUTANTS))
check-broker-mutants: $(addprefix broker-mutant-,$(BROKER_MUTANTS))

define broker_mutant_rule
broker-mutant-$(1): $(BUILD)/test/unit/$(call mutant_text,$(1),3).o $(TEST_LIB) $(LIBS)
	@mkdir -p $(BUILD)/mutants
	$$(Q)sed '$(call mutant_text,$(1),2)' $(call mutant_text,$(1),1) >$(BUILD)/mutants/$(1).c
	$$(Q)! cmp -s $(call mutant_text,$(1),1) $(BUILD)/mutants/$(1).c || { echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $(BUILD)/mutants/$(1).c -o $(BUILD)/mutants/$(1).o 2>/dev/null
	$$(Q)$$(LINK) -o $(BUILD)/mutants/$(1) $(BUILD)/test/unit/$(call mutant_text,$(1),3).o \
		$(BUILD)/mutants/$(1).o $(TEST_LIB) -Wl,--start-group $(LIBS) -Wl,--end-group -lcriterion \
		$$(DEVICE_LIBS) $$(BROKER_LIBS) $$(CTL_LIBS)
	$$(Q)scripts/must-fail "broker: $(1)" "FAIL.*$(call mutant_text,$(1),4)" \
		$(BUILD)/mutants/$(1) --filter '*/*$(call mutant_text,$(1),4)*'
endef
$(foreach m,$(BROKER_MUTANTS),$(eval $(call broker_mutant_rule,$(m))))
