/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells whether this process runs its exit handlers. A runtime releases its contexts in one of
 * them, and CUDA then waits for no work. CUDA's calls fail after the driver's own handler has run.
 * Any thread.
 */
#ifndef SHIM_CONNECTION_PROCESS_EXIT_H
#define SHIM_CONNECTION_PROCESS_EXIT_H

#include <stdbool.h>
#include <stdint.h>

/* Registers an exit handler, unless `holders` handlers were registered before. Called when a
 * context gets a holder: exit runs the latest handler first, so ours runs before that of the
 * runtime which holds the context. Takes no lock of this library. */
void process_exit_watch(uint32_t holders);

/* True if one of these exit handlers has run. */
bool process_exit_begun(void);

/* Registers the handler that runs after all others of this library. Called once, when the driver is
 * initialised. */
void process_exit_watch_end(void);

/* True when that handler has run. Later calls of the process come after the end of the driver, for
 * example from destructors of static objects. */
bool process_exit_over(void);

#endif
