/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters of blocks, and the launches that can have them. A cluster is written as flags of a
 * launch record; CLUSTER_NONE stands for a cluster that no launch can have.
 */
#ifndef SHIM_API_KERNEL_CLUSTER_H
#define SHIM_API_KERNEL_CLUSTER_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/code/function.h"

/* Packs the blocks along the three axes into flags. */
uint16_t cluster_flags(unsigned int x, unsigned int y, unsigned int z);

/* Checks the cluster in l->flags against the kernel and the number of multiprocessors. `mode`: the
 * launch's attribute about portable sizes. */
CUresult cluster_check(const struct wire_launch *l, const struct function *f,
                       CUlaunchAttributePortableClusterMode mode, uint32_t sms);

/* The kernel attributes that require a cluster. */
int cluster_required(const struct function *f, CUfunction_attribute axis);
CUresult cluster_require(struct function *f, CUfunction_attribute axis, int value);

#endif
