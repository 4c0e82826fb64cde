/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls a function on a stack of its own. That is needed to exchange the pages that contain the
 * caller's stack, which must be neither written nor read meanwhile.
 */
#ifndef SHIM_HOST_MEMORY_OWN_STACK_H
#define SHIM_HOST_MEMORY_OWN_STACK_H

/* Returns the result of `call`. There is one such stack, so only one call at a time, with signals
 * blocked. */
int own_stack_call(int (*call)(const void *arg), const void *arg);

#endif
