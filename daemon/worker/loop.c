/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop. In the steady state its only system call is epoll_wait, once a millisecond. Clients
 * ring their doorbells only while the loop sleeps.
 */
#include "daemon/worker/loop.h"

#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/device_loss.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/faults/fault_isolation.h"
#include "daemon/worker/front/broker_order.h"
#include "daemon/worker/front/chan.h"
#include "daemon/worker/front/kernel_link.h"
#include "daemon/worker/front/module_load.h"
#include "daemon/worker/front/scheduler_view.h"
#include "daemon/worker/operations/client_end.h"
#include "daemon/worker/operations/iteration_boundary.h"
#include "daemon/worker/operations/pump.h"
#include "daemon/worker/operations/status_page.h"
#include "daemon/worker/operations/value_wait.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/requests/deferred_request.h"
#include "daemon/worker/residency/memory_move.h"
#include "daemon/worker/residency/savepoint_writer.h"
#include "daemon/worker/scheduling/sched_link.h"

#define TICK_NS 1000000ull
#define BEAT_NS 1000000000ull
#define SPIN_LONG_NS 1000000ull /* every client and thread has a core of its own */
/* This is longer than a piece of a staged copy takes. With 10 us every piece ended in a sleep, and
 * pageable copies fell from at least 0.8 of a memcpy's speed to 0.3. Eight clients on two cores
 * lose nothing by it. */
#define SPIN_SHORT_NS 50000ull
#define SPIN_PAUSE_NS 2000ull /* spins without yielding the core */
#define LOOP_EVENTS 64
#define LOOP_HELD_NS 10000000ull /* longest sleep while a record waits for a boundary */

/* Waking a sleeping peer costs more than spinning, but a spinning client must not take the core of
 * one that works. The hint is long only while every client and thread has a core. */
static void hint_clients(struct worker *w) {
    uint32_t busy =
        (w->load.inflight ? w->loop.dev_threads : 0) + (w->loads.background_tasks.away != 0);
    uint64_t spin = w->clients.count + 1 + busy <= w->loop.cores ? SPIN_LONG_NS : SPIN_SHORT_NS;
    uint32_t cpu = (uint32_t)sched_getcpu();
    struct list *pos;
    w->loop.spin_ns = spin;
    w->loop.cpu = cpu;
    list_each(pos, &w->clients.list) {
        struct wire_completion *com = list_entry(pos, struct client, link)->com.page;
        if (atom_load_relaxed(&com->spin_ns) != spin) atom_store_relaxed(&com->spin_ns, spin);
        if (atom_load_relaxed(&com->worker_cpu) != cpu) atom_store_relaxed(&com->worker_cpu, cpu);
    }
}

static void wake_clients(struct worker *w) {
    struct list *pos;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->com.published) reply_wake(&c->com, &c->sub->client_sleeping);
    }
}

/* Only the broker's socket and descriptors of segments carry messages. Doorbells and the device
 * only wake the worker: the next round looks at all of them. */
static void poll_descriptors(struct worker *w, int timeout_ms) {
    struct epoll_event events[LOOP_EVENTS];
    int n = epoll_wait(w->loop.epoll_fd, events, LOOP_EVENTS, timeout_ms);
    for (int i = 0; i < n; i++) {
        if (events[i].data.fd == w->link.fd) broker_order_read(w);
        if (events[i].data.fd == w->shared.keepers.epoll_fd && keepers_look(&w->shared.keepers))
            w->board.stale = true;
    }
}

static void tick(struct worker *w) {
    if (w->now_ns < w->loop.tick_ns) return;
    w->loop.tick_ns = w->now_ns + TICK_NS;
    poll_descriptors(w, 0);
    hint_clients(w);
    iteration_boundary_relent(w);
    scheduler_view_update(w, false);
    if (w->now_ns >= status_page_next_ns(w)) {
        w->loop.status_ns = w->now_ns + STATUS_PAGE_EVERY_NS;
        status_page_update(w);
    }
    events_link_update(&w->events_link, w->now_ns);
    if (w->now_ns >= w->loop.beat_ns) {
        w->loop.beat_ns = w->now_ns + BEAT_NS;
        broker_link_beat(&w->link);
        kernel_link_begin(w);
    }
    if (w->profiles.telling) kernel_link_tell(w);
}

/* True when the device is lost: from then on the worker does nothing, and leaves the clients' state
 * for the next worker. The broker hears the reason and starts that worker. */
static bool is_over(struct worker *w) {
    int err = worker_lost(w);
    if (!err || w->recovery.ending) return err;
    pump_collect(w); /* takes every completed operation, in whatever order the loss was noticed */
    log_error(
        "worker",
        "event=device_lost error=%s text=\"the worker ends, and the broker starts a new one\"",
        err_name(err));
    device_loss_say(w, err);
    w->link.over = true;
    return true;
}

unsigned loop_at(struct worker *w, uint64_t now_ns) {
    unsigned done = 0;
    w->now_ns = now_ns;
    if (pace_next(&w->moves.pace))
        log_debug("memory", "event=pace granules=%u", w->moves.pace.most);
#define STAGE(name, when, count, ...) \
    if (when) done += (count);
#define STAGE_LAST(name, when, ...) \
    if (when) return 0;
#include "daemon/worker/stages.def"
#undef STAGE
#undef STAGE_LAST
    return done;
}

unsigned loop_once(struct worker *w) {
    return loop_at(w, fdutil_now_ns());
}

static uint64_t park_ns(const struct worker *w) {
    uint64_t until = w->loop.beat_ns;
    if (status_page_next_ns(w) < until) until = status_page_next_ns(w);
    if (w->scheduling.arm_ns && w->scheduling.arm_ns < until) until = w->scheduling.arm_ns;
    if (value_wait_next_ns(w) < until) until = value_wait_next_ns(w);
    if (fault_isolation_next_ns(w) < until) until = fault_isolation_next_ns(w);
    if (w->boundaries.held && w->now_ns + LOOP_HELD_NS < until) until = w->now_ns + LOOP_HELD_NS;
    bool soon = w->boundaries.early || w->boundaries.waiting || w->profiles.telling;
    if (soon && w->now_ns + TICK_NS < until) until = w->now_ns + TICK_NS;
    return until > w->now_ns ? until - w->now_ns : 0;
}

bool loop_idle(const struct worker *w) {
    return (w->recovery.restoring || !pump_pending(w)) && !broker_order_pending(w) &&
           !module_load_pending(w);
}

/* Arms the descriptors, looks once more, then sleeps. */
static void park(struct worker *w) {
    scheduler_view_update(w, true);
    chan_arm(w);
    if (loop_idle(w) && !w->ops->arm(w->dev) && module_load_arm(w) && !chan_ready(w)) {
        uint64_t wait_ns = park_ns(w);
        poll_descriptors(w, (int)(wait_ns / 1000000) + 1);
        w->loop.tick_ns = 0; /* the thread may run on another core now */
    }
    chan_disarm(w);
}

void loop_run(struct worker *w) {
    while (!w->link.over) {
        if (loop_once(w)) {
            w->loop.idle_since_ns = w->now_ns;
            continue;
        }
        uint64_t idle_ns = w->now_ns - w->loop.idle_since_ns;
        if (idle_ns < SPIN_PAUSE_NS) {
            atom_pause();
            continue;
        }
        chan_idle(w);
        if (idle_ns < w->loop.spin_ns)
            sched_yield();
        else
            park(w);
    }
}

/* Waits until the device and all background tasks have finished, because they use the clients'
 * memory. */
static void end_clients(struct worker *w) {
    struct list *pos, *tmp;
    /* no segment is kept beyond this worker's end, so none is saved */
    keepers_finish(&w->shared.keepers);
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        client_leave(c);
        client_end_abandon(c, w->recovery.ending ? w->recovery.ending : ERR_BROKER_LOST);
        reply_wake(&c->com, &c->sub->client_sleeping); /* sleeping clients see the end now, not at
                                                          their next tick */
    }
    while (w->load.inflight || w->loads.count) {
        if (!pump_collect(w) && !module_load_collect(w)) usleep(100);
        pump_run(w);
    }
    list_each_safe(pos, tmp, &w->clients.list)
        client_end_destroy(list_entry(pos, struct client, link));
}

/* The clients' memory and open operations pass to the next worker, or are lost without one. */
void loop_leave(struct worker *w) {
    struct list *pos;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        fault_void(c, w->recovery.ending);
        reply_wake(&c->com, &c->sub->client_sleeping);
    }
}

void loop_finish(struct worker *w) {
    end_clients(w);
    memory_move_forget(w, NULL);
    worker_destroy(w);
}
