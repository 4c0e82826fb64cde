/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue's share of the device's threads, where it is a part of the multiprocessors: as many of
 * them at a time as that is of the threads, rounded up, and over time no more than that exactly. A
 * device has few threads: of two, a tenth of the multiprocessors is a fifth of one. What was not
 * used is not saved up.
 *
 * Owner: the queue; guarded by the pool's lock. Time comes from the caller.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_ALLOWANCE_H
#define DAEMON_DEVICE_SOFT_DEV_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

struct allowance {
    uint32_t sms;    /* of `all`; 0: no limit */
    uint32_t all;    /* that the device has */
    uint32_t device; /* threads */
    uint64_t due_ns; /* until when what was used of them has to last */
};

/* `sms` multiprocessors of `all`, on so many threads; 0 or all: no limit. */
void allowance_set(struct allowance *a, uint32_t sms, uint32_t all, uint32_t device);
/* With so many threads inside already it gets no other one now. */
bool allowance_withholds(const struct allowance *a, uint32_t inside, uint64_t now_ns);
/* A thread was inside for so long. */
void allowance_use(struct allowance *a, uint64_t begin_ns, uint64_t ns);

#endif
