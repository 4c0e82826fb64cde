/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers to synchronous records.
 */
#ifndef DAEMON_WORKER_PAGE_REPLY_H
#define DAEMON_WORKER_PAGE_REPLY_H

#include <stdint.h>

#include "daemon/worker/page/completion_page.h"
#include "proto/wire/wire.h"

/* Answers `rec` if it asks for an answer. `err` is 0, ERR_* or -errno, from which the CUresult
 * follows. For a dead client, success is answered with its fault. `bytes` <= WIRE_REPLY_BYTES. */
void reply_send(struct completion *com, const struct wire_record *rec, int err, const void *data,
                uint32_t bytes);
void reply_status(struct completion *com, const struct wire_record *rec, int err);

/* The CUresult for an error: err_cuda, and CUDA's own code for an errno that has one. */
int reply_cuda(int err);

/* Wakes the client's threads that wait for published values. Makes a system call only if one sleeps
 * (`sleeping`: its flag, a futex). */
void reply_wake(struct completion *com, _Atomic uint32_t *sleeping);

#endif
