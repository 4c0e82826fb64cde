/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals and their points.
 */
#include "daemon/worker/stream/signal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

/* ---- signals --------------------------------------------------------------------------------- */

struct signal *signal_find(const struct signals *s, uint32_t id) {
    return id < s->room ? s->table[id] : NULL;
}

static int reach(struct signals *s, uint32_t id) {
    if (id < s->room) return 0;
    uint32_t room = id + id / 2 + 16;
    struct signal **table = realloc(s->table, room * sizeof(struct signal *));
    if (!table) return -ENOMEM;
    for (uint32_t i = s->room; i < room; i++)
        table[i] = NULL;
    s->table = table;
    s->room = room;
    return 0;
}

int signal_make(struct signals *s, uint32_t id, uint32_t uid, struct list *all) {
    int err = signal_find(s, id) ? -EEXIST : reach(s, id);
    if (err) return err;
    struct signal *made = calloc(1, sizeof(*made));
    if (!made) return -ENOMEM;
    made->holders = 1;
    made->uid = uid;
    if (getrandom(made->key, sizeof(made->key), 0) != sizeof(made->key)) {
        free(made);
        return -EAGAIN;
    }
    list_append(all, &made->link);
    s->table[id] = made;
    return 0;
}

static struct signal *find_key(const struct list *all, const uint64_t *key, uint32_t uid) {
    const struct list *pos;
    list_each(pos, all) {
        struct signal *s = list_entry(pos, struct signal, link);
        if (s->key[0] == key[0] && s->key[1] == key[1]) return s->uid == uid ? s : NULL;
    }
    return NULL;
}

int signal_open(struct signals *s, uint32_t id, uint32_t uid, const uint64_t *key,
                const struct list *all) {
    struct signal *found = find_key(all, key, uid);
    if (!found) return -ENOENT;
    int err = signal_find(s, id) ? -EEXIST : reach(s, id);
    if (err) return err;
    found->holders++;
    s->table[id] = found;
    return 0;
}

int signal_close(struct signals *s, uint32_t id) {
    struct signal *gone = signal_find(s, id);
    if (!gone) return -ENOENT;
    s->table[id] = NULL;
    if (--gone->holders) return 0;
    if (gone->latest) point_drop(gone->latest);
    list_remove(&gone->link);
    free(gone);
    return 0;
}

void signal_finish(struct signals *s) {
    for (uint32_t id = 0; id < s->room; id++)
        signal_close(s, id);
    free(s->table);
    *s = (struct signals){.room = 0};
}

/* ---- points ---------------------------------------------------------------------------------- */

void point_drop(struct point *m) {
    if (--m->refs == 0) free(m);
}

struct point *signal_put(struct signal *s) {
    struct point *m = calloc(1, sizeof(*m));
    if (!m) return NULL;
    if (s->latest) point_drop(s->latest);
    m->refs = 2; /* the signal's and the operation's reference */
    s->latest = m;
    return m;
}

struct point *signal_latest(struct signal *s) {
    if (s->latest) s->latest->refs++;
    return s->latest;
}
