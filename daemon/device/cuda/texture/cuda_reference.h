/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface references of modules. The driver has one for each name, and is told call by
 * call what it reads and how. The driver cannot unbind a reference, so an unbound one reads an
 * array of one element that the context has for that.
 *
 * Owner: the client's space. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_TEXTURE_CUDA_REFERENCE_H
#define DAEMON_DEVICE_CUDA_TEXTURE_CUDA_REFERENCE_H

#include <stdbool.h>

#include "daemon/device/cuda/module/cuda_module.h"
#include "daemon/device/cuda/texture/cuda_array.h"
#include "daemon/device/device_textures.h"

#define REFERENCES_MOST 1024u /* bound references of a space */

/* Implements module_reference of device.h. A failure leaves the reference unbound. */
int cuda_reference_set(struct dev_module *m, const char *name, bool surface,
                       const struct dev_texture *t);

/* Unbinds the references that read this array, or belong to this module. */
void cuda_reference_drop_array(struct dev_space *s, const struct array *a);
void cuda_reference_drop_module(struct dev_module *m);

/* Called when no module is left. */
void cuda_reference_close(struct context *c);

#endif
