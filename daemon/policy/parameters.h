/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters of a policy configuration as a table, made from policies.def. Code that
 * treats all parameters alike uses this table. Pure.
 */
#ifndef DAEMON_POLICY_PARAMETERS_H
#define DAEMON_POLICY_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/policy/policy_config.h"

enum parameters_type {
    PARAMETERS_SWITCH,
    PARAMETERS_AUTO,
    PARAMETERS_COUNT,
    PARAMETERS_TIME,
    PARAMETERS_PART
};

enum {
#define PARAMETER(name, ...) PARAMETERS_N_##name,
#include "daemon/policy/policies.def"
    PARAMETERS /* number of parameters */
};

#define PARAMETERS_TEXT_BYTES 32 /* for the text of a value, including the NUL */

struct parameter {
    const char *name;   /* name for users; a value is written with its unit */
    const char *field;  /* name with the unit in it, such as lease_ns */
    const char *option; /* name of the option in the configuration */
    const char *policy; /* policy that uses the parameter; "": the scheduler's core */
    enum parameters_type type;
    const char *preset;
    int64_t least, most;
    const char *sentence;
    size_t offset; /* in struct policy_config */
};

/* The parameter with this index, from 0, in the order of policies.def; NULL for PARAMETERS or more.
 */
const struct parameter *parameters_at(int index);
/* Find a parameter by its name or by its field; NULL if there is none. */
const struct parameter *parameters_find(const char *name);
const struct parameter *parameters_find_field(const char *field);

int64_t parameters_get(const struct policy_config *c, const struct parameter *k);
/* Returns false if the number does not fit into the member, which is then set to a part of it. */
bool parameters_put(struct policy_config *c, const struct parameter *k, int64_t value);
/* Tests that both configurations are equal. */
bool parameters_same(const struct policy_config *a, const struct policy_config *b);

/* The value that marks a parameter as not set. */
int64_t parameters_unset(const struct parameter *k);
/* Resets the configuration: no policy is named and no parameter is set. */
void parameters_clear(struct policy_config *c);
/* Sets every unset parameter to its preset. AUTO parameters are not changed. */
void parameters_fill(struct policy_config *c);

/* Parses a value as users write it: yes, no, auto, a whole number, a time with its unit, or a
 * percentage. Returns 0, -EINVAL for any other text, or -ERANGE above 64 bits. parameters_check
 * checks the bounds. */
int parameters_parse(const struct parameter *k, const char *text, int64_t *out);
/* Prints a value in the notation that parameters_parse reads. */
void parameters_print(const struct parameter *k, int64_t value, char *out, size_t cap);
/* Describes the expected notation, such as "a time such as 30s". */
const char *parameters_expected(enum parameters_type type);
/* Tests whether users may set this value. Returns 0, or -EINVAL and a sentence that names the
 * parameter and its bounds. */
int parameters_check(const struct parameter *k, int64_t value, char *why, size_t cap);
/* Tests whether the scheduler accepts the configuration: names are terminated, and every parameter
 * is unset or at most its maximum. Values from 0 to the minimum are accepted, because they do no
 * harm. Returns 0, or -EINVAL with the reason as above; `why` may be NULL. */
int parameters_check_all(const struct policy_config *c, char *why, size_t cap);

#endif
