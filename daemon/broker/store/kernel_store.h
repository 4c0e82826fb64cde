/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel profiles in a file (store_file.h, daemon/kernels/kernel_text.h): learned by workers, and
 * hints that users imported, for the present device. The file of another device is kept beside it
 * under that device's name until it is back. Owner: struct kernel_stores. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_STORE_KERNEL_STORE_H
#define DAEMON_BROKER_STORE_KERNEL_STORE_H

#include <stdbool.h>

#include "daemon/broker/store/store_file.h"
#include "daemon/kernels/kernel_set.h"

struct kernel_store {
    struct kernel_set set;
    struct store_file file;
    bool known; /* the device is known; before that nothing is read or stored */
    bool apart; /* the file always has the device's name, once the device is known */
};

/* `path` is that of store_file_place. */
void kernel_store_init(struct kernel_store *k, uv_loop_t *loop, const char *path);
void kernel_store_stop(struct kernel_store *k); /* stops its timer; once, before the loop ends */
/* Writes unsaved profiles. */
void kernel_store_finish(struct kernel_store *k);

/* A worker has opened this device. Returns true if the set was replaced. */
bool kernel_store_device(struct kernel_store *k, const char *name, uint32_t sms);

/* The store is this device's. */
bool kernel_store_is(const struct kernel_store *k, const char *name, uint32_t sms);

/* Stores a worker's profile. Returns 0; -EINVAL with the reason (KERNEL_PROFILE_WHY_BYTES);
 * -ENODEV, -ENOMEM. */
int kernel_store_learn(struct kernel_store *k, struct kernel_profile *p, char *why);

/* Imports a parsed text (kernel_text_parse): hints, and profiles of `uid` (KERNEL_SET_ANYBODY: all
 * users'). Returns 0 or -ENOMEM; or nothing is imported and the reason is set: -EXDEV for another
 * device, -EPERM for other users' profiles, -EINVAL for too many hints, -ENODEV. */
int kernel_store_import(struct kernel_store *k, const struct kernel_set *from, uint32_t uid,
                        char *why);
/* Deletes profiles and hints; returns their number. */
uint32_t kernel_store_forget(struct kernel_store *k, const struct kernel_set_filter *f);

#endif
