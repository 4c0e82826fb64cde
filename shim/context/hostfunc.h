/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions in streams. The worker returns the token of a function that is due. A thread of
 * this process, started with the first function, runs it outside all locks and counts it as done in
 * a word that the worker watches. The stream waits meanwhile. Any thread.
 */
#ifndef SHIM_CONTEXT_HOSTFUNC_H
#define SHIM_CONTEXT_HOSTFUNC_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* Either a function or a callback is set. A callback is told of errors; a function is dropped after
 * an error. */
struct hostfunc {
    CUhostFn function;
    CUstreamCallback callback;
    CUstream stream; /* the stream passed to the callback */
    void *arg;
    bool owned; /* `arg` is from malloc, and is freed with the function */
};

/* Registers functions before their records are sent, because the worker can return them at once.
 * Their tokens count up from `first`. Takes over owned arguments in any case, also on failure. */
CUresult hostfunc_expect(const struct hostfunc *functions, uint32_t count, uint64_t *first);

/* Drops functions whose records were not sent. */
void hostfunc_forget(uint64_t first, uint32_t count);

#endif
