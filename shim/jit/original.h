/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's nvJitLink, which this library's functions of the same names hide. It is used only for
 * LTO-IR to PTX. Any thread.
 */
#ifndef SHIM_JIT_ORIGINAL_H
#define SHIM_JIT_ORIGINAL_H

#include <stddef.h>
#include <stdint.h>

/* The functions as its header declares them. A handle belongs to that library; results are enum
 * nvjitlink_result. */
struct original {
    int (*create)(void **handle, uint32_t count, const char *const *options);
    int (*destroy)(void **handle);
    int (*add)(void *handle, int type, const void *data, size_t bytes, const char *name);
    int (*complete)(void *handle);
    int (*ptx_size)(void *handle, size_t *bytes); /* with the terminating NUL */
    int (*ptx)(void *handle, char *text);
    int (*log_size)(void *handle, size_t *bytes);
    int (*log)(void *handle, char *text);
    int (*version)(unsigned *major, unsigned *minor);
};

/* Finds the library once: the one that the program has loaded; else one next to its NVRTC; else one
 * on the linker's path. NULL: there is none. */
const struct original *original_find(void);

#endif
