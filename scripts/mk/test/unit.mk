# SPDX-License-Identifier: Apache-2.0
# Unit tests. test/unit mirrors the rooms: the tests of a folder are one program, <folder>/tests. A test that needs a
# program of its own (other objects in place of the room's, an allocator that fails) lies in the folder `alone` below.
#   make test T=test_ring [CASE=part of a case's name]
# Read after the other makefiles, which set UNIT_NEEDS_<folder> for a folder's program that does not link all of the
# daemon. OWN_LIBS of a program has its further libraries.
UNIT_SRC := $(sort $(shell find test/unit -name 'test_*.c'))
UNIT_ALONE := $(foreach f,$(UNIT_SRC),$(if $(findstring /alone/,$(f)),$(f)))
UNIT_ROOMS := $(patsubst %/,%,$(sort $(dir $(filter-out $(UNIT_ALONE),$(UNIT_SRC)))))
UNIT := $(UNIT_ROOMS:%=$(BUILD)/%/tests) $(UNIT_ALONE:%.c=$(BUILD)/%)

floor_libs = $(addprefix $(BUILD)/lib,$(addsuffix .a,$(1)))
UNIT_NEEDS_test/unit/common := $(TEST_LIB) $(call floor_libs,common)
UNIT_NEEDS_test/unit/proto := $(TEST_LIB) $(call floor_libs,proto policy common)
UNIT_NEEDS_test/unit/daemon/kernels := $(TEST_LIB) $(call floor_libs,kernels proto policy common)
UNIT_NEEDS_test/unit/daemon/sched := $(TEST_LIB) $(call floor_libs,sched policy common)
UNIT_NEEDS_test/unit/daemon/serve/plan := $(TEST_LIB) $(call floor_libs,plan common)

define unit_room
$(BUILD)/$(1)/tests: $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)/test_*.c)) \
		$(or $(UNIT_NEEDS_$(1)),$(TEST_LIB) $(LIBS))
endef
$(foreach r,$(UNIT_ROOMS),$(eval $(call unit_room,$(r))))
$(UNIT_ROOMS:%=$(BUILD)/%/tests):
	$(Q)$(TEST_LINK) -lcriterion $(DEVICE_LIBS) $(BROKER_LIBS) $(CTL_LIBS) $(OWN_LIBS)
$(BUILD)/test/unit/%: $(BUILD)/test/unit/%.o $(TEST_LIB) $(LIBS)
	$(Q)$(TEST_LINK) -lcriterion $(DEVICE_LIBS) $(BROKER_LIBS) $(CTL_LIBS) $(OWN_LIBS)
$(UNIT_SRC:%.c=$(BUILD)/%.o): OWN_CFLAGS += $(UNIT_OPT)

.PHONY: unit-programs check-unit check-plain
# Plain single-threaded programs that run random worlds.
WORLDS := $(addprefix $(BUILD)/test/plain/,lane_random plan_world sched_world grow_worlds)
# The longest start first, so that no processor waits for one of them at the end.
UNIT_FIRST := $(addprefix $(BUILD)/test/unit/daemon/,worker/memory/tests device/soft/exec/tests device/soft/dev/tests \
	device/soft/code/tests serve/plan/alone/test_plan_orloj)
UNIT_NOW = $(filter-out $(addprefix %/test_,$(UNIT_LEFT_OUT)),$(UNIT_FIRST) $(filter-out $(UNIT_FIRST),$(UNIT)))
unit-programs: $(UNIT_NOW) $(WORLDS) $(BUILD)/proofs/late
check-unit: unit-programs ## unit tests, as many at a time as there are processors; UNIT_LEFT_OUT=name
	$(Q)scripts/run-tests -j$(JOBS) $(UNIT_NOW) $(WORLDS)
	$(Q)scripts/must-fail "unit: late" "an assertion failed when its test was over" scripts/run-tests $(BUILD)/proofs/late
	$(Q)scripts/must-fail "unit: hung" "no end after 1 s" timeout 30 scripts/run-tests -t1 test/proofs/stays
	$(Q)scripts/must-fail "unit: ended" "ended while test/proofs/stays ran" timeout 1 scripts/run-tests test/proofs/stays
	$(Q)scripts/must-fail "check: first step" "floors, .*: make check-layers" env MAKE=test/proofs/make_fails scripts/check-all check
	$(Q)scripts/must-fail "check: last step" "two GPUs: make check-gpus$$" env MAKE=test/proofs/make_fails scripts/check-all check
$(BUILD)/proofs/late: $(BUILD)/test/proofs/late.o
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $< -lcriterion
PLAIN_NOW = $(filter-out $(WORLDS) $(addprefix %/,$(PLAIN_LEFT_OUT)),$(PLAIN))
check-plain: $(PLAIN_NOW) ## plain programs of several threads, one at a time; PLAIN_LEFT_OUT=name
	$(Q)scripts/run-tests -j1 $(PLAIN_NOW)

# T is a source's name without its folder, or a plain program's, such as T=sched_world.
TEST_SRC = $(filter %/$(T).c,$(UNIT_SRC))
TEST_NOW = $(or $(filter %/$(T),$(UNIT) $(PLAIN)),$(patsubst %,$(BUILD)/%tests,$(dir $(TEST_SRC))))
.PHONY: test
test: $(if $(T),$(TEST_NOW)) ## one test: T=test_ring [CASE=part of a case's name]
	@$(if $(T),,echo "make test T=test_ring [CASE=...]"; exit 1)
	@$(if $(strip $<),,echo "make test: there is no test '$(T)'"; exit 1)
	$(Q)$< $(if $(TEST_SRC),--filter "$$($(PYTHON) scripts/mutation/cases.py $(TEST_SRC) $(CASE))")
