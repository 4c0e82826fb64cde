/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's program as a process of ours, in a group of its own, with a socket to us. Thread: the
 * loop's.
 */
#ifndef DAEMON_SERVE_WORKER_PROCESS_H
#define DAEMON_SERVE_WORKER_PROCESS_H

#include <stdbool.h>
#include <uv.h>

/* Starts it. Its input is empty; what it writes comes to *words, its messages to *sock, which does
 * not block: both ours. `env` NULL: our own. 0 or -errno, and then there are none. *open: the
 * handle is to be closed, also after a failure. */
int process_start(uv_loop_t *loop, uv_process_t *process, char *const *argv, char *const *env,
                  uv_exit_cb on_exit, int *sock, int *words, bool *open);

/* To all of its group, which outlives it where it has children. */
void process_signal(int pid, int signal);

#endif
