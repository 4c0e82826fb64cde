# SPDX-License-Identifier: Apache-2.0
# bench: runs every program of BENCHES (each makefile adds its own) and the whole stack under a private daemon. Writes
# one table of figures and goals, and $(BUILD)/bench.json; a missed goal is no failure. Run it on an otherwise idle
# machine.
#   make bench ONLY=ring          SAMPLES=9: fewer of those beside the floor
#   make bench RESULTS=docs/results/FILE.md writes the table there as well
BENCHES += $(BUILD)/test/bench/modules/ring_bench
$(BUILD)/test/bench/modules/ring_bench: $(BUILD)/test/bench/modules/ring_bench.o $(BUILD)/test/bench/lib/floor.o \
		$(addprefix $(BUILD)/lib,proto.a policy.a common.a)
	$(Q)$(LINK) -o $@ $^

# The list of programs is expanded when the recipe runs, since makefiles read later add to BENCHES. check-bench runs
# each in a short form; one that fails, or measures nothing, fails `make check`.
.PHONY: bench bench-programs check-bench
bench-programs: all
	@$(MAKE) --no-print-directory $(BENCHES) $(STACK_BENCHES) \
		$(if $(shell scripts/find-nvcc),$(BUILD)/e2e/default-static/launches)
check-bench: bench-programs
	@BUILD=$(BUILD) $(PYTHON) test/bench/run_bench.py --short --json $(BUILD)/bench-short.json $(BENCHES) \
		>$(BUILD)/bench-short.log 2>&1 || { cat $(BUILD)/bench-short.log; exit 1; }
	@BUILD=$(BUILD) scripts/must-fail "bench: a program without figures" "measured nothing" \
		$(PYTHON) test/bench/run_bench.py --short --only true /bin/true
	@echo "check-bench: every bench measures"
bench: setup ## performance, as a table with its goals; needs an idle machine
	@$(MAKE) --no-print-directory bench-programs
	@BUILD=$(BUILD) $(PYTHON) test/bench/run_bench.py $(addprefix --only ,$(ONLY)) \
		$(addprefix --samples ,$(SAMPLES)) $(addprefix --report ,$(RESULTS)) $(BENCHES)
