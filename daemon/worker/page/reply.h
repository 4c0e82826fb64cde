/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers to synchronous records.
 */
#ifndef DAEMON_WORKER_PAGE_REPLY_H
#define DAEMON_WORKER_PAGE_REPLY_H

#include <stdint.h>

#include "daemon/worker/page/completion_page.h"
#include "proto/wire/wire.h"

/* Answers `rec` when it asks for it. `err`: 0, ERR_* or -errno, from which the CUresult follows;
 * a dead client's success is its fault. `bytes` <= WIRE_REPLY_BYTES. */
void reply_send(struct completion *com, const struct wire_record *rec, int err, const void *data,
                uint32_t bytes);
void reply_status(struct completion *com, const struct wire_record *rec, int err);

/* What a client is shown for an error of ours: err_cuda, and errno's where CUDA has a name. */
int reply_cuda(int err);

/* Wakes the client's threads that wait for what was published; a system call only if one parks
 * (`sleeping`: its flag, a futex). */
void reply_wake(struct completion *com, _Atomic uint32_t *sleeping);

#endif
