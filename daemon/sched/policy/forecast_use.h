/* SPDX-License-Identifier: Apache-2.0
 *
 * The resources that a kernel uses, for the forecast (forecast.h): thousandths of the device's SMs
 * and units, and durations. Inline, because a policy asks for each kernel several times and the
 * parts stay in registers.
 *
 * Pure.
 */
#ifndef DAEMON_SCHED_POLICY_FORECAST_USE_H
#define DAEMON_SCHED_POLICY_FORECAST_USE_H

#include <stdint.h>

#include "daemon/sched/policy/contention.h"
#include "daemon/sched/sched.h"

struct forecast_use {
    uint64_t ns, wave_ns; /* mean duration; duration of one wave of blocks, from the tail latency */
    uint32_t slots, compute, memory;
};

/* Thousandths of the device's `sms`. Divisions dominate the cost here, so 32 bits are used where
 * they suffice. */
static inline uint32_t forecast_filled(uint32_t wanted, uint32_t sms) {
    return wanted <= UINT32_MAX / 1000 ? wanted * 1000 / sms
                                       : (uint32_t)((uint64_t)wanted * 1000 / sms);
}

/* Utilisation of a unit, typical of a kernel of the class with this many slots. */
static inline uint32_t forecast_typical(uint32_t full, uint32_t slots, uint32_t sms) {
    if (slots >= sms) return full;
    return full * (sms == 1000 ? slots : slots * 1000 / sms) / 1000;
}

/* Unknown utilisations are taken from typical kernels of the class (Orion, section 3.2). */
static inline struct forecast_use forecast_use(const struct sched_kernel *k, uint64_t ns,
                                               uint32_t sms) {
    uint32_t filled = forecast_filled(k->sms, sms), slots = filled < 1000 ? filled : 1000;
    uint64_t tail_ns = k->tail_ns ? k->tail_ns : ns;
    uint32_t compute = k->compute_milli, memory = k->memory_milli;
    if (!compute && !memory) {
        const struct contention_typical t = contention_typical(k->class);
        compute = forecast_typical(t.compute, slots, t.sms);
        memory = forecast_typical(t.memory, slots, t.sms);
    }
    return (struct forecast_use){.ns = ns,
                                 .wave_ns = filled > 1000 ? tail_ns * 1000 / filled : tail_ns,
                                 .slots = slots,
                                 .compute = compute,
                                 .memory = memory};
}

/* The same on a device that reassigns slots at the end of each slice, too. */
static inline struct forecast_use forecast_sliced(struct forecast_use use, uint64_t slice_ns) {
    if (slice_ns && use.wave_ns > slice_ns) use.wave_ns = slice_ns;
    return use;
}

#endif
