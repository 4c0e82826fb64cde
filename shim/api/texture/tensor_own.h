/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps as proto/cuda/tensor_map.h has them, for devices whose kernels take those. Pure, but
 * that what CUDA knows and this driver lacks is refused by name. Any thread.
 */
#ifndef SHIM_API_TEXTURE_TENSOR_OWN_H
#define SHIM_API_TEXTURE_TENSOR_OWN_H

#include "proto/cuda/tensor_map.h"

CUresult tensor_own(const struct tensor_ask *ask, struct tensor_answer *out);

#endif
