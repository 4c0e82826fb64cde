# SPDX-License-Identifier: Apache-2.0
# The daemon's own life: mutants of how it begins, waits, gives up and ends. In the form of daemon.mk,
# and part of check-broker-mutants.
LIFE_MUTANTS := claims-tries declined-as-welcome reset-is-error crossed-answer short-is-taken whole-version
MUTANT_claims-tries := daemon/broker/client.c|s/if (c->tries == 0)/if (0)/|test_broker_client|others_have
MUTANT_declined-as-welcome := daemon/broker/client.c|s/c->state = CLIENT_ATTACHING; .*it waits.*/;/|test_broker_client|client_declines
MUTANT_reset-is-error := daemon/worker/broker_link.c|s/ .. result == -ECONNRESET//|test_broker_link|messages_unread
MUTANT_crossed-answer := shim/conn.c|s/if (late) return late;//|test_shim_conn|crossed_its_answer
MUTANT_short-is-taken := shim/conn.c|s/if (!dev) return -errno;/if (!dev) return -EEXIST;/|test_shim_conn|no_address_space
MUTANT_whole-version := daemon/ctl/show.c|s/version_text(c, .q, asked);/if (!asked) version_text(c, \&q, asked);/|test_ctl_cli|could_not_ask

# These tests are the library's.
broker-mutant-crossed-answer broker-mutant-short-is-taken: DEVICE_LIBS += $(BUILD)/shim/profile.o
broker-mutant-crossed-answer broker-mutant-short-is-taken: $(BUILD)/shim/profile.o

check-broker-mutants: $(addprefix broker-mutant-,$(LIFE_MUTANTS))
$(foreach m,$(LIFE_MUTANTS),$(eval $(call broker_mutant_rule,$(m))))
