# SPDX-License-Identifier: Apache-2.0
# Mutants: small faults in shipped code, in test/mutants/<room>.mutants, each with the test that must fail because of
# it. scripts/mutants makes and runs them.
#   make check-mutants [ROOM=...]   the mutants of a room, a name, or a file or folder that they change; JOBS at a time.
#                                   MUTANT_PARTS=6: a sixth of all, chosen by the commit's hash
#   make check-long-mutants         mutants that only tests of whole daemons notice
.PHONY: check-mutants check-long-mutants check-long
check-mutants: ## small faults that the tests must notice; ROOM=worker, or a file
	$(Q)BUILD=$(BUILD) scripts/mutants self-test -j$(JOBS)
	$(Q)BUILD=$(BUILD) scripts/mutants run -j$(JOBS) $(addprefix --part=,$(MUTANT_PARTS)) $(ROOM)
check-long-parts: check-mutants check-long-mutants
check-long-mutants:
	$(Q)BUILD=$(BUILD) scripts/mutants run --long
