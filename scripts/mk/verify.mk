# SPDX-License-Identifier: Apache-2.0
# What is PTX and what is not. The table test/data/verify/verdicts.txt is part of check-unit; here are
#   check-verify-mutants   rules broken one at a time, which that table must notice
#   check-verdicts         the table, asked of ptxas again (nothing where there is no ptxas)
#   check-long-verify      all mutants of all instructions, asked of ptxas as well
$(BUILD)/test/verify/%: $(BUILD)/test/verify/%.o $(TEST_LIB) $(LIBS)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
		$(DEVICE_LIBS) $(BROKER_LIBS) $(CTL_LIBS)

.PHONY: check-verdicts check-long-verify check-long
check-verdicts: $(BUILD)/test/verify/ptx_verdict
	$(Q)scripts/ptx-verdicts check $<
check-long-verify: $(BUILD)/test/verify/ptx_verdict check-verdicts
	$(Q)scripts/ptx-verdicts explore $< 1
check-long: check-long-verify

#   name := file in daemon/device/soft | sed expression (~ for a space) | test that must fail
VERIFY_MUTANTS := any-width no-wider no-bits any-class packed-stays pred-as-bits any-count optional middle \
	literals no-literals result-literal negation sink special special-width space cvta-space vector \
	parts pair label guard name-twice variable-twice range-twice call-size call-count any-opcode any-word any-need \
	any-type first-word twice-word hint opaque-names new-version old-version other-ops other-sregs \
	any-directive unresolved written-parameter address-class function
VERIFY_MUTANT_any-width := ptx/ptx_rules.c|s/if (wider ? have < need : have != need) return false;//|verdicts
VERIFY_MUTANT_no-wider := ptx/ptx_rules.c|s/bool wider = memchr.*/bool wider = false;/|verdicts
VERIFY_MUTANT_no-bits := ptx/ptx_rules.c|s/if (w == .b. .. r == .b.) return true;//|verdicts
VERIFY_MUTANT_any-class := ptx/ptx_rules.c|s/bool integers = .*/bool integers = true;/|verdicts
VERIFY_MUTANT_packed-stays := ptx/ptx_rules.c|s/reg == PTX_F16X2 \&\& w != .f./0/|verdicts
VERIFY_MUTANT_pred-as-bits := ptx/ptx_rules.c|s/if (w == .p. .. r == .p.) return w == r;/if (r == 112) return true;/|verdicts
VERIFY_MUTANT_any-count := ptx/ptx_verify.c|s/if (i->operand_count < sig->least .*/if (i->operand_count > sig->most)/|verdicts
VERIFY_MUTANT_optional := ptx/ptx_rules.c|s,sig->least += !optional;,sig->least++;,|verdicts
VERIFY_MUTANT_middle := ptx/ptx_verify.c|s,(k >= sig->optional ? absent : 0),0,|verdicts
VERIFY_MUTANT_literals := ptx/ptx_verify.c|s/else if (!(want->kinds \& kind))/else if (0)/|verdicts
VERIFY_MUTANT_no-literals := ptx/ptx_rules.c|s/case .u.:/case 120:/|verdicts
VERIFY_MUTANT_result-literal := ptx/ptx_verify.c|s/if (want->kinds \& PTX_WANT_RESULT)/if (0)/|what_is_wrong
VERIFY_MUTANT_negation := ptx/ptx_verify.c|s/else if (o->negated .*/else if (0)/|verdicts
VERIFY_MUTANT_sink := ptx/ptx_verify.c|s/if (!(want->kinds \& PTX_WANT_SINK)) complain/if (0) complain/|verdicts
VERIFY_MUTANT_special := ptx/ptx_verify.c|s/if (!(want->kinds \& PTX_WANT_SPECIAL))/if (0)/|verdicts
VERIFY_MUTANT_special-width := ptx/ptx_verify.c|s/else if (!fits .*/else if (0)/|verdicts
VERIFY_MUTANT_space := ptx/ptx_verify.c|s/if (!generic \&\& c->i->space != o->var->space)/if (0)/|verdicts
VERIFY_MUTANT_cvta-space := ptx/ptx_verify.c|s/c->i->op == PTX_OP_cvta/0/|verdicts
VERIFY_MUTANT_vector := ptx/ptx_verify.c|s/if (o->elem_count != c->i->vec)/if (0)/|verdicts
VERIFY_MUTANT_parts := ptx/ptx_verify.c|s/== want->bytes . n)/> 0)/|verdicts
VERIFY_MUTANT_pair := ptx/ptx_verify.c|s/if (want->kinds \& PTX_WANT_ONLY_PAIR/if (0/|verdicts
VERIFY_MUTANT_label := ptx/ptx_verify.c|s/if (want->kinds \& PTX_WANT_LABEL) return;/return;/|what_is_wrong
VERIFY_MUTANT_guard := ptx/ptx_inst.c|s/pred < 0 .. .*PTX_PRED/pred < 0/|verdicts
VERIFY_MUTANT_name-twice := ptx/ptx_reg.c|s/if (ptx_name_taken(p, \&name))/if (0)/|verdicts
VERIFY_MUTANT_variable-twice := ptx/ptx_decl.c|s/if (ptx_name_taken(p, name))/if (0)/|verdicts
VERIFY_MUTANT_range-twice := ptx/ptx_reg.c|s/if (old \&\& .*/if (0)/|verdicts
VERIFY_MUTANT_call-size := ptx/ptx_verify.c|s/if (bytes != formal->bytes)/if (0)/|verdicts
VERIFY_MUTANT_call-count := ptx/ptx_verify.c|s/if (args->elem_count != count)/if (args->elem_count < count)/|verdicts
VERIFY_MUTANT_any-opcode := ptx/ptx_inst.c|s/if (!known \&\& .*/if (0)/|verdicts
VERIFY_MUTANT_any-word := ptx/ptx_rules.c|s/if (k == count) return RULE_WORDS;//|verdicts
VERIFY_MUTANT_any-need := ptx/ptx_rules.c|s/if (!taken.k. .*return RULE_MISSING;//|verdicts
VERIFY_MUTANT_any-type := ptx/ptx_rules.c|s/if (i == o->type_count .. !one_of(w, o->types.i.)) return false;//|verdicts
VERIFY_MUTANT_first-word := ptx/ptx_rules.c|s/if (!first .. (i == 0 .*/break;/|verdicts
VERIFY_MUTANT_twice-word := ptx/ptx_rules.c|s/if ((taken.k. \&\& !open) .. /if (/|verdicts
VERIFY_MUTANT_hint := ptx/ptx_rules.c|s/if (hint \&\& !o->hint) return;//|verdicts
VERIFY_MUTANT_opaque-names := ptx/ptx_inst.c|s/ptx_unknown(p, t.line, "name".*/(void)0;/|what_is_wrong
VERIFY_MUTANT_new-version := ptx/ptx_parser.c|s/p->module->version > PTX_RULES_VERSION/0/|newer
VERIFY_MUTANT_old-version := ptx/ptx_inst.c|s/if (p->module->version <= PTX_RULES_VERSION)/if (0)/|verdicts
VERIFY_MUTANT_other-ops := ptx/ptx_rules.c|s/"clusterlaunchcontrol movmatrix/"clusterlaunchcontrol/|others_are_known
VERIFY_MUTANT_other-sregs := ptx/ptx_rules.c|s/"%%envreg%d"/"%%environ%d"/|verdicts
VERIFY_MUTANT_any-directive := ptx/ptx_func.c|s/ptx_unknown(p, t.line, "directive"/ptx_unsupported(p, t.line/|what_is_wrong
VERIFY_MUTANT_unresolved := ptx/ptx_label.c|s/i = from; !p->err/i = from; !all \&\& !p->err/|verdicts
VERIFY_MUTANT_written-parameter := ptx/ptx_verify.c|s/if (c->i->op == PTX_OP_st .*/if (0)/|verdicts
VERIFY_MUTANT_address-class := ptx/ptx_verify.c|s/if (class \&\& .*/if (0)/|verdicts
VERIFY_MUTANT_function := ptx/ptx_verify.c|s/if (want->kinds \& PTX_WANT_RESULT .. .*PTX_PRED \& 1)/if (0)/|verdicts

space := $(subst ,, )
verify_part = $(subst ~,$(space),$(word $(2),$(subst |, ,$(subst $(space),~,$(VERIFY_MUTANT_$(1))))))
VERIFY_TEST := $(BUILD)/test/unit/test_ptx_verify.o $(addprefix $(BUILD)/test/lib/,ptx_cases.o ptx_text.o ptx_check.o ptxrun.o)
VERIFY_LIBS := $(addprefix $(BUILD)/lib,device.a common.a)

.PHONY: check-verify-mutants $(addprefix verify-mutant-,$(VERIFY_MUTANTS))
check-verify-mutants: $(addprefix verify-mutant-,$(VERIFY_MUTANTS))

define verify_mutant_rule
verify-mutant-$(1): VERIFY_AT := $(BUILD)/mutants/verify-$(1)
verify-mutant-$(1): VERIFY_OF := daemon/device/soft/$(call verify_part,$(1),1)
verify-mutant-$(1): $(VERIFY_TEST) $(VERIFY_LIBS)
	@mkdir -p $(BUILD)/mutants
	$$(Q)sed '$(call verify_part,$(1),2)' $$(VERIFY_OF) >$$(VERIFY_AT).c
	$$(Q)! cmp -s $$(VERIFY_OF) $$(VERIFY_AT).c || { echo "$(1): sed changed nothing"; exit 1; }
	$$(Q)$$(COMPILE) -Wno-error -c $$(VERIFY_AT).c -o $$(VERIFY_AT).o 2>/dev/null
	$$(Q)$$(LINK) -o $$(VERIFY_AT) $(VERIFY_TEST) $$(VERIFY_AT).o $(VERIFY_LIBS) -lcriterion $$(DEVICE_LIBS)
	$$(Q)scripts/must-fail "verify: $(1)" "(FAIL|CRASH).*$(call verify_part,$(1),3)" \
		$$(VERIFY_AT) --filter '*/*$(call verify_part,$(1),3)*'
endef
$(foreach m,$(VERIFY_MUTANTS),$(eval $(call verify_mutant_rule,$(m))))
