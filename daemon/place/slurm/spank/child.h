/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that is run to its end for what it prints, from within Slurm's own processes: with a
 * time limit, and a limit of its output.
 *
 * Owner: the caller. Thread: the caller's, which waits.
 */
#ifndef DAEMON_PLACE_SLURM_SPANK_CHILD_H
#define DAEMON_PLACE_SLURM_SPANK_CHILD_H

#include <stddef.h>

#define CHILD_OUTPUT_BYTES (1u << 20)
#define CHILD_LIMIT_MS 60000

struct child_output {
    char *out;        /* of standard output, with a NUL behind it */
    size_t out_bytes; /* without that */
    char err[512];    /* the beginning of standard error, without the last newline */
    int status;       /* exit status; 128 and a signal's number; 124: it took too long */
};

/* Runs it in a process group of its own, of which nothing is left when this returns. `limit_ms`:
 * CHILD_LIMIT_MS. 0, or -errno: it was not run; then there is nothing to finish. */
int child_run(char *const argv[], char *const env[], int limit_ms, struct child_output *c);
void child_finish(struct child_output *c);

#endif
