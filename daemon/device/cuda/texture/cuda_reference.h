/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface references of modules: the driver has one for each by its name, and is told
 * all that it is to read and how, call by call. What is bound to nothing any more reads an array of
 * one element, which the context has for that: the driver has no word for nothing.
 *
 * Owner: the client's space. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_TEXTURE_CUDA_REFERENCE_H
#define DAEMON_DEVICE_CUDA_TEXTURE_CUDA_REFERENCE_H

#include <stdbool.h>

#include "daemon/device/cuda/module/cuda_module.h"
#include "daemon/device/cuda/texture/cuda_array.h"
#include "daemon/device/device_textures.h"

#define REFERENCES_MOST 1024u /* of a space, that read something */

/* As module_reference of device.h. What fails leaves it bound to nothing. */
int cuda_reference_set(struct dev_module *m, const char *name, bool surface,
                       const struct dev_texture *t);

/* Those that read this array, or are this module's, are bound to nothing. */
void cuda_reference_drop_array(struct dev_space *s, const struct array *a);
void cuda_reference_drop_module(struct dev_module *m);

/* No module is left. */
void cuda_reference_close(struct context *c);

#endif
