/* SPDX-License-Identifier: Apache-2.0
 *
 * Granules of modules.
 */
#include "daemon/worker/kernel/variables.h"

#include <errno.h>

static int list_module(const struct dev_ops *ops, const struct module *m,
                       struct savepoint_header *h) {
    struct dev_granule where[SAVEPOINT_GRANULES];
    uint32_t room = SAVEPOINT_GRANULES - h->granule_count;
    uint32_t count = ops->module_where(m->dev, where, room);
    if (count > room) return -ENOSPC;
    for (uint32_t i = 0; i < count; i++) {
        if (where[i].chunk == DEV_NO_CHUNK) return -EADDRNOTAVAIL;
        h->granules[h->granule_count++].chunk = where[i].chunk;
    }
    return 0;
}

int variables_list(const struct objects *o, const struct dev_ops *ops, struct savepoint *k) {
    int err = 0;
    k->header->granule_count = 0;
    if (!ops->granule_save || !ops->module_where) return 0;
    for (const struct module *m = object_next(o, 0); m && !err; m = object_next(o, m->id + 1))
        err = list_module(ops, m, k->header);
    return err;
}

int variables_save(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                   struct savepoint *k, uint32_t *at, uint32_t most) {
    struct savepoint_header *h = k->header;
    int err = 0;
    for (uint32_t n = 0; !err && n < most && *at < h->granule_count; n++, (*at)++) {
        void **spare = &v->spares[*at];
        if (!*spare) *spare = ops->spare_make(dev);
        err = *spare ? ops->granule_save(dev, *spare, h->granules[*at].chunk) : -ENOMEM;
        if (!err) h->granules[*at].spare = ops->spare_id(dev, *spare);
    }
    return err;
}

int variables_adopt(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                    struct savepoint *k) {
    const struct savepoint_header *h = k->header;
    int err = 0;
    for (uint32_t i = 0; !err && i < h->granule_count; i++)
        err = ops->spare_adopt(dev, h->granules[i].spare, &v->spares[i]);
    if (err) variables_finish(v, ops, dev);
    return err;
}

static const void *find(const struct variables *v, const struct savepoint_header *h,
                        uint64_t chunk) {
    for (uint32_t i = 0; i < h->granule_count; i++)
        if (h->granules[i].chunk == chunk) return v->spares[i];
    return NULL;
}

int variables_load(const struct variables *v, const struct dev_ops *ops, struct dev *dev,
                   const struct savepoint *k, const struct module *m) {
    struct dev_granule where[SAVEPOINT_GRANULES];
    if (!ops->granule_load || !ops->module_where) return 0;
    uint32_t count = ops->module_where(m->dev, where, SAVEPOINT_GRANULES);
    int err = count > SAVEPOINT_GRANULES ? -ENOENT : 0;
    for (uint32_t i = 0; !err && i < count; i++) {
        const void *saved = find(v, k->header, where[i].chunk);
        err = saved ? ops->granule_load(dev, where[i].chunk, saved) : -ENOENT;
    }
    return err;
}

void variables_finish(struct variables *v, const struct dev_ops *ops, struct dev *dev) {
    for (uint32_t i = 0; i < SAVEPOINT_GRANULES; i++) {
        if (v->spares[i]) ops->spare_free(dev, v->spares[i]);
        v->spares[i] = NULL;
    }
}
