/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the lines of a file for inih. inih splits a line that is too long into two, and would take
 * the second part for a continuation of the previous value. The caller owns the struct and the
 * file. One thread at a time.
 */
#ifndef DAEMON_SERVE_GATEWAY_CONFIG_CONF_LINES_H
#define DAEMON_SERVE_GATEWAY_CONFIG_CONF_LINES_H

#include <stdio.h>

struct conf_lines {
    FILE *file;
    unsigned line;     /* number of the latest line, from 1 */
    unsigned bad_line; /* first line that is too long or contains a NUL; 0: none */
};

/* An ini_reader; `arg` is a struct conf_lines. Works like fgets, but drops the rest of a line that
 * does not fit. */
char *conf_lines_next(char *text, int cap, void *arg);

#endif
