/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of kernels, between the store of a GPU's kind and its worker: each worker is given
 * all of it, and again what was imported; what it learns goes into the store, and reaches the other
 * GPUs of its kind with their next worker. Owner: struct gpu. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_STORE_KERNEL_LINK_H
#define DAEMON_BROKER_STORE_KERNEL_LINK_H

#include "daemon/broker/store/kernel_stores.h"
#include "daemon/broker/worker/worker.h"
#include "daemon/kernels/kernel_wire.h"

struct kernel_link {
    struct kernel_stores *stores;
    struct kernel_store *store; /* of its kind; NULL: not known yet */
    struct worker *worker;
    uint32_t generation; /* of the latest WIRE_FORGET to this worker */
    bool complained;     /* of a profile that could not be kept */
};

void kernel_link_init(struct kernel_link *k, struct kernel_stores *stores, struct worker *worker);
/* Whether it has a store that may be asked and changed. */
bool kernel_link_known(const struct kernel_link *k);

/* The worker is ready: this is its device. */
void kernel_link_ready(struct kernel_link *k);
/* WIRE_PROFILES. What is not fit to be kept is dropped, and that said once. */
void kernel_link_learn(struct kernel_link *k, struct kernel_wire_batch *b);

/* The store has changed by hand: the worker, where one is ready, is told. */
void kernel_link_imported(struct kernel_link *k);
void kernel_link_forgotten(struct kernel_link *k, const struct kernel_set_filter *f);

#endif
