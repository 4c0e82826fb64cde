/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out such records, and answers each. All take effect at once, except a limit that needs
 * memory.
 */
#include "daemon/worker/front/device_record.h"

#include <inttypes.h>

#include "common/err.h"
#include "common/text/failure.h"
#include "daemon/device/device_native.h"
#include "daemon/worker/client.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/requests/limit_request.h"
#include "proto/cuda/cuda_abi.h"

int device_record_limit(struct client *c, const void *rec, char *why, size_t why_bytes) {
    limit_request_take(c, rec);
    return 0;
}

int device_record_text(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_mem *m = rec;
    void *ring = m->bytes ? client_host(c, m->addr, m->bytes) : NULL;
    if (m->bytes && !ring)
        return failure(ERR_PROTOCOL, why, why_bytes,
                       "the buffer for kernels' output is outside the host window");
    text_move(&c->text, ring, m->addr, m->bytes);
    reply_status(&c->com, &m->rec, c->com.fault);
    return 0;
}

/* Takes effect at once: a tensor map belongs to no stream and to no memory. */
int device_record_tensor_map(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_tensor_map *t = rec;
    struct worker *w = c->worker;
    struct tensor_answer answer = {0};
    if (!w->ops->native)
        return failure(ERR_PROTOCOL, why, why_bytes, "the device does not support tensor maps");
    int err = c->com.fault;
    if (!err) err = w->ops->native->tensor_map(w->dev, &t->ask, &answer);
    reply_send(&c->com, &t->rec, err, &answer, err ? 0 : sizeof(answer));
    return 0;
}

/* The number of clusters is 0 for a shape in which a launch would be refused. */
int device_record_clusters(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_clusters *k = rec;
    struct worker *w = c->worker;
    struct func *f = c->objects.funcs[k->func];
    struct dev_launch like = {.block = {k->threads, 1, 1}, .shared_bytes = k->shared_bytes};
    uint32_t count = 0;
    if (!w->ops->native)
        return failure(ERR_PROTOCOL, why, why_bytes, "the device does not support clusters");
    int err = c->com.fault;
    if (!err && !f)
        return failure(ERR_PROTOCOL, why, why_bytes, "function %u does not exist", k->func);
    for (uint32_t axis = 0; axis < 3; axis++)
        like.grid[axis] = like.cluster[axis] = wire_cluster_side(k->flags, axis);
    if (!err && k->threads <= f->max_threads &&
        (uint64_t)k->shared_bytes + f->shared_bytes <= w->info.shared_optin_bytes) {
        like.func = f->dev;
        err = w->ops->native->cluster_count(&like, k->largest, &count);
    }
    reply_send(&c->com, &k->rec, err, &count, err ? 0 : sizeof(count));
    return 0;
}
