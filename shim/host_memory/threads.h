/* SPDX-License-Identifier: Apache-2.0
 *
 * How many threads this process has, those that it began itself among them. Any thread.
 */
#ifndef SHIM_HOST_MEMORY_THREADS_H
#define SHIM_HOST_MEMORY_THREADS_H

/* 0: nobody knows. 1 stays true as long as the caller begins none. */
unsigned int threads_count(void);

#endif
