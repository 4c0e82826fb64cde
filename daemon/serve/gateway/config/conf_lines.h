/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of a file for inih, which itself makes two of one that is too long, of which the second may
 * pass for a value of the line before. The caller's, with the file. Any one thread.
 */
#ifndef DAEMON_SERVE_GATEWAY_CONFIG_CONF_LINES_H
#define DAEMON_SERVE_GATEWAY_CONFIG_CONF_LINES_H

#include <stdio.h>

struct conf_lines {
    FILE *file;
    unsigned line;     /* the latest one's number, from 1 */
    unsigned bad_line; /* the first that is too long, or has a NUL in it; 0: none */
};

/* An ini_reader; `arg` is a struct conf_lines: as fgets, with what does not fit left out. */
char *conf_lines_next(char *text, int cap, void *arg);

#endif
