# SPDX-License-Identifier: Apache-2.0
# The simulator: the program, its library, what its tests link, the papers' experiments.
#   make sim-papers    the Salus paper's experiments; tables and a picture in $(BUILD)/sim-papers
#   make sim-orion     the Orion paper's, with the tables of kernels in ../shared/data/orion; 20 min
#   make calibrate-contention   the search for the parameters in daemon/sim/contention.h
#   make check-sim     traces, outputs, what must hold of the experiments, mutants
SIM := $(call src,daemon/sim)
SIM_LIBS := $(addprefix $(BUILD)/lib,sim.a sched.a common.a)
$(BUILD)/libsim.a: $(call objs,$(SIM))
$(BUILD)/salus-sim: $(BUILD)/daemon/sim/main.o $(SIM_LIBS)
	$(Q)$(LINK) -o $@ $^ -lm
all: $(BUILD)/salus-sim
SIM_TESTS := $(patsubst test/unit/%.c,$(BUILD)/test/unit/%,$(wildcard test/unit/test_sim_*.c))
$(SIM_TESTS) $(BUILD)/fuzz_workload: $(BUILD)/libsim.a

$(BUILD)/test/sim/calibrate: $(BUILD)/test/sim/calibrate.o $(SIM_LIBS)
	$(Q)$(LINK) -o $@ $^ -lm

.PHONY: calibrate-contention
calibrate-contention: $(BUILD)/test/sim/calibrate
	$(Q)$<
.PHONY: install-sim uninstall-sim sim-papers sim-orion check-sim check-sim-mutants
install: install-sim
uninstall: uninstall-sim
install-sim: $(BUILD)/salus-sim
	$(INSTALL) -D -m 0755 $(BUILD)/salus-sim $(ROOT_DIR)/bin/salus-sim
uninstall-sim:
	rm -f $(ROOT_DIR)/bin/salus-sim

sim-papers: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) scripts/sim-papers
sim-orion: $(BUILD)/salus-sim
	$(Q)BUILD=$(BUILD) $(PYTHON) scripts/sim-orion
check-sim: $(BUILD)/salus-sim check-sim-mutants check-sim-orion
	$(Q)BUILD=$(BUILD) $(PYTHON) test/sim/run_sim.py
	$(Q)BUILD=$(BUILD) $(PYTHON) scripts/sim-papers --quick

# One line made wrong by sed, in place of the right file: the named test must fail.
#   name | file | sed expression | unit test | test that must fail
SIM_MUTANTS := no-sharing lost-clock two-in-a-lane overcommit-unseen whole-device free-copies \
	no-think same-draws endless-file ties no-waves preempting levels-unknown free-contention \
	never-ready one-round latency-of-service launches-at-once free-dispatch levels-lost part-lost \
	of-itself mixed-grains mixed-users
SIM_MUTANT_no-sharing := simdev|s/> left_milli/> 1000000/|test_sim_device|full_ones_split_it
SIM_MUTANT_lost-clock := simdev|s/0x1p36/0x1p62/|test_sim_device|still_see_a_nanosecond
SIM_MUTANT_ties := simdev|s/    sort(jobs, count);//|test_sim_device|in_order_of_job
SIM_MUTANT_two-in-a-lane := memcheck|s/l->running++ > 0/l->running++ > 1/|test_sim_memcheck|one_iteration_at_a_time
SIM_MUTANT_mixed-users := memcheck|s/ .. !m->w->share_users;/ \&\& 0;/|test_sim_memcheck|jobs_of_one_user
SIM_MUTANT_overcommit-unseen := memcheck|s/if (l->members > 0) m->lanes_bytes/if (0) m->lanes_bytes/|test_sim_memcheck|must_fit
SIM_MUTANT_whole-device := sim_job|s/e->busy_ns = busy_of.*/e->busy_ns = j->duration_ns;/|test_sim_run|what_is_charged
SIM_MUTANT_free-copies := sim_action|s/s->link_free_ns += ns/(void)ns/|test_sim_run|over_the_link
SIM_MUTANT_no-think := sim_job|s/(first ? 0 : think_of(s, job))/0/|test_sim_run|think_time
SIM_MUTANT_same-draws := sim_job|s/prng_at(s->config->seed,/prng_at(s->r->steps,/|test_sim_run|same_work
SIM_MUTANT_endless-file := workload_parse|s/p->total_ns > WORKLOAD_MAX_TOTAL_NS/0/|test_sim_workload|too_long
SIM_MUTANT_no-waves := kshare|s/h->slots = 0;/(void)0;/|test_sim_kdev|given_out_anew
SIM_MUTANT_preempting := kshare|s/if (h->work->wave_ns <= 0) continue;/h->slots = 0;/|test_sim_kdev|keep_their_slots
SIM_MUTANT_levels-unknown := kshare|s/h->level == level \&\& kshare_lacks/kshare_lacks/|test_sim_kdev|higher_level
SIM_MUTANT_free-contention := kshare|s/several > 1 ?/several > 99 ?/|test_sim_kdev|table_2
SIM_MUTANT_never-ready := kdev|s/if (item->ready_ns > d->now_ns)/if (0)/|test_sim_kdev|runs_in_order
SIM_MUTANT_one-round := kshare|s/round < ROUNDS/round < 1/|test_sim_kdev|one_unit_withholds
SIM_MUTANT_latency-of-service := sim_job|s/j->asked_ns = j->arrived_ns/j->asked_ns = s->now_ns/|test_sim_kernels|requests_come
SIM_MUTANT_launches-at-once := sim_job|s/j->begun_ns + j->offered .*)/s->now_ns)/|test_sim_kernels|launches_take
SIM_MUTANT_free-dispatch := sim_action|s/s->now_ns + s->w->dispatch_ns/s->now_ns/|test_sim_kernels|dispatch_is_paid
SIM_MUTANT_levels-lost := sim_action|s/s->jobs.job..level = a->level/(void)0/|test_sim_kernels|passes_at_the_device
SIM_MUTANT_part-lost := sim_job|s/r->part = .*;/r->part = 0;/|test_sim_kernels|time_is_up
SIM_MUTANT_of-itself := compare|s,o->rate / alone->rate,o->rate / o->rate,|test_sim_kernels|parts_are
SIM_MUTANT_mixed-grains := workload_kernels|s/if (of_kernels \&\& others)/if (0)/|test_sim_workload_kernels|fault_of_a_job

sim_mutant_text = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst $(space),~,$(SIM_MUTANT_$(1))))))
check-sim-mutants: $(addprefix sim-mutant-,$(SIM_MUTANTS))
define sim_mutant_rule
.PHONY: sim-mutant-$(1)
sim-mutant-$(1): $(BUILD)/test/unit/$(call sim_mutant_text,$(1),3).o $(SIM_LIBS)
	@mkdir -p $(BUILD)/mutants
	$$(Q)sed '$(call sim_mutant_text,$(1),2)' daemon/sim/$(call sim_mutant_text,$(1),1).c >$(BUILD)/mutants/sim-$(1).c
	$$(Q)! cmp -s daemon/sim/$(call sim_mutant_text,$(1),1).c $(BUILD)/mutants/sim-$(1).c || \
		{ echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $(BUILD)/mutants/sim-$(1).c -o $(BUILD)/mutants/sim-$(1).o 2>/dev/null
	$$(Q)$$(LINK) -o $(BUILD)/mutants/sim-$(1) $(BUILD)/test/unit/$(call sim_mutant_text,$(1),3).o \
		$(BUILD)/mutants/sim-$(1).o $(SIM_LIBS) -lcriterion -lm
	$$(Q)scripts/must-fail "sim: $(1)" "FAIL.*$(call sim_mutant_text,$(1),4)|CRASH.*$(call sim_mutant_text,$(1),4)" \
		$(BUILD)/mutants/sim-$(1) --filter '*/*$(call sim_mutant_text,$(1),4)*'
endef
$(foreach m,$(SIM_MUTANTS),$(eval $(call sim_mutant_rule,$(m))))

# A kernel policy made wrong by sed, in a simulator of its own: what must hold of the Orion paper's
# experiments must not.   name | file | sed expression | what does not hold
ORION_MUTANTS := unthrottled sizeless classless endless-slack endless-queue two-at-once \
	stuck-request leaky
ORION_MUTANT_unthrottled := policy/pol_orion|s/return most_ns == 0 .*/return false;/|larger DUR_THRESHOLD
ORION_MUTANT_sizeless := policy/pol_orion|s/st->choice->by_size &&/0 \&\&/|rule of sizes
ORION_MUTANT_classless := policy/pol_orion|s/st->choice->by_class &&/0 \&\&/|rule of classes
ORION_MUTANT_endless-slack := policy/pol_slack|s/ > slack_may(s, st, job))/ > UINT64_MAX)/|with more slack
ORION_MUTANT_endless-queue := policy/pol_reef|s/g->kernels >= st->choice->reef_queue/0/|a longer queue
ORION_MUTANT_two-at-once := policy/pol_streams|s/.exclusive = true, //|training iteration
ORION_MUTANT_stuck-request := policy/gate|s/g->turn.GATE_HIGH. != SCHED_NONE/0/|no request is lost
ORION_MUTANT_leaky := policy/pol_orion|s/g->outstanding_ns > most_ns/1/|without any condition

orion_mutant_text = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst $(space),~,$(ORION_MUTANT_$(1))))))
.PHONY: check-sim-orion $(addprefix orion-mutant-,$(ORION_MUTANTS))
check-sim-orion: $(BUILD)/salus-sim $(addprefix orion-mutant-,$(ORION_MUTANTS))
	$(Q)BUILD=$(BUILD) $(PYTHON) scripts/sim-orion --quick
$(addprefix orion-mutant-,$(ORION_MUTANTS)): orion-mutant-%: $(BUILD)/salus-sim
	@mkdir -p $(BUILD)/mutants
	$(Q)sed '$(call orion_mutant_text,$*,2)' daemon/sched/$(call orion_mutant_text,$*,1).c >$(BUILD)/mutants/orion-$*.c
	$(Q)! cmp -s daemon/sched/$(call orion_mutant_text,$*,1).c $(BUILD)/mutants/orion-$*.c || \
		{ echo "$*: sed changed nothing"; exit 1; }
	$(Q)$(COMPILE) -Wno-error -c $(BUILD)/mutants/orion-$*.c -o $(BUILD)/mutants/orion-$*.o 2>/dev/null
	$(Q)$(LINK) -o $(BUILD)/mutants/orion-$* $(BUILD)/daemon/sim/main.o $(BUILD)/mutants/orion-$*.o $(SIM_LIBS) -lm
	$(Q)scripts/must-fail "sim-orion: $*" "does not hold: .*$(call orion_mutant_text,$*,3)" \
		$(PYTHON) scripts/sim-orion --quick --sim $(BUILD)/mutants/orion-$*
