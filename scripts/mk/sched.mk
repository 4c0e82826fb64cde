# SPDX-License-Identifier: Apache-2.0
# The scheduler's bench, and check-sched: worlds of jobs at random, and mutants of the scheduler
# (one line made wrong by sed) that this or the timed traces must notice.
#   name := file | sed expression (~ for a space) | turn:, policy:, slack: the test of that file that fails; world
BENCHES += $(BUILD)/test/bench/sched_bench
$(BUILD)/test/bench/sched_bench: $(BUILD)/test/bench/sched_bench.o $(BUILD)/test/bench/floor.o \
		$(addprefix $(BUILD)/lib,sched.a common.a)
	$(Q)$(LINK) -o $@ $^

SCHED_MUTANTS := two-in-a-lane next-at-once no-lease no-spill no-restore always-back reset-counters \
	unweighted overtaken-for-ever no-look swap-while-inside half-changed no-timeout paused-runs \
	blocked-forgotten company-unseen late-company any-class any-size no-throttle never-alone \
	last-sent not-robin copies-held lost-time wrong-class longer endless-queue both-passes fixed-cap \
	endless-search level-unsaid company-counts no-account no-lookahead no-end no-contention unasked \
	too-early no-wake late-unseen cut-short mixed-users always-shared never-shared
SCHED_MUTANT_two-in-a-lane := core/turn.c|s/return inside != SCHED_NONE \&\& inside != job .*/return~false;/|world
SCHED_MUTANT_next-at-once := core/sched.c|s/o->list = state_list(e->iteration,/o->list = state_list(j->iteration,/|world
SCHED_MUTANT_no-lease := core/turn.c|s/if (end < s->lease_at) s->lease_at = end;//|turn:a_holder_without
SCHED_MUTANT_no-spill := core/turn.c|s/if (inside != SCHED_NONE \&\& inside != job) {/if (0) {/|turn:a_holder_without
SCHED_MUTANT_no-restore := core/turn.c|s/sched_emit(s, SCHED_RESTORE, job);//|turn:a_holder_without
SCHED_MUTANT_always-back := core/turn.c|s/if (lane->last != job) {/{/|turn:a_lone_job
SCHED_MUTANT_reset-counters := policy/lp_fair.c|s/return state_domain(st, st->jobs.job..lane)->floor;/return 0;/|turn:a_newcomer
SCHED_MUTANT_unweighted := policy/lp_fair.c|s,/ j->spec.weight,,|turn:fair_gives_by_weight
SCHED_MUTANT_overtaken-for-ever := core/admit.c|s/st->jobs.kept.i...overtaken++/(void)0/|turn:nobody_is_overtaken
SCHED_MUTANT_mixed-users := core/admit.c|s/j->spec.user}/0}/|world
SCHED_MUTANT_always-shared := core/sched.c|s/ .. s->share_users) lanes_share/) lanes_share/|world
SCHED_MUTANT_never-shared := core/sched.c|s/ .. s->share_users) lanes_share/ \&\& 0) lanes_share/|world
SCHED_MUTANT_no-look := core/admit.c|s/    s->look = true;//|turn:a_release_admits
SCHED_MUTANT_swap-while-inside := core/admit.c|s/ \&\& s->st.lane.j->lane..inside != job;/;/|world
SCHED_MUTANT_half-changed := core/turn.c|s/turn_revoke(s, job); .. of several.*/(void)0;/|world
SCHED_MUTANT_no-timeout := core/admit.c|s/if (j->deadline_ns < s->admit_at) s->admit_at = j->deadline_ns;//|turn:waiting_ends
SCHED_MUTANT_paused-runs := core/sched.c|s/if (paused) turn_revoke(s, job);//|turn:a_paused_job
SCHED_MUTANT_blocked-forgotten := core/turn.c|s/if (d->holder == SCHED_NONE) turn_dirty(s, d);//|world
SCHED_MUTANT_company-unseen := core/sched.c|s/if (st->turns > 1 .. /if (/|turn:what_a_job_leaves
SCHED_MUTANT_late-company := core/sched.c|s/ .. st->crowded_ns > j->turn_ns) return/) return/|turn:what_a_job_leaves
SCHED_MUTANT_any-class := policy/pol_orion.c|s/high->class != best->class;/true;/|policy:orion_lets_the_opposite
SCHED_MUTANT_any-size := policy/pol_orion.c|s/best->sms >= orion_sm_threshold/0 \&\& best->sms >= orion_sm_threshold/|policy:orion_holds_what_needs
SCHED_MUTANT_no-throttle := policy/pol_orion.c|s/return !orion_throttled.* \&\& orion_schedule/return orion_schedule/|policy:orion_throttles
SCHED_MUTANT_never-alone := policy/pol_orion.c|s/g->kernels > 0 :/false :/|policy:orion_of_unknown_requests
SCHED_MUTANT_last-sent := policy/gate.c|s/uint32_t op = st->jobs.job..head.SCHED_RUNNING.;/uint32_t op = st->jobs[job].tail[SCHED_RUNNING];/|policy:orion_compares_with
SCHED_MUTANT_not-robin := policy/gate.c|s/g->turn.s->class. = s->next;/(void)s;/|policy:orion_serves_best_effort
SCHED_MUTANT_copies-held := policy/gate.c|s/        if (op != SCHED_NONE) return op;//|policy:orion_never_holds
SCHED_MUTANT_lost-time := policy/gate.c|s/change > 0 ? o->cost_ns : -o->cost_ns/o->cost_ns/|world
SCHED_MUTANT_wrong-class := policy/gate.c|s/    gate_count_job(g, st, job, 1);//|world
SCHED_MUTANT_longer := policy/pol_reef.c|s/ \&\& best->mean_ns <= high->mean_ns//|policy:reef_fills
SCHED_MUTANT_endless-queue := policy/pol_reef.c|s/g->kernels >= st->choice->reef_queue/0/|policy:reef_sends
SCHED_MUTANT_both-passes := policy/pol_ticktock.c|s/(!ticktock_may(t, job) \&\& !ticktock_alone(st, job))/0/|policy:ticktock_offsets
SCHED_MUTANT_fixed-cap := policy/cap.c|s/if (st->choice->preempt_ns) j->cap/if (0) j->cap/|policy:the_cap_follows
SCHED_MUTANT_endless-search := policy/tune.c|s/        t->high = t->value;/        (void)0;/|policy:the_search_finds
SCHED_MUTANT_level-unsaid := core/sched.c|s/    if (level == j->level) return;/    return;/|policy:high_priority_jobs
SCHED_MUTANT_company-counts := core/request.c|s/j->requested \&\& st->mixed_ns < j->request_at_ns/j->requested/|policy:the_latency_of
SCHED_MUTANT_no-account := policy/pol_slack.c|s/if (j->open) j->spent_ns += /if (j->open)~(void)/|slack:a_request_pays
SCHED_MUTANT_no-lookahead := policy/foresee.c|s/delay += foresee_waits/(void)foresee_waits/|slack:a_kernel_to_come
SCHED_MUTANT_no-end := policy/foresee.c|s/f->count \&\& i < lookahead/f->ended~+~i~<~f->count~\&\&~i~<~lookahead/|slack:another_request
SCHED_MUTANT_no-contention := policy/foresee.c|s/    if (use + other <= FORESEE_LEFT) return 1000;/    return 1000;/|slack:a_unit_that_both
SCHED_MUTANT_unasked := policy/pol_slack.c|s/    if (slack_busy(s, st)) return slack_fits(s, st, op);//|slack:a_kernel_goes_beside
SCHED_MUTANT_too-early := policy/pol_slack.c|s/    if (s->jobs.job..until_ns > st->now_ns + SLACK_LEAD_NS) return false;//|slack:a_stream_gets
SCHED_MUTANT_no-wake := core/sched.c|s/        if (wake_at < at) at = wake_at;//|slack:a_stream_gets
SCHED_MUTANT_cut-short := core/turn.c|s/uint64_t least = SCHED_LEASE_LEAST_NS/uint64_t least = 0/|turn:a_lease_outlasts
SCHED_MUTANT_late-unseen := policy/pol_slack.c|s,ns / SLACK_LATE : ns,ns : ns,|slack:a_request_that_waited

sched_part = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst $(space),~,$(SCHED_MUTANT_$(1))))))
sched_where = $(subst :,$(space),$(call sched_part,$(1),3))
sched_test = $(if $(call sched_case,$(1)),unit/test_$(word 1,$(call sched_where,$(1))),plain/sched_world)
sched_case = $(word 2,$(call sched_where,$(1)))
SCHED_LIBS = $(addprefix $(BUILD)/lib,sched.a common.a)

.PHONY: check-sched check-sched-mutants $(addprefix sched-mutant-,$(SCHED_MUTANTS))
check-sched: $(BUILD)/test/plain/sched_world check-sched-mutants
	$(Q)for seed in 1 2 3; do $(BUILD)/test/plain/sched_world $$seed || exit 1; done
check-sched-mutants: $(addprefix sched-mutant-,$(SCHED_MUTANTS))

define sched_mutant_rule
sched-mutant-$(1): $(BUILD)/test/$(call sched_test,$(1)).o $(BUILD)/test/lib/schedtrace.o $(SCHED_LIBS)
	@mkdir -p $(BUILD)/mutants
	$$(Q)sed '$(call sched_part,$(1),2)' daemon/sched/$(call sched_part,$(1),1) >$(BUILD)/mutants/sched-$(1).c
	$$(Q)! cmp -s daemon/sched/$(call sched_part,$(1),1) $(BUILD)/mutants/sched-$(1).c || \
		{ echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $(BUILD)/mutants/sched-$(1).c -o $(BUILD)/mutants/sched-$(1).o 2>/dev/null
	$$(Q)$$(LINK) -o $(BUILD)/mutants/sched-$(1) $(BUILD)/test/$(call sched_test,$(1)).o \
		$(BUILD)/test/lib/schedtrace.o $(BUILD)/mutants/sched-$(1).o $(SCHED_LIBS) \
		$(if $(call sched_case,$(1)),-lcriterion)
	$$(Q)scripts/must-fail "scheduler: $(1)" \
		$(if $(call sched_case,$(1)),"(FAIL|CRASH).*$(call sched_case,$(1))","sched_world: |sched: ") \
		timeout 120 $(BUILD)/mutants/sched-$(1) $(if $(call sched_case,$(1)),--filter '*/*$(call sched_case,$(1))*',1 60)
endef
$(foreach m,$(SCHED_MUTANTS),$(eval $(call sched_mutant_rule,$(m))))
