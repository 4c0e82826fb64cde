# SPDX-License-Identifier: Apache-2.0
# The worker's benchmark drives it with the tests' scripted client.
$(BUILD)/test/bench/worker_bench: $(BUILD)/test/lib/fakedev.o $(BUILD)/test/lib/wireclient.o

# check-worker-mutants: proof that the worker's tests would notice. Each mutant is one line of the
# worker made wrong by sed, put in place of the right file; the named test must fail.
#   name := file | sed expression (~ for a space) | unit test | test that must fail
WORKER_MUTANTS := fresh-survives new-survives old-copy no-crowd reads-on marks-on marks-flood \
	early-boundary no-moment never-relents held-for-ever half-lane late-clear grants-all keeps-nothing reads-early holds-memory word-of-all \
	silent-refusal free-modules sleeps-on users-unsaid \
	late-void no-void shows-dropped late-fault times-dropped answers-well \
	owner-unsaid never-enters word-unclear runs-unclear clears-at-once parked-for-ever always-cleared \
	fails-quietly
WORKER_MUTANT_fresh-survives := memory/lifetime.c|s/copied = b->copied_at .. b->copied_at != l->epoch/copied = b->copied_at/|test_worker_lifetime|random
WORKER_MUTANT_new-survives := memory/lifetime.c|s/b->born != l->epoch ..//|test_worker_lifetime|random
WORKER_MUTANT_old-copy := memory/lifetime.c|s/if (b->fill == l->fills .. .b->copied_at)/if (0)/|test_worker_lifetime|a_copy
WORKER_MUTANT_no-crowd := memory/lifetime.c|s/if (l->crowded)/if (0)/|test_worker_lifetime|crowd
WORKER_MUTANT_reads-on := iteration/boundary.c|s/if (b->reading != b->current) {/if (0) {/|test_boundary|period
WORKER_MUTANT_marks-on := iteration/boundary.c|s/boundary_hold(c, NULL)/boundary_begin(c)/|test_boundary|read_but_waits
WORKER_MUTANT_marks-flood := iteration/boundary.c|s/ .. b->first_op == c->pushed//|test_boundary|are_one
WORKER_MUTANT_early-boundary := iteration/boundary.c|s/if (b->open.b->current . 1. == 0) boundary_ready/boundary_ready/;s/ .. !b->open.b->current . 1.;/;/|test_boundary|all_its_streams
WORKER_MUTANT_no-moment := iteration/boundary.c|s/BOUNDARY_MOMENT_NS 1000000ull/BOUNDARY_MOMENT_NS 0ull/|test_boundary|waits_a_moment
WORKER_MUTANT_never-relents := iteration/boundary.c|s/return waited >= BOUNDARY_HOST_NS/return false/|test_boundary|does_not_end
WORKER_MUTANT_held-for-ever := iteration/boundary.c|/^void boundary_forget/,/^}/s/boundary_release(c);//|test_boundary|nothing_held
WORKER_MUTANT_half-lane := memory/residence.c|s/&& c->stranded) residence_spill/\&\& 0) residence_spill/|test_residence|without_room
WORKER_MUTANT_late-clear := memory/residence.c|/^static void residence_restore/,/^}/s/residence_clear(c->worker, c->lane, c);//|test_residence|no_room_for_survivors
WORKER_MUTANT_grants-all := memory/credit.c|s/if (!k->granted) return/if (0) return/|test_residence|at_once
WORKER_MUTANT_keeps-nothing := memory/credit.c|s/if (need == 0) return true/return true/|test_residence|memory_of_its_own
WORKER_MUTANT_reads-early := client.c|s/c->deaf = CLIENT_WAITS/c->deaf = 0/|test_residence|before_it_is_admitted
WORKER_MUTANT_holds-memory := client.c|s/if (!c->inflight) client_release(c);//|test_residence|at_once
WORKER_MUTANT_word-of-all := memory/credit.c|s/k->peak_e = credit_e(c);//|test_residence|is_measured
WORKER_MUTANT_silent-refusal := memory/residence.c|/^static void residence_refuse/,/^}/s/fault_raise(c, ERR_NO_MEMORY, text);//|test_residence|never_fits
WORKER_MUTANT_sleeps-on := loop.c|s/if (w->arm_ns && w->arm_ns < until)/if (0)/|test_residence|end_of_a_lease
WORKER_MUTANT_users-unsaid := client.c|s/.user = msg->uid,//|test_users|not_shared
WORKER_MUTANT_owner-unsaid := client.c|s/memory_set_owner(c->memory, clearing_owner(c));//|test_users|changes_its_user
WORKER_MUTANT_never-enters := memory/residence.c|s/if (c->memory .. !client_dead(c)) clearing_begin(c);//|test_users|changes_its_user
WORKER_MUTANT_word-unclear := memory/clearing.c|s/memory_enter(c->memory, c->credit.granted_e)/memory_enter(c->memory, 0)/|test_users|said_it_needs
WORKER_MUTANT_runs-unclear := engine/engine.c|s/if (c->away .. clearing_pending(c) .. !client_dead(c)) {/if (0) {/|test_users|goes_in_steps
WORKER_MUTANT_clears-at-once := memory/clearing.c|s/c->memory, CLEARING_CHUNKS)/c->memory, UINT32_MAX)/|test_users|goes_in_steps
WORKER_MUTANT_parked-for-ever := memory/clearing.c|/^void clearing_forget/,/^}/s/clearing_end(c);/;/|test_users|ends_while
WORKER_MUTANT_always-cleared := memory/clearing.c|s/c->worker->clear_always ? c->job_id : c->uid/c->job_id/|test_users|of_one_user
WORKER_MUTANT_fails-quietly := memory/clearing.c|s/if (err) clearing_failed(c, err);/if (err) clearing_end(c);/|test_users|cannot_clear
WORKER_MUTANT_free-modules := front/object.c|s/err = credit_module(c, out->bytes);/err = 0;/|test_residence|modules
WORKER_MUTANT_late-void := client.c|/^void client_abandon/,/^}/{/fault_void/d;s/if (c->deferred) defer_run(c);/&fault_void(c, err);/}|test_ending|killed
WORKER_MUTANT_no-void := client.c|/^void client_abandon/,/^}/{/fault_void/d}|test_ending|broker_is_gone
WORKER_MUTANT_shows-dropped := stream/stream.c|/^static void stream_publish/,/^}/s/if (client_dead(c)) return;//|test_ending|killed
WORKER_MUTANT_late-fault := engine/engine.c|/^static void engine_ended/,/^}/{/fault_raise_op/d;s/stream_retire(s);/struct op copy = *op; & if (copy.dev.result) fault_raise_op(c, \&copy);/}|test_ending|right_behind
WORKER_MUTANT_times-dropped := stream/stream.c|s/ .. !client_dead(s->client))/)/|test_ending|killed
WORKER_MUTANT_answers-well := front/reply.c|s/if (!err .. client_dead(c))/if (0)/|test_ending|killed

worker_mutant_part = $(word $(2),$(subst |, ,$(subst $(space),~,$(WORKER_MUTANT_$(1)))))
worker_mutant_text = $(subst ~,$(space),$(call worker_mutant_part,$(1),$(2)))
space := $(subst ,, )
WORKER_MUTANT_PARTS = $(addprefix $(BUILD)/lib,worker.a kernels.a sched.a device.a proto.a common.a)
WORKER_MUTANT_LIB = $(addprefix $(BUILD)/test/lib/,fakedev.o wireclient.o)

.PHONY: check-worker-mutants $(addprefix worker-mutant-,$(WORKER_MUTANTS))
check-worker-mutants: $(addprefix worker-mutant-,$(WORKER_MUTANTS))

define worker_mutant_rule
worker-mutant-$(1): $(BUILD)/test/unit/$(call worker_mutant_text,$(1),3).o $(WORKER_MUTANT_LIB) \
		$(WORKER_MUTANT_PARTS)
	@mkdir -p $(BUILD)/mutants
	$$(Q)sed '$(call worker_mutant_text,$(1),2)' daemon/worker/$(call worker_mutant_text,$(1),1) \
		>$(BUILD)/mutants/worker-$(1).c
	$$(Q)! cmp -s daemon/worker/$(call worker_mutant_text,$(1),1) $(BUILD)/mutants/worker-$(1).c || \
		{ echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $(BUILD)/mutants/worker-$(1).c \
		-o $(BUILD)/mutants/worker-$(1).o 2>/dev/null
	$$(Q)$$(LINK) -o $(BUILD)/mutants/worker-$(1) \
		$(BUILD)/test/unit/$(call worker_mutant_text,$(1),3).o $(BUILD)/mutants/worker-$(1).o \
		$(WORKER_MUTANT_LIB) -Wl,--start-group $(WORKER_MUTANT_PARTS) -Wl,--end-group \
		-lcriterion $$(DEVICE_LIBS)
	$$(Q)scripts/must-fail "worker: $(1)" "(FAIL|CRASH|Timed).*$(call worker_mutant_text,$(1),4)" \
		$(BUILD)/mutants/worker-$(1) --timeout 20 --filter '*/*$(call worker_mutant_text,$(1),4)*'
endef
$(foreach m,$(WORKER_MUTANTS),$(eval $(call worker_mutant_rule,$(m))))
