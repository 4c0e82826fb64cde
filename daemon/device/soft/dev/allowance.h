/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue's share of the device's threads, when the queue may use only some of the multiprocessors.
 * At any moment the queue gets the same fraction of the threads, rounded up; over time it gets no
 * more than the exact fraction. A device has few threads: of two threads, a tenth of the
 * multiprocessors is a fifth of one thread. Unused time is not saved up.
 *
 * Owner: the queue; guarded by the pool's lock. Time comes from the caller.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_ALLOWANCE_H
#define DAEMON_DEVICE_SOFT_DEV_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

struct allowance {
    uint32_t sms;    /* multiprocessors of `all`; 0: no limit */
    uint32_t all;    /* multiprocessors of the device */
    uint32_t device; /* threads of the device */
    uint64_t due_ns; /* time until which the use so far has to last */
};

/* Allows `sms` multiprocessors of `all`, on `device` threads. `sms` 0, or at least `all`: no limit.
 * Forgets the use so far. */
void allowance_set(struct allowance *a, uint32_t sms, uint32_t all, uint32_t device);
/* True if the queue gets no further thread now, with `inside` threads running it. */
bool allowance_withholds(const struct allowance *a, uint32_t inside, uint64_t now_ns);
/* Accounts for a thread that ran the queue for `ns` from `begin_ns` on. */
void allowance_use(struct allowance *a, uint64_t begin_ns, uint64_t ns);

#endif
