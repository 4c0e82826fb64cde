/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out records about segments.
 */
#include "daemon/worker/requests/segment_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_segment.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/requests/memory_grant.h"
#include "daemon/worker/segments/segment.h"

static void answer_segment(struct client *c, const struct wire_segment *rec,
                           const struct segment *s, int err) {
    struct wire_segment_reply reply = {.bytes = 0};
    if (!err)
        reply = (struct wire_segment_reply){.key = {s->key[0], s->key[1]},
                                            .bytes = s->count * s->granule};
    reply_send(&c->com, &rec->rec, err, &reply, err ? 0 : sizeof(reply));
}

/* ---- in parts -------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t part_bytes(const struct client *c) {
    return WORKER_GRANULES * c->worker->info.granularity_bytes;
}

/* Adds the memory's latest part to `done`; a part without granules counts as one byte. */
static void note_part(struct client *c, uint64_t *done) {
    uint32_t granules = memory_part(c->memory);
    pace_add(&c->worker->moves.pace, granules);
    *done += granules ? granules * c->worker->info.granularity_bytes : 1;
}

/* Fetches the next part of a segment that was made or opened. */
static int fetch(struct client *c, const struct wire_segment *rec, uint64_t *done, bool *over) {
    int err = memory_segment_fetch(c->memory, rec->segment, WORKER_GRANULES);
    note_part(c, done);
    *over = err || memory_segment_whole(c->memory, rec->segment);
    if (err) memory_grant_close(c, rec->segment);
    return err;
}

/* Adds the chunks that the lane lacks, before the segment takes some. */
static int make_in_lane(struct client *c, const struct wire_segment *rec, uint64_t *done,
                        bool *over) {
    int err = *done ? 0 : memory_grant_ask_lane(c, rec->bytes);
    if (!err) err = memory_lane_ahead(c->memory, rec->bytes, WORKER_GRANULES);
    *over = err || !memory_part(c->memory);
    if (!*over) note_part(c, done);
    return !err && *over ? memory_grant_make_lane(c, rec->segment, rec->bytes) : err;
}

static bool do_make(struct client *c, const struct wire_segment *rec, uint64_t *done) {
    bool over = true;
    int err;
    if (rec->ephemeral) {
        err = make_in_lane(c, rec, done, &over);
    } else {
        err = *done ? 0 : memory_grant_make(c, rec->segment, rec->bytes);
        if (!err) err = fetch(c, rec, done, &over);
    }
    if (err == MEMORY_GRANT_WAITS) return false;
    if (over) memory_grant_answer(c, &rec->rec, err, rec->bytes);
    return over;
}

static bool do_open(struct client *c, const struct wire_segment *rec, uint64_t *done) {
    struct segment *s = *done ? memory_segment_find(c->memory, rec->segment)
                              : segment_find(&c->worker->shared.segments, rec->key, c->uid);
    bool over = true;
    int err = s ? 0 : -ENOENT;
    uint64_t bytes = s ? s->count * s->granule : 0;
    if (!err && !*done) err = memory_grant_open(c, rec->segment, s);
    if (err == MEMORY_GRANT_WAITS) return false;
    if (!err) err = fetch(c, rec, done, &over);
    if (!over) return false;
    if (err == ERR_NO_MEMORY)
        memory_grant_answer(c, &rec->rec, err, bytes);
    else
        answer_segment(c, rec, s, err);
    return true;
}

static bool do_close(struct client *c, const struct wire_segment *rec, uint64_t *done) {
    uint32_t ahead = memory_segment_drop_ahead(c->memory, rec->segment, WORKER_GRANULES);
    *done += ahead;
    pace_add(&c->worker->moves.pace, ahead);
    if (ahead) return false;
    int err = memory_grant_close(c, rec->segment);
    if (err)
        log_warn("client", "job=%u event=not-closed segment=%u error=%s", c->job_id, rec->segment,
                 err_name(err));
    reply_status(&c->com, &rec->rec, err);
    return true;
}

static int show_part(struct client *c, const struct wire_segment *rec, uint64_t *done) {
    uint64_t part = least(rec->bytes - *done, part_bytes(c));
    if (!*done && memory_in_use(c->memory, rec->addr, rec->bytes)) return -EEXIST;
    int err = memory_segment_show(c->memory, rec->segment, *done, rec->addr + *done, part);
    if (!err) {
        *done += part;
        pace_add(&c->worker->moves.pace, (uint32_t)(part / c->worker->info.granularity_bytes));
    } else if (*done) { /* the client was not told of the earlier parts */
        memory_unback(c->memory, rec->addr, *done);
    }
    return err;
}

static bool do_show(struct client *c, const struct wire_segment *rec, uint64_t *done) {
    char text[128];
    int err = show_part(c, rec, done);
    if (!err && *done < rec->bytes) return false;
    reply_status(&c->com, &rec->rec, err);
    if (!err || rec->rec.ticket) return true;
    /* The client continued as if it had the memory. */
    snprintf(text, sizeof(text), "the GPU worker cannot map memory at 0x%llx: %s",
             (unsigned long long)rec->addr, err_text(err));
    fault_raise(c, err, text);
    return true;
}

/* Ephemeral pages become the client's persistent memory first. */
static bool do_share(struct client *c, const struct wire_segment *rec, uint64_t *done) {
    struct segment *s = NULL;
    uint32_t most = WORKER_GRANULES;
    int err = memory_grant_keep(c, MEMORY_ASK_DEFERRED, rec->addr, rec->bytes, &most);
    if (err == MEMORY_GRANT_WAITS) return false;
    if (err) err = ERR_NO_MEMORY;
    *done += WORKER_GRANULES - most;
    if (!err && !most) return false;
    if (!err) err = memory_segment_share(c->memory, rec->addr, rec->bytes, c->uid, &s);
    if (!err) err = segment_export(s, &c->worker->shared.segments);
    answer_segment(c, rec, s, err);
    return true;
}

static void do_export(struct client *c, const struct wire_segment *rec) {
    struct segment *s = memory_segment_find(c->memory, rec->segment);
    int err = s ? segment_export(s, &c->worker->shared.segments) : -ENOENT;
    answer_segment(c, rec, s, err);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* Bytes that the user's descriptors may keep: all of them may have to move to host memory. */
static uint64_t most_kept(const struct client *c) {
    uint64_t all = c->worker->info.memory_bytes, bound = c->limits.device_bytes;
    return bound && bound < all ? bound : all;
}

static void refuse_keep(struct client *c, const struct wire_record *asked, int err) {
    char text[WIRE_REPLY_BYTES];
    if (err == ERR_NO_MEMORY)
        snprintf(text, sizeof(text),
                 "the descriptors of user %u would hold more than %llu MiB of device memory; close "
                 "some that were exported before",
                 c->uid, (unsigned long long)(most_kept(c) >> 20));
    else
        snprintf(text, sizeof(text),
                 "user %u has too many descriptors of device memory; close some, or raise "
                 "LimitNOFILE of salusd's unit, or 'ulimit -Hn'",
                 c->uid);
    log_warn("client", "job=%u name=\"%s\" event=refused why=\"%s\"", c->job_id, c->name, text);
    reply_send(&c->com, asked, err, text, (uint32_t)strlen(text));
}

static int keep(struct client *c, uint32_t id, int fd, struct segment **out) {
    struct segment *s = *out = c->memory ? memory_segment_find(c->memory, id) : NULL;
    int err = s ? segment_export(s, &c->worker->shared.segments) : -ENOENT;
    if (!err) return keepers_take(&c->worker->shared.keepers, s, fd, most_kept(c));
    fdutil_close(&fd);
    return err;
}

void segment_request_keep(struct client *c, const struct wire_file *f, int fd, int err) {
    const struct wire_record asked = {.reply = (uint16_t)f->reply, .ticket = f->ticket};
    struct wire_segment_reply reply = {.bytes = 0};
    struct segment *s = NULL;
    if (client_dead(c)) err = c->com.fault;
    if (!err)
        err = keep(c, f->file, fd, &s);
    else
        fdutil_close(&fd);
    if (err == ERR_NO_MEMORY || err == -EMFILE) {
        refuse_keep(c, &asked, err);
        return;
    }
    if (!err)
        reply = (struct wire_segment_reply){.key = {s->key[0], s->key[1]},
                                            .bytes = s->count * s->granule};
    reply_send(&c->com, &asked, err, &reply, err ? 0 : sizeof(reply));
}

/* ---- records --------------------------------------------------------------------------------- */

bool segment_request_act(struct client *c, const struct wire_segment *rec, uint64_t *done) {
    if (client_dead(c) || !c->memory) {
        reply_status(&c->com, &rec->rec, c->com.fault);
        return true;
    }
    switch (rec->rec.op) {
    case WIRE_MEM_MAKE: return do_make(c, rec, done);
    case WIRE_MEM_OPEN: return do_open(c, rec, done);
    case WIRE_MEM_CLOSE: return do_close(c, rec, done);
    case WIRE_MEM_SHOW: return do_show(c, rec, done);
    case WIRE_MEM_EXPORT: do_export(c, rec); return true;
    default: return do_share(c, rec, done);
    }
}
