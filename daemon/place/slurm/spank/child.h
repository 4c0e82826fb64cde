/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program to its end for its output, from within Slurm's processes, with a time limit and an
 * output limit.
 *
 * Owner: the caller. Thread: the caller's, which waits.
 */
#ifndef DAEMON_PLACE_SLURM_SPANK_CHILD_H
#define DAEMON_PLACE_SLURM_SPANK_CHILD_H

#include <stddef.h>

#define CHILD_OUTPUT_BYTES (1u << 20)
#define CHILD_LIMIT_MS 60000

struct child_output {
    char *out;        /* standard output, NUL-terminated */
    size_t out_bytes; /* without the NUL */
    char err[512];    /* start of standard error, without the last newline */
    int status;       /* exit status; 128 plus the signal's number; 124: time limit passed */
};

/* Runs the program in its own process group, which is gone when this function returns. `limit_ms`:
 * normally CHILD_LIMIT_MS. Returns 0, or -errno if the program did not run; then there is nothing
 * to finish. */
int child_run(char *const argv[], char *const env[], int limit_ms, struct child_output *c);
void child_finish(struct child_output *c);

#endif
