/* SPDX-License-Identifier: Apache-2.0
 *
 * A peer that closed, was reset, or closed its sending half.
 */
#include "daemon/serve/http/hangup.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "common/fdutil.h"

int hangup_init(struct hangup *h) {
    h->fd = epoll_create1(EPOLL_CLOEXEC);
    return h->fd < 0 ? -errno : 0;
}

void hangup_finish(struct hangup *h) {
    fdutil_close(&h->fd);
}

int hangup_watch(struct hangup *h, int socket, void *who) {
    struct epoll_event e = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = who};
    return epoll_ctl(h->fd, EPOLL_CTL_ADD, socket, &e) < 0 ? -errno : 0;
}

void *hangup_next(struct hangup *h) {
    struct epoll_event e;
    return epoll_wait(h->fd, &e, 1, 0) == 1 ? e.data.ptr : NULL;
}
