# SPDX-License-Identifier: Apache-2.0
# What a launch pays for its kernel's profile.
BENCHES += $(BUILD)/test/bench/kernels_bench
$(BUILD)/test/bench/kernels_bench: $(addprefix $(BUILD)/test/bench/,kernels_bench.o floor.o) \
		$(addprefix $(BUILD)/lib,worker.a kernels.a proto.a common.a)
	$(Q)$(LINK) -o $@ $^

# check-kernel-mutants: proof that the tests of kernels' profiles would notice. Each mutant is one
# line made wrong by sed, put in place of the right file; the named test must fail.
#   name := file | sed expression (~ for a space) | unit test | test that must fail
KERNEL_MUTANTS := all-fades no-bounds half-bin at-sixty no-floor loose-name lost-anonymous any-first \
	takes-all takes-over forgets-none other-order open-sum twice-there first-comma one-vote \
	bytes-percent thousand no-remark half-table evicts-held flood keeps-crowded stale-tail \
	over-counts counts-over-table dirty-stays late-file torn-file lost-change reads-all other-device \
	one-file unchecked of-any-device anybodys hole same-seed waits-for-broker wrong-order untold-class begins-told old-number
KERNEL_MUTANT_all-fades := daemon/kernels/kdist.c|s/d->bins.i. .= 2;/d->bins[i]~=~0;/|test_kdist|fades
KERNEL_MUTANT_no-bounds := daemon/kernels/kdist.c|s/clamp(d->sum_ns . 2, least, most)/d->sum_ns~\/~2/|test_kdist|sum_stays
KERNEL_MUTANT_half-bin := daemon/kernels/kdist.c|s/octave - 3) & 7/octave~-~2)~\&~7/|test_kdist|its_bin
KERNEL_MUTANT_at-sixty := daemon/kernels/kprofile.c|s/compute_milli <= BOUND_MILLI/compute_milli~<~BOUND_MILLI/|test_kprofile|sixty
KERNEL_MUTANT_no-floor := daemon/kernels/kprofile.c|s/took_ns = KPROFILE_FLOOR_NS +/took_ns~=/|test_kprofile|from_counts
KERNEL_MUTANT_loose-name := daemon/kernels/kname.c|s/ .. strnlen(.p, n) < n//|test_kname|taken_as_it_is
KERNEL_MUTANT_lost-anonymous := daemon/kernels/kname.c|s/anonymous(p) .. !strchr/!strchr/|test_kname|without_a_name
KERNEL_MUTANT_any-first := daemon/kernels/kprofile.c|s/int any = 0; any < 4 .. !found; any++/int~any~=~3;~any~>=~0~\&\&~!found;~any--/|test_kprofile|fits_best
KERNEL_MUTANT_takes-all := daemon/kernels/kset.c|s/if (own >= KSET_USER_MAX)/if~(0)/|test_kset|more_than_half
KERNEL_MUTANT_takes-over := daemon/kernels/kset.c|s/slot = find(s, .p->key);/slot~=~SLOTMAP_NONE;/|test_kset|takes_the_place
KERNEL_MUTANT_forgets-none := daemon/kernels/kset.c|s/slotmap_add(.s->by_key, hash, kept++);/kept++;/|test_kset|what_was_named
KERNEL_MUTANT_other-order := daemon/kernels/ktext.c|s/s->items.order.i../s->items[i]/|test_ktext|order_of_use
KERNEL_MUTANT_open-sum := daemon/kernels/kprofile.c|s/!kdist_settle(.p->durations)/!kdist_settle(\&p->durations)~\&\&~0/|test_ktext|kernels_that_are_wrong
KERNEL_MUTANT_twice-there := daemon/kernels/ktext.c|s/ .. kset_find(s, .p.key)/~\&\&~0/|test_ktext|kernels_that_are_wrong
KERNEL_MUTANT_first-comma := daemon/kernels/kimport_orion.c|s/first = c->count - AFTER_NAME/first~=~1/|test_kimport|have_commas
KERNEL_MUTANT_one-vote := daemon/kernels/kimport.c|s/return tie ? KPROFILE_UNKNOWN : first/return~first/|test_kimport|a_tie
KERNEL_MUTANT_bytes-percent := daemon/kernels/kimport_ncu.c|s/metric != DURATION .. strcmp(unit, "%") != 0/0/|test_kimport|ncu_details
KERNEL_MUTANT_thousand := daemon/kernels/kimport_part.c|s/if (.text != .,.) //|test_kimport|ncu_details
KERNEL_MUTANT_no-remark := daemon/kernels/kimport_part.c|s/while (at_remark(.k->csv))/while~(0)/|test_kimport|ncu_details
KERNEL_MUTANT_half-table := daemon/kernels/kset.c|s/if (fresh > KSET_HINTS_MAX - s->hint_count) return -ENOSPC;/if~(s->hint_count~==~KSET_HINTS_MAX)~return~-ENOSPC;/|test_kset|hints_are_bounded
KERNEL_MUTANT_evicts-held := daemon/worker/profile/kernels.c|s/if (e->refs++ > 0) return;/e->refs++;~return;/|test_kernels|in_flight_stays
KERNEL_MUTANT_flood := daemon/worker/profile/kernels.c|s/if (.created < KERNELS_PER_JOB)/if~(1)/|test_kernels|only_so_many
KERNEL_MUTANT_keeps-crowded := daemon/worker/profile/kernels.c|s/p->durations = (struct kdist){0};/(void)0;/|test_kernels|beside_others
KERNEL_MUTANT_stale-tail := daemon/worker/profile/kernels.c|s/e->due = count + count . 8 + 1;/e->due~=~UINT32_MAX;/|test_kernels|durations_are_learned
KERNEL_MUTANT_over-counts := daemon/worker/profile/kernels.c|s/e->counts == COUNTS_MAX/0/|test_kernels|classes_from_counts
KERNEL_MUTANT_counts-over-table := daemon/worker/profile/kernels.c|s/p->source == KPROFILE_IMPORTED .. (!k/(!k/|test_kernels|until_it_was_measured
KERNEL_MUTANT_dirty-stays := daemon/worker/profile/kernels.c|/^static void discard/,/^}/s/list_remove(.e->dirty);//|test_kernels|goes_is_not_taken
KERNEL_MUTANT_late-file := daemon/broker/store/store_file.c|s/if (w->turn != f->turn)/if~(0)/|test_store_file|overtakes
KERNEL_MUTANT_torn-file := daemon/broker/store/store_file.c|s/"%s.new", f->path/"%s",~f->path/|test_store_file|leaves_the_one_before
KERNEL_MUTANT_lost-change := daemon/broker/store/store_file.c|s/if (f->dirty) store_file_touch(f);//|test_store_file|while_it_is_written
KERNEL_MUTANT_reads-all := daemon/broker/store/store_file.c|s/if (rc == 0 .. text.len > f->bytes_max) rc = -EFBIG;//|test_store_file|too_long
KERNEL_MUTANT_other-device := daemon/broker/store/kernel_store.c|s/if (!kset_device_same(&device, &of)) {/if~(0)~{/|test_kernel_store|each_device
KERNEL_MUTANT_one-file := daemon/broker/store/kernel_store.c|s/ .. bring_back(k)) load(k)/~\&\&~0)~load(k)/|test_kernel_store|each_device
KERNEL_MUTANT_unchecked := daemon/broker/store/kernel_store.c|s/k->known ? kprofile_check(p, why) : -ENODEV/k->known~?~0~:~-ENODEV/|test_kernel_store|is_checked
KERNEL_MUTANT_of-any-device := daemon/broker/store/kernel_store.c|s/from->device.sms .. !kset_device_same/0~\&\&~!kset_device_same/|test_kernel_store|may_not_be_imported
KERNEL_MUTANT_anybodys := daemon/broker/store/kernel_store.c|s/uid != KSET_ANYBODY .. i < from->count/0~\&\&~i~<~from->count/|test_kernel_store|may_not_be_imported
KERNEL_MUTANT_hole := common/slotmap.c|s/if (((i - home) .*continue;//|test_slotmap|churn
KERNEL_MUTANT_same-seed := common/slotmap.c|s/hash = seed;/hash~=~0;/;s/fold(seed ^ /fold(/|test_slotmap|depends_on_seed
KERNEL_MUTANT_waits-for-broker := daemon/worker/link/kernel_link.c|s/ .. has_room(w->broker_fd)//|test_kernel_link|never_waits
KERNEL_MUTANT_wrong-order := daemon/worker/link/kernel_link.c|s/kprofile_hint_order(.hints.i - 1., .hints.i.) >= 0/0/|test_kernel_link|wrong_is_not_taken
KERNEL_MUTANT_untold-class := daemon/worker/profile/kernels.c|s/if (e .. memcmp(p, .*mark_dirty(k, e);.*//|test_kernel_link|is_known_here
KERNEL_MUTANT_begins-told := daemon/worker/profile/kernels.c|s/before.durations.count .. memcmp/memcmp/|test_kernel_link|began_anew
KERNEL_MUTANT_old-number := daemon/worker/link/kernel_link.c|s/w->kernel_turn = .*;//|test_kernel_link|not_told_any_more

space := $(subst ,, )
kernel_mutant_part = $(word $(2),$(subst |, ,$(subst $(space),~,$(KERNEL_MUTANT_$(1)))))
kernel_mutant_text = $(subst ~,$(space),$(call kernel_mutant_part,$(1),$(2)))

.PHONY: check-kernel-mutants $(addprefix kernel-mutant-,$(KERNEL_MUTANTS))
check-kernel-mutants: $(addprefix kernel-mutant-,$(KERNEL_MUTANTS))

define kernel_mutant_rule
kernel-mutant-$(1): $(BUILD)/test/unit/$(call kernel_mutant_text,$(1),3).o $(LIBS)
	@mkdir -p $(BUILD)/mutants
	$$(Q)sed '$(call kernel_mutant_text,$(1),2)' $(call kernel_mutant_text,$(1),1) \
		>$(BUILD)/mutants/kernel-$(1).c
	$$(Q)! cmp -s $(call kernel_mutant_text,$(1),1) $(BUILD)/mutants/kernel-$(1).c || \
		{ echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $(BUILD)/mutants/kernel-$(1).c \
		-o $(BUILD)/mutants/kernel-$(1).o 2>/dev/null
	$$(Q)$$(LINK) -o $(BUILD)/mutants/kernel-$(1) \
		$(BUILD)/test/unit/$(call kernel_mutant_text,$(1),3).o $(BUILD)/mutants/kernel-$(1).o \
		-Wl,--start-group $(LIBS) -Wl,--end-group -lcriterion $$(DEVICE_LIBS) $$(BROKER_LIBS)
	$$(Q)scripts/must-fail "kernels: $(1)" "(FAIL|CRASH|Timed).*$(call kernel_mutant_text,$(1),4)" \
		$(BUILD)/mutants/kernel-$(1) --timeout 20 --filter '*/*$(call kernel_mutant_text,$(1),4)*'
endef
$(foreach m,$(KERNEL_MUTANTS),$(eval $(call kernel_mutant_rule,$(m))))
