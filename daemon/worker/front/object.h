/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's modules and functions. Ids are the client's choice; unloading frees them at once, the
 * code itself goes when nothing that was sent before can use it any more.
 */
#ifndef DAEMON_WORKER_FRONT_OBJECT_H
#define DAEMON_WORKER_FRONT_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"

struct client;
struct dev_func;
struct dev_module;
struct kernel;
struct module;

/* How a function is launched. */
struct func_shape {
    uint32_t grid[3], block[3], shared_bytes; /* dynamic */
};

struct func {
    struct dev_func *dev;
    struct func *next; /* of its module */
    uint64_t print;    /* of its module's image and its name: the same in every run */
    uint32_t id, param_bytes, max_threads, shared_bytes, regs;
    struct func_shape shape; /* of its latest launch */
    struct kernel *kernel;   /* what is known of it in that shape; held; NULL: nothing */
    char name[];
};

/* Record handlers: 0, or ERR_PROTOCOL with `why`. `rec` passed record_check. */
int object_module_load(struct client *c, const void *rec, char *why, size_t why_bytes);
int object_module_unload(struct client *c, const void *rec, char *why, size_t why_bytes);
int object_func_get(struct client *c, const void *rec, char *why, size_t why_bytes);
int object_func_name_get(struct client *c, const void *rec, char *why, size_t why_bytes);
int object_global_get(struct client *c, const void *rec, char *why, size_t why_bytes);

/* Unloads it from the device and frees its functions. */
void object_free_module(struct client *c, struct module *m);
/* All of the client's, when nothing of it is on the device. */
void object_free_all(struct client *c);

const char *object_func_name(const struct func *f);

#endif
