/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the threads of this process, including those that no library knows. Any thread.
 */
#ifndef SHIM_HOST_MEMORY_THREADS_H
#define SHIM_HOST_MEMORY_THREADS_H

/* Returns 0 when the number is unknown. 1 stays true until the caller starts a thread. */
unsigned int threads_count(void);

#endif
