/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that need an answer. Each has a slot in the worker's page and a ticket that identifies its
 * answer there. Any thread; the caller waits.
 */
#ifndef SHIM_CONNECTION_REPLY_H
#define SHIM_CONNECTION_REPLY_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

struct reply {
    int32_t result; /* 0, -errno or ERR_* */
    int32_t cuda;   /* the driver's own result, or 0 */
    uint32_t bytes; /* bytes of `data` that the worker filled */
    unsigned char data[WIRE_REPLY_BYTES];
};

/* Sends head||tail and waits. Returns the CUresult of the answer, and fills `out`, which may be
 * NULL. When no answer comes, returns the error that prevented it, and `out` is unchanged. */
CUresult reply_call(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes,
                    struct reply *out);

/* The same, where `send` passes slot and ticket to the worker in another way. Returns the error of
 * `send`, if any. */
CUresult reply_call_by(CUresult (*send)(void *arg, uint32_t slot, uint64_t ticket), void *arg,
                       struct reply *out);

#endif
