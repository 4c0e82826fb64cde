/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for a word that the worker writes. Callers hold no lock (lock.h), for a host function,
 * the callback thread or another waiter could need it; the one exception is image_enter, whose
 * takers all have a question about code.
 */
#ifndef SHIM_CONNECTION_WAIT_H
#define SHIM_CONNECTION_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* How this thread waits: as the worker says is worth it; spinning for longer; asleep at once. */
enum wait_how { WAIT_AUTO, WAIT_SPIN, WAIT_BLOCK };

/* From now on; how it waited before. */
enum wait_how wait_as(enum wait_how how);

/* 0 once ready(arg) is true; the sticky error when the client's context died first. Spins as long
 * as the worker says is worth it, then sleeps. */
CUresult wait_until(bool (*ready)(const void *arg), const void *arg);

/* What a query that found nothing done answers: CUDA_ERROR_NOT_READY, or the error when nobody is
 * left to do it. Programs poll instead of waiting, so this too has to notice. */
CUresult wait_not_ready(void);

/* Where another worker has the job by now, its page is looked at from here on; true: so it was.
 * Whoever waits or asks does so by himself. */
bool wait_follow(void);

/* Until stream `id` has completed `seq`: 0 only when nothing of the client has failed by then.
 * CUDA_ERROR_DEINITIALIZED at once where the process has ended but for the destructors of its
 * static objects, and the work is not complete. */
CUresult wait_stream(uint32_t id, uint64_t seq);

#endif
