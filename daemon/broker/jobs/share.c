/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that a new job cannot get counts as used, no matter which job has it. So NVML agrees
 * with CUDA.
 */
#include "daemon/broker/jobs/share.h"

#include <time.h>

#include "common/atomics.h"
#include "daemon/broker/jobs/long_operation.h"

/* ---- time ------------------------------------------------------------------------------------ */

void share_take(struct load *load, uint64_t now_ns, uint64_t busy_ns) {
    uint64_t passed = now_ns - load->at_ns, took = busy_ns - load->busy_ns;

    if (load->at_ns == 0 || now_ns <= load->at_ns || busy_ns < load->busy_ns)
        load->permille = 0;
    else
        load->permille = took >= passed ? 1000 : (uint32_t)(took * 1000 / passed);
    load->at_ns = now_ns;
    load->busy_ns = busy_ns;
}

static uint64_t wall_us(void) {
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* The job uses or waits for the device; a sleeping job is due nothing. */
static bool competes(const struct attachment *a) {
    const struct wire_stats *st = &a->completion->stats;
    bool waits = atom_load_relaxed(&st->lane) && atom_load_relaxed(&st->why) &&
                 !(a->job.spec.flags & WIRE_JOB_PAUSED);

    return a->load.permille || waits;
}

static void divide(struct attachments *as, uint64_t permille, uint64_t weights) {
    struct list *pos;

    list_each(pos, &as->list) {
        struct attachment *a = list_entry(pos, struct attachment, link);

        a->load.got = a->load.due = 0;
        if (!a->completion) continue;
        if (permille) a->load.got = (uint32_t)(1 + a->load.permille * 100 / permille);
        if (weights && competes(a))
            a->load.due = (uint32_t)(1 + a->job.spec.weight * 100 / weights);
    }
}

void share_look(struct attachments *as, bool by_weight, uint64_t now_ns) {
    uint64_t permille = 0, weights = 0;
    struct list *pos;

    list_each(pos, &as->list) {
        struct attachment *a = list_entry(pos, struct attachment, link);
        struct long_operation_view v;

        if (!a->completion) continue;
        long_operation_view(a->completion, &v);
        share_take(&a->load, now_ns, v.busy_ns);
        permille += a->load.permille;
        if (competes(a)) weights += a->job.spec.weight;
    }
    divide(as, permille, by_weight ? weights : 0);
    as->loads_us = wall_us();
}

/* ---- views of users ------------------------------------------------------------------------- */

static bool is_job_of(const struct attachment *a, uid_t uid) {
    return a->job.uid == uid && a->welcomed && a->client && a->completion;
}

/* Returns NULL if the process has no job. */
static const struct attachment *job_of(const struct attachments *as, uid_t uid, pid_t pid) {
    const struct list *pos;

    if (pid == 0) return NULL;
    list_each(pos, &as->list) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (is_job_of(a, uid) && a->job.pid == pid) return a;
    }
    return NULL;
}

/* Memory that the job could get. A job that waits for admission could get what a new one could. */
static uint64_t free_for(const struct attachment *own, uint64_t free_bytes) {
    const struct wire_obtainable *o = own ? &own->completion->obtainable : NULL;

    return o && atom_load_relaxed(&o->persistent) ? atom_load_relaxed(&o->free_bytes) : free_bytes;
}

static struct wire_process process_of(const struct attachment *a) {
    return (struct wire_process){.pid = (int32_t)a->job.pid,
                                 .busy_permille = a->load.permille,
                                 .memory_bytes =
                                     atom_load_relaxed(&a->completion->stats.memory_bytes)};
}

static void add_process(struct wire_view *v, const struct wire_process *p) {
    if (p->pid == 0 || v->process_count == WIRE_VIEW_PROCESSES) return;
    v->processes[v->process_count++] = *p;
}

static void add_time(struct wire_view *v, const struct wire_process *p) {
    v->busy_permille += p->busy_permille;
    if (v->busy_permille > 1000) v->busy_permille = 1000;
}

void share_fill(const struct attachments *as, uid_t uid, pid_t pid, uint64_t total_bytes,
                uint64_t free_bytes, struct wire_view *out) {
    const struct attachment *own = job_of(as, uid, pid);
    uint64_t free = free_for(own, free_bytes);
    const struct list *pos;

    out->used_bytes = free < total_bytes ? total_bytes - free : 0;
    out->sampled_us = as->loads_us;
    out->busy_permille = out->process_count = 0;
    list_each(pos, &as->list) {
        struct attachment *a = list_entry(pos, struct attachment, link);
        struct wire_process p;

        if (!is_job_of(a, uid)) continue;
        p = process_of(a);
        if (attachments_is_used(a))
            add_process(out, &p); /* lists only jobs that use the GPU, as drivers do */
        if (!own || a == own) add_time(out, &p);
    }
}
