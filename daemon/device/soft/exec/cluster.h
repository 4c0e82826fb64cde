/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts in which clusters of blocks run, one after the other: memory is taken once and serves
 * many. Owner: the grid. Thread: one at a time.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_CLUSTER_H
#define DAEMON_DEVICE_SOFT_EXEC_CLUSTER_H

#include <stdint.h>

#include "daemon/device/soft/launch/launch.h"

struct cluster;

/* NULL when out of memory. `slot`: which of the launch's contexts this is. */
struct cluster *cluster_create(struct launch *launch, uint32_t slot);
void cluster_destroy(struct cluster *c);
void cluster_begin(struct cluster *c, uint64_t linear_index);
/* grid_settle, of one cluster. */
void cluster_settle(struct cluster *c);
/* For `budget` warp-instructions, of which the used ones are taken off. True when it has ended, by
 * a fault or because all its threads have. */
bool cluster_run(struct cluster *c, int64_t *budget);
/* Bytes of memory that a context may come to hold, recursion aside. */
uint64_t cluster_bytes(const struct launch_config *config);

#endif
