# SPDX-License-Identifier: Apache-2.0
# The shim's own switches and the objects that its unit tests link.
#   DRIVER_VALIDITY=0   leaves out the answer to the CUDA runtime's validity question
DRIVER_VALIDITY ?= 1
$(BUILD)/shim/private/validity.o: OWN_CFLAGS += -DDRIVER_VALIDITY=$(DRIVER_VALIDITY)

# Binds the library's calls of its own entry points to itself, whatever other library the program preloads.
$(SHIM_SO): LDFLAGS += -Wl,-Bsymbolic

$(BUILD)/test/unit/shim/alone/test_vmem: $(BUILD)/shim/memory/vmem.o
$(BUILD)/test/unit/shim/alone/test_shim_registered: $(addprefix $(BUILD)/shim/,$(addprefix host_memory/,own_stack.o page_exchange.o page_block.o \
	registered.o pages.o quiescence.o shadow.o) memory/identity.o memory/spans.o)
$(BUILD)/test/unit/shim/alone/test_shim_share: $(addprefix $(BUILD)/shim/host_memory/,share.o pages.o)
$(BUILD)/test/unit/shim/alone/test_shim_learn: $(BUILD)/shim/memory/learn.o
$(BUILD)/test/unit/shim/alone/test_spans: $(BUILD)/shim/memory/spans.o
$(BUILD)/test/unit/shim/alone/test_identity: $(addprefix $(BUILD)/shim/memory/,identity.o spans.o)
$(BUILD)/test/unit/shim/alone/test_hints: $(BUILD)/shim/memory/hints.o
$(BUILD)/test/unit/shim/alone/test_bins: $(BUILD)/shim/memory/bins.o
$(BUILD)/test/unit/shim/alone/test_lanes: $(BUILD)/shim/graph_exec/lanes.o
$(BUILD)/test/unit/shim/alone/test_shim_title: $(BUILD)/shim/process/title.o
SHIM_LINK := $(addprefix $(BUILD)/shim/code/,fatbin.o link.o linked.o object.o program_memory.o ptx_target.o)
$(BUILD)/test/unit/shim/alone/test_shim_fatbin $(BUILD)/test/unit/shim/alone/test_shim_link $(BUILD)/fuzz_link: $(SHIM_LINK)
$(BUILD)/test/unit/shim/alone/test_shim_conn: $(addprefix $(BUILD)/shim/,connection/conn.o connection/refusals.o $(addprefix process/,\
	dial.o gpu_choice.o program_identity.o question.o title.o visible.o))
$(BUILD)/test/unit/shim/alone/test_visible $(BUILD)/fuzz_visible: $(BUILD)/shim/process/visible.o
$(BUILD)/test/unit/shim/alone/test_question $(BUILD)/fuzz_question: $(addprefix $(BUILD)/shim/process/,dial.o question.o)
$(BUILD)/test/unit/shim/alone/test_mps_variables: $(BUILD)/shim/process/mps_variables.o
$(BUILD)/test/unit/shim/alone/test_gpu_choice: $(addprefix $(BUILD)/shim/process/,dial.o gpu_choice.o question.o visible.o)
$(BUILD)/test/unit/shim/alone/test_shim_mem: $(addprefix $(BUILD)/shim/,memory/mem.o memory/backlog.o memory/vmem.o memory/learn.o memory/placed.o memory/headroom.o api/memory/alloc.o \
	transfer/lookup.o transfer/stray.o memory/virtual.o memory/allocation.o memory/spans.o memory/identity.o)
$(BUILD)/test/unit/shim/alone/test_shim_submit: $(addprefix $(BUILD)/shim/,connection/submit.o context/mark.o)
$(BUILD)/test/unit/shim/alone/test_shim_wait: $(addprefix $(BUILD)/shim/,connection/wait.o connection/process_exit.o connection/submit.o connection/reply.o transfer/staging.o)
$(BUILD)/test/unit/shim/alone/test_refuse: $(addprefix $(BUILD)/shim/,connection/refuse.o connection/logbook.o connection/refusals.o private/slots.o)
$(BUILD)/test/unit/shim/alone/test_shim_logs: $(addprefix $(BUILD)/shim/,api/context/logs.o connection/logbook.o)
$(BUILD)/test/unit/shim/alone/test_shim_nvtx: $(BUILD)/shim/private/nvtx.o

# Tests of the launch path and the locking rules: all of the library, with a scripted worker in its own process,
# compiled to abort where it would wait while it holds a lock.
SHIM_RIG := $(BUILD)/test/lib/shim/rig.o $(BUILD)/test/lib/description.o
SHIM_CHECK := $(patsubst %.c,$(BUILD)/check/%.o,$(SHIM))
$(BUILD)/check/shim/%.o: shim/%.c
	@mkdir -p $(@D)
	@$(if $(Q),echo "  CC      $< with LOCK_CHECK")
	$(Q)$(COMPILE) -DLOCK_CHECK -DDRIVER_VALIDITY=$(DRIVER_VALIDITY) -c $< -o $@
$(BUILD)/check/libshim.a: $(SHIM_CHECK)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(call objs,$(wildcard test/unit/shim/*.c) test/unit/shim/alone/test_shim_linking.c) $(BUILD)/test/lib/shim/rig.o: OWN_CFLAGS += -DLOCK_CHECK
$(BUILD)/test/plain/shim_threads: $(BUILD)/test/plain/shim_threads.o $(SHIM_RIG) \
		$(BUILD)/daemon/worker/stream/graph.o $(BUILD)/check/libshim.a $(BUILD)/libproto.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(Q)$(TEST_LINK)
SHIM_RIG_NEEDS := $(SHIM_RIG) $(BUILD)/daemon/worker/stream/graph.o $(BUILD)/check/libshim.a \
	$(BUILD)/libproto.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
UNIT_NEEDS_test/unit/shim := $(SHIM_RIG_NEEDS)
$(BUILD)/test/unit/shim/alone/test_shim_linking: $(BUILD)/test/unit/shim/alone/test_shim_linking.o $(SHIM_RIG_NEEDS)
	$(Q)$(TEST_LINK) -lcriterion

# A build of the library that counts its entry points' calls and its questions to the worker.
COUNTED := $(filter shim/api/% shim/entry/gen_forward.c shim/connection/reply.c,$(SHIM))
$(BUILD)/counted/shim/%.o: shim/%.c
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -finstrument-functions -c $< -o $@
$(BUILD)/counted/libcuda.so.1: $(COUNTED:%.c=$(BUILD)/counted/%.o) $(call objs,$(filter-out $(COUNTED),$(SHIM))) \
		$(BUILD)/test/lib/shim/counted.o $(addprefix $(BUILD)/lib,proto.a policy.a common.a) $(SHIM_SO)
	@$(if $(Q),echo "  LINK    $@")
	$(Q)$(LINK) -shared -Wl,-soname,libcuda.so.1 -Wl,--version-script=proto/gen/libcuda.map -Wl,-Bsymbolic \
		-Wl,-z,now -Wl,--exclude-libs,ALL -o $@ $(filter %.o,$^) $(filter %.a,$^)

# Headers that users' programs may include.
.PHONY: install-header uninstall-header
install: install-header
uninstall: uninstall-header
install-header:
	$(INSTALL) -D -m 0644 shim/salus.h $(ROOT_DIR)/include/salus.h
uninstall-header:
	rm -f $(ROOT_DIR)/include/salus.h
