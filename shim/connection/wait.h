/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for a word that the worker writes. Callers hold no lock (lock.h), since a host function,
 * the callback thread or another waiter could need it. The exceptions are two locks for queries
 * about code (image_enter) and about files (host_memory/share.c), which nobody else takes.
 */
#ifndef SHIM_CONNECTION_WAIT_H
#define SHIM_CONNECTION_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* How a thread waits. WAIT_AUTO: spins for as long as the worker's hint says, then sleeps;
 * WAIT_SPIN: spins for 10 ms, then sleeps; WAIT_BLOCK: sleeps at once. */
enum wait_how { WAIT_AUTO, WAIT_SPIN, WAIT_BLOCK };

/* Sets how this thread waits from now on. Returns the previous setting. */
enum wait_how wait_as(enum wait_how how);

/* Returns 0 once ready(arg) is true, or the sticky error when the client's context failed first.
 * Waits as the thread's setting says (wait_as). */
CUresult wait_until(bool (*ready)(const void *arg), const void *arg);

/* Returns the result of a query that found work incomplete: CUDA_ERROR_NOT_READY, or the sticky
 * error. Programs poll instead of waiting, so this call also notices the end of worker or broker.
 */
CUresult wait_not_ready(void);

/* Follows the job to another worker. Returns false when the job has not moved. Otherwise this
 * process reads the new worker's page from now on, or, on failure, the sticky error is set. Every
 * wait and query does this itself. */
bool wait_follow(void);

/* Waits until stream `id` has completed `seq`; 0 only when nothing of the client has failed by
 * then. CUDA_ERROR_DEINITIALIZED at once if the work is not complete and the process already
 * destroys its static objects. */
CUresult wait_stream(uint32_t id, uint64_t seq);

#endif
