/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects of the program that live as long as a graph needs them. Each has a count, and a function
 * that is called when the count reaches zero. The caller holds graph_lock.
 */
#ifndef SHIM_GRAPH_USER_OBJECT_H
#define SHIM_GRAPH_USER_OBJECT_H

#include <stdint.h>

#include "common/list.h"
#include "proto/cuda/cuda_abi.h"

struct user_object;

/* The objects that a graph holds. */
struct user_objects {
    struct list list;
};

CUresult user_object_create(void *ptr, CUhostFn destroy, uint32_t count, CUuserObject *out);
struct user_object *user_object_find(CUuserObject handle);
void user_object_retain(struct user_object *o, uint32_t count);
/* CUDA_ERROR_INVALID_VALUE: the count is smaller. */
CUresult user_object_release(struct user_object *o, uint32_t count);
/* Calls the functions of objects without a holder. Call it without the lock. */
void user_object_destroy_unheld(void);

void user_objects_init(struct user_objects *set);
/* Makes the graph hold the object `count` times more; the caller passes on its references. */
CUresult user_objects_add(struct user_objects *set, struct user_object *o, uint32_t count);
/* CUDA_ERROR_INVALID_VALUE: the graph holds fewer. */
CUresult user_objects_drop(struct user_objects *set, struct user_object *o, uint32_t count);
/* Makes `set` hold everything that `from` holds. */
CUresult user_objects_share(struct user_objects *set, const struct user_objects *from);
void user_objects_finish(struct user_objects *set);

#endif
