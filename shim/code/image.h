/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that the program loaded: modules, which belong to a context, and libraries, which outlive
 * it. The worker has a library's code only while it is needed: it is sent when first asked for, and
 * again after a reset of the primary context, so handles stay valid. Any thread: one thread at a
 * time makes changes, which take round trips; other threads can look things up meanwhile.
 */
#ifndef SHIM_CODE_IMAGE_H
#define SHIM_CODE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

struct function;
struct image_global;

struct image {
    bool used, library;
    uint32_t index; /* index of the image and id of the module on the wire */
    uint16_t generation;
    uint32_t owner;      /* index of the context; modules only */
    uint32_t capability; /* the capability for which PTX is chosen; 0: the one that every caller is
                            told */
    const void *data;    /* the program's memory, or `copy` */
    const void *origin;  /* address in the program, which is never read */
    size_t bytes;
    void *copy;
    bool loaded;  /* the worker has the code */
    bool unasked; /* loaded only because all code is loaded: missing code is not reported */
    bool managed; /* the program has the address of a managed variable, which must stay the same */
    uint32_t function_count;
    struct function *functions;
    struct image_global *globals;
};

/* Takes the lock for loading, queries about code and unloading, which is held across round trips to
 * the worker. No launch of a resolved kernel and no lookup takes it. */
void image_enter(void);
void image_leave(void);

/* The buffer for a readable error message, for the JIT options of a load. */
struct image_log {
    char *text; /* may be NULL */
    size_t cap;
};

/* The source of an image. `preserved`: the program promises to keep the code in place. `now`: the
 * code is sent to the worker at once. */
struct image_source {
    const void *code;
    uint32_t capability; /* as in struct image */
    bool library, preserved, now;
};
CUresult image_create(const struct image_source *from, const struct image_log *log,
                      struct image **out);
void image_destroy(struct image *image);

/* Returns NULL for an invalid handle. A library is also a module. The caller has entered, or the
 * program does not unload the handle meanwhile. */
struct image *image_of_module(CUmodule handle);
struct image *image_of_library(CUlibrary handle);
CUmodule image_module(const struct image *image);
CUlibrary image_library(const struct image *image);

/* Makes sure that the worker has the code. The caller has entered. */
CUresult image_load(struct image *image, const struct image_log *log);

/* Finds a variable of the image. The caller has entered. */
CUresult image_global(struct image *image, const char *name, uint64_t *addr, uint64_t *bytes);

/* Finds the variable that contains `addr`, among those that were looked up before. */
bool image_global_at(uint64_t addr, uint64_t *base, uint64_t *bytes);

/* Returns the kernel with this name if it was looked up before, or NULL. */
struct function *image_function(struct image *image, const char *name);
/* Adds a kernel to the image's lookup. The caller has entered. */
void image_add(struct image *image, struct function *f);

/* Destroys the modules of a context that ended. With the primary context, the code of every library
 * is unloaded from the worker, and sent again when it is next used. */
void image_release(uint32_t owner);

/* Restores managed variables after a reset, at their addresses and with their first values. */
void image_restore_managed(void);

#endif
