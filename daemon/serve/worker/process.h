/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts a model's program in its own process group, with a socket to us. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_WORKER_PROCESS_H
#define DAEMON_SERVE_WORKER_PROCESS_H

#include <stdbool.h>
#include <uv.h>

/* The program's input is empty. Its output can be read from *words, its messages from *sock, which
 * does not block; the caller owns both. `env` NULL: our own environment. Returns 0, or -errno
 * without descriptors. *open: the handle must be closed, also after a failure. */
int process_start(uv_loop_t *loop, uv_process_t *process, char *const *argv, char *const *env,
                  uv_exit_cb on_exit, int *sock, int *words, bool *open);

/* Signals the whole group, which may outlive the process if it has children. */
void process_signal(int pid, int signal);

#endif
