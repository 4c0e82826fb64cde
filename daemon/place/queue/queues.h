/* SPDX-License-Identifier: Apache-2.0
 *
 * How many jobs of each queue go into a round: weighted fair queuing (Horus, section 4.2.2).
 *
 * Owner: none, it is arithmetic. Thread: any.
 */
#ifndef DAEMON_PLACE_QUEUE_QUEUES_H
#define DAEMON_PLACE_QUEUE_QUEUES_H

#include <stdint.h>

/* w = max(length, median x length). The paper's median is of waiting times in steps; here of
 * seconds, so that it says the same however often there is a step. */
double queues_weight(uint32_t length, double median_s);

/* Of `batch` jobs each queue gets w / sum(w): whole ones, whoever is farthest below its part next,
 * of equals the first; what a queue has not got goes to the others. `given`: of each queue. */
void queues_share(const double *weights, const uint32_t *lengths, uint32_t count, uint32_t batch,
                  uint32_t *given);

#endif
