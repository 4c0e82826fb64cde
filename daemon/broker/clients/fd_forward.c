/* SPDX-License-Identifier: Apache-2.0
 *
 * A message to the worker without a descriptor contains the reason.
 */
#include "daemon/broker/clients/fd_forward.h"

#include <errno.h>

#include "common/fdutil.h"
#include "daemon/broker/clients/disconnect.h"
#include "daemon/broker/clients/hello.h"
#include "daemon/broker/fd_reserve.h"

static bool is_keep(const struct client *c) {
    return c->lent.magic == WIRE_KEEP_MAGIC;
}

static int tell(const struct client *c, int fd, int why) {
    struct wire_worker_msg msg = {.kind = is_keep(c) ? WIRE_KEEP : WIRE_FILE,
                                  .job_id = c->job_id,
                                  .result = why,
                                  .file = c->lent};

    return channel_tell(&c->gpu->worker.channel, &msg, &fd, fd >= 0);
}

/* Checks a client's descriptor. Closing some files can block (user-space file systems), which must
 * not happen to the worker. So it only gets memfds, and empty sockets. */
static int check_file(int fd, bool keep) {
    uint64_t bytes;

    if (fd == -EMFILE || (fd >= 0 && fd_reserve_fd(fd, false))) return -EMFILE;
    if (fd < 0) return -EINVAL;
    return keep ? fdutil_check_end(fd) : fdutil_check_lasting(fd, &bytes);
}

void fd_forward_take(struct client *c, const void *msg, size_t bytes, int fd) {
    char why[HELLO_WHY_BYTES];
    int err = hello_check_file(msg, bytes, &c->lent, why, sizeof(why)), kept;

    if (err < 0) {
        if (fd >= 0) fdutil_close(&fd);
        disconnect_spoke(c, why);
        return;
    }
    c->lending = true;
    uv_poll_start(&c->readable, UV_DISCONNECT, c->on_readable);
    err = check_file(fd, is_keep(c));
    kept = err ? -1 : fd;
    err = tell(c, kept, err);
    if (kept >= 0 && fdutil_scarce(err)) tell(c, -1, err);
    if (fd >= 0) fdutil_close(&fd);
}

bool fd_forward_done(struct client *c) {
    if (!c->lending) return false;
    c->lending = false;
    uv_poll_start(&c->readable, UV_READABLE, c->on_readable);
    return true;
}

void fd_forward_hold(struct client *c) {
    c->held = true;
    uv_poll_start(&c->readable, UV_DISCONNECT, c->on_readable);
}

void fd_forward_resume(struct client *c) {
    c->held = false;
    uv_poll_start(&c->readable, UV_READABLE, c->on_readable);
}

bool fd_forward_lost(struct client *c, int err) {
    if (c->lending) tell(c, -1, err);
    return c->lending;
}
