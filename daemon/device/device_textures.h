/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: textures and surfaces, by which kernels read elements through a
 * handle.
 *
 * A backend without it (dev_ops.textures is NULL) runs jobs that make none. The context of a job
 * that makes one ends with CUDA_ERROR_NOT_SUPPORTED.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_TEXTURES_H
#define DAEMON_DEVICE_DEVICE_TEXTURES_H

#include "daemon/device/device.h"

/* The most levels of detail of a texture: from 32768 elements wide, halved down to 1. */
#define DEV_TEXTURE_LEVELS 16

/* Elements in the client's windows, in rows of slices. */
struct dev_texture_level {
    uint64_t addr, pitch, slice;   /* bytes: of a row, of a slice */
    uint32_t width, height, depth; /* elements, at least 1; depth: layers and faces of cubes too */
};

/* The elements that kernels see through a handle, and how a texture reads them. */
struct dev_texture {
    uint64_t handle; /* no two of a space have the same low 16 bits */
    /* Elements are read and written as bytes; members after `channels` are ignored. */
    uint8_t surface;
    uint8_t format;               /* enum CUarray_format, with channels of 1, 2 or 4 bytes */
    uint8_t channels;             /* 1, 2 or 4 */
    uint8_t linear;               /* one row; reads outside it give nothing (tex1Dfetch) */
    uint8_t layered;              /* slices are layers, not depth */
    uint8_t address_mode[3];      /* enum CUaddress_mode */
    uint8_t filter, level_filter; /* enum CUfilter_mode */
    uint8_t normalized_coords, normalized_values, srgb, seamless;
    uint8_t level_count;
    float level_bias, least_level, most_level, border[4];
    struct dev_texture_level levels[DEV_TEXTURE_LEVELS];
    /* The array or the memory that has the levels, and the part of the array. */
    uint64_t base;
    uint8_t of_array, first_level;
    uint8_t element_bytes, anisotropy;
    uint32_t first_layer;
};

struct dev_textures_ops {
    /* Makes the texture available to kernels by `*seen`: its handle, unless the device has arrays
     * of its own. The caller has checked that each level's bytes lie in the space's windows.
     * Whether they are backed is checked at each fetch; by a device with arrays of its own, here.
     * -EEXIST when the low bits of the handle are in use. */
    int (*texture_add)(struct dev_space *space, const struct dev_texture *texture, uint64_t *seen);
    /* Removes the texture with this handle; ignores unknown ones. No operation of the space is in
     * flight. */
    void (*texture_remove)(struct dev_space *space, uint64_t handle);
};

#endif
