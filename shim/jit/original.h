/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's nvJitLink, behind the functions of that name that are ours: what only it can do, LTO-IR
 * to PTX. Any thread.
 */
#ifndef SHIM_JIT_ORIGINAL_H
#define SHIM_JIT_ORIGINAL_H

#include <stddef.h>
#include <stdint.h>

/* As its header declares them: a handle is the library's, results are enum nvjitlink_result. */
struct original {
    int (*create)(void **handle, uint32_t count, const char *const *options);
    int (*destroy)(void **handle);
    int (*add)(void *handle, int type, const void *data, size_t bytes, const char *name);
    int (*complete)(void *handle);
    int (*ptx_size)(void *handle, size_t *bytes); /* with the NUL behind it */
    int (*ptx)(void *handle, char *text);
    int (*log_size)(void *handle, size_t *bytes);
    int (*log)(void *handle, char *text);
    int (*version)(unsigned *major, unsigned *minor);
};

/* The one that the program has loaded; else one beside its NVRTC; else one on the linker's path.
 * NULL: there is none. Looked for once. */
const struct original *original_find(void);

#endif
