/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that wait for earlier ones (deferred_request.h) are checked here and carried out there.
 */
#include "daemon/worker/front/memory_record.h"

#include <inttypes.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/text/failure.h"
#include "daemon/worker/client.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/replay/log_replay.h"
#include "daemon/worker/requests/deferred_request.h"

/* The range must be whole pages of the persistent or the ephemeral half of the device window. */
static int check_pages(const struct client *c, uint64_t addr, uint64_t bytes, char *why,
                       size_t why_bytes) {
    const struct wire_windows *win = &c->windows;
    uint64_t offset = addr - win->dev_base;
    uint64_t odd = (offset | bytes) % c->worker->info.granularity_bytes;
    if (odd || addr < win->dev_base || bytes > win->alloc_bytes ||
        offset > win->alloc_bytes - bytes)
        return failure(ERR_PROTOCOL, why, why_bytes,
                       "the range 0x%" PRIx64 "+0x%" PRIx64
                       " does not consist of whole pages of the window",
                       addr, bytes);
    if (addr < client_ephemeral(c) && addr + bytes > client_ephemeral(c))
        return failure(ERR_PROTOCOL, why, why_bytes,
                       "the range 0x%" PRIx64 "+0x%" PRIx64 " spans both windows", addr, bytes);
    return 0;
}

int memory_record_pages(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_mem *m = rec;
    int err = check_pages(c, m->addr, m->bytes, why, why_bytes);
    if (err) return err;
    err = m->rec.op == WIRE_MEM_BACK ? deferred_request_back(c, m) : deferred_request_unback(c, m);
    return err ? failure(ERR_PROTOCOL, why, why_bytes, "out of memory") : 0;
}

int memory_record_segment(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_segment *s = rec;
    bool placed = s->rec.op == WIRE_MEM_SHOW || s->rec.op == WIRE_MEM_SHARE;
    int err = placed ? check_pages(c, s->addr, s->bytes, why, why_bytes) : 0;
    if (err) return err;
    return deferred_request_segment(c, s) ? failure(ERR_PROTOCOL, why, why_bytes, "out of memory")
                                          : 0;
}

/* Takes effect at once: operations in progress see the old or the new mapping, and the library
 * waits before it asks. */
int memory_record_file(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_file_range *r = rec;
    struct hostfiles *h = &c->files;
    int err = c->com.fault;
    if (err) {
        reply_status(&c->com, &r->rec, err);
        return 0;
    }
    if (r->rec.op == WIRE_FILE_MAP) err = hostfile_map(h, r);
    if (r->rec.op == WIRE_FILE_UNMAP) err = hostfile_unmap(h, r->addr, r->bytes, !client_busy(c));
    if (r->rec.op == WIRE_FILE_DROP) err = hostfile_drop(h, r->file);
    if (err == ERR_PROTOCOL || (err && !r->rec.ticket))
        return failure(ERR_PROTOCOL, why, why_bytes,
                       "0x%" PRIx64 "+0x%" PRIx64 " of the host window cannot map %s: %s", r->addr,
                       r->bytes, r->rec.op == WIRE_FILE_MAP ? "a file" : "the job's own pages",
                       err_text(err));
    atom_store_relaxed(&c->com.page->stats.file_bytes, h->shown_bytes);
    reply_status(&c->com, &r->rec, err);
    return 0;
}

/* ---- use of blocks --------------------------------------------------------------------------- */

/* The log has a graph's block records behind its launch. Some may be missing for the graph that was
 * being read when the worker ended. That graph is read again and repeats the others, so errors of
 * repeated records are ignored. */
static int block_again(struct client *c, bool in_graph, const struct wire_mem *m) {
    struct lifetime *l = &c->lifetime;
    char why[256];
    if (in_graph && log_replay_knows_graph(c)) return 0;
    if (m->rec.op == WIRE_MEM_USE) lifetime_use(l, m->addr, m->bytes, why, sizeof(why));
    if (m->rec.op == WIRE_MEM_DROP) lifetime_drop(l, m->addr, m->bytes, why, sizeof(why));
    return 0;
}

int memory_record_use(struct client *c, const void *rec, bool in_graph, char *why,
                      size_t why_bytes) {
    const struct wire_mem *m = rec;
    if (client_dead(c)) return 0;
    if (c->replay.active) return block_again(c, in_graph, m);
    if (!in_graph) {
        lifetime_announced(&c->lifetime);
        recovery_uses(&c->recovery_state, c->lifetime.uses);
    }
    return lifetime_use(&c->lifetime, m->addr, m->bytes, why, why_bytes);
}

int memory_record_drop(struct client *c, const void *rec, bool in_graph, char *why,
                       size_t why_bytes) {
    const struct wire_mem *m = rec;
    if (client_dead(c)) return 0;
    if (c->replay.active) return block_again(c, in_graph, m);
    int err = lifetime_drop(&c->lifetime, m->addr, m->bytes, why, why_bytes);
    if (!err) iteration_drop(c->boundary.detector, c->lifetime.live_bytes);
    return err;
}
