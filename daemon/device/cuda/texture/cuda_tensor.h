/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps as the driver encodes them; only the driver and the GPU know their content.
 *
 * Owner: none, because nothing is stored. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_TEXTURE_CUDA_TENSOR_H
#define DAEMON_DEVICE_CUDA_TEXTURE_CUDA_TENSOR_H

#include "daemon/device/cuda/driver/context.h"
#include "proto/cuda/tensor_map.h"

/* See device.h. */
int cuda_tensor_map(struct context *c, const struct tensor_ask *ask, struct tensor_answer *out);

#endif
