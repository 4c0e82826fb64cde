/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker's end of the socket to the worker. Messages that do not fit into the socket wait in an
 * outbox, with duplicates of their descriptors. A worker that does not read is ended.
 *
 * Owner: struct worker. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_WORKER_CHANNEL_H
#define DAEMON_BROKER_WORKER_CHANNEL_H

#include <sys/types.h>
#include <uv.h>

#include "common/list.h"
#include "proto/wire/wire.h"

#define CHANNEL_FDS 5 /* largest number of descriptors of a message */

struct channel {
    int fd;    /* -1: no worker */
    pid_t pid; /* our child; 0: reaped, or no child of ours */
    uv_poll_t poll;
    uv_poll_cb on_poll;
    int poll_events;
    struct list outbox;
    unsigned outbox_count;
};

void channel_init(struct channel *c);

/* Takes the socket over and watches it. `on_poll` is called, with `data` in the handle, to receive
 * and, at UV_WRITABLE, to call channel_flush. */
void channel_open(struct channel *c, int fd, uv_loop_t *loop, uv_poll_cb on_poll, void *data);
/* Closes the socket and drops unsent messages. */
void channel_close(struct channel *c);

/* Sends the message, with duplicates of the descriptors. Returns 0, or a negative value, and then
 * the worker is being ended. Exception: with fdutil_scarce only the message is lost, because its
 * descriptors could not be duplicated. */
int channel_tell(struct channel *c, const struct wire_worker_msg *msg, const int *fds, int nfds);

/* Sends pending messages. Returns 0 when no more can be sent now. 1: for lack of descriptors (*why)
 * the message about *job_id was lost; call again. Negative: the socket is no longer usable. */
int channel_flush(struct channel *c, uint32_t *job_id, int *why);

#endif
