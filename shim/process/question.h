/* SPDX-License-Identifier: Apache-2.0
 *
 * A query to the broker about one of its GPUs, for processes with or without a job: a connection,
 * the query, its answer. Has no state; any thread.
 */
#ifndef SHIM_PROCESS_QUESTION_H
#define SHIM_PROCESS_QUESTION_H

#include <stddef.h>

#include "proto/wire/wire.h"

/* `gpu` is salusd's number plus 1, or 0: the GPU of this process's job, else the first one. 0 with
 * *out; -ENODEV: there is no such GPU; else -errno or ERR_*. Preserves errno. */
int question_ask(uint32_t gpu, struct wire_view *out);

/* Checks an answer of `bytes` bytes: 0 with *out, the refusal's error, or ERR_PROTOCOL. */
int question_check(const void *msg, size_t bytes, struct wire_view *out);

#endif
