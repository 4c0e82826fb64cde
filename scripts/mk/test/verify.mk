# SPDX-License-Identifier: Apache-2.0
# Tests of the software GPU's knowledge of PTX. The table test/data/verify.tar.xz is part of check-unit. This file has
#   check-verdicts         compares the table with ptxas again (does nothing without ptxas)
#   check-ptx-coverage     checks that docs/ptx-coverage.md is the output of scripts/ptx-coverage, and true
#   check-long-verify      compares all mutants of all instructions with ptxas
#   check-oracle           compares the software GPU with recorded results of a real one (part of check-long)
$(BUILD)/test/verify/%: $(BUILD)/test/verify/%.o $(TEST_LIB) $(LIBS)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
		$(DEVICE_LIBS) $(BROKER_LIBS) $(CTL_LIBS)

# Packs the questions for a real GPU: build/oracle-pack/run.sh OUTDIR asks them there. Needs ptxas.
ORACLE_PACK := $(BUILD)/oracle-pack
ORACLE_PROGRAMS := $(addprefix $(BUILD)/test/verify/oracle/,run sweep)
$(ORACLE_PROGRAMS): %: %.o $(BUILD)/test/verify/oracle/driver.o
	$(Q)$(LINK) -o $@ $^ -ldl
.PHONY: oracle-pack
oracle-pack: $(ORACLE_PROGRAMS)
	$(Q)rm -rf $(ORACLE_PACK) && mkdir -p $(ORACLE_PACK)
	$(Q)$(PYTHON) test/verify/oracle/pack.py $(ORACLE_PACK)
	$(Q)for p in run sweep; do cp $(BUILD)/test/verify/oracle/$$p $(ORACLE_PACK)/oracle_$$p || exit; done
	$(Q)cp test/verify/oracle/run.sh $(ORACLE_PACK)/run.sh

.PHONY: check-oracle
check-long-parts: check-oracle
check-oracle: all $(BUILD)/test/verify/oracle/run
	$(Q)$(PYTHON) test/verify/oracle/check.py $(BUILD)/test/verify/oracle/run $(BUILD)/oracle-check

.PHONY: check-verdicts check-ptx-coverage check-long-verify check-long
check-ptx-coverage: $(BUILD)/test/verify/ptx_runs
	$(Q)scripts/ptx-coverage $< --check
check-verdicts: $(BUILD)/test/verify/ptx_verdict
	$(Q)scripts/ptx-verdicts check $<
check-long-verify: $(BUILD)/test/verify/ptx_verdict check-verdicts
	$(Q)scripts/ptx-verdicts explore $< 1
check-long-parts: check-long-verify
