/* SPDX-License-Identifier: Apache-2.0
 *
 * By what the times alone of a model's requests are measured: always by the same, for only then can
 * they be compared. What a batch takes follows from them by c0 and c1, which are learnt, so that
 * any measure will do that grows with what a request asks.
 *
 * It is the time that the device worked for a request, where the program knows it (salus_device_ns:
 * it runs under Salus). That is the same beside other jobs as without them, however long a job of
 * best effort waits for its turn; and it holds for batches of one on any worker as well as for the
 * profiler's. Else it is the time from sending to the answer, of which both are the same again.
 *
 * A program that initialises CUDA with its first batch does not know that one's time: under Salus
 * the first few without it do not count, before it is concluded that there never is one.
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
    enum measure_kind kind; /* once it is not OPEN it stays */
    uint32_t without;       /* times that may still come without the device's */
};

void measure_init(struct measure *m, bool under_salus);

/* What a request took that ran alone: device time, 0: not known; and from sending to answer.
 * Returns its time alone; 0: it has none. */
uint64_t measure_take(struct measure *m, uint64_t device_ns, uint64_t wall_ns);

#endif
