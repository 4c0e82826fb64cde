/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual time advances from one event of a program or operation to the next.
 */
#include "test/lib/worker/workrun.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/atomics.h"
#include "daemon/worker/client.h"
#include "daemon/worker/loop.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define NEVER UINT64_MAX
#define PAGE FAKEDEV_GRANULARITY
#define JOBS 8u
#define ROUNDS 1000000u /* above the number of rounds that any of the tests' workloads needs */

enum doing { COMING, HOSTING, WAITING, ENDING, GONE };

struct program {
    const struct workload_job *job;
    const struct workload_sequence *sequence;
    struct wireclient *c;
    enum doing doing;
    uint64_t wake_ns;             /* HOSTING, ENDING: the time at which that ends */
    uint32_t iteration, launched; /* completed iterations; operations launched since the last */
    uint64_t completed, end_ns;   /* operations completed in all; end of the present operation */
    uint64_t done_ns;             /* completion time of the latest operation */
    uint64_t switched_bytes;      /* bytes of the job moved so far by spills and restores */
};

struct run {
    const struct workload *w;
    struct wirebench *b;
    struct program programs[JOBS];
    uint64_t begin_ns, now_ns, link_free_ns;
    bool gaps;
};

static void check(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "workrun: %s\n", what);
    abort();
}

static void turn(struct run *r) {
    r->b->clock_ns = r->begin_ns + r->now_ns;
    wirebench_run(r->b);
}

/* ---- the device ------------------------------------------------------------------------------ */

static const struct client *client_in(const struct run *r, const struct program *p) {
    return p->c ? client_find(r->b->worker, p->c->job_id) : NULL;
}

static bool on_device(const struct run *r, const struct program *p) {
    const struct client *c = client_in(r, p);
    return c && c->inflight;
}

/* Adds the time that spilled and restored memory takes on the link, as in the simulator. */
static void copy(struct run *r, struct program *p) {
    uint64_t rate = r->w->link_bytes;
    uint64_t switched = p->c ? atom_load_relaxed(&p->c->com->stats.switched_bytes) : 0;
    uint64_t bytes = switched - p->switched_bytes;
    if (!p->c || p->doing == GONE || !bytes) return;
    p->switched_bytes = switched;
    if (r->link_free_ns < r->now_ns) r->link_free_ns = r->now_ns;
    r->link_free_ns +=
        bytes / rate * 1000000000u + (uint64_t)((double)(bytes % rate) * 1e9 / (double)rate);
}

static uint64_t duration_of(const struct run *r, const struct program *p) {
    uint32_t at = p->sequence->first + (uint32_t)(p->completed % p->sequence->count);
    return r->w->kernels[at].duration_ns;
}

/* Starts the operations that the worker has submitted. */
static void begin_ops(struct run *r) {
    for (uint32_t i = 0; i < r->w->count; i++)
        if (r->programs[i].doing != GONE) copy(r, &r->programs[i]);
    for (uint32_t i = 0; i < r->w->count; i++) {
        struct program *p = &r->programs[i];
        if (p->doing == GONE || p->end_ns != NEVER || !on_device(r, p)) continue;
        uint64_t begin_ns = r->link_free_ns > r->now_ns ? r->link_free_ns : r->now_ns;
        p->end_ns = begin_ns + duration_of(r, p);
    }
}

static void end_ops(struct run *r) {
    for (uint32_t i = 0; i < r->w->count; i++) {
        struct program *p = &r->programs[i];
        if (p->end_ns > r->now_ns) continue;
        check(fakedev_busy(r->b->worker->dev) == 1, "two jobs of a lane are on the device");
        fakedev_finish_after(r->b->worker->dev, 0, duration_of(r, p));
        p->completed++;
        p->done_ns = r->now_ns;
        p->end_ns = NEVER;
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

static const struct workload_kernel *kernel_of(const struct run *r, const struct program *p) {
    return &r->w->kernels[p->sequence->first + p->launched];
}

static void host(struct run *r, struct program *p, enum doing doing, uint64_t ns) {
    p->doing = doing;
    p->wake_ns = r->now_ns + ns;
}

static void come(struct run *r, struct program *p) {
    struct wire_job job = {.flags = WIRE_JOB_RESERVED,
                           .weight = p->job->weight,
                           .priority = p->job->priority,
                           .persistent_bytes = p->job->persistent_bytes,
                           .ephemeral_bytes = p->job->ephemeral_bytes};
    p->c = wireclient_attach_as(r->b, &job, 0);
    uint64_t bytes = p->job->ephemeral_bytes;
    wireclient_kernels(p->c, "kern");
    check(wireclient_result(p->c, wireclient_mem(p->c, WIRE_MEM_BACK, 0, PAGE)) == 0, "memory");
    uint64_t ticket = wireclient_mem(p->c, WIRE_MEM_BACK, WIRECLIENT_EPHEMERAL, bytes);
    check(wireclient_result(p->c, ticket) == 0, "ephemeral memory");
    host(r, p, HOSTING, p->job->start_ns + kernel_of(r, p)->host_ns);
}

/* Launches the operation and those behind it that need no wait. */
static void launch(struct run *r, struct program *p) {
    uint64_t dev = p->c->windows.dev_base, bytes = p->job->ephemeral_bytes;
    do {
        if (!p->launched) wireclient_mem_silent(p->c, WIRE_MEM_USE, WIRECLIENT_EPHEMERAL, bytes);
        if (kernel_of(r, p)->copy)
            wireclient_copy(p->c, 0, dev, p->c->windows.host_base, 8);
        else
            wireclient_launch(p->c, 0, 0, p->launched);
        p->launched++;
    } while (p->launched < p->sequence->count && !kernel_of(r, p)->waits);
    if (p->launched == p->sequence->count)
        wireclient_mem_silent(p->c, WIRE_MEM_DROP, WIRECLIENT_EPHEMERAL, bytes);
    p->doing = WAITING;
}

static bool is_marked(const struct run *r, const struct program *p) {
    return p->job->boundaries && !(r->gaps && p->job->think_ns);
}

static void end_iteration(struct run *r, struct program *p) {
    p->launched = 0;
    if (++p->iteration == p->job->iterations) {
        wireclient_detach(p->c);
        p->doing = GONE;
        return;
    }
    if (is_marked(r, p)) wireclient_say(p->c, WIRE_ITERATION);
    host(r, p, HOSTING, p->job->think_ns + kernel_of(r, p)->host_ns);
}

static void go_on(struct run *r, struct program *p) {
    switch (p->doing) {
    case COMING: come(r, p); break;
    case HOSTING: launch(r, p); break;
    case WAITING:
        if (!is_marked(r, p)) wireclient_say(p->c, WIRE_IDLE);
        if (p->launched == p->sequence->count)
            host(r, p, ENDING, p->sequence->tail_ns);
        else
            host(r, p, HOSTING, kernel_of(r, p)->host_ns);
        break;
    case ENDING: end_iteration(r, p); break;
    case GONE: break;
    }
}

static bool may_go_on(const struct run *r, const struct program *p) {
    if (p->doing == WAITING) return wireclient_done(p->c, 0) == p->c->seq[0];
    return p->doing != GONE && p->wake_ns <= r->now_ns;
}

/* Each program acts until none can; returns whether any did. */
static bool run_programs(struct run *r) {
    bool any = false, more;
    do {
        more = false;
        for (uint32_t i = 0; i < r->w->count; i++) {
            if (!may_go_on(r, &r->programs[i])) continue;
            go_on(r, &r->programs[i]);
            any = more = true;
        }
    } while (more);
    return any;
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t earlier(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t next_time(const struct run *r) {
    const struct worker *w = r->b->worker;
    uint64_t at = w->scheduling.arm_ns ? w->scheduling.arm_ns - r->begin_ns : NEVER;
    for (uint32_t i = 0; i < r->w->count; i++) {
        const struct program *p = &r->programs[i];
        const struct client *c = p->doing == GONE ? NULL : client_in(r, p);
        if (p->doing != GONE && p->doing != WAITING) at = earlier(at, p->wake_ns);
        at = earlier(at, p->end_ns);
        if (c && c->boundary.early)
            at = earlier(at, c->boundary.iteration_gate.begun_ns + ITERATION_GATE_MOMENT_NS -
                                 r->begin_ns);
        if (c && c->boundary.waiting && p->done_ns + ITERATION_GATE_MOMENT_NS > r->now_ns)
            at = earlier(at, p->done_ns + ITERATION_GATE_MOMENT_NS);
    }
    return at;
}

static bool all_gone(const struct run *r) {
    for (uint32_t i = 0; i < r->w->count; i++)
        if (r->programs[i].doing != GONE) return false;
    return true;
}

static void run_all(struct run *r) {
    for (uint32_t rounds = 0; !all_gone(r); rounds++) {
        check(rounds < ROUNDS, "it does not end");
        end_ops(r);
        do
            turn(r);
        while (run_programs(r));
        begin_ops(r);
        if (all_gone(r)) return;
        uint64_t at = next_time(r);
        check(at != NEVER, "nobody goes on");
        r->now_ns = at > r->now_ns ? at : r->now_ns;
    }
}

/* ---- the whole run --------------------------------------------------------------------------- */

void workrun(const struct workload *w, const struct policy_config *policy, bool gaps,
             FILE *recording) {
    struct worker_config config = {.ops = &fakedev, .policy = *policy};
    struct run r = {.w = w, .b = wirebench_start_as(&config), .gaps = gaps};
    struct worker *worker = r.b->worker;
    check(w->count <= JOBS, "too many jobs");
    r.begin_ns = worker->now_ns;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct workload_job *j = &w->jobs[i];
        r.programs[i] = (struct program){
            .job = j, .sequence = &w->sequences[j->sequence], .wake_ns = j->arrival_ns};
        r.programs[i].end_ns = NEVER;
    }
    fakedev_hold(worker->dev, true);
    check(recorder_stream(worker->events_link.recorder, worker->scheduling.sched,
                          dup(fileno(recording))) == 0,
          "a recording");
    worker->events_link.until_ns = NEVER;
    run_all(&r);
    check(recorder_stop(worker->events_link.recorder) == 0, "the recording");
    for (uint32_t i = 0; i < w->count; i++)
        wireclient_free(r.programs[i].c);
    wirebench_stop(r.b);
}
