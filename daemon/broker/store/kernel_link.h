/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of kernels, between the store and the worker: each worker is given all of it, and
 * again what was imported; what it learns goes into the store. Owner: struct broker. Thread:
 * the loop's.
 */
#ifndef DAEMON_BROKER_STORE_KERNEL_LINK_H
#define DAEMON_BROKER_STORE_KERNEL_LINK_H

#include "daemon/broker/config/config.h"
#include "daemon/broker/store/kernel_store.h"
#include "daemon/broker/worker/worker.h"
#include "daemon/kernels/kernel_wire.h"

struct kernel_link {
    struct kernel_store store;
    struct worker *worker;
    uint32_t generation; /* of the latest WIRE_FORGET to this worker */
    bool complained;     /* of a profile that could not be kept */
};

void kernel_link_open(struct kernel_link *k, const struct config *config, uv_loop_t *loop,
                      struct worker *worker);

/* The worker is ready: this is its device. */
void kernel_link_ready(struct kernel_link *k);
/* WIRE_PROFILES. What is not fit to be kept is dropped, and that said once. */
void kernel_link_learn(struct kernel_link *k, struct kernel_wire_batch *b);

/* The store has changed by hand: the worker, where one is ready, is told. */
void kernel_link_imported(struct kernel_link *k);
void kernel_link_forgotten(struct kernel_link *k, const struct kernel_set_filter *f);

#endif
