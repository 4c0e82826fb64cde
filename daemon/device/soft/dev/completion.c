/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of completed operations, and an event that is raised only if the worker sleeps.
 */
#include "daemon/device/soft/dev/completion.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"

int completion_init(struct completions *c) {
    *c = (struct completions){.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    c->last = &c->first;
    return c->event_fd < 0 ? -errno : 0;
}

void completion_finish(struct completions *c) {
    fdutil_close(&c->event_fd);
}

void completion_wake(struct completions *c) {
    if (!c->armed) return;
    c->armed = false;
    uint64_t one = 1;
    if (write(c->event_fd, &one, sizeof(one)) < 0) return; /* a full counter is readable already */
}

void completion_tell(struct completions *c) {
    c->news = true;
    atom_store_release(&c->waiting, 1);
    completion_wake(c);
}

void completion_add(struct completions *c, struct dev_op *op) {
    op->next = NULL;
    *c->last = op;
    c->last = &op->next;
    atom_store_release(&c->waiting, 1);
    completion_wake(c);
}

bool completion_none(struct completions *c) {
    return !atom_load_acquire(&c->waiting);
}

struct dev_op *completion_take(struct completions *c) {
    struct dev_op *first = c->first;
    c->first = NULL;
    c->last = &c->first;
    c->news = false;
    atom_store_relaxed(&c->waiting, 0);
    return first;
}

bool completion_arm(struct completions *c) {
    c->armed = !c->first && !c->news;
    return c->armed;
}
