/* SPDX-License-Identifier: Apache-2.0
 *
 * One question to the broker about one of its GPUs, by a process that need not have a job: a
 * connection, the question, its answer. Keeps nothing; any thread.
 */
#ifndef SHIM_PROCESS_QUESTION_H
#define SHIM_PROCESS_QUESTION_H

#include <stddef.h>

#include "proto/wire/wire.h"

/* `gpu` is a number of salusd's plus 1, or 0: the GPU of this process's job, else the first one.
 * 0 with *out; -ENODEV: there is no such GPU; else -errno or ERR_*. Preserves errno. */
int question_ask(uint32_t gpu, struct wire_view *out);

/* Checks an answer of so many bytes: 0 with *out, the refusal's error, or ERR_PROTOCOL. */
int question_check(const void *msg, size_t bytes, struct wire_view *out);

#endif
