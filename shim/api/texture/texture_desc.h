/* SPDX-License-Identifier: Apache-2.0
 *
 * Translates CUDA's description of a texture or surface into the worker's record, and rejects
 * invalid descriptions.
 */
#ifndef SHIM_API_TEXTURE_TEXTURE_DESC_H
#define SHIM_API_TEXTURE_TEXTURE_DESC_H

#include "proto/cuda/array_layout.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/texture/texture.h"

/* Fills the record except its head and handle. `t`: resource, reading, view, surface.
 * CUDA_ERROR_NOT_SUPPORTED, with a log line, for what this driver does not support. */
CUresult texture_desc(const struct texture *t, struct wire_texture *w);

/* The most elements of this size that a texture of linear memory may have. */
uint64_t texture_desc_width(uint32_t element_bytes);

#endif
