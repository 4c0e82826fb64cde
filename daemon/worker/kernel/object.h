/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's modules and functions. Ids are the client's choice; unloading frees them at once, the
 * code itself goes when nothing that was sent before can use it any more.
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
#include "daemon/worker/errand/errand.h"
#include "proto/wire/wire.h"

struct kernel;
struct kernels;

/* Reading an image takes some 20 ms a MiB: this is what a small one may have to wait for. */
#define OBJECT_LARGE_BYTES (4u << 20)

/* A wire_launch but for the record's head: what one launch of a function has that another may not.
 */
#define OBJECT_LAUNCH_WORDS ((sizeof(struct wire_launch) - sizeof(struct wire_record)) / 8)

_Static_assert(offsetof(struct wire_launch, func) == sizeof(struct wire_record), "whole words");
_Static_assert(sizeof(struct wire_launch) % 8 == 0, "and no padding behind");

/* How a function is launched, and what follows from that. */
struct func_shape {
    uint64_t sent[OBJECT_LAUNCH_WORDS]; /* as its record says it: it was checked */
    struct dev_launch launch;           /* as the device is told; without parameters */
    uint64_t fingerprint;               /* of the function with this grid and block */
    struct kernel *kernel;              /* what is known of it; held; NULL: nothing */
};

struct func {
    struct dev_func *dev;
    struct func *next;    /* of its module */
    uint64_t fingerprint; /* of its module's image and its name: the same in every run */
    uint32_t id, param_bytes, max_threads, shared_bytes, regs;
    struct func_shape shape; /* of its latest launch */
    char name[];
};

struct module {
    struct errand freeing; /* its last */
    const struct dev_ops *ops;
    struct dev_module *dev;
    struct func *funcs;
    uint64_t fingerprint; /* of its image */
    uint64_t bytes;       /* of the device's memory */
    uint64_t image_bytes;
    uint32_t id;
};

/* The launch is the function's latest one again, of which a kernel is known. */
static inline bool object_again(const struct func *f, const struct wire_launch *l) {
    uint64_t words[OBJECT_LAUNCH_WORDS], differ = 0;
    memcpy(words, &l->func, sizeof(words));
    for (size_t i = 0; i < OBJECT_LAUNCH_WORDS; i++)
        differ |= words[i] ^ f->shape.sent[i];
    return f->shape.kernel && !differ;
}

struct objects {
    struct module **modules; /* [WIRE_MODULES] */
    uint32_t modules_end;    /* none had this id or a higher one */
    struct func **funcs;     /* [WIRE_FUNCS] */
};

int object_init(struct objects *o);    /* 0 or -ENOMEM; finish follows in any case */
void object_finish(struct objects *o); /* no module is left */

/* Tells images and names apart, not friend from foe. Begin with any number. */
uint64_t object_fingerprint(uint64_t hash, const void *data, size_t bytes);

/* A sum of products, which a processor makes side by side, then one round of mixing. */
static inline uint64_t object_shape_fingerprint(uint64_t func, const uint32_t grid[3],
                                                const uint32_t block[3]) {
    uint64_t h = func * 0x9e3779b97f4a7c15ull + grid[0] * 0xff51afd7ed558ccdull +
                 grid[1] * 0xc4ceb9fe1a85ec53ull + grid[2] * 0xbf58476d1ce4e5b9ull +
                 block[0] * 0x94d049bb133111ebull + block[1] * 0xd6e8feb86659fd93ull +
                 block[2] * 0xe7037ed1a0b428dbull;
    h = (h ^ h >> 32) * 0xa0761d6478bd642full;
    return h ^ h >> 29;
}

/* A copy of `loaded`, under its id; NULL: out of memory. */
struct module *object_add_module(struct objects *o, const struct module *loaded);
/* A function of the module under `g->func`, with the name that follows `g`; NULL: out of memory. */
struct func *object_add_func(struct objects *o, struct module *m, const struct wire_func_get *g,
                             struct dev_func *dev, const struct dev_func_info *info);
/* The ids of the module and of its functions are free. */
void object_forget(struct objects *o, struct module *m);
/* The first module whose id is `from` or higher, or NULL. */
struct module *object_next(const struct objects *o, uint32_t from);
/* Of an image of so many bytes: reading it, a kernel of it, and freeing it. */
static inline enum errand_line object_line(uint64_t image_bytes) {
    return image_bytes < OBJECT_LARGE_BYTES ? ERRAND_SHORT : ERRAND_LONG;
}

/* Removes a forgotten one from the device and frees its functions; what was read of its image is
 * freed beside. Returns how many they were. */
uint64_t object_free(struct module *m, struct errands *errands, struct kernels *kernels);

#endif
