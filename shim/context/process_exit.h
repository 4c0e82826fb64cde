/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells if this process runs its exit handlers. A runtime releases its contexts in one of them, and
 * CUDA waits for no work then. Any thread.
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

#endif
