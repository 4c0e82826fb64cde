/* SPDX-License-Identifier: Apache-2.0
 *
 * Unloading.
 */
#include "daemon/worker/requests/module_unload.h"

#include "daemon/worker/client.h"
#include "daemon/worker/requests/memory_grant.h"
#include "daemon/worker/stats.h"

void module_unload_one(struct client *c, struct module *m) {
    struct worker *w = c->worker;
    uint64_t before = w->ops->mem_used(w->dev);
    uint64_t funcs = object_free(m, &w->loads.background_tasks, w->profiles.kernels);
    /* memory that other modules share stays */
    memory_grant_module_gone(c, before - w->ops->mem_used(w->dev));
    stats_sub(&c->com.page->stats.modules, 1);
    stats_sub(&c->com.page->stats.functions, funcs);
}

void module_unload_all(struct client *c) {
    struct module *m;
    for (uint32_t id = 0; (m = object_next(&c->objects, id)); id++) {
        id = m->id;
        object_forget(&c->objects, m);
        module_unload_one(c, m);
    }
}
