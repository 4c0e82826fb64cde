/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages about kernels. After profiles were deleted, batches that the worker sent before it knew
 * are dropped: they have an older generation.
 */
#include "daemon/broker/store/kernel_link.h"

#include <errno.h>
#include <stdio.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"

#define TOPIC "kernel"

void kernel_link_init(struct kernel_link *k, struct kernel_stores *stores, struct worker *worker) {
    *k = (struct kernel_link){
        .stores = stores, .store = kernel_stores_only(stores), .worker = worker};
}

bool kernel_link_known(const struct kernel_link *k) {
    return k->store && k->store->known;
}

/* Sends the store's hints to the worker, and with `profiles` also its profiles; a failure is only
 * logged. */
static void give(struct kernel_link *k, bool profiles) {
    struct wire_worker_msg msg = {.kind = WIRE_KERNELS};
    int fd = kernel_wire_pack(&k->store->set, profiles);

    if (fd < 0)
        log_error(TOPIC,
                  "event=not_sent why=\"%s\" text=\"the worker does not have the latest kernel "
                  "profiles\"",
                  err_text(fd));
    else
        channel_tell(&k->worker->channel, &msg, &fd, 1);
    fdutil_close(&fd);
}

void kernel_link_ready(struct kernel_link *k) {
    const struct wire_device *d = &k->worker->device;

    k->store = kernel_stores_of(k->stores, d->name, d->sm_count);
    k->generation = 0; /* a new worker begins at 0 */
    if (k->store) give(k, true);
}

void kernel_link_learn(struct kernel_link *k, struct kernel_wire_batch *b) {
    if (!k->store || b->generation != k->generation) return;
    for (uint32_t i = 0; i < b->count; i++) {
        char why[KERNEL_PROFILE_WHY_BYTES];
        int err = kernel_store_learn(k->store, &b->items[i], why);

        if (err == 0 || k->complained) continue;
        k->complained = true;
        log_error(
            TOPIC,
            "event=not_learned why=\"%s\" text=\"later failures of this worker are not logged\"",
            err == -EINVAL ? why : err_text(err));
    }
}

void kernel_link_imported(struct kernel_link *k) {
    if (worker_ready(k->worker)) give(k, true);
}

void kernel_link_forgotten(struct kernel_link *k, const struct kernel_set_filter *f) {
    struct wire_worker_msg msg = {.kind = WIRE_FORGET, .uid = f->uid};

    if (!worker_ready(k->worker)) return;
    msg.result = (int32_t)++k->generation;
    snprintf(msg.text, sizeof(msg.text), "%s", f->name ? f->name : "");
    channel_tell(&k->worker->channel, &msg, NULL, 0);
    give(k, false);
}
