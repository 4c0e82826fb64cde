/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects: the client numbers them, and kernels use the driver's handles.
 *
 * Owner: the client's space. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_TEXTURE_CUDA_TEXTURE_H
#define DAEMON_DEVICE_CUDA_TEXTURE_CUDA_TEXTURE_H

#include "daemon/device/cuda/texture/cuda_array.h"
#include "daemon/device/device.h"
#include "daemon/device/device_textures.h"

int cuda_texture_add(struct dev_space *s, const struct dev_texture *t, uint64_t *seen);
void cuda_texture_remove(struct dev_space *s, uint64_t handle);

/* Frees the array that begins there, with its textures; or all arrays. */
void cuda_texture_drop_array(struct dev_space *s, uint64_t addr);
void cuda_texture_drop_arrays(struct dev_space *s);
/* Frees arrays, textures, and the tables. */
void cuda_texture_finish(struct dev_space *s);

#endif
