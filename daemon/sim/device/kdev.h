/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated device at the grain of kernels. Each job has one stream, in order; the heads of the
 * streams run side by side. Blocks of kernels take slots on the SMs, kernels share the device's
 * arithmetic and its memory bandwidth:
 *
 *   slots   A kernel whose blocks fill n of S SMs wants min(n/S, 1). What is free goes to the
 *           higher level first; within a level nobody gets more than he wants and the least
 *           provided get most (max-min). Nothing is taken from running blocks: a kernel of n > S
 *           runs in waves of S/n of itself, at the end of each its slots are given out anew; a
 *           smaller one keeps its slots to its end. Whoever has none waits.
 *           On a device with slices a kernel of the lower level gives its slots back at the end of
 *           a slice too, if one of the higher level lacks some, and goes on where it was.
 *           A stream may be kept to a part of the slots: its kernels want no more, and take more
 *           waves. One that is as fast on fewer SMs loses nothing as long as it has these, and
 *           as best-effort work it may be given no more.
 *   units   A kernel at part r of its speed would use r times the arithmetic and the bandwidth
 *           that it uses alone. If that is more than there is, each unit is shared max-min, and a
 *           kernel runs as fast as its scarcest unit allows. When several run, contention leaves
 *           less of a unit than one could use.
 *
 * A memory operation occupies its stream and nothing else. Exact: the next event is reckoned, no
 * time step. Owner: the simulator. Threads: one. Nothing below create can fail.
 */
#ifndef DAEMON_SIM_DEVICE_KDEV_H
#define DAEMON_SIM_DEVICE_KDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sim/device/kdev_work.h"
#include "daemon/sim/workload/workload.h"

#define KDEV_NEVER UINT64_MAX

struct kdev;

/* Of the workload's device; of one that is sliced: no SMs, no units, but a part of all of it. */
struct kdev_work kdev_work_of(const struct workload *w, const struct workload_kernel *k);

/* `depth`: operations that a stream may hold. 0 or -ENOMEM. */
int kdev_create(struct kdev **out, const struct kdev_contention *contention, uint32_t streams,
                uint32_t depth);
void kdev_destroy(struct kdev *d); /* accepts NULL */

/* At the end of the stream; it begins at `ready_ns` at the earliest. `work` stays until it ended.
 * Times never decrease from call to call, and none passes kdev_next without kdev_finished. */
void kdev_push(struct kdev *d, uint64_t now_ns, uint32_t stream, const struct kdev_work *work,
               uint64_t ready_ns, uint32_t level);
/* Slices of kernels of level 0 are so long; 0, as at first: there are none. Before anything runs.
 */
void kdev_slice(struct kdev *d, uint64_t ns);
/* Kernels can stand still between waves, without slices. Before anything runs. */
void kdev_subgrids(struct kdev *d);
/* Kernels of the stream that begin from now on have at most that part of the slots of all SMs. */
void kdev_share(struct kdev *d, uint32_t stream, double part);
/* Kernels of the stream stand still, from the end of their slice on, or go on where they were. Only
 * where there are slices. */
void kdev_still(struct kdev *d, uint64_t now_ns, uint32_t stream, bool still);
/* When anything happens next; KDEV_NEVER while nothing runs. */
uint64_t kdev_next(struct kdev *d);
/* Takes the operations that have ended, one a stream at most: fills `streams` in ascending order;
 * returns how many. */
uint32_t kdev_finished(struct kdev *d, uint64_t now_ns, uint32_t *streams);

/* Integrals over time: at least one running; the number running; slots in use. */
double kdev_active_ns(const struct kdev *d);
double kdev_running_ns(const struct kdev *d);
double kdev_slots_ns(const struct kdev *d);

#endif
