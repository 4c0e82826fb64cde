/* SPDX-License-Identifier: Apache-2.0
 *
 * Recounts a client's memory, for tests and for debugging.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_CHECK_H
#define DAEMON_WORKER_MEMORY_MEMORY_CHECK_H

struct memory;

/* NULL, or the invariant that does not hold. */
const char *memory_check(const struct memory *m);

#endif
