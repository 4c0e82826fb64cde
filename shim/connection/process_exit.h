/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells if this process runs its exit handlers. A runtime releases its contexts in one of them, and
 * CUDA waits for no work then; behind the driver's own handler CUDA's calls fail. Any thread.
 */
#ifndef SHIM_CONNECTION_PROCESS_EXIT_H
#define SHIM_CONNECTION_PROCESS_EXIT_H

#include <stdbool.h>
#include <stdint.h>

/* Registers an exit handler, unless as many as `holders` were registered before. Called when a
 * context gets a holder: exit runs the latest handler first, so that ours runs before that of the
 * runtime which holds the context. Takes no lock of this library. */
void process_exit_watch(uint32_t holders);

/* True if an exit handler of ours has run. */
bool process_exit_begun(void);

/* Registers the handler that runs after all others of ours. Called once, when the driver is
 * initialised. */
void process_exit_watch_end(void);

/* Whether that handler has run. What the process calls from then on, it calls behind the end of the
 * driver: in destructors of its static objects, for example. */
bool process_exit_over(void);

#endif
