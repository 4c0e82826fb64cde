/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface references, which are variables of modules (`.texref`, `.surfref`): an object
 * is made of what a reference is told, anew each time that it is told something, and its number put
 * into the variable. What makes no object puts 0 there, which kernels may not read by. Where arrays
 * are the device's own, so are references: the worker is told of each by its name, what it reads
 * or, of what makes no object, nothing. Any thread; one reference is told by one thread at a time.
 */
#ifndef SHIM_API_TEXTURE_TEXTURE_REF_H
#define SHIM_API_TEXTURE_TEXTURE_REF_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/texture/texture.h"

struct texture_ref {
    uint64_t handle;   /* 0 while the place is free */
    CUmodule module;   /* that it is a variable of; NULL: the program has made it, and nothing reads
                          by it */
    uint64_t variable; /* address there; 0: the device's own */
    uint64_t object;   /* whose number is in the variable; 0: none */
    bool bound;        /* to a resource */
    bool told;         /* of the device's own: it reads something */
    uint64_t addr;     /* of linear or pitched memory, as the program said it */
    CUarray_format format; /* of such memory */
    unsigned int channels;
    struct texture as;
    char name[];
};

/* The module's of this name, the same each time; CUDA_ERROR_NOT_FOUND. */
CUresult texture_ref_of_module(CUmodule module, const char *name, bool surface, uint64_t *handle);
/* One of the program's own. */
CUresult texture_ref_create(uint64_t *handle);
bool texture_ref_destroy(uint64_t handle);

/* NULL for what is none, or is a variable of a module that is gone. */
struct texture_ref *texture_ref_find(uint64_t handle, bool surface);

/* Bound to `resource`, if that can be read at all; NULL: to nothing. */
CUresult texture_ref_bind(struct texture_ref *t, const CUDA_RESOURCE_DESC *resource);
/* How it reads has changed. */
CUresult texture_ref_update(struct texture_ref *t);

#endif
