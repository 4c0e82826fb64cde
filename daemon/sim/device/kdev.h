/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated device at the grain of kernels. Each job has one stream, in order; the heads of the
 * streams run concurrently. Blocks of kernels occupy slots on the SMs; kernels share the device's
 * arithmetic and its memory bandwidth:
 *
 *   slots   A kernel whose blocks fill n of S SMs wants min(n/S, 1). Free slots go to the higher
 *           level first; within a level, no kernel gets more than it wants and the least provided
 *           get most (max-min). Running blocks keep their slots: a kernel of n > S runs in waves
 *           of S/n of itself, and its slots are redistributed at the end of each wave; a smaller
 *           one keeps its slots to its end. A kernel without slots waits.
 *           On a device with slices, a kernel of the lower level also releases its slots at the
 *           end of a slice if one of the higher level lacks some, and resumes later.
 *           A stream may be limited to a fraction of the slots: its kernels want no more, and take
 *           more waves. A kernel that is as fast on fewer SMs loses nothing as long as it has
 *           these, and as best-effort work it may be given no more.
 *   units   A kernel at fraction r of its speed would use r times the arithmetic and the bandwidth
 *           that it uses alone. If that exceeds a unit, the unit is shared max-min, and a kernel
 *           runs as fast as its scarcest unit allows. When several kernels run, contention leaves
 *           less of a unit than one could use.
 *
 * A memory operation occupies only its stream. The simulation is exact: the next event is computed,
 * without time steps. Owner: the simulator. Threads: one. No function after kdev_create can fail.
 */
#ifndef DAEMON_SIM_DEVICE_KDEV_H
#define DAEMON_SIM_DEVICE_KDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sim/device/kdev_work.h"
#include "daemon/sim/workload/workload.h"

#define KDEV_NEVER UINT64_MAX

struct kdev;

/* Converts a kernel to the device's units. On a sliced device it has no SMs and no units, only a
 * fraction of the device. */
struct kdev_work kdev_work_of(const struct workload *w, const struct workload_kernel *k);

/* `depth`: most operations per stream. Returns 0 or -ENOMEM. */
int kdev_create(struct kdev **out, const struct kdev_contention *contention, uint32_t streams,
                uint32_t depth);
void kdev_destroy(struct kdev *d); /* accepts NULL */

/* Appends an operation to the stream; it begins at `ready_ns` at the earliest. `work` must stay
 * valid until it has ended. Times never decrease between calls. Before a call with a time past
 * kdev_next, kdev_finished must be called. */
void kdev_push(struct kdev *d, uint64_t now_ns, uint32_t stream, const struct kdev_work *work,
               uint64_t ready_ns, uint32_t level);
/* Sets the slice length for kernels of level 0; 0, the default: no slices. Call before anything
 * runs. */
void kdev_slice(struct kdev *d, uint64_t ns);
/* Lets kernels pause between waves, without slices. Call before anything runs. */
void kdev_subgrids(struct kdev *d);
/* Limits kernels of the stream that begin from now on to this fraction of all slots. */
void kdev_share(struct kdev *d, uint32_t stream, double part);
/* Pauses kernels of the stream at the end of their slice, or resumes them. Only with slices. */
void kdev_still(struct kdev *d, uint64_t now_ns, uint32_t stream, bool still);
/* Time of the next event; KDEV_NEVER while nothing runs. */
uint64_t kdev_next(struct kdev *d);
/* Removes the operations that have ended, at most one per stream. Fills `streams` in ascending
 * order; returns their number. */
uint32_t kdev_finished(struct kdev *d, uint64_t now_ns, uint32_t *streams);

/* Integrals over time: of "at least one kernel runs", of the number running, and of the slots in
 * use. */
double kdev_active_ns(const struct kdev *d);
double kdev_running_ns(const struct kdev *d);
double kdev_slots_ns(const struct kdev *d);

#endif
