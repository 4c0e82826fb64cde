/* SPDX-License-Identifier: Apache-2.0
 *
 * What CUDA says of a texture or surface, as the worker is told it; and which descriptions are
 * none.
 */
#ifndef SHIM_API_TEXTURE_TEXTURE_DESC_H
#define SHIM_API_TEXTURE_TEXTURE_DESC_H

#include "proto/cuda/array_layout.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/texture/texture.h"

/* `t`: resource, reading, view, surface. The record but for its head and handle.
 * CUDA_ERROR_NOT_SUPPORTED, having said so, for what this driver lacks. */
CUresult texture_desc(const struct texture *t, struct wire_texture *w);

/* How many elements of so many bytes linear memory may have. */
uint64_t texture_desc_width(uint32_t element_bytes);

#endif
