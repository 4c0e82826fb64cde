/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes tensor maps in the format of proto/cuda/tensor_map.h, for devices whose kernels read that
 * format. Pure, except that a refusal of an unsupported tensor is logged by name. Any thread.
 */
#ifndef SHIM_API_TEXTURE_TENSOR_OWN_H
#define SHIM_API_TEXTURE_TENSOR_OWN_H

#include "proto/cuda/tensor_map.h"

CUresult tensor_own(const struct tensor_ask *ask, struct tensor_answer *out);

#endif
