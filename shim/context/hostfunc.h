/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions in streams. The worker says when one is due by handing its token back; a thread of
 * this process, started with the first, runs it outside all locks and counts it as done in a word
 * that the worker watches. The stream waits meanwhile. Any thread.
 */
#ifndef SHIM_CONTEXT_HOSTFUNC_H
#define SHIM_CONTEXT_HOSTFUNC_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* One of the two; a callback hears of errors, a function is dropped after one. */
struct hostfunc {
    CUhostFn function;
    CUstreamCallback callback;
    CUstream stream; /* for the callback */
    void *arg;
    bool owned; /* `arg` is from malloc, and goes with it */
};

/* Before their records are sent, for they can come back at once: they have the tokens from `first`
 * on. Takes over what they own in any case. */
CUresult hostfunc_expect(const struct hostfunc *functions, uint32_t count, uint64_t *first);

/* Their records were not sent. */
void hostfunc_forget(uint64_t first, uint32_t count);

#endif
