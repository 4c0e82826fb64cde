/* SPDX-License-Identifier: Apache-2.0
 *
 * Records about segments.
 */
#include "daemon/worker/engine/sharing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/worker/client.h"
#include "daemon/worker/engine/allowance.h"
#include "daemon/worker/engine/fault.h"
#include "daemon/worker/memory/memory_segment.h"
#include "daemon/worker/memory/segment.h"
#include "daemon/worker/page/reply.h"

static void answer_segment(struct client *c, const struct wire_segment *rec,
                           const struct segment *s, int err) {
    struct wire_segment_reply reply = {.bytes = 0};
    if (!err)
        reply = (struct wire_segment_reply){.key = {s->key[0], s->key[1]},
                                            .bytes = s->count * s->granule};
    reply_send(&c->com, &rec->rec, err, &reply, err ? 0 : sizeof(reply));
}

static void do_make(struct client *c, const struct wire_segment *rec) {
    int err = allowance_make(c, rec->segment, rec->bytes, rec->ephemeral != 0);
    allowance_answer(c, &rec->rec, err, rec->bytes);
}

static void do_open(struct client *c, const struct wire_segment *rec) {
    struct segment *s = segment_find(&c->worker->segments, rec->key, c->uid);
    int err = s ? allowance_open(c, rec->segment, s) : -ENOENT;
    if (err == ERR_NO_MEMORY)
        allowance_answer(c, &rec->rec, err, s->count * s->granule);
    else
        answer_segment(c, rec, s, err);
}

static void do_close(struct client *c, const struct wire_segment *rec) {
    int err = allowance_close(c, rec->segment);
    if (err) log_warn("client", "job=%u close=%u error=%d", c->job_id, rec->segment, err);
    reply_status(&c->com, &rec->rec, err);
}

static void do_show(struct client *c, const struct wire_segment *rec) {
    char text[128];
    int err = memory_segment_show(c->memory, rec->segment, rec->addr, rec->bytes);
    reply_status(&c->com, &rec->rec, err);
    if (!err || rec->rec.ticket) return;
    /* The client went on as if it had the memory. */
    snprintf(text, sizeof(text), "memory cannot be shown at 0x%llx: %s",
             (unsigned long long)rec->addr, err_text(err));
    fault_raise(c, err, text);
}

static void do_export(struct client *c, const struct wire_segment *rec) {
    struct segment *s = memory_segment_find(c->memory, rec->segment);
    int err = s ? segment_export(s, &c->worker->segments) : -ENOENT;
    answer_segment(c, rec, s, err);
}

/* What is there for one iteration becomes the client's own first. */
static void do_share(struct client *c, const struct wire_segment *rec) {
    struct segment *s = NULL;
    int err = allowance_keep(c, rec->addr, rec->bytes) ? 0 : ERR_NO_MEMORY;
    if (!err) err = memory_segment_share(c->memory, rec->addr, rec->bytes, c->uid, &s);
    if (!err) err = segment_export(s, &c->worker->segments);
    answer_segment(c, rec, s, err);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* What the descriptors of its user may keep: it may all come to lie in host memory. */
static uint64_t most_kept(const struct client *c) {
    uint64_t all = c->worker->info.memory_bytes, bound = c->limits.device_bytes;
    return bound && bound < all ? bound : all;
}

static void refuse_keep(struct client *c, const struct wire_record *asked, int err) {
    char text[WIRE_REPLY_BYTES];
    if (err == ERR_NO_MEMORY)
        snprintf(text, sizeof(text),
                 "the descriptors of user %u would keep more than %llu MiB of device memory; close "
                 "some that were exported before",
                 c->uid, (unsigned long long)(most_kept(c) >> 20));
    else
        snprintf(text, sizeof(text),
                 "user %u has too many descriptors of device memory; close some, or raise "
                 "LimitNOFILE of salusd's unit, or 'ulimit -Hn'",
                 c->uid);
    log_warn("client", "job=%u name=\"%s\" why=\"%s\"", c->job_id, c->name, text);
    reply_send(&c->com, asked, err, text, (uint32_t)strlen(text));
}

static int keep(struct client *c, uint32_t id, int fd, struct segment **out) {
    struct segment *s = *out = c->memory ? memory_segment_find(c->memory, id) : NULL;
    int err = s ? segment_export(s, &c->worker->segments) : -ENOENT;
    if (!err) return keepers_take(&c->worker->keepers, s, fd, most_kept(c));
    fdutil_close(&fd);
    return err;
}

void sharing_keep(struct client *c, const struct wire_file *f, int fd, int err) {
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

void sharing_act(struct client *c, const struct wire_segment *rec) {
    if (client_dead(c) || !c->memory) {
        reply_status(&c->com, &rec->rec, c->com.fault);
        return;
    }
    switch (rec->rec.op) {
    case WIRE_MEM_MAKE: do_make(c, rec); break;
    case WIRE_MEM_OPEN: do_open(c, rec); break;
    case WIRE_MEM_CLOSE: do_close(c, rec); break;
    case WIRE_MEM_SHOW: do_show(c, rec); break;
    case WIRE_MEM_EXPORT: do_export(c, rec); break;
    default: do_share(c, rec);
    }
}
