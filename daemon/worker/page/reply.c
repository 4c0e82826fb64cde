/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends answers and wakes the threads that wait for them.
 */
#include "daemon/worker/page/reply.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/worker/stats.h"

int reply_cuda(int err) {
    switch (err) {
    case -ENOMEM: return err_cuda(ERR_NO_MEMORY);
    case -EINVAL: return 1; /* CUDA_ERROR_INVALID_VALUE */
    case -ENOENT: return err_cuda(ERR_NOT_FOUND);
    default: return err_cuda(err);
    }
}

void reply_send(struct completion *com, const struct wire_record *rec, int err, const void *data,
                uint32_t bytes) {
    if (!rec->ticket) return;
    if (!err && completion_dead(com)) { /* nothing succeeds after the fault */
        err = com->fault;
        bytes = 0;
    }
    if (completion_withholds(com, err)) return;
    struct wire_reply *r = &com->page->replies[rec->reply];
    r->result = err;
    r->cuda = err ? reply_cuda(err) : 0;
    r->bytes = bytes;
    if (bytes) memcpy(r->data, data, bytes);
    stats_add(&com->page->stats.answers, 1);
    atom_store_release(&r->ticket, rec->ticket);
    com->published = true;
}

void reply_status(struct completion *com, const struct wire_record *rec, int err) {
    reply_send(com, rec, err, NULL, 0);
}

void reply_wake(struct completion *com, _Atomic uint32_t *sleeping) {
    com->published = false;
    /* The published values are visible before the flag is read; a sleeper sets the flag before it
     * reads them. */
    atom_fence();
    if (!atom_load_relaxed(sleeping) || !atom_exchange(sleeping, 0)) return;
    syscall(SYS_futex, sleeping, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
