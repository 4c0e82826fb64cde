/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's modules and functions. The client chooses ids. Unloading frees the ids at once; the
 * code goes when no earlier record of the client can use it any more.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_KERNEL_OBJECT_H
#define DAEMON_WORKER_KERNEL_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "daemon/device/device.h"
#include "daemon/worker/background/background_task.h"
#include "proto/wire/wire.h"

struct kernel;
struct kernels;

/* Images from this size on are large (object_line). Reading takes some 20 ms a MiB, so a small
 * image never waits for long. */
#define OBJECT_LARGE_BYTES (4u << 20)

/* A wire_launch without the record's head: the part in which launches of a function can differ. */
#define OBJECT_LAUNCH_WORDS ((sizeof(struct wire_launch) - sizeof(struct wire_record)) / 8)

_Static_assert(offsetof(struct wire_launch, func) == sizeof(struct wire_record), "whole words");
_Static_assert(sizeof(struct wire_launch) % 8 == 0, "and no padding behind");

/* The shape of a function's launch, and values derived from it. */
struct func_shape {
    uint64_t sent[OBJECT_LAUNCH_WORDS]; /* as in the launch's record, which was checked */
    struct dev_launch launch;           /* for the device; without parameters */
    uint64_t fingerprint;               /* combines the function with this grid and block */
    struct kernel *kernel;              /* the kernel's entry, held; NULL: none */
};

struct func {
    struct dev_func *dev;
    struct func *next; /* the next function of its module */
    /* Hash of the module's image and the function's name: the same in every run. */
    uint64_t fingerprint;
    uint32_t id, param_bytes, max_threads, shared_bytes, regs;
    struct func_shape shape; /* shape of the latest launch */
    char name[];
};

struct module {
    struct background_task freeing; /* the last background task of the module */
    const struct dev_ops *ops;
    struct dev_module *dev;
    struct func *funcs;
    uint64_t fingerprint; /* hash of the image */
    uint64_t bytes;       /* device memory */
    uint64_t image_bytes;
    uint32_t id;
};

/* True when the launch repeats the function's latest shape, and that has a kernel entry. */
static inline bool object_again(const struct func *f, const struct wire_launch *l) {
    uint64_t words[OBJECT_LAUNCH_WORDS], differ = 0;
    memcpy(words, &l->func, sizeof(words));
    for (size_t i = 0; i < OBJECT_LAUNCH_WORDS; i++)
        differ |= words[i] ^ f->shape.sent[i];
    return f->shape.kernel && !differ;
}

struct objects {
    struct module **modules; /* [WIRE_MODULES] */
    uint32_t modules_end;    /* no module had this id or a higher one */
    struct func **funcs;     /* [WIRE_FUNCS] */
};

int object_init(struct objects *o);    /* 0 or -ENOMEM; call object_finish in any case */
void object_finish(struct objects *o); /* called when no module is left */

/* A hash that tells images and names apart but resists no attack. `hash`: any number to begin with.
 */
uint64_t object_fingerprint(uint64_t hash, const void *data, size_t bytes);

/* The fingerprint of a function's launch in this shape: a sum of products, which a processor
 * computes in parallel, then one round of mixing. */
static inline uint64_t object_shape_fingerprint(uint64_t func, const uint32_t grid[3],
                                                const uint32_t block[3]) {
    uint64_t h = func * 0x9e3779b97f4a7c15ull + grid[0] * 0xff51afd7ed558ccdull +
                 grid[1] * 0xc4ceb9fe1a85ec53ull + grid[2] * 0xbf58476d1ce4e5b9ull +
                 block[0] * 0x94d049bb133111ebull + block[1] * 0xd6e8feb86659fd93ull +
                 block[2] * 0xe7037ed1a0b428dbull;
    h = (h ^ h >> 32) * 0xa0761d6478bd642full;
    return h ^ h >> 29;
}

/* Adds a copy of `loaded` under its id; NULL: out of memory. */
struct module *object_add_module(struct objects *o, const struct module *loaded);
/* Adds a function of the module under `g->func`, with the name that follows `g`; NULL: out of
 * memory. */
struct func *object_add_func(struct objects *o, struct module *m, const struct wire_func_get *g,
                             struct dev_func *dev, const struct dev_func_info *info);
/* Frees the ids of the module and of its functions. */
void object_forget(struct objects *o, struct module *m);
/* The first module whose id is `from` or higher, or NULL. */
struct module *object_next(const struct objects *o, uint32_t from);
/* The line for tasks about an image of this size: reading it, one of its kernels, freeing it. */
static inline enum background_line object_line(uint64_t image_bytes) {
    return image_bytes < OBJECT_LARGE_BYTES ? BACKGROUND_SHORT : BACKGROUND_LONG;
}

/* Removes a forgotten module from the device and frees its functions. A background task frees the
 * data read from its image. Returns the number of functions. */
uint64_t object_free(struct module *m, struct background_tasks *background_tasks,
                     struct kernels *kernels);

#endif
