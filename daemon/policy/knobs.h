/* SPDX-License-Identifier: Apache-2.0
 *
 * The knobs of a policy configuration as a table, made from policies.def: whatever treats all of
 * them alike goes by it. Pure.
 */
#ifndef DAEMON_POLICY_KNOBS_H
#define DAEMON_POLICY_KNOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/policy/policy_config.h"

enum knobs_type { KNOBS_SWITCH, KNOBS_AUTO, KNOBS_COUNT, KNOBS_TIME, KNOBS_PART };

enum {
#define KNOB(name, ...) KNOBS_N_##name,
#include "daemon/policy/policies.def"
    KNOBS /* how many there are */
};

#define KNOBS_TEXT_BYTES 32 /* of a value */

struct knob {
    const char *name;   /* as people write it, with a unit behind the value */
    const char *field;  /* with the unit in the name: lease_ns */
    const char *option; /* of the configuration */
    const char *policy; /* whose it is; "": the core's */
    enum knobs_type type;
    const char *preset;
    int64_t least, most;
    const char *sentence;
    size_t offset; /* in struct policy_config */
};

/* NULL from KNOBS on. */
const struct knob *knobs_at(int index);
/* By its name, or by its field; NULL: there is none. */
const struct knob *knobs_find(const char *name);
const struct knob *knobs_find_field(const char *field);

int64_t knobs_get(const struct policy_config *c, const struct knob *k);
/* False: the member has no room for so large a number. */
bool knobs_put(struct policy_config *c, const struct knob *k, int64_t value);
/* Whether both say the same. */
bool knobs_same(const struct policy_config *a, const struct policy_config *b);

/* What stands for a knob of which nothing is said. */
int64_t knobs_unset(const struct knob *k);
/* No policy is named and of no knob anything is said. */
void knobs_clear(struct policy_config *c);
/* Knobs of which nothing is said get their presets; AUTO stays as it is. */
void knobs_fill(struct policy_config *c);

/* As people write it: yes, no, auto, a whole number, a time with its unit, a percentage. 0, -EINVAL
 * when it is none of these, -ERANGE above 64 bits. Bounds are knobs_check's. */
int knobs_parse(const struct knob *k, const char *text, int64_t *out);
/* What knobs_parse reads back. */
void knobs_print(const struct knob *k, int64_t value, char *out, size_t cap);
/* What is expected: "a time such as 30s". */
const char *knobs_expected(enum knobs_type type);
/* Whether people may set this: 0, or -EINVAL and a sentence that names the knob and its bounds. */
int knobs_check(const struct knob *k, int64_t value, char *why, size_t cap);
/* What the scheduler takes: that the names end, and of each knob nothing, or no more than its most.
 * Less than its least is no harm, but nothing that people want. 0, or -EINVAL as above; `why` may
 * be NULL. */
int knobs_check_all(const struct policy_config *c, char *why, size_t cap);

#endif
