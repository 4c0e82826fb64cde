/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's modules and functions. Ids are the client's choice; unloading frees them at once, the
 * code itself goes when nothing that was sent before can use it any more.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_KERNEL_OBJECT_H
#define DAEMON_WORKER_KERNEL_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "proto/wire.h"

struct kernel;
struct kernels;

/* How a function is launched. */
struct func_shape {
    uint32_t grid[3], block[3], shared_bytes; /* dynamic */
};

struct func {
    struct dev_func *dev;
    struct func *next;    /* of its module */
    uint64_t fingerprint; /* of its module's image and its name: the same in every run */
    uint32_t id, param_bytes, max_threads, shared_bytes, regs;
    struct func_shape shape; /* of its latest launch */
    struct kernel *kernel;   /* what is known of it in that shape; held; NULL: nothing */
    char name[];
};

struct module {
    struct dev_module *dev;
    struct func *funcs;
    uint64_t fingerprint; /* of its image */
    uint64_t bytes;       /* of the device's memory */
    uint32_t id;
};

struct objects {
    struct module **modules; /* [WIRE_MODULES] */
    struct func **funcs;     /* [WIRE_FUNCS] */
};

int object_init(struct objects *o);    /* 0 or -ENOMEM; finish follows in any case */
void object_finish(struct objects *o); /* no module is left */

/* Tells images and names apart, not friend from foe. Begin with any number. */
uint64_t object_fingerprint(uint64_t hash, const void *data, size_t bytes);

/* A copy of `loaded`, under its id; NULL: out of memory. */
struct module *object_add_module(struct objects *o, const struct module *loaded);
/* A function of the module under `g->func`, with the name that follows `g`; NULL: out of memory. */
struct func *object_add_func(struct objects *o, struct module *m, const struct wire_func_get *g,
                             struct dev_func *dev, const struct dev_func_info *info);
/* The ids of the module and of its functions are free. */
void object_forget(struct objects *o, struct module *m);
/* The first module whose id is `from` or higher, or NULL. */
struct module *object_next(const struct objects *o, uint32_t from);
/* Unloads a forgotten one from the device and frees its functions. Returns how many they were. */
uint64_t object_free(struct module *m, const struct dev_ops *ops, struct kernels *kernels);

#endif
