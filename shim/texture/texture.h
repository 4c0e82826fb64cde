/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects: what the worker was told of each, and what the program asked for.
 * The worker knows them by number; a destroyed one's number is used again when nothing that was
 * sent can mean the old one. Kernels name them by a handle, in which that number is, or where
 * arrays are the device's own, by whatever it says. Any thread.
 */
#ifndef SHIM_TEXTURE_TEXTURE_H
#define SHIM_TEXTURE_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

struct texture {
    uint64_t handle; /* what the program and its kernels have */
    uint32_t owner;  /* index of the context */
    bool surface, viewed;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC reading;
    CUDA_RESOURCE_VIEW_DESC view; /* when viewed */
};

/* Tells the worker. `w`: the record, but for its head and handle; `content`: the rest, without
 * handle and owner. Sends one record. Waits only when destroyed textures must be dropped first, or
 * when the device assigns the handle. */
CUresult texture_create(const struct wire_texture *w, const struct texture *content,
                        uint64_t *handle);
/* Returns false if `handle` names no such object. */
bool texture_destroy(uint64_t handle, bool surface);
/* Copies what `handle` names; returns false if it names no such object. */
bool texture_find(uint64_t handle, bool surface, struct texture *out);

/* The context ended: its objects end with it. */
void texture_release(uint32_t owner);

#endif
