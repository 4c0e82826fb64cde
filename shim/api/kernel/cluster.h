/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters of blocks: which of them a launch can have. As flags of a launch record, where
 * CLUSTER_NONE stands for what no launch can have.
 */
#ifndef SHIM_API_KERNEL_CLUSTER_H
#define SHIM_API_KERNEL_CLUSTER_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/code/function.h"

/* Of blocks along the axes. */
uint16_t cluster_flags(unsigned int x, unsigned int y, unsigned int z);

/* Whether a launch with the clusters in l->flags is one that the kernel and so many multiprocessors
 * take; `mode`: what the launch says of their size. */
CUresult cluster_check(const struct wire_launch *l, const struct function *f,
                       CUlaunchAttributePortableClusterMode mode, uint32_t sms);

/* The attributes of a kernel with which it says that it has to have clusters. */
int cluster_required(const struct function *f, CUfunction_attribute axis);
CUresult cluster_require(struct function *f, CUfunction_attribute axis, int value);

#endif
