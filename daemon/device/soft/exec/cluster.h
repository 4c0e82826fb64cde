/* SPDX-License-Identifier: Apache-2.0
 *
 * Execution contexts for clusters of blocks. A context takes its memory once and runs many
 * clusters, one after the other. Owner: the grid. Thread: one at a time.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_CLUSTER_H
#define DAEMON_DEVICE_SOFT_EXEC_CLUSTER_H

#include <stdint.h>

#include "daemon/device/soft/launch/launch.h"

struct cluster;

/* Returns NULL when out of memory. `slot` is the index of this context among the launch's
 * contexts. */
struct cluster *cluster_create(struct launch *launch, uint32_t slot);
void cluster_destroy(struct cluster *c);
void cluster_begin(struct cluster *c, uint64_t linear_index);
/* grid_settle for one cluster. */
void cluster_settle(struct cluster *c);
/* Runs about *budget warp-instructions (the last quantum may exceed it) and subtracts the ones it
 * used. Returns true when the cluster has ended, by a fault or because all its threads have
 * exited. */
bool cluster_run(struct cluster *c, int64_t *budget);
/* Bytes of memory that a context may take, not counting the frames of functions that the kernel
 * calls. */
uint64_t cluster_bytes(const struct launch_config *config);

#endif
