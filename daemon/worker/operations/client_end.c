/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends clients.
 */
#include "daemon/worker/operations/client_end.h"

#include "common/atomics.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/operations/iteration_boundary.h"
#include "daemon/worker/operations/progress.h"
#include "daemon/worker/requests/deferred_request.h"
#include "daemon/worker/requests/device_array.h"
#include "daemon/worker/requests/module_unload.h"
#include "daemon/worker/residency/lane_clear.h"
#include "daemon/worker/residency/residency.h"
#include "daemon/worker/residency/user_limits.h"
#include "daemon/worker/scheduling/sched_link.h"

void client_end_release(struct client *c) {
    if (!c->memory) return;
    module_unload_all(c);
    device_array_release(c);
    residency_give(c);
    atom_store_relaxed(&c->com.page->stats.memory_bytes, 0);
}

void client_end_abandon(struct client *c, int err) {
    if (c->abandoned) return;
    fault_void(c, err);
    c->abandoned = true;
    c->throttled &= (uint8_t) ~(CLIENT_WAITS | CLIENT_OUT);
    if (c->parked || lane_clear_pending(c))
        sched_link_unpark(c); /* before the scheduler hears of the end */
    sched_link_untry(c);
    if (c->background_task)
        background_cancel(&c->worker->loads.background_tasks, c->background_task);
    if (!c->inflight) residency_end(c); /* before the scheduler gives the memory to others */
    if (!client_busy(c)) client_end_release(c);
    sched_link_left(c);
    if (client_busy(c)) c->worker->ops->space_cancel(c->space);
    callback_forget(&c->callbacks);
    watch_forget(&c->watch);
    iteration_boundary_forget(c);
    for (uint32_t i = 0; i < stream_count(&c->streams); i++) {
        struct stream *s = stream_any(&c->streams, i);
        if (!s) continue;
        stream_skip(s);
        progress_retire(c, s);
    }
    if (c->streams.deferred) deferred_request_run(c);
}

void client_end_destroy(struct client *c) {
    struct worker *w = c->worker;
    uint32_t uid = c->uid;
    client_end_release(c);
    residency_finish(c);
    client_destroy(c);
    user_limits_share(w, uid);
    background_trim(&w->loads.background_tasks);
}
