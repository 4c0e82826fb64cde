# SPDX-License-Identifier: Apache-2.0
# One non-recursive makefile.
#   BUILD=dir   where to build (default: build, or build-asan / build-tsan by the check targets)
#   SAN=address,undefined | thread      V=1 shows commands      CC=clang works as well
BUILD ?= build
SAN ?=
# Runs as many jobs as there are processors, unless the caller gives -j. Recursive makes share the caller's jobs.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
PREFIX ?= /usr/local
PYTHON ?= python3

CSTD := -std=gnu11
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter -Werror
# A sanitizer build runs once, so compile time is most of its cost. (Under a sanitizer, the compiler cannot tell which
# text may be truncated.)
OPT ?= $(if $(SAN),-O1 -g1 -Wno-format-truncation,-O2 -g)
UNIT_OPT ?= $(if $(SAN),-O0 -g1,-O1 -g)
ISA_OPT ?= $(if $(SAN),-O1,-O3)
# These sources are built three times; only one build checks for undefined behaviour, since checking all takes twice as
# long to compile.
ISA_AGAIN := $(if $(findstring undefined,$(SAN)),-fno-sanitize=undefined)
# Contraction is explicit in PTX, so the host compiler must never fuse operations on its own. OWN_CFLAGS has the flags
# of single files; CFLAGS belong to the caller of make, whose command line replaces them.
COMPILE = $(CC) $(CSTD) $(WARN) $(OPT) -fPIC -ffp-contract=off -D_GNU_SOURCE -I. -pthread \
	$(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) $(OWN_CFLAGS) $(CFLAGS) -MMD -MP
LINK = $(CC) -pthread $(OPT) $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)

pkg = $(shell pkg-config $(1) $(2))

# ---- sources of each floor and its rooms (a program's main.c stays out of its library) -----------
SOURCES := $(sort $(shell find common proto daemon shim -name '*.c'))
src = $(filter-out %/main.c,$(filter $(addsuffix /%,$(1)),$(SOURCES)))
objs = $(patsubst %.c,$(BUILD)/%.o,$(1))

COMMON := $(call src,common)
POLICY := $(call src,daemon/policy)
PROTO  := $(call src,proto)
KERNELS := $(call src,daemon/kernels)
SCHED  := $(call src,daemon/sched)
PLAN   := $(call src,daemon/serve/plan)
DEVICE := $(filter-out daemon/device/soft/isa/%,$(call src,daemon/device))
WORKER := $(call src,daemon/worker)
BROKER := $(call src,daemon/broker)
CTL    := $(call src,daemon/ctl)
NVML   := $(call src,shim/nvml)
JIT    := $(call src,shim/jit)
SHIM   := $(filter-out $(NVML) $(JIT),$(call src,shim))
# The software GPU's instruction handlers are compiled once per instruction set and chosen by cpuid.
ISA_ONCE  := daemon/device/soft/isa/dispatch/select.c
ISA_SRC   := $(filter-out $(ISA_ONCE),$(call src,daemon/device/soft/isa))
ISA_base  := -march=x86-64
ISA_v3    := -march=x86-64-v3 $(ISA_AGAIN)
ISA_v4    := -march=x86-64-v4 -mprefer-vector-width=512 $(ISA_AGAIN)
ISA_OBJS  := $(foreach v,base v3 v4,$(patsubst %.c,$(BUILD)/%.$(v).o,$(ISA_SRC))) \
	$(call objs,$(wildcard $(ISA_ONCE)))

LIBS := $(addprefix $(BUILD)/lib,common.a policy.a proto.a kernels.a sched.a plan.a device.a worker.a broker.a ctl.a)
DEVICE_LIBS := -lzstd -llz4 -lm
BROKER_LIBS = $(call pkg,--libs,libuv msgpack) -linih
CTL_LIBS = $(call pkg,--libs,msgpack) -lcjson
PROGRAMS := $(addprefix $(BUILD)/,salusd salus-gpu salusctl)
SHIM_SO := $(BUILD)/shim/libcuda.so.1
NVML_SO := $(BUILD)/shim/libnvidia-ml.so.1
JIT_SO := $(BUILD)/shim/libsalus-jit.so

.PHONY: all
all: $(PROGRAMS) $(SHIM_SO) $(NVML_SO) $(JIT_SO) $(SHIM_SO:.1=) $(NVML_SO:.1=) ## the daemon, its worker, salusctl, salus-ptxas, salus-sim, libcuda.so.1, libnvidia-ml.so.1

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@$(if $(Q),echo "  CC      $<")
	$(Q)$(COMPILE) -c $< -o $@

define isa_rule
$(BUILD)/%.$(1).o: %.c Makefile
	@mkdir -p $$(@D)
	@$(if $(Q),echo "  CC[$(1)] $$<")
	$(Q)$$(COMPILE) $(ISA_OPT) -fno-math-errno $(ISA_$(1)) -DISA=$(1) -c $$< -o $$@
endef
$(foreach v,base v3 v4,$(eval $(call isa_rule,$(v))))

$(BUILD)/libcommon.a: $(call objs,$(COMMON))
$(BUILD)/libpolicy.a: $(call objs,$(POLICY))
$(BUILD)/libproto.a: $(call objs,$(PROTO))
$(BUILD)/libkernels.a: $(call objs,$(KERNELS))
$(BUILD)/libsched.a: $(call objs,$(SCHED))
$(BUILD)/libplan.a: $(call objs,$(PLAN))
$(BUILD)/libdevice.a: $(call objs,$(DEVICE)) $(ISA_OBJS)
$(BUILD)/libworker.a: $(call objs,$(WORKER))
$(BUILD)/libbroker.a: $(call objs,$(BROKER))
$(BUILD)/libctl.a: $(call objs,$(CTL))
$(BUILD)/libshim.a: $(call objs,$(SHIM))
$(BUILD)/lib%.a:
	@$(if $(Q),echo "  AR      $@")
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

$(BUILD)/salusd: $(BUILD)/daemon/broker/main.o $(addprefix $(BUILD)/lib,broker.a kernels.a proto.a policy.a common.a)
	$(Q)$(LINK) -o $@ $^ $(BROKER_LIBS)
$(BUILD)/salus-gpu: $(BUILD)/daemon/worker/main.o \
		$(addprefix $(BUILD)/lib,worker.a kernels.a sched.a device.a proto.a policy.a common.a)
	$(Q)$(LINK) -o $@ $^ $(DEVICE_LIBS)
$(BUILD)/salusctl: $(BUILD)/daemon/ctl/main.o $(addprefix $(BUILD)/lib,ctl.a kernels.a proto.a policy.a common.a)
	$(Q)$(LINK) -o $@ $^ $(CTL_LIBS)

# The shim exports only the driver's own names, from a list, and binds all symbols when it is loaded.
$(SHIM_SO): $(call objs,$(SHIM)) $(addprefix $(BUILD)/lib,proto.a policy.a common.a) proto/gen/libcuda.map
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,libcuda.so.1 -Wl,--version-script=proto/gen/libcuda.map \
		-Wl,-z,relro,-z,now $(if $(SAN),,-Wl,-z,defs) -Wl,--exclude-libs,ALL -o $@ \
		$(filter %.o,$^) $(filter %.a,$^)
# Names without a version, for programs that link or load them.
$(BUILD)/shim/%.so: $(BUILD)/shim/%.so.1
	$(Q)ln -sf $(<F) $@
$(call objs,$(SHIM)): OWN_CFLAGS += -fvisibility=hidden

# ---- tests -------------------------------------------------------------------------------------
PLAIN := $(patsubst test/plain/%.c,$(BUILD)/test/plain/%,$(wildcard test/plain/*.c))
# Large test data is unpacked once, for all builds.
TEST_DATA := $(addprefix build/data/,ptx.unpacked random.unpacked iterations.unpacked verify.unpacked alu.made)
TEST_LIB := $(BUILD)/libtest.a
TEST_ROOMS := alu broker cuda place ptx sched serve tune worker
$(TEST_LIB): $(call objs,$(wildcard test/lib/*.c $(TEST_ROOMS:%=test/lib/%/*.c))) | $(TEST_DATA)
build/data/%.unpacked: test/data/%.tar.xz scripts/test-data
	$(Q)scripts/test-data unpack $* && touch $@
TEST_LINK = $(LINK) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group
$(BUILD)/test/plain/%: $(BUILD)/test/plain/%.o $(TEST_LIB) $(LIBS)
	$(Q)$(TEST_LINK) $(DEVICE_LIBS) $(BROKER_LIBS) $(CTL_LIBS)
.PRECIOUS: $(BUILD)/%.o
JOBS ?= $(shell nproc)

# Checks that take hours. Each makefile adds its part to check-long-parts; the parts run one after another.
.PHONY: check-long check-long-parts
check-long: setup ## tests that take too long for check-deep: hours
	@$(MAKE) --no-print-directory -j1 check-long-parts
	@echo "check-long: all parts passed"

# Included in the order of their names, whatever their folder.
MK := $(wildcard scripts/mk/*/*.mk)
include $(foreach n,$(filter-out unit.mk,$(sort $(notdir $(MK)))),$(filter %/$(n),$(MK)))
include scripts/mk/test/unit.mk

# `clean` keeps the compiler that set-up downloaded.
.PHONY: clean distclean
clean: ## removes everything that was built, except a downloaded CUDA compiler
	rm -rf build-*
	$(Q)[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name 'toolkit*' -exec rm -rf {} +
distclean: ## also removes the downloaded CUDA compiler
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
