/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks for memory, then makes the array.
 */
#include "daemon/worker/requests/device_array.h"

#include "common/err.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_textures.h"
#include "daemon/worker/client.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/requests/memory_grant.h"
#include "daemon/worker/scheduling/sched_link.h"

/* A dead client's memory may be released already, together with its credit. */
static int refusal(const struct client *c) {
    if (c->com.fault) return c->com.fault;
    return c->memory ? 0 : ERR_NO_MEMORY;
}

/* A client that once had an array stays fixed, so that freed arrays need not be tracked. */
static void fix(struct client *c) {
    if (!c->fixed) sched_link_fixed(c);
    c->fixed = true;
}

bool device_array_make(struct client *c, const struct device_array_make *ask) {
    uint64_t bytes = ask->array.charge_bytes;
    int err = refusal(c);
    if (!err && bytes > c->worker->info.memory_bytes) err = ERR_NO_MEMORY;
    if (!err) err = memory_grant_module(c, MEMORY_ASK_DEFERRED, bytes);
    if (err == MEMORY_GRANT_WAITS) return false;
    if (!err) fix(c);
    if (!err) {
        err = c->worker->ops->arrays->array_create(c->space, &ask->array);
        if (err) memory_grant_module_gone(c, bytes);
    }
    memory_grant_answer(c, &ask->rec, err, bytes);
    return true;
}

void device_array_drop(struct client *c, const struct wire_array_drop *drop) {
    const struct dev_ops *ops = c->worker->ops;
    uint64_t before = ops->mem_used(c->worker->dev);
    ops->arrays->array_destroy(c->space, drop->addr);
    memory_grant_module_gone(c, before - ops->mem_used(c->worker->dev));
    reply_status(&c->com, &drop->rec, c->com.fault);
}

void device_array_texture(struct client *c, const struct device_array_texture *ask) {
    uint64_t seen = 0;
    int err = refusal(c);
    if (!err) err = c->worker->ops->textures->texture_add(c->space, &ask->texture, &seen);
    reply_send(&c->com, &ask->rec, err, &seen, err ? 0 : sizeof(seen));
}

/* A module that is unloaded later still exists. */
void device_array_reference(struct client *c, const struct device_array_reference *ask) {
    int err = refusal(c);
    if (!err)
        err = c->worker->ops->arrays->module_reference(
            ask->module->dev, ask->name, ask->texture.surface, ask->bound ? &ask->texture : NULL);
    reply_status(&c->com, &ask->rec, err);
}

void device_array_release(struct client *c) {
    const struct dev_ops *ops = c->worker->ops;
    if (!ops->arrays) return;
    uint64_t before = ops->mem_used(c->worker->dev);
    ops->arrays->array_end(c->space);
    memory_grant_module_gone(c, before - ops->mem_used(c->worker->dev));
}
