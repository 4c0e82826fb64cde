/* SPDX-License-Identifier: Apache-2.0
 *
<<<<<<< HEAD:shim/context/process_exit.h
 * Tells if this process runs its exit handlers. A runtime releases its contexts in one of them, and
 * CUDA waits for no work then. Any thread.
=======
 * Whether this process runs its exit handlers. A runtime releases its contexts in one of them, and
 * CUDA waits for no work then; behind the driver's own handler CUDA's calls fail. Any thread.
>>>>>>> 8b98d7a9 (shim: fail waits behind the driver's end instead of waiting for endless work):shim/connection/process_exit.h
 */
#ifndef SHIM_CONTEXT_PROCESS_EXIT_H
#define SHIM_CONTEXT_PROCESS_EXIT_H

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
