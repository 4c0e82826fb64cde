/* SPDX-License-Identifier: Apache-2.0
 *
 * A segment's chunks, or where their bytes are instead.
 */
#include "daemon/worker/memory/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "common/log.h"
#include "daemon/worker/memory/spare.h"

/* ---- the bytes ------------------------------------------------------------------------------- */

static bool on_device(const struct segment *s) {
    return s->chunks[0] != NULL;
}

static void destroy_chunks(struct segment *s) {
    for (uint32_t i = 0; i < s->count; i++) {
        s->ops->chunk_destroy(s->dev, s->chunks[i]);
        s->chunks[i] = NULL;
    }
}

static int create_chunks(struct segment *s) {
    int err = 0;
    for (uint32_t i = 0; i < s->count && !err; i++)
        err = s->ops->chunk_create(s->dev, &s->chunks[i]);
    if (err) destroy_chunks(s);
    return err;
}

static void free_hosts(struct segment *s) {
    for (uint32_t i = 0; s->hosts && i < s->count; i++)
        spare_free(s->ops, s->dev, s->granule, s->hosts[i]);
    free(s->hosts);
    s->hosts = NULL;
}

static void free_retired(struct segment *s) {
    for (uint32_t i = 0; s->retired && i < s->count; i++)
        s->ops->retired_free(s->dev, s->retired[i]);
    free(s->retired);
    s->retired = NULL;
}

/* All that are retired are chunks again. On failure some are, until segment_settle. */
static int revive(struct segment *s) {
    int err = 0;
    for (uint32_t i = 0; i < s->count && !err; i++) {
        if (s->retired[i]) err = s->ops->chunk_revive(s->dev, s->retired[i], &s->chunks[i]);
        if (!err) s->retired[i] = NULL;
    }
    if (!err) free_retired(s);
    return err;
}

/* Nobody holds it. False: the device has no such thing, or cannot now, and nothing has changed. */
static bool retire(struct segment *s) {
    if (!s->ops->chunk_retire) return false;
    if (!s->retired) s->retired = calloc(s->count, sizeof(*s->retired));
    int err = s->retired ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < s->count && !err; i++) {
        if (!s->chunks[i]) continue;
        err = s->ops->chunk_retire(s->dev, s->chunks[i], &s->retired[i]);
        if (!err) s->chunks[i] = NULL;
    }
    if (err) revive(s);
    return !err;
}

/* Nobody is charged for it on the device, where it must not stay: who would open it is told that it
 * is not there. */
static void lose(struct segment *s, int err) {
    log_error("memory",
              "chunks=%u lost=\"only descriptors held it, and host memory is out\" error=%d",
              s->count, err);
    list_remove(&s->link);
    destroy_chunks(s);
    free_retired(s);
    s->lost = true;
}

static int save_chunk(struct segment *s, uint32_t i) {
    s->hosts[i] = spare_make(s->ops, s->dev, s->granule);
    return s->hosts[i] ? s->ops->chunk_save(s->dev, s->hosts[i], s->chunks[i]) : -ENOMEM;
}

int segment_save(struct segment *s, uint64_t *moved_bytes) {
    if (s->present || s->hosts) return 0;
    s->hosts = calloc(s->count, sizeof(*s->hosts));
    int err = s->hosts ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < s->count && !err; i++)
        err = save_chunk(s, i);
    if (err)
        free_hosts(s);
    else
        *moved_bytes += s->count * s->granule;
    return err;
}

int segment_load(struct segment *s, uint64_t *moved_bytes) {
    if (on_device(s)) return 0;
    if (s->retired) return revive(s);
    int err = create_chunks(s);
    for (uint32_t i = 0; i < s->count && !err; i++) {
        if (!s->hosts[i]) continue;
        err = s->ops->chunk_load(s->dev, s->chunks[i], s->hosts[i]);
        *moved_bytes += s->granule;
    }
    if (err && on_device(s)) destroy_chunks(s);
    return err;
}

/* It was loaded, and stays alone. */
static void retire_again(struct segment *s) {
    if (retire(s)) return;
    s->set->alone_bytes -= s->count * s->granule;
    lose(s, -ENOMEM);
}

/* Of two copies the one that is not needed goes; what was retired is again, where nobody came. */
void segment_settle(struct segment *s) {
    if (!on_device(s)) return;
    if (!s->hosts && !s->holders) retire_again(s);
    if (!s->hosts) return;
    if (s->present)
        free_hosts(s);
    else
        destroy_chunks(s);
}

/* ---- holders --------------------------------------------------------------------------------- */

static void destroy(struct segment *s) {
    list_remove(&s->link);
    if (on_device(s)) destroy_chunks(s);
    free_retired(s);
    free_hosts(s);
    free(s->chunks);
    free(s);
}

static struct segment *new_segment(const struct dev_ops *ops, struct dev *dev, uint32_t count,
                                   uint32_t uid, bool away) {
    struct dev_info info;
    struct segment *s = calloc(1, sizeof(*s));
    if (!s) return NULL;
    ops->info(dev, &info);
    *s = (struct segment){.ops = ops, .dev = dev, .granule = info.granularity_bytes};
    s->count = count;
    s->uid = uid;
    s->holders = 1;
    s->present = !away;
    list_init(&s->link);
    s->chunks = calloc(count, sizeof(struct dev_chunk *));
    if (s->chunks) return s;
    free(s);
    return NULL;
}

int segment_create(struct segment **out, const struct dev_ops *ops, struct dev *dev, uint32_t count,
                   uint32_t uid, bool away) {
    struct segment *s = new_segment(ops, dev, count, uid, away);
    if (!s) return -ENOMEM;
    if (away) s->hosts = calloc(count, sizeof(*s->hosts));
    int err = away ? (s->hosts ? 0 : -ENOMEM) : create_chunks(s);
    if (err)
        destroy(s);
    else
        *out = s;
    return err;
}

int segment_adopt(struct segment **out, const struct dev_ops *ops, struct dev *dev,
                  struct dev_chunk *const *chunks, uint32_t count, uint32_t uid) {
    struct segment *s = new_segment(ops, dev, count, uid, false);
    if (!s) return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        s->chunks[i] = chunks[i];
    *out = s;
    return 0;
}

void segment_hold(struct segment *s, bool away) {
    if (s->holders++ == 0) s->set->alone_bytes -= s->count * s->granule;
    s->present += !away;
}

void segment_leave(struct segment *s) {
    s->present--;
}

void segment_enter(struct segment *s) {
    s->present++;
}

static void leave_alone(struct segment *s) {
    uint64_t moved = 0;
    int err = on_device(s) && retire(s) ? 0 : segment_save(s, &moved);
    if (err)
        lose(s, err);
    else
        s->set->alone_bytes += s->count * s->granule;
    if (!s->retired) segment_settle(s);
}

uint32_t segment_save_ahead(struct segment *s, uint32_t most) {
    uint32_t saved = 0;
    int err = 0;
    if (!s->keepers || s->holders != 1 || !on_device(s) || s->ops->chunk_retire) return 0;
    if (!s->hosts) s->hosts = calloc(s->count, sizeof(*s->hosts));
    for (uint32_t i = 0; s->hosts && !err && i < s->count && saved < most; i++) {
        if (s->hosts[i]) continue;
        err = save_chunk(s, i);
        saved++;
    }
    if (!err) return saved;
    free_hosts(s);
    return 0;
}

/* Where those that are left are all swapped out, and it cannot follow them, it stays: that is more
 * than they are charged for, until one of them comes back. */
static void follow_holders(struct segment *s) {
    uint64_t moved = 0;
    int err = segment_save(s, &moved);
    if (err) log_error("memory", "chunks=%u cannot_follow_its_holders error=%d", s->count, err);
    segment_settle(s);
}

void segment_drop(struct segment *s, bool away) {
    s->holders--;
    if (!away) segment_leave(s);
    if (!s->holders && !s->keepers)
        destroy(s);
    else if (!s->holders)
        leave_alone(s);
    else if (!away)
        follow_holders(s);
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
