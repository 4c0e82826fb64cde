/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of pieces. It grows up to a limit when all pieces are busy, so that a stalled stream does
 * not block copies of other streams. At the limit, callers wait for the piece that was sent first.
 */
#include "shim/transfer/staging.h"

#include <pthread.h>
#include <stdbool.h>

#include "shim/connection/submit.h"
#include "shim/connection/wait.h"
#include "shim/lock.h"
#include "shim/memory/mem.h"

struct piece {
    uint64_t addr, seq, order; /* `order`: when it was given back */
    uint32_t stream;
    bool held;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t given;
    uint32_t count;
    uint64_t order;
    struct piece pieces[STAGING_SLOTS];
} staging = {.lock = PTHREAD_MUTEX_INITIALIZER, .given = PTHREAD_COND_INITIALIZER};

static void hold(uint32_t slot, struct staging *out) {
    staging.pieces[slot].held = true;
    *out = (struct staging){staging.pieces[slot].addr, slot};
}

/* The caller holds the lock. */
static bool take_idle(struct staging *out) {
    for (uint32_t i = 0; i < staging.count; i++) {
        const struct piece *p = &staging.pieces[i];
        if (p->held || !submit_done(p->stream, p->seq)) continue;
        hold(i, out);
        return true;
    }
    return false;
}

static bool take_new(struct staging *out) {
    uint64_t addr;
    if (staging.count == STAGING_SLOTS) return false;
    if (mem_take(MEM_OWN, 0, 0, STAGING_BYTES, &addr)) return false;
    staging.pieces[staging.count] = (struct piece){.addr = addr};
    hold(staging.count++, out);
    return true;
}

static const struct piece *sent_first(void) {
    const struct piece *first = NULL;
    for (uint32_t i = 0; i < staging.count; i++) {
        const struct piece *p = &staging.pieces[i];
        if (!p->held && (!first || p->order < first->order)) first = p;
    }
    return first;
}

CUresult staging_take(struct staging *out) {
    CUresult r = CUDA_SUCCESS;
    lock_enter(&staging.lock);
    while (!r && !take_idle(out) && !take_new(out)) {
        if (staging.count == 0) {
            r = CUDA_ERROR_OUT_OF_MEMORY;
            break;
        }
        const struct piece *first = sent_first();
        if (!first) {
            pthread_cond_wait(&staging.given, &staging.lock);
            continue;
        }
        uint32_t stream = first->stream;
        uint64_t seq = first->seq;
        lock_leave(&staging.lock);
        r = wait_stream(stream, seq);
        lock_enter(&staging.lock);
    }
    lock_leave(&staging.lock);
    mem_tell();
    return r;
}

void staging_give(const struct staging *s, uint32_t stream, uint64_t seq) {
    lock_enter(&staging.lock);
    struct piece *p = &staging.pieces[s->slot];
    p->stream = stream;
    p->seq = seq;
    p->order = ++staging.order;
    p->held = false;
    pthread_cond_signal(&staging.given);
    lock_leave(&staging.lock);
}
