# SPDX-License-Identifier: Apache-2.0
# check-lanes: lanes under three million random steps beside a model, and check-lane-mutants: proof
# that this would notice. Each mutant is one line made wrong by sed, put in place of the right file;
# the test must fail and say where.
#   name := file | sed expression (~ for a space)
LANE_MUTANTS := fit-without-p grow-without-p grow-unasked shrinks-at-once settles-never \
	drains-into-group admits-into-group drains-into-draining worst-fit boundary-spoils-plan \
	useless-plan too-many-drained stale-plan fits-into-users grows-into-users \
	drains-into-users opened-for-nobody
LANE_MUTANT_fit-without-p := lanes/lane.c|s/p <= room && (lane = lanes_best_fit/(lane = lanes_best_fit/
LANE_MUTANT_grow-without-p := lanes/lane.c|s/lanes_free(l) - need->persistent_bytes/lanes_free(l)/
LANE_MUTANT_grow-unasked := lanes/lane.c|s/if (!lanes_fits(l, j, p, e)) return false;//
LANE_MUTANT_shrinks-at-once := lanes/lane.c|s/lanes_narrow(l, lane, lanes_present(j));/&lanes_resize(l, j->lane, lane->need_bytes);/
LANE_MUTANT_settles-never := lanes/lane.c|s/lanes_resize(l, lane, l->lanes.lane..need_bytes);//
LANE_MUTANT_drains-into-group := lanes/lane.c|s/lanes_bar(l, j->group)/lanes_bar(l, 0)/
LANE_MUTANT_admits-into-group := lanes/lane.c|s/lanes_bar(l, need->group)/lanes_bar(l, 0)/
LANE_MUTANT_drains-into-draining := lanes/lane.c|s/ && !a->draining / /
LANE_MUTANT_worst-fit := lanes/lane.c|s/x->size_bytes < y->size_bytes/x->size_bytes > y->size_bytes/
LANE_MUTANT_boundary-spoils-plan := lanes/lane.c|s/l->lanes.i..need_bytes < j->ephemeral_bytes/l->lanes[i].size_bytes < j->ephemeral_bytes/
LANE_MUTANT_fits-into-users := lanes/lane.c|/lanes_best_fit(const/,/^}/s/need->user/l->lanes[i].user/
LANE_MUTANT_grows-into-users := lanes/lane.c|/lanes_smallest_to_grow(const/,/^}/s/need->user/l->lanes[i].user/
LANE_MUTANT_drains-into-users := lanes/lane.c|s/lanes_candidate(l, i, j->user)/lanes_candidate(l, i, l->lanes[i].user)/
LANE_MUTANT_opened-for-nobody := lanes/lane.c|s/.open = true, .user = user}/.open = true}/
LANE_MUTANT_useless-plan := lanes/lane_plan.c|s/if (fits) return true;/return true;/
LANE_MUTANT_too-many-drained := lanes/lane_plan.c|s/uint32_t count = 1; count <= n/uint32_t count = 2; count <= n/
LANE_MUTANT_stale-plan := lanes/lane_plan.c|s/while (l->draining/while (0 \&\& l->draining/

lane_part = $(word $(2),$(subst |, ,$(subst $(space),~,$(LANE_MUTANT_$(1)))))
lane_text = $(subst ~,$(space),$(call lane_part,$(1),$(2)))
space := $(subst ,, )

LANE_TEST = $(BUILD)/test/plain/lane_random
LANE_LIBS = $(addprefix $(BUILD)/lib,sched.a common.a)

.PHONY: check-lanes check-lane-mutants $(addprefix lane-mutant-,$(LANE_MUTANTS))
check-lanes: $(LANE_TEST) check-lane-mutants
	$(Q)$(LANE_TEST)
check-lane-mutants: $(addprefix lane-mutant-,$(LANE_MUTANTS))

define lane_mutant_rule
lane-mutant-$(1): $(BUILD)/test/plain/lane_random.o $(LANE_LIBS)
	@mkdir -p $(BUILD)/mutants
	$$(Q)sed '$(call lane_text,$(1),2)' daemon/sched/$(call lane_text,$(1),1) >$(BUILD)/mutants/lane-$(1).c
	$$(Q)! cmp -s daemon/sched/$(call lane_text,$(1),1) $(BUILD)/mutants/lane-$(1).c || \
		{ echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $(BUILD)/mutants/lane-$(1).c -o $(BUILD)/mutants/lane-$(1).o 2>/dev/null
	$$(Q)$$(LINK) -o $(BUILD)/mutants/lane-$(1) $(BUILD)/test/plain/lane_random.o \
		$(BUILD)/mutants/lane-$(1).o $(LANE_LIBS)
	$$(Q)scripts/must-fail "lanes: $(1)" "seed [0-9]+ step [0-9]+, line [0-9]+: not so" \
		timeout 60 $(BUILD)/mutants/lane-$(1)
endef
$(foreach m,$(LANE_MUTANTS),$(eval $(call lane_mutant_rule,$(m))))
