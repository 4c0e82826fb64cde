/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: CUDA arrays are the device's own, in a layout that only it knows.
 * info.arrays says the same to clients. A device with it has dev_ops.textures, too.
 *
 * A backend without it (dev_ops.arrays is NULL) needs nothing for arrays: they are memory of the
 * client's window, and texture references are variables that contain a texture's handle. The
 * worker then expels a client that asks for an array of the device's, which our library never does.
 *
 * Threads and errors: as device.h says.
 */
#ifndef DAEMON_DEVICE_DEVICE_ARRAYS_H
#define DAEMON_DEVICE_DEVICE_ARRAYS_H

#include "daemon/device/device.h"
#include "daemon/device/device_textures.h"

/* An array of the device's own. It has addresses in the window where its levels would lie, so that
 * copies and textures name it by address; nothing else is there. */
struct dev_array {
    uint64_t addr, bytes;          /* all levels */
    uint64_t charge_bytes;         /* of mem_used, for as long as it is there */
    uint32_t width, height, depth; /* elements, as CUDA has them: 0: no such dimension */
    uint32_t format, channels;     /* CUarray_format */
    uint32_t flags;                /* CUDA_ARRAY3D_ */
    uint32_t element_bytes;
    bool mipmapped, normalized; /* normalized: of a format whose integers are read as numbers */
    uint32_t level_count;
    struct dev_texture_level levels[DEV_TEXTURE_LEVELS];
};

struct dev_arrays_ops {
    /* A copy that begins in the array is of it, and lies in one of its levels or fails. -EEXIST
     * where another array lies; ERR_NO_MEMORY. */
    int (*array_create)(struct dev_space *space, const struct dev_array *array);
    /* The array that begins there, with its textures; ignored if there is none. Nothing of the
     * space is in flight. */
    void (*array_destroy)(struct dev_space *space, uint64_t addr);
    /* All arrays of the space. Nothing of it is in flight, nor will be. */
    void (*array_end)(struct dev_space *space);
    /* Kernels of the module read this texture by the texture reference with this name (or surface
     * reference) from now on; NULL: nothing, if they read something. -ENOTSUP: it is a part of an
     * array other than one level of it, or its elements are read as others. A reference need not be
     * unbound before its array or module ends. Nothing of the space is in flight. ERR_NOT_FOUND:
     * there is none. */
    int (*module_reference)(struct dev_module *module, const char *name, bool surface,
                            const struct dev_texture *texture);
};

#endif
