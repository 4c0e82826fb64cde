/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface references, which are variables of modules (`.texref`, `.surfref`). Each
 * change of a reference makes a new object, whose number is put into the variable. A description
 * that makes no object puts 0 there, and kernels must not read through it.
 *
 * On a device with arrays of its own, the device has the references as well. The worker gets the
 * name of a reference and the resource that it reads, or nothing where the description makes no
 * object. Any thread; only one thread at a time changes a reference.
 */
#ifndef SHIM_API_TEXTURE_TEXTURE_REF_H
#define SHIM_API_TEXTURE_TEXTURE_REF_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/texture/texture.h"

struct texture_ref {
    uint64_t handle; /* 0 while the place is free */
    /* The module that has the reference as a variable; NULL: the program made it, and no kernel
     * reads it. */
    CUmodule module;
    uint64_t variable;     /* address of the variable; 0: the device has the reference */
    uint64_t object;       /* the object whose number is in the variable; 0: none */
    bool bound;            /* a resource is bound */
    bool told;             /* a reference of the device: the worker has a resource for it */
    uint64_t addr;         /* address of linear or pitched memory, as the program set it */
    CUarray_format format; /* format of linear or pitched memory */
    unsigned int channels;
    struct texture as;
    char name[];
};

/* Finds the module's reference of this name, the same one each time; else CUDA_ERROR_NOT_FOUND. */
CUresult texture_ref_of_module(CUmodule module, const char *name, bool surface, uint64_t *handle);
/* Creates a reference that the program itself owns. */
CUresult texture_ref_create(uint64_t *handle);
bool texture_ref_destroy(uint64_t handle);

/* Returns NULL for an invalid handle and for a variable of an unloaded module. */
struct texture_ref *texture_ref_find(uint64_t handle, bool surface);

/* Binds `resource`, if it can be read at all; NULL unbinds. */
CUresult texture_ref_bind(struct texture_ref *t, const CUDA_RESOURCE_DESC *resource);
/* Puts a changed way of reading in force. */
CUresult texture_ref_update(struct texture_ref *t);

#endif
