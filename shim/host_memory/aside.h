/* SPDX-License-Identifier: Apache-2.0
 *
 * A call on a stack of its own: for what exchanges the pages that its caller's stack is in, of
 * which nothing may be written meanwhile, nor be read.
 */
#ifndef SHIM_HOST_MEMORY_ASIDE_H
#define SHIM_HOST_MEMORY_ASIDE_H

/* What `call` returns. One at a time, with signals held back: there is one such stack. */
int aside_call(int (*call)(const void *arg), const void *arg);

#endif
