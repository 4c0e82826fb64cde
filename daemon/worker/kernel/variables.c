/* SPDX-License-Identifier: Apache-2.0
 *
 * Granules of modules.
 */
#include "daemon/worker/kernel/variables.h"

#include <errno.h>

#include "common/atomics.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_spares.h"
#include "daemon/device/device_variables.h"

static uint32_t count_of(const struct savepoint_header *h) {
    return atom_load_relaxed(&h->granule_count);
}

/* The index of the chunk's last entry; UINT32_MAX: there is none. A chunk has several entries where
 * a worker ended before it logged the module's place. */
static uint32_t find(const struct savepoint_header *h, uint64_t chunk) {
    uint32_t i = count_of(h);
    while (i > 0 && h->granules[i - 1].chunk != chunk)
        i--;
    return i - 1;
}

/* Lists a module's granules behind the existing ones, without counting them yet. */
static int list_module(const struct dev_ops *ops, const struct module *m,
                       struct savepoint_header *h, uint32_t *count) {
    struct dev_granule where[SAVEPOINT_GRANULES];
    uint32_t first = count_of(h);
    *count = ops->recovery->module_where(m->dev, where, SAVEPOINT_GRANULES - first);
    if (*count > SAVEPOINT_GRANULES - first) return -ENOSPC;
    for (uint32_t i = 0; i < *count; i++) {
        if (where[i].chunk == DEV_NO_CHUNK) return -EADDRNOTAVAIL;
        h->granules[first + i].chunk = where[i].chunk;
    }
    return 0;
}

int variables_list(const struct objects *o, const struct dev_ops *ops, struct savepoint *k) {
    struct savepoint_header *h = k->header;
    uint32_t count = 0;
    int err = 0;
    atom_store_relaxed(&h->granule_count, 0);
    if (!ops->variables) return 0;
    for (const struct module *m = object_next(o, 0); m && !err; m = object_next(o, m->id + 1)) {
        err = list_module(ops, m, h, &count);
        if (!err) atom_store_relaxed(&h->granule_count, count_of(h) + count);
    }
    return err;
}

static int save_one(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                    struct savepoint_header *h, uint32_t i) {
    if (!v->spares[i]) v->spares[i] = ops->spares->spare_make(dev);
    if (!v->spares[i]) return -ENOMEM;
    h->granules[i].spare = ops->spares->spare_id(dev, v->spares[i]);
    return ops->variables->granule_save(dev, v->spares[i], h->granules[i].chunk);
}

int variables_add(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                  struct savepoint *k, const struct module *m) {
    struct savepoint_header *h = k->header;
    uint32_t first = count_of(h), count = 0;
    if (!ops->variables) return 0;
    int err = list_module(ops, m, h, &count);
    for (uint32_t i = first; !err && i < first + count; i++)
        err = save_one(v, ops, dev, h, i);
    if (!err) atom_store_release(&h->granule_count, first + count);
    return err;
}

bool variables_saved(const struct dev_ops *ops, const struct savepoint *k, const struct module *m) {
    struct dev_granule where[SAVEPOINT_GRANULES];
    if (!ops->variables) return true;
    uint32_t count = ops->recovery->module_where(m->dev, where, SAVEPOINT_GRANULES);
    bool all = count <= SAVEPOINT_GRANULES;
    for (uint32_t i = 0; all && i < count; i++)
        all = find(k->header, where[i].chunk) < SAVEPOINT_GRANULES;
    return all;
}

int variables_save(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                   struct savepoint *k, uint32_t *at, uint32_t most) {
    int err = 0;
    for (uint32_t n = 0; !err && n < most && *at < count_of(k->header); n++, (*at)++)
        err = save_one(v, ops, dev, k->header, *at);
    return err;
}

int variables_adopt(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                    struct savepoint *k) {
    const struct savepoint_header *h = k->header;
    int err = 0;
    for (uint32_t i = 0; !err && i < count_of(h); i++)
        err = ops->spares->spare_adopt(dev, h->granules[i].spare, &v->spares[i]);
    if (err) variables_finish(v, ops, dev);
    return err;
}

int variables_load(const struct variables *v, const struct dev_ops *ops, struct dev *dev,
                   const struct savepoint *k, const struct module *m) {
    struct dev_granule where[SAVEPOINT_GRANULES];
    if (!ops->variables) return 0;
    uint32_t count = ops->recovery->module_where(m->dev, where, SAVEPOINT_GRANULES);
    int err = count > SAVEPOINT_GRANULES ? -ENOENT : 0;
    for (uint32_t i = 0; !err && i < count; i++) {
        uint32_t at = find(k->header, where[i].chunk);
        err = at < SAVEPOINT_GRANULES
                  ? ops->variables->granule_load(dev, where[i].chunk, v->spares[at])
                  : -ENOENT;
    }
    return err;
}

void variables_finish(struct variables *v, const struct dev_ops *ops, struct dev *dev) {
    for (uint32_t i = 0; i < SAVEPOINT_GRANULES; i++) {
        if (v->spares[i]) ops->spares->spare_free(dev, v->spares[i]);
        v->spares[i] = NULL;
    }
}
