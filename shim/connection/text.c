/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies the worker's ring of kernel text to stdio, so that the text keeps its position among the
 * program's own output.
 *
 * The worker may overwrite a record during the copy, or move the ring. It announces that first, so
 * a look at text_ring after the copy tells whether the copy is intact (daemon/worker/page/text.c).
 */
#include "shim/connection/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/connection/logbook.h"
#include "shim/connection/state.h"
#include "shim/connection/wait.h"
#include "shim/lock.h"

struct place {
    const char *ring;
    uint64_t addr, bytes;
};

static pthread_mutex_t text_lock = PTHREAD_MUTEX_INITIALIZER;
static char *record; /* copy of a record; grows */
static uint64_t record_room;

/* ---- the ring -------------------------------------------------------------------------------- */

static struct place look(void) {
    const struct wire_completion *comp = state.conn.completion;
    uint64_t addr = atom_load_acquire(&comp->text_ring.addr);
    if (!addr) return (struct place){comp->text, 0, WIRE_TEXT_BYTES};
    return (struct place){(const char *)(uintptr_t)addr, addr,
                          atom_load_relaxed(&comp->text_ring.bytes)};
}

static void copy_out(const struct place *p, uint64_t at, void *to, size_t bytes) {
    size_t offset = at % p->bytes, first = p->bytes - offset;
    if (first > bytes) first = bytes;
    memcpy(to, p->ring + offset, first);
    memcpy((char *)to + first, p->ring, bytes - first);
}

static uint64_t oldest(void) {
    return atom_load_acquire(&state.conn.completion->text_ring.first);
}

/* True if the bytes copied from `at` were intact. */
static bool was_there(const struct place *p, uint64_t at) {
    atom_fence();
    return (int64_t)(oldest() - at) <= 0 && look().addr == p->addr;
}

/* ---- records --------------------------------------------------------------------------------- */

struct head {
    uint32_t bytes, to_stderr;
};

static bool has_room(uint64_t bytes) {
    if (bytes <= record_room) return true;
    char *more = realloc(record, bytes);
    if (!more) return false;
    record = more;
    record_room = bytes;
    return true;
}

static void show(const struct head *h, FILE **last) {
    FILE *to = h->to_stderr ? stderr : stdout;
    if (*last && *last != to) fflush(*last);
    *last = to;
    fwrite(record, 1, h->bytes, to);
}

/* Prints the records up to `written` and returns the position of the next one. An impossible length
 * ends the loop, because the following data cannot be trusted. */
static uint64_t show_all(uint64_t at, uint64_t written) {
    struct head head;
    FILE *last = NULL;
    for (;;) {
        struct place p = look();
        uint64_t first = oldest();
        if ((int64_t)(first - at) > 0) at = first;
        if ((int64_t)(written - at) < (int64_t)sizeof(head)) break;
        copy_out(&p, at, &head, sizeof(head));
        bool valid = head.bytes <= written - at - sizeof(head) &&
                     head.bytes <= p.bytes - sizeof(head) && has_room(head.bytes);
        if (valid) copy_out(&p, at + sizeof(head), record, head.bytes);
        if (!was_there(&p, at)) continue;
        if (valid) show(&head, &last);
        at = valid ? at + sizeof(head) + head.bytes : written;
    }
    if (last) fflush(last);
    return at;
}

/* ---- interface ------------------------------------------------------------------------------- */

void text_flush(void) {
    logbook_deliver();
    const struct wire_completion *comp = state.conn.completion;
    struct wire_submission *sub = state.conn.submission;
    if (atom_load_acquire(&comp->text_written) == atom_load_relaxed(&sub->text_read)) return;
    int saved = errno;
    lock_enter(&text_lock);
    uint64_t written = atom_load_acquire(&comp->text_written);
    uint64_t read = show_all(atom_load_relaxed(&sub->text_read), written);
    atom_store_release(&sub->text_read, read);
    lock_leave(&text_lock);
    errno = saved;
}

/* Prints at exit what the last kernels wrote. */
static __attribute__((destructor)) void drain_at_exit(void) {
    if (state_ready()) return;
    wait_follow();
    text_flush();
}
