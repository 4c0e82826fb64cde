/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects of the program that live as long as a graph needs them: a count, and a function that is
 * called when it comes to nothing. With graph_lock held.
 */
#ifndef SHIM_GRAPH_USER_OBJECT_H
#define SHIM_GRAPH_USER_OBJECT_H

#include <stdint.h>

#include "common/list.h"
#include "proto/cuda/cuda_abi.h"

struct user_object;

/* Those that a graph holds. */
struct user_objects {
    struct list list;
};

CUresult user_object_create(void *ptr, CUhostFn destroy, uint32_t count, CUuserObject *out);
struct user_object *user_object_find(CUuserObject handle);
void user_object_retain(struct user_object *o, uint32_t count);
/* CUDA_ERROR_INVALID_VALUE: it has fewer. */
CUresult user_object_release(struct user_object *o, uint32_t count);
/* Calls the functions of those that nobody holds any more; without the lock. */
void user_object_destroy_unheld(void);

void user_objects_init(struct user_objects *set);
/* The graph holds it `count` times more; the references are the caller's to give. */
CUresult user_objects_add(struct user_objects *set, struct user_object *o, uint32_t count);
/* CUDA_ERROR_INVALID_VALUE: it holds fewer. */
CUresult user_objects_drop(struct user_objects *set, struct user_object *o, uint32_t count);
/* What `from` holds, too. */
CUresult user_objects_share(struct user_objects *set, const struct user_objects *from);
void user_objects_finish(struct user_objects *set);

#endif
