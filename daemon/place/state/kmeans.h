/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups similar jobs into k clusters (Horus, section 4.2.2): k-means over four features with L1
 * distances. The same jobs in the same order give the same clusters.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_PLACE_STATE_KMEANS_H
#define DAEMON_PLACE_STATE_KMEANS_H

#include <stdint.h>

#define KMEANS_FEATURES 4u /* tasks, utilisation, GPUs per task, memory */
#define KMEANS_MOST 16u    /* largest k */

struct kmeans_point {
    double at[KMEANS_FEATURES];
};

/* Scales each feature of the points to 0 to 1, and writes each point's cluster, below k. A cluster
 * may be empty. */
void kmeans_run(struct kmeans_point *points, uint8_t *clusters, uint32_t count, uint32_t k);

#endif
