/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of ptxas, as far as compilers of frameworks use it. Pure.
 */
#ifndef DAEMON_PTXAS_OPTIONS_H
#define DAEMON_PTXAS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Texts point into the caller's argv; NULL: not given. */
struct options {
    const char *input, *text; /* exactly one is set: a file, or the PTX itself */
    const char *output;
    const char *gpu; /* "sm_90a" */
    bool verbose, version, help;
};

/* Returns 0, or -EINVAL with the reason in `why`. */
int options_parse(struct options *o, char **argv, char *why, size_t why_bytes);

#endif
