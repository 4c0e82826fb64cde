/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: CUDA arrays are the device's own, in a layout that only it knows.
 * info.arrays tells clients the same. A device with it has dev_ops.textures, too.
 *
 * A backend without it (dev_ops.arrays is NULL) needs nothing for arrays: they are memory of the
 * client's window, and texture references are variables that contain a texture's handle. The worker
 * then expels a client that asks for an array of the device's, which our library never does.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_ARRAYS_H
#define DAEMON_DEVICE_DEVICE_ARRAYS_H

#include "daemon/device/device.h"
#include "daemon/device/device_textures.h"

/* An array of the device's own. It has the addresses in the window where its levels would lie, so
 * that copies and textures name it by address; no memory is there. */
struct dev_array {
    uint64_t addr, bytes;          /* all levels */
    uint64_t charge_bytes;         /* counts in mem_used while it exists */
    uint32_t width, height, depth; /* elements, as in CUDA: 0: no such dimension */
    uint32_t format, channels;     /* CUarray_format */
    uint32_t flags;                /* CUDA_ARRAY3D_ */
    uint32_t element_bytes;
    bool mipmapped, normalized; /* normalized: the format's integers are read as fractions */
    uint32_t level_count;
    struct dev_texture_level levels[DEV_TEXTURE_LEVELS];
};

struct dev_arrays_ops {
    /* Makes an array. A copy that begins in it concerns it, and lies in one of its levels or fails.
     * -EEXIST where another array lies; ERR_NO_MEMORY. */
    int (*array_create)(struct dev_space *space, const struct dev_array *array);
    /* Frees the array that begins there, with its textures; ignored if there is none. No operation
     * of the space is in flight. */
    void (*array_destroy)(struct dev_space *space, uint64_t addr);
    /* Frees all arrays of the space. No operation of it is in flight, nor will be. */
    void (*array_end)(struct dev_space *space);
    /* Binds this texture to the module's texture (or surface) reference of this name; NULL: unbinds
     * it. -ENOTSUP: the texture is a part of an array other than one level of it, or its elements
     * are read as another type. ERR_NOT_FOUND: there is no such reference. A reference need not be
     * unbound before its array or module ends. No operation of the space is in flight. */
    int (*module_reference)(struct dev_module *module, const char *name, bool surface,
                            const struct dev_texture *texture);
};

#endif
