/* SPDX-License-Identifier: Apache-2.0
 *
 * A segment's chunks, or the places where their bytes are instead.
 */
#include "daemon/worker/segments/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/device/device_retirement.h"
#include "daemon/worker/segments/spare.h"

/* ---- bytes ----------------------------------------------------------------------------------- */

bool segment_whole(const struct segment *s) {
    return s->there == s->count;
}

/* Destroys the last chunks, so that those before stay the first. */
static uint32_t destroy_chunks(struct segment *s, uint32_t most) {
    uint32_t n = 0;
    for (; s->there && n < most; n++) {
        s->ops->chunk_destroy(s->dev, s->chunks[--s->there]);
        s->chunks[s->there] = NULL;
    }
    return n;
}

static void free_hosts(struct segment *s) {
    for (uint32_t i = 0; s->hosts && i < s->saved; i++)
        spare_free(s->ops, s->dev, s->granule, s->hosts[i]);
    free(s->hosts);
    s->hosts = NULL;
    s->saved = 0;
}

static void free_retired(struct segment *s) {
    for (uint32_t i = 0; s->retired && i < s->count; i++)
        s->ops->retirement->retired_free(s->dev, s->retired[i]);
    free(s->retired);
    s->retired = NULL;
}

/* Retires a segment without a holder. False: the device cannot retire, or cannot now; nothing
 * changed. */
static bool retire(struct segment *s) {
    if (!s->ops->retirement) return false;
    free_hosts(s);
    if (!s->retired) s->retired = calloc(s->count, sizeof(*s->retired));
    int err = s->retired ? 0 : -ENOMEM;
    while (!err && s->there) {
        uint32_t i = s->there - 1;
        err = s->ops->retirement->chunk_retire(s->dev, s->chunks[i], &s->retired[i]);
        if (err) break;
        s->chunks[i] = NULL;
        s->there--;
    }
    uint32_t done = 0;
    uint64_t moved = 0;
    if (err && s->retired) segment_load(s, SEGMENT_ALL, &done, &moved);
    return !err;
}

/* Frees the chunks of a segment that has no holder: nobody is charged for them on the device, so
 * they must not stay there. Later attempts to open it fail. */
static void lose(struct segment *s, int err) {
    log_error("memory",
              "event=segment-lost chunks=%u why=\"only descriptors held the segment, and host "
              "memory is full\" error=%s",
              s->count, err_name(err));
    list_remove(&s->link);
    destroy_chunks(s, SEGMENT_ALL);
    free_retired(s);
    free_hosts(s);
    s->lost = true;
}

static int save_chunk(struct segment *s, uint32_t i) {
    s->hosts[i] = spare_make(s->ops, s->dev, s->granule);
    if (!s->hosts[i]) return -ENOMEM;
    s->saved = i + 1;
    int err = s->ops->chunk_save(s->dev, s->hosts[i], s->chunks[i]);
    if (!err) return 0;
    s->saved = i;
    spare_free(s->ops, s->dev, s->granule, s->hosts[i]);
    s->hosts[i] = NULL;
    return err;
}

bool segment_saves(const struct segment *s) {
    return s->present <= 1 && s->saved < s->count && !s->retired;
}

int segment_save(struct segment *s, uint32_t most, uint32_t *done, uint64_t *moved_bytes) {
    if (!segment_saves(s)) return 0;
    if (!s->hosts) s->hosts = calloc(s->count, sizeof(*s->hosts));
    int err = s->hosts ? 0 : -ENOMEM;
    for (uint32_t n = 0; n < most && s->saved < s->count && !err; n++) {
        err = save_chunk(s, s->saved);
        if (err) break;
        *done += 1;
        *moved_bytes += s->granule;
    }
    return err;
}

/* Loads the next chunk: from its retired state, or from the saved bytes. */
static int load_chunk(struct segment *s, uint32_t i, uint64_t *moved_bytes) {
    if (s->retired) {
        int err = s->ops->retirement->chunk_revive(s->dev, s->retired[i], &s->chunks[i]);
        if (!err) s->retired[i] = NULL;
        return err;
    }
    int err = s->ops->chunk_create(s->dev, &s->chunks[i]);
    if (err || !s->hosts[i]) return err;
    err = s->ops->chunk_load(s->dev, s->chunks[i], s->hosts[i]);
    if (err) {
        s->ops->chunk_destroy(s->dev, s->chunks[i]);
        s->chunks[i] = NULL;
    } else {
        *moved_bytes += s->granule;
    }
    return err;
}

int segment_load(struct segment *s, uint32_t most, uint32_t *done, uint64_t *moved_bytes) {
    int err = 0;
    for (uint32_t n = 0; n < most && !segment_whole(s); n++) {
        err = load_chunk(s, s->there, moved_bytes);
        if (err) return err;
        s->there++;
        *done += 1;
    }
    if (segment_whole(s)) free_retired(s);
    return 0;
}

bool segment_sheds(const struct segment *s) {
    return !s->present && s->there && s->saved == s->count;
}

uint32_t segment_shed(struct segment *s, uint32_t most) {
    return segment_sheds(s) ? destroy_chunks(s, most) : 0;
}

/* The segment was loaded and again has no holder. */
static void retire_again(struct segment *s) {
    if (retire(s)) return;
    s->set->alone_bytes -= s->count * s->granule;
    lose(s, -ENOMEM);
}

static void drop_copies(struct segment *s) {
    segment_shed(s, SEGMENT_ALL);
    if (s->present && segment_whole(s)) free_hosts(s);
}

/* A segment that was revived for a client that did not come is retired again. */
void segment_settle(struct segment *s) {
    if (!s->holders && s->there && !s->hosts) retire_again(s);
    drop_copies(s);
}

/* ---- holders --------------------------------------------------------------------------------- */

static void destroy(struct segment *s) {
    list_remove(&s->link);
    destroy_chunks(s, SEGMENT_ALL);
    free_retired(s);
    free_hosts(s);
    free(s->chunks);
    free(s);
}

static struct segment *new_segment(const struct dev_ops *ops, struct dev *dev, uint32_t count,
                                   uint32_t uid) {
    struct dev_info info;
    struct segment *s = calloc(1, sizeof(*s));
    if (!s) return NULL;
    ops->info(dev, &info);
    *s = (struct segment){.ops = ops, .dev = dev, .granule = info.granularity_bytes};
    s->count = count;
    s->uid = uid;
    s->holders = 1;
    list_init(&s->link);
    s->chunks = calloc(count, sizeof(struct dev_chunk *));
    if (s->chunks) return s;
    free(s);
    return NULL;
}

int segment_create(struct segment **out, const struct dev_ops *ops, struct dev *dev, uint32_t count,
                   uint32_t uid) {
    struct segment *s = new_segment(ops, dev, count, uid);
    if (!s) return -ENOMEM;
    s->hosts = calloc(count, sizeof(*s->hosts));
    if (!s->hosts) {
        destroy(s);
        return -ENOMEM;
    }
    s->saved = count;
    *out = s;
    return 0;
}

int segment_adopt(struct segment **out, const struct dev_ops *ops, struct dev *dev,
                  struct dev_chunk *const *chunks, uint32_t count, uint32_t uid) {
    struct segment *s = new_segment(ops, dev, count, uid);
    if (!s) return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        s->chunks[i] = chunks[i];
    s->there = count;
    s->present = 1;
    *out = s;
    return 0;
}

void segment_hold(struct segment *s) {
    if (s->holders++ == 0) s->set->alone_bytes -= s->count * s->granule;
}

void segment_leave(struct segment *s) {
    s->present--;
}

void segment_enter(struct segment *s) {
    s->present++;
    segment_settle(s);
}

/* Moves the bytes out when no holder is present; where they cannot be saved they stay. */
static int go_out(struct segment *s) {
    uint32_t done = 0;
    uint64_t moved = 0;
    int err = s->present ? 0 : segment_save(s, SEGMENT_ALL, &done, &moved);
    drop_copies(s);
    return err;
}

static void leave_alone(struct segment *s) {
    int err = segment_whole(s) && retire(s) ? 0 : go_out(s);
    if (err || s->there)
        lose(s, err);
    else
        s->set->alone_bytes += s->count * s->granule;
}

/* When all holders are swapped out and the segment cannot follow them, it stays on the device. That
 * is more than they are charged for, until one of them returns. */
static void follow_holders(struct segment *s) {
    int err = go_out(s);
    if (err)
        log_error("memory",
                  "event=segment-stays chunks=%u why=\"the segment cannot move to host memory with "
                  "its holders\" error=%s",
                  s->count, err_name(err));
}

void segment_drop(struct segment *s, bool away) {
    s->holders--;
    if (!away) segment_leave(s);
    if (!s->holders && !s->keepers)
        destroy(s);
    else if (!s->holders)
        leave_alone(s);
    else
        follow_holders(s);
}

bool segment_ends(const struct segment *s) {
    return s->holders == 1 && !s->keepers;
}

uint32_t segment_drop_ahead(struct segment *s, bool away, uint32_t most) {
    uint32_t done = 0;
    uint64_t moved = 0;
    if (segment_ends(s)) {
        list_remove(&s->link);
        return destroy_chunks(s, most);
    }
    if (away || s->present > 1 || (s->holders == 1 && s->ops->retirement)) return 0;
    if (!segment_save(s, most, &done, &moved)) return done;
    free_hosts(s);
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

int segment_export(struct segment *s, struct segment_set *set) {
    if (s->set) return 0;
    if (getrandom(s->key, sizeof(s->key), 0) != sizeof(s->key)) return -EAGAIN;
    list_append(&set->exported, &s->link);
    s->set = set;
    return 0;
}

struct segment *segment_find(const struct segment_set *set, const uint64_t *key, uint32_t uid) {
    const struct list *pos;
    list_each(pos, &set->exported) {
        struct segment *s = list_entry(pos, struct segment, link);
        if (s->key[0] == key[0] && s->key[1] == key[1]) return s->uid == uid ? s : NULL;
    }
    return NULL;
}

void segment_keep(struct segment *s) {
    s->keepers++;
}

void segment_unkeep(struct segment *s) {
    if (--s->keepers || s->holders) return;
    if (!s->lost) s->set->alone_bytes -= s->count * s->granule;
    destroy(s);
}
