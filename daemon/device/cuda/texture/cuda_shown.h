/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts a texture or surface to the driver's descriptions: the resource, the view of it, and how
 * it is read.
 *
 * Owner: the client's space. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_TEXTURE_CUDA_SHOWN_H
#define DAEMON_DEVICE_CUDA_TEXTURE_CUDA_SHOWN_H

#include <stdbool.h>

#include "daemon/device/cuda/texture/cuda_array.h"
#include "daemon/device/device.h"
#include "daemon/device/device_textures.h"

/* The resource must exist and match the description, else -EINVAL. `*of`: the array, or NULL:
 * memory. Checks what is possible without the driver. */
int cuda_shown_find(const struct dev_space *s, const struct dev_texture *t, struct array **of);

CUDA_RESOURCE_DESC cuda_shown_resource(const struct dev_texture *t, const struct array *of);
/* False: the view is the whole resource in its own format. */
bool cuda_shown_view(const struct dev_texture *t, const struct array *a,
                     CUDA_RESOURCE_VIEW_DESC *v);
CUDA_TEXTURE_DESC cuda_shown_reading(const struct dev_texture *t);

#endif
