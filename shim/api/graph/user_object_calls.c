/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about user objects, which the program gives to graphs to hold.
 */
#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"
#include "shim/graph/graph.h"
#include "shim/graph/registry.h"
#include "shim/lock.h"

#define COUNT_MAX 0x7fffffffu

/* Every call about a user object enters here and takes graph_lock. After CUDA_SUCCESS the call ends
 * with leave. */
static CUresult enter(unsigned int count) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    if (count == 0 || count > COUNT_MAX) return CUDA_ERROR_INVALID_VALUE;
    lock_enter(&graph_lock);
    return CUDA_SUCCESS;
}

static CUresult leave(CUresult r) {
    lock_leave(&graph_lock);
    user_object_destroy_unheld();
    return r;
}

CUresult cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                            unsigned int initialRefcount, unsigned int flags) {
    CUresult r = enter(initialRefcount);
    if (r) return r;
    /* The only mode that CUDA offers is that the destructor may run at any time. */
    if (!object_out || !destroy || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return leave(CUDA_ERROR_INVALID_VALUE);
    return leave(user_object_create(ptr, destroy, initialRefcount, object_out));
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
    CUresult r = enter(count);
    if (r) return r;
    struct user_object *o = user_object_find(object);
    if (o) user_object_retain(o, count);
    return leave(o ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
    CUresult r = enter(count);
    if (r) return r;
    struct user_object *o = user_object_find(object);
    return leave(o ? user_object_release(o, count) : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                 unsigned int flags) {
    CUresult r = enter(count);
    if (r) return r;
    struct user_object *o = user_object_find(object);
    struct graph *g = graph_find(graph);
    if (!o || !g || flags & ~(unsigned int)CU_GRAPH_USER_OBJECT_MOVE)
        return leave(CUDA_ERROR_INVALID_VALUE);
    r = user_objects_add(&g->objects, o, count);
    if (!r && !(flags & CU_GRAPH_USER_OBJECT_MOVE)) user_object_retain(o, count);
    return leave(r);
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
    CUresult r = enter(count);
    if (r) return r;
    struct user_object *o = user_object_find(object);
    struct graph *g = graph_find(graph);
    return leave(o && g ? user_objects_drop(&g->objects, o, count) : CUDA_ERROR_INVALID_VALUE);
}
