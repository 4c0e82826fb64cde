/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker's end of the socket to the worker. What the socket has no room for waits in an outbox,
 * with copies of its descriptors. A worker that does not listen is ended.
 *
 * Owner: struct worker. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_WORKER_CHANNEL_H
#define DAEMON_BROKER_WORKER_CHANNEL_H

#include <sys/types.h>
#include <uv.h>

#include "common/list.h"
#include "proto/wire/wire.h"

#define CHANNEL_FDS 5 /* that go along with a message, at most */

struct channel {
    int fd;    /* -1: no worker */
    pid_t pid; /* of our child; 0: it is reaped, or no child of ours */
    uv_poll_t poll;
    uv_poll_cb on_poll;
    int poll_events;
    struct list outbox;
    unsigned outbox_count;
};

void channel_init(struct channel *c);

/* Takes the socket and watches it: `on_poll` is called, with `data` in the handle, to receive and,
 * at UV_WRITABLE, to channel_flush. */
void channel_open(struct channel *c, int fd, uv_loop_t *loop, uv_poll_cb on_poll, void *data);
/* Lets go of the socket and of what was not sent. */
void channel_close(struct channel *c);

/* Sends the message, with copies of the descriptors: 0, or negative, and then the worker is ended;
 * but where descriptors ran out for those that go along, fdutil_scarce, the message is all that is
 * lost. */
int channel_tell(struct channel *c, const struct wire_worker_msg *msg, const int *fds, int nfds);

/* Sends what waits: 0 when no more can be done now. 1: for want of descriptors (*why) the message
 * about *job_id was lost; call again. Negative: the socket is of no more use. */
int channel_flush(struct channel *c, uint32_t *job_id, int *why);

#endif
