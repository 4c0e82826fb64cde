# SPDX-License-Identifier: Apache-2.0
# What people call: demo, check, and what check is made of.
.PHONY: demo setup check check-layers lint check-asan check-tsan coverage

setup:
	@scripts/setup

# Set-up comes first, and make must see what it installed: hence the second make.
demo: setup
	@$(MAKE) --no-print-directory all e2e-programs
	@BUILD=$(BUILD) $(PYTHON) scripts/demo

check: setup
	@$(MAKE) --no-print-directory check-all

.PHONY: check-all
check-all:
	@scripts/check-all

check-layers:
	@scripts/check-layers

CLANG_FORMAT ?= clang-format
lint: check-layers
	@$(CLANG_FORMAT) --dry-run -Werror $$(git ls-files '*.c' '*.h' '*.cu' | grep -v gen/ | grep -v '/gen_')
	@cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr --enable=warning,portability \
		--suppressions-list=scripts/cppcheck.suppress -D_GNU_SOURCE -D__x86_64__ -I. common proto daemon shim
	@echo "lint: clean"

# Sanitizers in build directories of their own. Criterion ends with 0 although its workers reported leaks,
# so the text of a report fails the run. Criterion's workers abort under TSan, so the thread
# checks are plain programs and the daemon itself under the end-to-end tests.
check-asan:
	@mkdir -p build-asan
	@$(MAKE) --no-print-directory BUILD=build-asan SAN=address,undefined check-unit check-plain \
		>build-asan/check.log 2>&1 || { tail -60 build-asan/check.log; exit 1; }
	@! grep -A20 -E 'ERROR: (Address|Leak)Sanitizer|runtime error:' build-asan/check.log
	@grep -E 'Synthesis' build-asan/check.log
check-tsan:
	@$(MAKE) --no-print-directory BUILD=build-tsan SAN=thread check-plain

# The handlers in soft/isa are compiled three times from the same lines, and sectors.h has a function at
# another line for one of the instruction sets: gcovr cannot merge either. Their differential tests reach
# every one of them.
coverage:
	@$(MAKE) --no-print-directory BUILD=build-cov OPT="-O0 -g" CFLAGS=--coverage LDFLAGS=--coverage check-unit
	@gcovr --root . --object-directory build-cov --filter '(common|proto|daemon|shim)/' \
		--exclude '.*soft/isa/.*' --exclude '.*soft/sectors[.]h' --print-summary | grep -E '^(lines|branches|functions)'
