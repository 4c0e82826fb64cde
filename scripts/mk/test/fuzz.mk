# SPDX-License-Identifier: Apache-2.0
# Fuzzing: each test/fuzz/<floor>/fuzz_<x>.c is a libFuzzer target.
#   make check-fuzz [FUZZ_SECONDS=60]    every target; -j2: two at a time
#   make fuzz-<x>   [FUZZ_SECONDS=600]   one target
# Seeds are test/fuzz/corpus/<x>/ and the output of test/fuzz/device/seed_*.c (binaries, all instructions). New
# inputs and findings stay in $(FUZZ_BUILD)/fuzz/. A file <x>.dict beside the source is used as dictionary.
FUZZ_SECONDS ?= 60
FUZZ_BUILD ?= build-fuzz
FUZZ_CC ?= clang
FUZZ_SRC := $(wildcard test/fuzz/*/fuzz_*.c)
FUZZ_NAMES := $(patsubst fuzz_%.c,%,$(notdir $(FUZZ_SRC)))
FUZZ_SAN := fuzzer-no-link,address,undefined
# Further folders of seeds, for targets whose inputs exist elsewhere.
FUZZ_SEEDS_ptx = build/data/ptx build/data/alu $(FUZZ_BUILD)/fuzz/soft/seeds
FUZZ_SEEDS_subgrid = $(FUZZ_SEEDS_ptx) test/fuzz/corpus/ptx
FUZZ_SEEDS_replay := test/sim
# Dictionaries of another target.
FUZZ_DICT_soft := test/fuzz/device/ptx.dict
FUZZ_DICT_subgrid := test/fuzz/device/ptx.dict
# A unit takes milliseconds. The timeout counts wall time, and on a busy machine the process may not run for seconds.
FUZZ_FLAGS := -timeout=60 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 -verbosity=0

# These programs build inside $(FUZZ_BUILD); check-fuzz builds them through a second make.
$(foreach s,$(FUZZ_SRC),$(eval $(BUILD)/$(notdir $(s:.c=)): $(s:%.c=$(BUILD)/%.o)))
$(BUILD)/fuzz_%: $(TEST_LIB) $(LIBS)
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) \
		-Wl,--end-group $(DEVICE_LIBS) $(BROKER_LIBS) $(CTL_LIBS) $(OWN_LIBS)
# These targets also mutate whole PTX statements, and have all instructions.
$(BUILD)/fuzz_soft $(BUILD)/fuzz_ptx $(BUILD)/fuzz_subgrid: $(BUILD)/test/fuzz/device/mutate_ptx.o $(BUILD)/test/fuzz/device/ptx_table.o
$(BUILD)/seed_ptx: $(BUILD)/test/fuzz/device/ptx_table.o
$(BUILD)/test/fuzz/device/ptx_table.o: build/data/verify.unpacked test/data/verify/frame.ptx
$(BUILD)/seed_%: $(BUILD)/test/fuzz/device/seed_%.o $(TEST_LIB) $(LIBS)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
		$(DEVICE_LIBS) $(BROKER_LIBS) $(CTL_LIBS)
$(BUILD)/test/fuzz/device/mutant_nvinfo.o: test/fuzz/device/fuzz_nvinfo.c
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -DFUZZ_MUTANT -c $< -o $@
$(BUILD)/mutant_nvinfo: $(BUILD)/test/fuzz/device/mutant_nvinfo.o $(LIBS)
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) \
		-Wl,--end-group $(DEVICE_LIBS)
.PHONY: fuzz-seeds
fuzz-seeds: $(BUILD)/fuzz/seeds
	$(Q)mkdir -p $(foreach n,$(FUZZ_NAMES),$(BUILD)/fuzz/$(n)/seeds $(BUILD)/fuzz/$(n)/found)
# Seeds are not written again while a fuzzer may read them.
SEEDED := $(foreach n,fatbin nvinfo cubin,$(BUILD)/fuzz/$(n)/seeds)
$(BUILD)/fuzz/seeds: $(patsubst test/fuzz/device/seed_%.c,$(BUILD)/seed_%,$(wildcard test/fuzz/device/seed_*.c))
	$(Q)mkdir -p $(SEEDED) $(BUILD)/fuzz/soft/seeds
	$(Q)$(BUILD)/seed_fatbin $(SEEDED)
	$(Q)$(BUILD)/seed_ptx $(BUILD)/fuzz/soft/seeds
	$(Q)touch $@

FUZZ_MAKE = $(MAKE) --no-print-directory BUILD=$(FUZZ_BUILD) CC="$(FUZZ_CC)" SAN=$(FUZZ_SAN) \
	OPT="-O1 -g -fno-sanitize-recover=all"

# Builds all targets first, so that they can run side by side.
.PHONY: check-fuzz fuzz-programs fuzz-mutant $(addprefix fuzz-,$(FUZZ_NAMES))
check-fuzz: fuzz-programs ## every fuzzer, FUZZ_SECONDS=60 each
	$(Q)$(MAKE) --no-print-directory fuzz-mutant $(addprefix fuzz-,$(FUZZ_NAMES))
fuzz-programs:
	$(Q)+$(FUZZ_MAKE) fuzz-seeds $(FUZZ_BUILD)/mutant_nvinfo $(addprefix $(FUZZ_BUILD)/fuzz_,$(FUZZ_NAMES))

# A target with a false assertion must fail from the same seeds.
fuzz-mutant:
	$(Q)+$(FUZZ_MAKE) fuzz-seeds $(FUZZ_BUILD)/mutant_nvinfo
	$(Q)! $(FUZZ_BUILD)/mutant_nvinfo $(FUZZ_FLAGS) -max_total_time=20 -artifact_prefix=$(FUZZ_BUILD)/ \
		$(FUZZ_BUILD)/fuzz/nvinfo/seeds 2>$(FUZZ_BUILD)/mutant.log || \
		{ echo "fuzz-mutant: a false assertion was not found"; exit 1; }

# Runs in its own folder, so that crash-* files go there. A finding fails the run and prints its path.
$(addprefix fuzz-,$(FUZZ_NAMES)): fuzz-%:
	$(Q)+$(FUZZ_MAKE) fuzz-seeds $(FUZZ_BUILD)/fuzz_$*
	@echo "  FUZZ    $* for $(FUZZ_SECONDS) s"
	$(Q)cd $(FUZZ_BUILD)/fuzz/$* && $(abspath $(FUZZ_BUILD))/fuzz_$* $(FUZZ_FLAGS) \
		-max_total_time=$(FUZZ_SECONDS) \
		$(addprefix -dict=,$(abspath $(wildcard test/fuzz/*/$*.dict) $(FUZZ_DICT_$*))) \
		found seeds $(abspath $(wildcard test/fuzz/corpus/$*) $(FUZZ_SEEDS_$*)) 2>log || \
		{ tail -40 log; echo "fuzz-$*: see $(FUZZ_BUILD)/fuzz/$*/"; exit 1; }
	@grep -E 'number_of_executed_units|peak_rss' $(FUZZ_BUILD)/fuzz/$*/log | sed 's/^/          /'
