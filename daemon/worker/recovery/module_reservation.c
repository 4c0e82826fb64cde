/* SPDX-License-Identifier: Apache-2.0
 *
 * One reservation for each chunk.
 */
#include "daemon/worker/recovery/module_reservation.h"

#include "daemon/device/device_recovery.h"

/* The place of the next module's memory from `at` on; NULL: there is no further one. */
static const struct dev_granule *next_place(const struct log *l, uint64_t *at, uint64_t *count) {
    for (struct log_entry *e; (e = record_log_at(l, *at, at));) {
        *count = e->tail_bytes / sizeof(struct dev_granule);
        if (record_log_record(e)->op == RECORD_LOG_PLACED) return record_log_tail(e);
    }
    return NULL;
}

/* Releases the first `most` reservations; returns the number of them. */
static uint64_t renounce(const struct log *l, const struct dev_ops *ops, struct dev *dev,
                         uint64_t most) {
    uint64_t at = 0, count, seen = 0;
    for (const struct dev_granule *g; (g = next_place(l, &at, &count));)
        for (uint64_t i = 0; i < count && seen < most; i++, seen++)
            if (g[i].chunk != DEV_NO_CHUNK) ops->recovery->chunk_renounce(dev, g[i].chunk);
    return seen;
}

int module_reservation_make(const struct log *l, const struct dev_ops *ops, struct dev *dev) {
    uint64_t at = 0, count, seen = 0;
    for (const struct dev_granule *g; (g = next_place(l, &at, &count));)
        for (uint64_t i = 0; i < count; i++, seen++) {
            int err =
                g[i].chunk == DEV_NO_CHUNK ? 0 : ops->recovery->chunk_promise(dev, g[i].chunk);
            if (!err) continue;
            renounce(l, ops, dev, seen);
            return err;
        }
    return 0;
}

void module_reservation_release(const struct log *l, const struct dev_ops *ops, struct dev *dev) {
    renounce(l, ops, dev, UINT64_MAX);
}
