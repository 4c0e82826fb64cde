/* SPDX-License-Identifier: Apache-2.0
 *
 * Who gets what of the simulated device: slots for blocks and parts of the units, by the rules of
 * kdev.h, for the kernels that head their streams now. Private to kdev.c and kshare.c.
 */
#ifndef DAEMON_SIM_DEVICE_KSHARE_H
#define DAEMON_SIM_DEVICE_KSHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sim/device/kdev_work.h"

#define KSHARE_LEFT_NS 1e-3 /* less is left of an operation or of a wave: it has ended */

struct kshare_head {
    const struct kdev_work *work;
    uint32_t stream, level;
    uint32_t waves; /* that have ended */
    uint64_t begun_ns;
    double want;    /* slots: as the kernel, or what its stream may have */
    double wave_ns; /* of one wave at full speed; 0: there is one only */
    double done_ns; /* of its time alone */
    double slots;   /* that it holds */
    double part;    /* of the slots that the kernel could use */
    double rate;
};

static inline bool kshare_lacks(const struct kshare_head *h) {
    return h->slots < h->want;
}

/* One of its waves, of which there are several, ended just now. */
static inline bool kshare_wave_ended(const struct kshare_head *h) {
    if (h->wave_ns <= 0) return false;
    uint32_t waves = (uint32_t)((h->done_ns + KSHARE_LEFT_NS) / h->wave_ns);
    return waves > h->waves && h->done_ns - waves * h->wave_ns < KSHARE_LEFT_NS + h->rate;
}

/* Slots and rates anew, after heads were added or taken away, or when a wave has ended. Returns how
 * many slots are in use. */
double kshare(struct kshare_head *heads, uint32_t count, const struct kdev_contention *contention);

#endif
