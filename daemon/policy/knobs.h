/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters ("knobs") of a policy configuration as a table, made from policies.def. Code that
 * treats all parameters alike uses this table. Pure.
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
    KNOBS /* number of knobs */
};

#define KNOBS_TEXT_BYTES 32 /* for the text of a value, including the NUL */

struct knob {
    const char *name;   /* name for users; a value is written with its unit */
    const char *field;  /* name with the unit in it, such as lease_ns */
    const char *option; /* name of the option in the configuration */
    const char *policy; /* policy that uses the knob; "": the scheduler's core */
    enum knobs_type type;
    const char *preset;
    int64_t least, most;
    const char *sentence;
    size_t offset; /* in struct policy_config */
};

/* NULL for an index of KNOBS or more. */
const struct knob *knobs_at(int index);
/* Find a knob by its name or by its field; NULL if there is none. */
const struct knob *knobs_find(const char *name);
const struct knob *knobs_find_field(const char *field);

int64_t knobs_get(const struct policy_config *c, const struct knob *k);
/* Returns false if the number is too large for the member. */
bool knobs_put(struct policy_config *c, const struct knob *k, int64_t value);
/* Tests that both configurations are equal. */
bool knobs_same(const struct policy_config *a, const struct policy_config *b);

/* The value that marks a knob as not set. */
int64_t knobs_unset(const struct knob *k);
/* Resets the configuration: no policy is named and no knob is set. */
void knobs_clear(struct policy_config *c);
/* Sets every unset knob to its preset. AUTO knobs are not changed. */
void knobs_fill(struct policy_config *c);

/* Parses a value as users write it: yes, no, auto, a whole number, a time with its unit, or a
 * percentage. Returns 0, -EINVAL for any other text, or -ERANGE above 64 bits. knobs_check checks
 * the bounds. */
int knobs_parse(const struct knob *k, const char *text, int64_t *out);
/* Prints a value in the notation that knobs_parse reads. */
void knobs_print(const struct knob *k, int64_t value, char *out, size_t cap);
/* Describes the expected notation, such as "a time such as 30s". */
const char *knobs_expected(enum knobs_type type);
/* Tests whether users may set this value. Returns 0, or -EINVAL and a sentence that names the knob
 * and its bounds. */
int knobs_check(const struct knob *k, int64_t value, char *why, size_t cap);
/* Tests whether the scheduler accepts the configuration: names are terminated, and every knob is
 * unset or at most its maximum. A value below the minimum is accepted, because it does no harm.
 * Returns 0, or -EINVAL with the reason as above; `why` may be NULL. */
int knobs_check_all(const struct policy_config *c, char *why, size_t cap);

#endif
