/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides how a model's times alone are measured. All of a model's times use the same measure,
 * because only then can they be compared. The time of a batch follows from them by the learnt c0
 * and c1, so that any measure that grows with a request's work is suitable.
 *
 * The preferred measure is the device time of a request, if the program knows it (salus_device_ns,
 * under Salus). Device time does not depend on other jobs, nor on how long a best-effort job waits
 * for its turn. It is therefore comparable between the workers' batches of one request and the
 * profiler's runs. Otherwise the measure is the time from sending to the answer.
 *
 * A program that initialises CUDA with its first batch does not know that batch's device time.
 * Under Salus the first few times without one are ignored before device time is considered
 * unavailable.
 *
 * Owner: the served model. Thread: the loop's. Pure.
 */
#ifndef DAEMON_SERVE_GATEWAY_PROFILE_MEASURE_H
#define DAEMON_SERVE_GATEWAY_PROFILE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#define MEASURE_WITHOUT 8u

enum measure_kind { MEASURE_OPEN, MEASURE_DEVICE, MEASURE_WALL };

struct measure {
    enum measure_kind kind; /* never changes once it is not OPEN */
    uint32_t without; /* remaining number of times without device time before WALL is chosen */
};

void measure_init(struct measure *m, bool under_salus);

/* Takes the times of a request that ran alone: device time (0: not known) and wall time from
 * sending to the answer. Returns its time alone, or 0 if there is none. */
uint64_t measure_take(struct measure *m, uint64_t device_ns, uint64_t wall_ns);

#endif
