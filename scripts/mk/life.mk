# SPDX-License-Identifier: Apache-2.0
# The daemon's own life: mutants of how it begins, waits, gives up and ends. In the form of daemon.mk,
# and part of check-broker-mutants.
LIFE_MUTANTS := claims-tries declined-as-welcome reset-is-error crossed-answer short-is-taken whole-version \
	sleeps-over ready-untried ready-at-once never-given-up kept-failures silent-failure blamed-for-ours always-ok \
	any-directory boundless-memory inner-group sweeps-all others-may \
	shows-young shows-newest dies-shown counts-twice names-any names-nobody says-always
MUTANT_claims-tries := daemon/broker/clients/client.c|s/if (c->tries == 0)/if (0)/|test_broker_client|others_have
MUTANT_declined-as-welcome := daemon/broker/clients/client.c|s/c->state = CLIENT_ATTACHING; .*it waits.*/;/|test_broker_client|client_declines
MUTANT_reset-is-error := daemon/worker/link/broker_link.c|s/ .. result == -ECONNRESET//|test_broker_link|words_unread
MUTANT_crossed-answer := shim/connection/conn.c|s/if (late) return late;//|test_shim_conn|crossed_its_answer
MUTANT_short-is-taken := shim/connection/conn.c|s/if (!dev) return -errno;/if (!dev) return -EEXIST;/|test_shim_conn|no_address_space
MUTANT_whole-version := daemon/ctl/show.c|s/version_text(c, .q, asked);/if (!asked) version_text(c, \&q, asked);/|test_ctl_cli|could_not_ask
MUTANT_sleeps-over := daemon/worker/loop.c|s/ .. !broker_link_pending(w);/;/|test_broker_link|sleep_over
MUTANT_ready-untried := daemon/broker/worker/supervise.c|s/rc = trial_begin(s, why, sizeof(why));/rc = 0; on_tried(s);/|test_broker_worker|attaches_no_job
MUTANT_ready-at-once := daemon/broker/worker/supervise.c|s/v->state = SUPERVISE_TRYING;/v->state = SUPERVISE_READY;/|test_broker_worker|until_it_was_tried
MUTANT_never-given-up := daemon/broker/worker/supervise.c|s/v->failures >= s->config.worker_tries/0/|test_broker_worker|never_had_a_worker
MUTANT_kept-failures := daemon/broker/worker/supervise.c|s/^    v->failures = 0;/;/|test_broker_worker|good_run
MUTANT_silent-failure := daemon/broker/worker/supervise.c|s/client_worker_failed(s);/(void)0;/|test_broker_worker|given_up
MUTANT_blamed-for-ours := daemon/broker/worker/supervise.c|s/return rc == -EMFILE .*/return false;/|test_broker_worker|shortage_of_ours
MUTANT_always-ok := daemon/ctl/show.c|s/strcmp(s->state, "ok") != 0/0/|test_ctl_cli|in_trouble
MUTANT_any-directory := daemon/broker/worker/worker_path.c|s/if (S_ISDIR(st.st_mode)) return -EISDIR;//|test_config_check|must_be_a_program
MUTANT_boundless-memory := daemon/broker/config/config_check.c|s/c->device_memory <= hostmem_most(m)/1/|test_config_check|machines_or_the_groups
MUTANT_inner-group := common/hostmem.c|s/if (!slash .. !.path) return;/return;/|test_hostmem|way_up
MUTANT_sweeps-all := daemon/ctl/private_dir.c|s/flock(fd, LOCK_EX . LOCK_NB) == 0 .. //|test_private_dir|held
MUTANT_others-may := daemon/ctl/private_dir.c|s/ .. (st.st_mode . 0777) != 0700//|test_private_dir|none_of_ours
MUTANT_shows-young := daemon/worker/engine/running.c|s/w->now_ns - since < RUNNING_LEAST_NS/0/|test_running|young_is_not_shown
MUTANT_shows-newest := daemon/worker/engine/running.c|s/if (since >= .since_ns) continue;/if (since == UINT64_MAX) continue;/|test_running|the_oldest
MUTANT_dies-shown := daemon/worker/engine/engine.c|s/if (op == c->shown)/if (0)/|test_running|name_and_its_time
MUTANT_counts-twice := daemon/worker/engine/running.c|s/^    r->since_ns = r->busy_ns = 0;/    r->since_ns = 0;/|test_running|name_and_its_time
MUTANT_names-any := daemon/broker/control/overdue.c|s/return 2 . .*/return 0;/|test_broker_control|whose_kernel
MUTANT_names-nobody := daemon/broker/control/overdue.c|s/if (o == a .. !o->completion) continue;/if (!o->completion) continue;/|test_broker_control|whose_kernel
MUTANT_says-always := daemon/broker/control/overdue.c|s/o->next_age_ns .= 2;/o->next_age_ns = age_ns + 1;/|test_broker_control|told_seldom

# These tests are the library's.
broker-mutant-crossed-answer broker-mutant-short-is-taken: DEVICE_LIBS += $(BUILD)/shim/connection/profile.o
broker-mutant-crossed-answer broker-mutant-short-is-taken: $(BUILD)/shim/connection/profile.o

check-broker-mutants: $(addprefix broker-mutant-,$(LIFE_MUTANTS))
$(foreach m,$(LIFE_MUTANTS),$(eval $(call broker_mutant_rule,$(m))))
