/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches that are not sent at once: nodes of graphs.
 */
#ifndef SHIM_API_KERNEL_LAUNCH_H
#define SHIM_API_KERNEL_LAUNCH_H

#include "shim/graph/params.h"

/* Checked as a launch is; the values of the parameters are those of now. */
CUresult launch_params(const CUDA_KERNEL_NODE_PARAMS_v2 *node, struct params *out);

/* A further attribute of a node, with graph_lock held: CUDA_ERROR_NOT_SUPPORTED, said by name, for
 * what cannot be honoured and could change a result. */
CUresult launch_attribute(struct params_kernel *k, CUlaunchAttribute *a);

#endif
