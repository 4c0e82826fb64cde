/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for a word that the worker writes. Callers hold no lock (lock.h), since a host function,
 * the callback thread or another waiter could need it. The one exception is image_enter, whose
 * callers all have a query about code.
 */
#ifndef SHIM_CONNECTION_WAIT_H
#define SHIM_CONNECTION_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* How this thread waits: as long as the worker's hint says; spinning for longer; sleeping at once.
 */
enum wait_how { WAIT_AUTO, WAIT_SPIN, WAIT_BLOCK };

/* Sets how this thread waits from now on. Returns the previous setting. */
enum wait_how wait_as(enum wait_how how);

/* Returns 0 once ready(arg) is true, or the sticky error when the client's context failed first.
 * Spins as long as the worker's hint says, then sleeps. */
CUresult wait_until(bool (*ready)(const void *arg), const void *arg);

/* The result of a query that found nothing done: CUDA_ERROR_NOT_READY, or the error when the worker
 * has ended. Programs poll instead of waiting, so this call must notice the end as well. */
CUresult wait_not_ready(void);

/* Follows the job to another worker: reads that worker's page from now on, and returns true. Every
 * wait and query does this itself. */
bool wait_follow(void);

/* Waits until stream `id` has completed `seq`; 0 only when nothing of the client has failed by
 * then. CUDA_ERROR_DEINITIALIZED at once if the work is not complete and the process already
 * destroys its static objects. */
CUresult wait_stream(uint32_t id, uint64_t seq);

#endif
