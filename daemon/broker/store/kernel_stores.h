/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel_store for each kind of device: GPUs of the same kind share one. With one GPU its file is
 * the configured one. With several, each kind's file has the kind's name, like the file of a device
 * that is not in use.
 *
 * Owner: struct gpus. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_STORE_KERNEL_STORES_H
#define DAEMON_BROKER_STORE_KERNEL_STORES_H

#include "daemon/broker/config/config.h"
#include "daemon/broker/store/kernel_store.h"

struct kernel_stores {
    uv_loop_t *loop;
    char path[STORE_PATH_BYTES];
    bool several; /* there are several GPUs */
    unsigned count;
    struct kernel_store items[CONFIG_GPUS_MAX];
};

void kernel_stores_open(struct kernel_stores *s, const struct config *config, uv_loop_t *loop);
void kernel_stores_stop(
    struct kernel_stores *s); /* stops their timers; once, before the loop ends */
void kernel_stores_finish(struct kernel_stores *s);

/* Returns the only store, whatever its device will be; NULL if there are several GPUs. */
struct kernel_store *kernel_stores_only(struct kernel_stores *s);
/* Returns the store of this device, which stays in `s`; NULL: there are CONFIG_GPUS_MAX other kinds
 * already. */
struct kernel_store *kernel_stores_of(struct kernel_stores *s, const char *name, uint32_t sms);

#endif
