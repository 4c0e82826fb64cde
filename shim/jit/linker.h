/* SPDX-License-Identifier: Apache-2.0
 *
 * One link of nvJitLink for a device that runs PTX and no machine code. Inputs with PTX are joined
 * unchanged into an image that the driver loads (shim/code/link.h). NVIDIA's library first
 * translates LTO-IR to PTX. Whether the units fit together is known when the image is loaded. One
 * thread at a time.
 */
#ifndef SHIM_JIT_LINKER_H
#define SHIM_JIT_LINKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "shim/code/link.h"
#include "shim/jit/original.h"

/* Values of enum nvJitLinkResult and nvJitLinkInputType. */
enum nvjitlink_result {
    NVJITLINK_SUCCESS,
    NVJITLINK_ERROR_UNRECOGNIZED_OPTION,
    NVJITLINK_ERROR_MISSING_ARCH,
    NVJITLINK_ERROR_INVALID_INPUT,
    NVJITLINK_ERROR_PTX_COMPILE,
    NVJITLINK_ERROR_INTERNAL = 6,
    NVJITLINK_ERROR_UNRECOGNIZED_INPUT = 8,
    NVJITLINK_ERROR_NULL_INPUT = 10,
    NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS,
    NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
    NVJITLINK_ERROR_ARCH_MISMATCH,
    NVJITLINK_ERROR_LTO_NOT_ENABLED = 18
};
enum nvjitlink_input {
    NVJITLINK_INPUT_CUBIN = 1,
    NVJITLINK_INPUT_PTX,
    NVJITLINK_INPUT_LTOIR,
    NVJITLINK_INPUT_FATBIN,
    NVJITLINK_INPUT_OBJECT,
    NVJITLINK_INPUT_LIBRARY,
    NVJITLINK_INPUT_ANY = 10
};

struct linker {
    struct link link;
    struct buf log;                  /* one line for each error */
    const struct original *original; /* NULL: not needed, or not available */
    void *handle;                    /* the original's handle with -lto, else NULL */
    size_t log_taken;                /* bytes of the original's log already taken */
    bool lto, ptx, complete;
    bool any_lto; /* the original has an input */
};

/* Creates a link; NULL with the result. Options that have no effect here are accepted unchecked;
 * with -lto NVIDIA's library checks them all. */
struct linker *linker_create(uint32_t count, const char *const *options, int *result);
void linker_destroy(struct linker *l);

/* Return results of nvJitLink; the log has the details. `name`: for messages, or NULL. */
int linker_add(struct linker *l, int type, const void *data, size_t bytes, const char *name);
int linker_complete(struct linker *l);

/* Returns the linked image, which the linker owns; NULL: there is none. */
const void *linker_image(struct linker *l, size_t *bytes);

#endif
