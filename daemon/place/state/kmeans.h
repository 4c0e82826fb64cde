/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that are alike, in k clusters (Horus, section 4.2.2): k-means over four features, distances
 * by L1. The same jobs in the same order give the same clusters.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_PLACE_STATE_KMEANS_H
#define DAEMON_PLACE_STATE_KMEANS_H

#include <stdint.h>

#define KMEANS_FEATURES 4u /* tasks, utilisation, GPUs a task, memory */
#define KMEANS_MOST 16u    /* k */

struct kmeans_point {
    double at[KMEANS_FEATURES];
};

/* Scales the points, each feature to 0 to 1, and says of each in which cluster it is: below k. A
 * cluster may be empty. */
void kmeans_run(struct kmeans_point *points, uint8_t *clusters, uint32_t count, uint32_t k);

#endif
