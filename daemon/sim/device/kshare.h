/* SPDX-License-Identifier: Apache-2.0
 *
 * Distributes the simulated device among the kernels at the heads of their streams: slots for
 * blocks, and fractions of the units, by the rules of kdev.h. Private to kdev.c and kshare.c.
 */
#ifndef DAEMON_SIM_DEVICE_KSHARE_H
#define DAEMON_SIM_DEVICE_KSHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sim/device/kdev_work.h"

#define KSHARE_LEFT_NS 1e-3 /* an operation or wave with less remaining time has ended */

struct kshare_head {
    const struct kdev_work *work;
    uint32_t stream, level;
    uint32_t waves; /* number of ended waves */
    uint64_t begun_ns;
    double want;    /* slots: the kernel's demand, limited by its stream */
    double wave_ns; /* duration of one wave at full speed; 0: there is only one wave */
    double done_ns; /* completed part of its time alone */
    double slots;   /* slots that it holds */
    double part;    /* fraction of the slots that the kernel could use */
    double rate;
};

static inline bool kshare_lacks(const struct kshare_head *h) {
    return h->slots < h->want;
}

/* Tests whether one of several waves has ended just now. */
static inline bool kshare_wave_ended(const struct kshare_head *h) {
    if (h->wave_ns <= 0) return false;
    uint32_t waves = (uint32_t)((h->done_ns + KSHARE_LEFT_NS) / h->wave_ns);
    return waves > h->waves && h->done_ns - waves * h->wave_ns < KSHARE_LEFT_NS + h->rate;
}

/* Recomputes slots and rates, after heads were added or removed, or a wave has ended. Returns the
 * slots in use. */
double kshare(struct kshare_head *heads, uint32_t count, const struct kdev_contention *contention);

#endif
