/* SPDX-License-Identifier: Apache-2.0
 *
 * There are few GPUs, so that lists are scanned.
 */
#include "daemon/broker/gpu/gpus.h"

#include <stdio.h>

#define NO_BOUND UINT64_MAX

void gpus_init(struct gpus *all, const struct config *config, uv_loop_t *loop) {
    kernel_stores_open(&all->stores, config, loop);
    all->count = (uint32_t)config->gpus;
    for (uint32_t i = 0; i < all->count; i++)
        gpu_init(&all->items[i], i, config, &all->stores);
}

void gpus_configure(struct gpus *all, const struct config *config) {
    for (uint32_t i = 0; i < all->count; i++)
        gpu_configure(&all->items[i], config);
}

void gpus_stop(struct gpus *all) {
    kernel_stores_stop(&all->stores);
}

void gpus_finish(struct gpus *all) {
    kernel_stores_finish(&all->stores);
}

/* ---- which one a job gets -------------------------------------------------------------------- */

/* How well a GPU suits a job, the most important criterion first. */
struct merit {
    bool ready, hoped; /* ready now; not given up */
    bool fits;
    uint64_t promised_bytes, device_bytes;
    unsigned jobs;
};

static struct merit merit_of(const struct gpu *g, const struct gpus_ask *ask) {
    struct merit m = {.ready = worker_ready(&g->worker),
                      .hoped = g->worker.state != WORKER_FAILED,
                      .device_bytes = g->worker.device.memory_bytes};
    uint64_t has = 0;

    m.promised_bytes = attachments_load(&g->attachments, m.device_bytes, &m.jobs);
    if (ask->uid_bytes != NO_BOUND) has = attachments_granted(&g->attachments, ask->uid);
    m.fits =
        ask->bytes <= m.device_bytes && has <= ask->uid_bytes && ask->bytes <= ask->uid_bytes - has;
    return m;
}

/* Compares promised_bytes / device_bytes of a and b without a division. */
static int compare_parts(const struct merit *a, const struct merit *b) {
    unsigned __int128 left = (unsigned __int128)a->promised_bytes * b->device_bytes;
    unsigned __int128 right = (unsigned __int128)b->promised_bytes * a->device_bytes;

    return left < right ? -1 : left > right;
}

static bool is_better(const struct merit *a, const struct merit *b) {
    int part;

    if (a->ready != b->ready) return a->ready;
    if (a->hoped != b->hoped) return a->hoped;
    if (a->fits != b->fits) return a->fits;
    part = compare_parts(a, b);
    return part ? part < 0 : a->jobs < b->jobs;
}

static bool has_run(const struct gpu *g, uid_t uid, uint32_t run) {
    const struct list *pos;

    if (run == 0 || g->worker.state == WORKER_FAILED) return false;
    list_each(pos, &g->attachments.list) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->client && a->job.uid == uid && a->job.spec.run == run) return true;
    }
    return false;
}

struct gpu *gpus_choose(struct gpus *all, const struct gpus_ask *ask) {
    struct gpu *best = &all->items[0];
    struct merit most = merit_of(best, ask);

    if (ask->asked) return gpus_find(all, ask->asked - 1);
    for (uint32_t i = 0; i < all->count; i++)
        if (has_run(&all->items[i], ask->uid, ask->run)) return &all->items[i];
    for (uint32_t i = 1; i < all->count; i++) {
        struct merit m = merit_of(&all->items[i], ask);

        if (!is_better(&m, &most)) continue;
        best = &all->items[i];
        most = m;
    }
    return best;
}

void gpus_print_missing(const struct gpus *all, uint32_t asked, char why[GPUS_WHY_BYTES]) {
    if (all->count == 1)
        snprintf(why, GPUS_WHY_BYTES, "salusd has no GPU %u, only GPU 0", asked - 1);
    else
        snprintf(why, GPUS_WHY_BYTES, "salusd has no GPU %u, only GPUs 0 to %u", asked - 1,
                 all->count - 1);
}

/* ---- queries -------------------------------------------------------------------------------- */

struct gpu *gpus_find(struct gpus *all, uint64_t number) {
    return number < all->count ? &all->items[number] : NULL;
}

struct gpu *gpus_of_process(struct gpus *all, uid_t uid, pid_t pid) {
    const struct list *pos;

    if (pid == 0) return NULL;
    for (uint32_t i = 0; i < all->count; i++)
        list_each(pos, &all->items[i].attachments.list) {
            const struct attachment *a = list_entry(pos, struct attachment, link);

            if (a->client && a->job.uid == uid && a->job.pid == pid) return &all->items[i];
        }
    return NULL;
}

bool gpus_any_ready(const struct gpus *all) {
    for (uint32_t i = 0; i < all->count; i++)
        if (worker_ready(&all->items[i].worker)) return true;
    return false;
}

bool gpus_given_up(const struct gpus *all) {
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].worker.state != WORKER_FAILED) return false;
    return true;
}

const struct gpu *gpus_first_in_trouble(const struct gpus *all) {
    for (uint32_t i = 0; i < all->count; i++)
        if (!worker_ready(&all->items[i].worker)) return &all->items[i];
    return NULL;
}

void gpus_print_trouble(const struct gpus *all, const struct gpu *g, char *out, size_t cap) {
    if (all->count == 1)
        snprintf(out, cap, "%s", g->worker.trouble);
    else
        snprintf(out, cap, "GPU %u: %s", g->number, g->worker.trouble);
}

/* ---- jobs on any GPU ------------------------------------------------------------------------- */

uint32_t gpus_next_job(struct gpus *all) {
    if (++all->last_job == 0) all->last_job = 1;
    return all->last_job;
}

struct attachment *gpus_find_job(struct gpus *all, uint64_t job_id, struct gpu **gpu) {
    for (uint32_t i = 0; i < all->count && job_id < WIRE_TRIAL_JOB; i++) {
        struct attachment *a = attachments_find(&all->items[i].attachments, (uint32_t)job_id);

        if (!a) continue;
        *gpu = &all->items[i];
        return a;
    }
    return NULL;
}

struct attachment *gpus_job_after(struct gpus *all, uint64_t after, struct gpu **gpu) {
    struct attachment *lowest = NULL;
    struct list *pos;

    for (uint32_t i = 0; i < all->count; i++)
        list_each(pos, &all->items[i].attachments.list) {
            struct attachment *a = list_entry(pos, struct attachment, link);

            if (a->job_id <= after || a->job_id == WIRE_TRIAL_JOB) continue;
            if (lowest && a->job_id >= lowest->job_id) continue;
            lowest = a;
            *gpu = &all->items[i];
        }
    return lowest;
}

void gpus_forget(struct gpus *all, const struct control *requester) {
    for (uint32_t i = 0; i < all->count; i++)
        changes_forget(&all->items[i].changes, requester);
}
