/* SPDX-License-Identifier: Apache-2.0
 *
 * Unloading.
 */
#include "daemon/worker/engine/unload.h"

#include "daemon/worker/client.h"
#include "daemon/worker/engine/allowance.h"
#include "daemon/worker/stats.h"

void unload_module(struct client *c, struct module *m) {
    uint64_t bytes = m->bytes;
    uint64_t funcs = object_free(m, c->worker->ops, c->worker->kernels);
    allowance_module_gone(c, bytes);
    stats_sub(&c->com.page->stats.modules, 1);
    stats_sub(&c->com.page->stats.functions, funcs);
}

void unload_all(struct client *c) {
    struct module *m;
    for (uint32_t id = 0; (m = object_next(&c->objects, id)); id++) {
        id = m->id;
        object_forget(&c->objects, m);
        unload_module(c, m);
    }
}
