# SPDX-License-Identifier: Apache-2.0
# The targets that people call: demo, check, and the parts of check.
.PHONY: help demo setup house check check-layers lint check-asan check-tsan coverage

# `make help` shows a target whose line ends with ## and a sentence.
help: ## lists these targets
	@awk -F ':.*## ' '/^[a-z0-9_.-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' scripts/mk/product/top.mk $(filter-out %.d %/top.mk,$(MAKEFILE_LIST))
	@echo "  BUILD=dir  V=1  CC=...  SAN=address,undefined|thread; each test of its own: docs/testing.md"

setup: ## installs missing Debian packages and nvcc
	@scripts/setup

# Set-up runs first, and make must see what it installed: hence the second make.
demo: setup ## six programs share one GPU; each result is compared with that of a run alone
	@$(MAKE) --no-print-directory demo-programs
	@BUILD=$(BUILD) $(PYTHON) scripts/demo

DEMO_PROGRAMS := $(addprefix $(BUILD)/e2e/default-static/,matmul reduce norm histogram pipeline train)
.PHONY: demo-programs
demo-programs: $(PROGRAMS) $(SHIM_SO) $(DEMO_PROGRAMS)

# Set-up runs first, and make must see what it installed. docs/testing.md tells which step runs where, and why.
check: ## the tests that most changes can break: some ten minutes
	@scripts/setup --check
	@$(MAKE) --no-print-directory check-steps
check-deep: ## the same code under sanitizers, fuzzers, mutants, kills and load; FUZZ_SECONDS=10 for each fuzzer
	@scripts/setup --check
	@$(MAKE) --no-print-directory check-deep-steps
.PHONY: check-deep check-steps check-deep-steps
check-steps:
	@scripts/check-all check
check-deep-steps:
	@scripts/check-all deep

check-layers:
	@scripts/check-layers

house: all unit-programs ## the figures of the tree: circles, folders, headers, sizes, words; TIMES=1: times of the first steps
	@BUILD=$(BUILD) scripts/house $(if $(TIMES),--times)

CLANG_FORMAT ?= clang-format
.PHONY: check-style
check-style: ## format, names and words: the part of lint that takes seconds
	@$(CLANG_FORMAT) --dry-run -Werror $$(git ls-files '*.c' '*.h' '*.cu' | grep -v gen/ | grep -v '/gen_')
	@scripts/check-names
	@scripts/check-prose
	@scripts/check-pipeline
	@scripts/check-seam
.PHONY: check-cppcheck check-tidy check-mutants-apply
check-cppcheck: ## cppcheck
	@cppcheck -j$(JOBS) --quiet --std=c11 --error-exitcode=1 --inline-suppr --enable=warning,portability \
		--suppressions-list=scripts/cppcheck.suppress -D_GNU_SOURCE -D__x86_64__ -I. common proto daemon shim
check-tidy: ## clang-tidy on sources that have changed since its last clean run
	@BUILD=$(BUILD) scripts/tidy --self-test -j$(JOBS)
check-mutants-apply: ## checks that every mutant still applies
	@scripts/mutants check
lint: check-layers check-style check-cppcheck check-tidy check-mutants-apply ## floors, format, static analysis
	@echo "lint: clean"

# Each sanitizer has a build folder of its own. Criterion exits with 0 although its workers reported leaks, so the text
# of a report fails the run. Criterion's workers abort under TSan, so the thread checks are plain programs and the
# daemon itself under the end-to-end tests. Two programs run at once, so the cause of a failure may be further up in the
# log than its end.
check-asan: ## unit tests under ASan and UBSan
	@mkdir -p build-asan
	@LSAN_OPTIONS=suppressions=$(abspath scripts/lsan.suppress):print_suppressions=0 SALUS_TEST_PART=$(ASAN_PART) \
		$(MAKE) --no-print-directory BUILD=build-asan SAN=address,undefined PLAIN_LEFT_OUT="$(ASAN_LEFT_OUT)" \
		UNIT_LEFT_OUT="$(ASAN_UNIT_LEFT_OUT)" check-unit check-plain \
		>build-asan/check.log 2>&1 || { tail -60 build-asan/check.log; \
		grep -B40 -E '^failed:|[*][*][*]' build-asan/check.log; exit 1; }
	@! grep -A20 -E 'ERROR: (Address|Leak)Sanitizer|runtime error:' build-asan/check.log
	@grep -E 'Synthesis' build-asan/check.log
# The tests of failing driver calls take a minute or two under each sanitizer, and so do simulations that compute and
# hardly allocate; of random searches only a part runs.
ASAN_LEFT_OUT ?= cuda_faults
ASAN_UNIT_LEFT_OUT ?= sim_kernels slack_order fleet_slow plan_orloj
ASAN_PART ?= 4
.PHONY: check-long-asan
check-long-parts: check-long-asan
check-long-asan:
	@$(MAKE) --no-print-directory ASAN_LEFT_OUT= ASAN_UNIT_LEFT_OUT= ASAN_PART=1 check-asan
TSAN_LEFT_OUT ?= cuda_faults
check-tsan: ## threads under TSan
	@$(MAKE) --no-print-directory BUILD=build-tsan SAN=thread PLAIN_LEFT_OUT="$(TSAN_LEFT_OUT)" check-plain
.PHONY: check-long-tsan
check-long-parts: check-long-tsan
check-long-tsan:
	@$(MAKE) --no-print-directory TSAN_LEFT_OUT= check-tsan

# Excluded from coverage: the handlers in soft/isa are compiled three times from the same lines, and sectors.h has a
# function at another line for one instruction set; gcovr cannot merge either. Their differential tests reach all of
# them.
.PHONY: check-long
check-long-parts: coverage
coverage: ## lines and branches that unit tests reach; fails below a limit
	@$(MAKE) --no-print-directory BUILD=build-cov OPT="-O0 -g" CFLAGS=--coverage LDFLAGS=--coverage check-unit
	@gcovr -j$(JOBS) --root . --object-directory build-cov --filter '(common|proto|daemon|shim)/' \
		--exclude '.*soft/isa/.*' --exclude '.*soft/memory/sectors[.]h' --print-summary \
		--fail-under-line 85 --fail-under-branch 72 >build-cov/coverage.txt; rc=$$?; \
		grep -E '^(lines|branches|functions)' build-cov/coverage.txt; exit $$rc

# For editors and clang tools: writes the commands that would build everything, tests included.
.PHONY: compile_commands.json
compile_commands.json: ## how each file is compiled, for clangd
	@$(MAKE) --no-print-directory --dry-run --always-make V=1 all $(UNIT) $(PLAIN) | scripts/compile-commands >$@.tmp
	@mv $@.tmp $@
