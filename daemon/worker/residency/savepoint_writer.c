/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes savepoints.
 */
#include "daemon/worker/residency/savepoint_writer.h"

#include <errno.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/worker/client.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_saved.h"
#include "daemon/worker/stats.h"

/* for each client and round: as many as deferred_request.c creates or frees */
#define SAVEPOINT_WRITER_GRANULES 8u
/* A client runs this many times the duration of a savepoint before the next one. */
#define SAVEPOINT_WRITER_APART 19u

/* ---- at a boundary --------------------------------------------------------------------------- */

static bool has_memory(const struct client *c) {
    return memory_persistent(c->memory) || memory_ephemeral(c->memory) || c->credit.modules;
}

/* After a loss of the device its operations in flight are repeated, so the existing savepoint is
 * needed. */
static bool is_due(const struct client *c) {
    const struct savepoint *k = &c->recovery_state.savepoint;
    if (c->boundary.iteration_gate.current < k->settles) return false;
    return savepoint_possible(k) && recovery_is_complete(&c->recovery_state) && c->memory &&
           has_memory(c) && c->worker->now_ns >= (savepoint_whole(k) ? k->due_ns : k->soonest_ns) &&
           !c->inflight && !c->replay.active && !worker_lost(c->worker);
}

/* -EADDRNOTAVAIL: some of the client's memory is not device memory. Any other error: its memory
 * does not fit into the savepoint. */
static void give_up(struct client *c, int err) {
    struct savepoint *k = &c->recovery_state.savepoint;
    enum savepoint_reason why = err == -EADDRNOTAVAIL ? SAVEPOINT_HOST : SAVEPOINT_ROOM;
    log_info("savepoint", "job=%u name=\"%s\" event=no-savepoint why=\"%s\" error=%s", c->job_id,
             c->name,
             why == SAVEPOINT_HOST ? "some of the job's memory is on the host"
                                   : "the job's memory does not fit into a savepoint",
             err_name(err));
    savepoint_never(k, why);
}

static void look_again(struct client *c) {
    list_remove(&c->recovery_state.savepoint.link);
    c->throttled &= (uint8_t)~CLIENT_SAVES;
    if (!client_dead(c)) boundary_ready(&c->boundary, &c->worker->boundaries.passing);
}

/* False: no savepoint of the client is possible from now on. */
static bool begin(struct client *c) {
    struct savepoint *k = &c->recovery_state.savepoint;
    k->began_ns = fdutil_now_ns();
    k->begun = savepoint_begin(k);
    k->page = k->granule = 0;
    int err = variables_list(&c->objects, c->worker->ops, k);
    if (err)
        give_up(c, err);
    else
        list_append(&c->worker->work.saving, &k->link);
    return !err;
}

bool savepoint_writer_begins(struct client *c) {
    const struct savepoint *k = &c->recovery_state.savepoint;
    if (!k->header) return false;
    if (!list_empty(&k->link)) return true;
    return is_due(c) && begin(c);
}

void savepoint_writer_look(struct client *c) {
    const struct stream_set *s = &c->streams;
    struct savepoint *k = &c->recovery_state.savepoint;
    if (!k->header || s->pushed != s->completed || s->deferred || c->background_task) return;
    if (boundary_holds(&c->boundary) || graph_replaying(&c->graphs)) return;
    k->settles = 0;
    if (savepoint_writer_begins(c)) c->throttled |= CLIENT_SAVES;
}

void savepoint_writer_restored(struct client *c) {
    const struct savepoint *k = &c->recovery_state.savepoint;
    if (!savepoint_possible(k) || savepoint_whole(k) || client_under_way(c)) return;
    if (begin(c)) c->throttled |= CLIENT_SAVES;
}

/* ---- in parts -------------------------------------------------------------------------------- */

static bool is_saved(const struct client *c) {
    const struct savepoint *k = &c->recovery_state.savepoint;
    return memory_save_over(c->memory, k->page) &&
           k->granule >= atom_load_relaxed(&k->header->granule_count);
}

static int save_part(struct client *c) {
    const struct worker *w = c->worker;
    struct savepoint *k = &c->recovery_state.savepoint;
    int err = memory_save(c->memory, &k->page, SAVEPOINT_WRITER_GRANULES);
    if (!err && memory_save_over(c->memory, k->page))
        err = variables_save(&c->variables, w->ops, w->dev, k, &k->granule,
                             SAVEPOINT_WRITER_GRANULES);
    return err;
}

static void commit(struct client *c) {
    struct savepoint *k = &c->recovery_state.savepoint;
    if (!savepoint_commit(k, c->com.page, k->begun, memory_saved_bytes(c->memory))) return;
    uint64_t now_ns = fdutil_now_ns(), took_ns = now_ns - k->began_ns;
    k->soonest_ns = now_ns + SAVEPOINT_WRITER_APART * took_ns;
    if (k->due_ns < k->soonest_ns) k->due_ns = k->soonest_ns;
    atom_store_relaxed(&k->shown->took_ns, took_ns);
    stats_add(&k->shown->count, 1);
}

/* False when the client's state changed while it was being saved. */
static bool may_go_on(const struct client *c) {
    const struct savepoint *k = &c->recovery_state.savepoint;
    return savepoint_possible(k) && recovery_is_complete(&c->recovery_state) && c->memory &&
           !client_dead(c) && !c->inflight && atom_load_relaxed(&k->voids) == k->begun;
}

unsigned savepoint_writer_step(struct worker *w) {
    struct list *pos, *tmp;
    unsigned count = 0;
    if (w->recovery.restoring) return 0; /* there is no room yet */
    list_each_safe(pos, tmp, &w->work.saving) {
        struct client *c = list_entry(pos, struct client, recovery_state.savepoint.link);
        int err = may_go_on(c) ? save_part(c) : 0;
        count++;
        if (err && worker_lost(w)) return count; /* the next worker may save it */
        if (err) give_up(c, err);
        if (!err && may_go_on(c) && !is_saved(c)) continue;
        if (!err && may_go_on(c)) commit(c);
        look_again(c);
    }
    return count;
}

/* True when this worker has given nothing of the client to the device. */
static bool is_untouched(const struct client *c) {
    return !c->inflight && !c->streams.completed;
}

int savepoint_writer_module(struct client *c, const struct module *m, bool again) {
    const struct worker *w = c->worker;
    struct savepoint *k = &c->recovery_state.savepoint;
    if (!k->header || (again && savepoint_whole(k) && variables_saved(w->ops, k, m))) return 0;
    bool may = savepoint_whole(k) && (!again || is_untouched(c));
    int err = may ? variables_add(&c->variables, w->ops, w->dev, k, m) : -EBUSY;
    if (err && worker_lost(w)) return ERR_DEVICE_LOST;
    if (err == -EADDRNOTAVAIL) savepoint_never(k, SAVEPOINT_HOST);
    if (err) savepoint_void(k, SAVEPOINT_CHANGED);
    return 0;
}

/* ---- data from host memory ------------------------------------------------------------------- */

void savepoint_writer_words(struct client *c, const void *bytes, uint64_t count) {
    const struct wire_windows *w = &c->windows;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, (const unsigned char *)bytes + 8 * i, sizeof(word));
        if (word - w->host_base >= w->host_bytes) continue;
        savepoint_never(&c->recovery_state.savepoint, SAVEPOINT_HOST);
        return;
    }
}

void savepoint_writer_address(struct client *c, uint64_t addr) {
    if (savepoint_possible(&c->recovery_state.savepoint)) savepoint_writer_words(c, &addr, 1);
}

/* Checks words of the device's memory; the copied range may begin within one. */
static void look_for_addresses(struct client *c, uint64_t dst, const unsigned char *row,
                               uint64_t bytes) {
    uint64_t skip = -dst & 7;
    if (bytes > skip) savepoint_writer_words(c, row + skip, (bytes - skip) / 8);
}

/* Records the copy's rows as they are now: the host may overwrite them once it knows that the copy
 * is complete. */
static void take_rows(struct client *c, const struct dev_copy *k, unsigned char *out) {
    for (uint64_t z = 0; z < k->depth; z++)
        for (uint64_t y = 0; y < k->height; y++) {
            const void *row =
                (const void *)(uintptr_t)(k->src + z * k->src_slice + y * k->src_pitch);
            look_for_addresses(c, k->dst + z * k->dst_slice + y * k->dst_pitch, row,
                               k->width_bytes);
            if (!out) continue;
            memcpy(out, row, k->width_bytes);
            out += k->width_bytes;
        }
}

void savepoint_writer_copy(struct client *c, const struct op *op) {
    struct savepoint *k = &c->recovery_state.savepoint;
    const struct dev_copy *y = &op->copy;
    uint64_t bytes = y->width_bytes * y->height * y->depth;
    if (!savepoint_possible(k) || op->dev.result || y->from_caller) return;
    if (!client_host(c, y->src, 1) || client_host(c, y->dst, 1)) return;
    void *room = savepoint_whole(k) ? savepoint_room(k, bytes) : NULL;
    take_rows(c, y, room);
    if (room && savepoint_whole(k)) savepoint_keep(k, op->stream->id, op->seq, bytes);
}
