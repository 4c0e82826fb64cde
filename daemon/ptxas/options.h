/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of ptxas, as far as compilers of frameworks write it. Pure.
 */
#ifndef DAEMON_PTXAS_OPTIONS_H
#define DAEMON_PTXAS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Texts are the caller's argv; NULL: not given. */
struct options {
    const char *input, *text; /* a file, or PTX itself: one of the two */
    const char *output;
    const char *gpu; /* "sm_90a" */
    bool verbose, version, help;
};

/* 0, or -EINVAL with the reason in `why`. */
int options_parse(struct options *o, char **argv, char *why, size_t why_bytes);

#endif
