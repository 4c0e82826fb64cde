/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects: the record sent to the worker, and the program's description. The
 * worker knows them by number. The number of a destroyed object is reused when no operation that
 * was sent can mean the old one. Kernels name an object by a handle, which contains the number; on
 * a device with arrays of its own the device assigns the handle. Any thread.
 */
#ifndef SHIM_TEXTURE_TEXTURE_H
#define SHIM_TEXTURE_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

struct texture {
    uint64_t handle; /* the handle that the program and its kernels have */
    uint32_t owner;  /* index of the context */
    bool surface, viewed;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC reading;
    CUDA_RESOURCE_VIEW_DESC view; /* valid if `viewed` */
};

/* Creates an object and tells the worker. `w`: the record except its head and handle; `content`:
 * the rest, without handle and owner. Sends one record. Waits only when destroyed textures must be
 * dropped first, or when the device assigns the handle. */
CUresult texture_create(const struct wire_texture *w, const struct texture *content,
                        uint64_t *handle);
/* Returns false if `handle` names no such object. */
bool texture_destroy(uint64_t handle, bool surface);
/* Copies the object that `handle` names; returns false if there is none. */
bool texture_find(uint64_t handle, bool surface, struct texture *out);

/* Destroys the objects of a context that ended. */
void texture_release(uint32_t owner);

#endif
