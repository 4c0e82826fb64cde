/* SPDX-License-Identifier: Apache-2.0
 *
 * Every record is sent here. The lock covers only the copy into the ring; a thread that finds the
 * ring full releases it before waiting.
 */
#include "shim/connection/submit.h"

#include <errno.h>
#include <unistd.h>

#include "proto/wire/ring.h"
#include "shim/connection/state.h"
#include "shim/connection/wait.h"
#include "shim/lock.h"

static struct {
    struct lock lock __attribute__((aligned(64)));
    /* Written under the lock. `launched`: see submit_launched; `launches`: the program has ever
     * launched a kernel. */
    _Atomic uint32_t launched;
    bool launches;
    struct ring_tx tx;
    _Atomic uint64_t last[WIRE_STREAMS]; /* written under the lock */
    void (*_Atomic watcher)(const struct wire_record *);
} out;

static void wake_worker(void *arg) {
    int saved = errno;
    uint64_t one = 1;
    ssize_t n = write(state.conn.doorbell, &one, sizeof(one));
    (void)n; /* a full counter wakes the worker as well */
    errno = saved;
}

static const struct doorbell_ops doorbell = {.wake = wake_worker};

void submit_init(void) {
    ring_tx_init(&out.tx, &state.conn.submission->ring, &state.conn.completion->credit);
}

void submit_ring(void) {
    doorbell_ring(&state.conn.submission->worker_sleeping, &doorbell, NULL);
}

uint64_t submit_last(uint32_t stream) {
    return atom_load_relaxed(&out.last[stream]);
}

bool submit_done(uint32_t stream, uint64_t seq) {
    return atom_load_acquire(WIRE_DONE(state.conn.completion, stream)) >= seq;
}

static bool credit_moved(const void *arg) {
    return atom_load_acquire(&state.conn.completion->credit) != *(const uint64_t *)arg;
}

static void note_launch(void) {
    atom_store_relaxed(&out.launched, 1);
    out.launches = true;
}

/* Counts copies and fills only while the program has launched no kernel. Otherwise the launches are
 * enough, and a synchronous copy saves a record. */
static void note(uint16_t op) {
    if (op == WIRE_LAUNCH) note_launch();
    if (!out.launches && (op == WIRE_COPY || op == WIRE_MEMSET))
        atom_store_relaxed(&out.launched, 1);
}

/* Returns 0, or the error of ring_push. */
static int push_once(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes,
                     bool ordered) {
    struct wire_record *rec = head;
    lock_take(&out.lock);
    if (ordered) rec->seq = atom_load_relaxed(&out.last[rec->stream]) + 1;
    int err = ring_push(&out.tx, head, head_bytes, tail, tail_bytes);
    if (!err && ordered) atom_store_relaxed(&out.last[rec->stream], rec->seq);
    if (!err) note(rec->op);
    lock_drop(&out.lock);
    if (!err) submit_ring();
    return err;
}

/* Reads the credit before a try: if it changes meanwhile, a wait for the change ends at once. */
static uint64_t credit_now(void) {
    return atom_load_relaxed(&state.conn.completion->credit);
}

static CUresult push(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes,
                     bool ordered) {
    lock_assert_none();
    for (;;) {
        uint64_t credit = credit_now();
        int err = push_once(head, head_bytes, tail, tail_bytes, ordered);
        if (!err) return CUDA_SUCCESS;
        if (err != -EAGAIN) return CUDA_ERROR_INVALID_VALUE;
        CUresult r = submit_wait(credit);
        if (r) return r;
    }
}

bool submit_try(void *record, uint32_t bytes, uint64_t *credit) {
    *credit = credit_now();
    return push_once(record, bytes, NULL, 0, false) == 0;
}

void *submit_begin(uint32_t stream, uint64_t *seq) {
    lock_take(&out.lock);
    *seq = atom_load_relaxed(&out.last[stream]) + 1;
    void *room = ring_reserve(&out.tx);
    if (!room) lock_drop(&out.lock);
    return room;
}

void submit_cancel(void) {
    lock_drop(&out.lock);
}

void submit_end(uint32_t stream, uint64_t seq, uint32_t bytes) {
    ring_commit(&out.tx, bytes);
    atom_store_relaxed(&out.last[stream], seq);
    note_launch();
    lock_drop(&out.lock);
    submit_ring();
}

CUresult submit_wait(uint64_t credit) {
    return wait_until(credit_moved, &credit);
}

CUresult submit_record(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes) {
    return push(head, head_bytes, tail, tail_bytes, false);
}

static int push_graph(struct wire_graph_launch *head, struct wire_graph_lane *lanes,
                      const uint64_t *records, uint32_t tail_bytes) {
    lock_take(&out.lock);
    for (uint16_t i = 0; i < head->lanes; i++)
        lanes[i].first_seq = atom_load_relaxed(&out.last[lanes[i].stream]) + 1;
    int err = ring_push(&out.tx, head, sizeof(*head), lanes, tail_bytes);
    for (uint16_t i = 0; !err && i < head->lanes; i++)
        atom_store_relaxed(&out.last[lanes[i].stream], lanes[i].first_seq - 1 + records[i]);
    if (!err) note_launch();
    lock_drop(&out.lock);
    if (!err) submit_ring();
    return err;
}

CUresult submit_graph(struct wire_graph_launch *head, struct wire_graph_lane *lanes,
                      const uint64_t *records, uint32_t tail_bytes) {
    lock_assert_none();
    for (;;) {
        uint64_t credit = credit_now();
        int err = push_graph(head, lanes, records, tail_bytes);
        if (!err) return CUDA_SUCCESS;
        if (err != -EAGAIN) return CUDA_ERROR_INVALID_VALUE;
        CUresult r = submit_wait(credit);
        if (r) return r;
    }
}

CUresult submit_ordered(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes,
                        uint64_t *seq) {
    CUresult r = push(head, head_bytes, tail, tail_bytes, true);
    void (*watcher)(const struct wire_record *) = atom_load_relaxed(&out.watcher);
    if (seq) *seq = ((struct wire_record *)head)->seq;
    if (__builtin_expect(watcher != NULL, 0) && !r) watcher(head);
    return r;
}

void submit_watch(void (*watcher)(const struct wire_record *)) {
    atom_store_relaxed(&out.watcher, watcher);
}

bool submit_launched(void) {
    return atom_load_relaxed(&out.launched) != 0;
}

void submit_idle(void) {
    const struct wire_ping rec = {.rec = {.op = WIRE_IDLE}};
    lock_take(&out.lock);
    if (submit_launched() && ring_push(&out.tx, &rec, sizeof(rec), NULL, 0) == 0)
        atom_store_relaxed(&out.launched, 0);
    lock_drop(&out.lock);
}
