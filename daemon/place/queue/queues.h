/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes how many jobs of each queue go into a round: weighted fair queuing (Horus, section
 * 4.2.2).
 *
 * Owner: none, pure arithmetic. Thread: any.
 */
#ifndef DAEMON_PLACE_QUEUE_QUEUES_H
#define DAEMON_PLACE_QUEUE_QUEUES_H

#include <stdint.h>

/* w = max(length, median x length). The paper's median is of waiting times in steps; here it is in
 * seconds, so that the result does not depend on how often a step runs. */
double queues_weight(uint32_t length, double median_s);

/* Distributes `batch` jobs: each queue gets w / sum(w) of them, rounded so that the queue farthest
 * below its fraction is next; the first among equals. What a queue cannot use goes to the others.
 * Writes the number per queue to `given`. */
void queues_share(const double *weights, const uint32_t *lengths, uint32_t count, uint32_t batch,
                  uint32_t *given);

#endif
