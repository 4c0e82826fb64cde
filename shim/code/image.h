/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that the program loaded: modules, which live in a context, and libraries, which outlive it.
 * The worker has a library's code only while it is needed: it is sent when first asked for and
 * again after a reset of the primary context, so handles survive. Any thread: one after another
 * changes what is here, which takes round trips, and others look meanwhile.
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
    uint32_t index; /* also the module's id on the wire */
    uint16_t generation;
    uint32_t owner;      /* index of the context; modules only */
    uint32_t capability; /* for which PTX is chosen; 0: what everybody is told */
    const void *data;    /* the program's memory, or `copy` */
    const void *origin;  /* where the program had it: an address only, which is not read */
    size_t bytes;
    void *copy;
    bool loaded;  /* the worker has it */
    bool unasked; /* being loaded because all is: nobody is told that it lacks code */
    bool managed; /* the program holds the address of a variable: it has to stay the same */
    uint32_t function_count;
    struct function *functions;
    struct image_global *globals;
};

/* For whoever loads, asks or forgets: the one lock that is held across round trips. It is
 * for questions to the worker; no launch of a kernel that is ready takes it, and no look-up. */
void image_enter(void);
void image_leave(void);

/* What a failure looks like for people; for the JIT options of a load. */
struct image_log {
    char *text; /* may be NULL */
    size_t cap;
};

/* With `preserved` the program promises to keep the code where it is. With `now` the worker gets it
 * at once. */
struct image_source {
    const void *code;
    uint32_t capability; /* as in struct image */
    bool library, preserved, now;
};
CUresult image_create(const struct image_source *from, const struct image_log *log,
                      struct image **out);
void image_destroy(struct image *image);

/* NULL for what is none. A library is also a module. Entered, or for a handle that the program
 * does not unload meanwhile. */
struct image *image_of_module(CUmodule handle);
struct image *image_of_library(CUlibrary handle);
CUmodule image_module(const struct image *image);
CUlibrary image_library(const struct image *image);

/* Entered: the worker has it afterwards. */
CUresult image_load(struct image *image, const struct image_log *log);

/* Entered: a variable of the image. */
CUresult image_global(struct image *image, const char *name, uint64_t *addr, uint64_t *bytes);

/* The variable that contains `addr`, among those that were asked for. */
bool image_global_at(uint64_t addr, uint64_t *base, uint64_t *bytes);

/* The kernel with this name that was found before, or NULL. */
struct function *image_function(struct image *image, const char *name);
/* Entered: it can be found from now on. */
void image_add(struct image *image, struct function *f);

/* The context ended: its modules too; with the primary one the code of every library leaves the
 * worker, to come back when it is next used. */
void image_release(uint32_t owner);

/* After a reset: managed variables are back, at their addresses and with their first values. */
void image_restore_managed(void);

#endif
