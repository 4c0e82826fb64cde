/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of kernels, kept in a file (store_file.h, daemon/kernels/kernel_text.h): the
 * profiles that workers learned and the hints that people imported, of the device at hand. The file
 * of another device is kept beside it under that device's name until that one is back. Owner:
 * struct kernel_stores. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_STORE_KERNEL_STORE_H
#define DAEMON_BROKER_STORE_KERNEL_STORE_H

#include <stdbool.h>

#include "daemon/broker/store/store_file.h"
#include "daemon/kernels/kernel_set.h"

struct kernel_store {
    struct kernel_set set;
    struct store_file file;
    bool known; /* which device it is; before that nothing is read or kept */
    bool apart; /* its file is under the device's name also while it is at hand; once it is known */
};

/* `path` as store_file_place made it. */
void kernel_store_init(struct kernel_store *k, uv_loop_t *loop, const char *path);
void kernel_store_stop(struct kernel_store *k); /* its timer; once, before the loop ends */
/* What was learned is written. */
void kernel_store_finish(struct kernel_store *k);

/* A worker has this device. True: the set is another one now. */
bool kernel_store_device(struct kernel_store *k, const char *name, uint32_t sms);

/* Whether it is of this device. */
bool kernel_store_is(const struct kernel_store *k, const char *name, uint32_t sms);

/* From a worker: 0; -EINVAL with the reason (KERNEL_PROFILE_WHY_BYTES); -ENODEV, -ENOMEM. */
int kernel_store_learn(struct kernel_store *k, struct kernel_profile *p, char *why);

/* Takes over what a text (kernel_text_parse) said: hints, and profiles of `uid`
 * (KERNEL_SET_ANYBODY: everybody's). 0; with the reason and nothing taken -EXDEV where it is of
 * another device, -EPERM where it has profiles of somebody else, -EINVAL where it has more hints
 * than there is room for, -ENODEV; -ENOMEM. */
int kernel_store_import(struct kernel_store *k, const struct kernel_set *from, uint32_t uid,
                        char *why);
/* How many profiles and hints went. */
uint32_t kernel_store_forget(struct kernel_store *k, const struct kernel_set_filter *f);

#endif
