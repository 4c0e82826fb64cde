/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles, which a program holds for a stream, event, module and so on. A handle is a number with a
 * kind, a generation and an index. It never equals a pointer of the program, because no address has
 * HANDLE_TAG in its bits 48 to 63: programs do pass pointers of their own in place of handles. An
 * object stores its current handle; a handle is valid when the object at its index has the same
 * one.
 */
#ifndef SHIM_HANDLE_H
#define SHIM_HANDLE_H

#include <stdint.h>

enum handle_kind {
    HANDLE_CONTEXT = 1,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_LIBRARY,
    HANDLE_FUNCTION,
    HANDLE_POOL,
    HANDLE_LINK,
    HANDLE_ALLOCATION,
    HANDLE_ARRAY,
    HANDLE_MIPMAP,
    HANDLE_TEXTURE,
    HANDLE_SURFACE,
    HANDLE_TEXTURE_REF,
    HANDLE_SURFACE_REF,
    HANDLE_GRAPH,
    HANDLE_NODE,
    HANDLE_GRAPH_EXEC,
    HANDLE_USER_OBJECT,
    HANDLE_RESOURCES, /* the index is the number of multiprocessors */
};

#define HANDLE_TAG 0x5a1eull
#define HANDLE_INDEX_BITS 24
#define HANDLE_NONE UINT32_MAX

static inline uint64_t handle_make(enum handle_kind kind, uint16_t generation, uint32_t index) {
    return HANDLE_TAG << 48 | (uint64_t)kind << 40 | (uint64_t)generation << HANDLE_INDEX_BITS |
           index;
}

/* Returns HANDLE_NONE when `handle` is not of this kind. The generation is not checked. */
static inline uint32_t handle_index(enum handle_kind kind, const void *handle) {
    uint64_t value = (uint64_t)(uintptr_t)handle;
    if (value >> 40 != (HANDLE_TAG << 8 | (uint64_t)kind)) return HANDLE_NONE;
    return value & ((1u << HANDLE_INDEX_BITS) - 1);
}

#endif
