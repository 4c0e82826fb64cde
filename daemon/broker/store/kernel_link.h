/* SPDX-License-Identifier: Apache-2.0
 *
 * Transfers kernel profiles between the store for a GPU's kind and the GPU's worker. Each worker is
 * sent all profiles when it is ready, and imported ones again. The profiles that it learns go into
 * the store, and reach other GPUs of the kind with their next worker. Owner: struct gpu. Thread:
 * the loop's.
 */
#ifndef DAEMON_BROKER_STORE_KERNEL_LINK_H
#define DAEMON_BROKER_STORE_KERNEL_LINK_H

#include "daemon/broker/store/kernel_stores.h"
#include "daemon/broker/worker/worker.h"
#include "daemon/kernels/kernel_wire.h"

struct kernel_link {
    struct kernel_stores *stores;
    struct kernel_store *store; /* store of its kind; NULL: unknown yet */
    struct worker *worker;
    uint32_t generation; /* generation of the latest WIRE_FORGET to this worker */
    bool complained;     /* a profile that could not be stored was logged */
};

void kernel_link_init(struct kernel_link *k, struct kernel_stores *stores, struct worker *worker);
/* The GPU has a store that may be read and changed. */
bool kernel_link_known(const struct kernel_link *k);

/* The worker is ready, and its device known. */
void kernel_link_ready(struct kernel_link *k);
/* Handles WIRE_PROFILES. Profiles that cannot be stored are dropped, which is logged once. */
void kernel_link_learn(struct kernel_link *k, struct kernel_wire_batch *b);

/* The store was changed by a request: a ready worker is told. */
void kernel_link_imported(struct kernel_link *k);
void kernel_link_forgotten(struct kernel_link *k, const struct kernel_set_filter *f);

#endif
