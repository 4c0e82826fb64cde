/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing arrays of nodes and jobs, and the order of jobs.
 */
#include "daemon/sim/place/jobset.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/base/prng.h"

#define ROOM_FIRST 64u
#define PI 3.14159265358979323846

enum { STREAM_TOLD_UTIL = 900, STREAM_TOLD_MEMORY }; /* each uses two streams */

void jobset_init(struct jobset *s) {
    *s = (struct jobset){0};
}

void jobset_finish(struct jobset *s) {
    free(s->nodes);
    free(s->jobs);
    jobset_init(s);
}

/* Makes space for one more element. NULL if memory is short; the array is then unchanged. */
static void *room(void *array, size_t each, uint32_t count, uint32_t *have) {
    if (count < *have) return array;
    uint32_t more = *have ? 2 * *have : ROOM_FIRST;
    void *grown = realloc(array, more * each);
    if (grown) *have = more;
    return grown;
}

int jobset_add_node(struct jobset *s, const struct jobset_node *node) {
    if (s->node_count == JOBSET_NODES_MOST) return -E2BIG;
    struct jobset_node *nodes = room(s->nodes, sizeof(*nodes), s->node_count, &s->node_room);
    if (!nodes) return -ENOMEM;
    s->nodes = nodes;
    nodes[s->node_count] = *node;
    nodes[s->node_count++].first_gpu = s->gpu_count;
    s->gpu_count += node->gpu_count;
    return 0;
}

int jobset_add_job(struct jobset *s, const struct jobset_job *job) {
    if (s->job_count == JOBSET_JOBS_MOST) return -E2BIG;
    struct jobset_job *jobs = room(s->jobs, sizeof(*jobs), s->job_count, &s->job_room);
    if (!jobs) return -ENOMEM;
    s->jobs = jobs;
    jobs[s->job_count++] = *job;
    return 0;
}

int jobset_add_gpus(struct jobset *s, uint32_t gpus, uint32_t per_node, uint64_t gpu_bytes) {
    int err = 0;
    while (!err && gpus) {
        struct jobset_node node = {.gpu_count = gpus < per_node ? gpus : per_node,
                                   .gpu_bytes = gpu_bytes,
                                   .cpu_milli = JOBSET_MILLI_MOST,
                                   .memory_bytes = JOBSET_BYTES_MOST};
        gpus -= node.gpu_count;
        err = jobset_add_node(s, &node);
    }
    return err;
}

uint64_t jobset_label(struct jobset *s, const char *model) {
    uint32_t i = 0;
    while (i < s->model_count && strcmp(s->models[i], model) != 0)
        i++;
    if (i < s->model_count) return 1ull << i;
    if (i == JOBSET_MODELS || strlen(model) >= JOBSET_MODEL_BYTES) return 0;
    strcpy(s->models[s->model_count++], model);
    return 1ull << i;
}

/* Bottom-up merge sort: stable, and its worst case equals its best. */
static void merge(const struct jobset_job *from, struct jobset_job *to, size_t low, size_t middle,
                  size_t high) {
    size_t a = low, b = middle;
    for (size_t i = low; i < high; i++) {
        bool left = a < middle && (b >= high || from[a].arrival_s <= from[b].arrival_s);
        to[i] = left ? from[a++] : from[b++];
    }
}

static bool is_sorted(const struct jobset *s) {
    for (uint32_t i = 1; i < s->job_count; i++)
        if (s->jobs[i].arrival_s < s->jobs[i - 1].arrival_s) return false;
    return true;
}

int jobset_sort(struct jobset *s) {
    size_t count = s->job_count;
    if (is_sorted(s)) return 0;
    struct jobset_job *other = malloc(s->job_room * sizeof(*other));
    if (!other) return -ENOMEM;
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t low = 0; low < count; low += 2 * run) {
            size_t middle = low + run < count ? low + run : count;
            size_t high = low + 2 * run < count ? low + 2 * run : count;
            merge(s->jobs, other, low, middle, high);
        }
        struct jobset_job *swap = s->jobs;
        s->jobs = other;
        other = swap;
    }
    free(other);
    return 0;
}

/* ---- reported needs -------------------------------------------------------------------------- */

/* The Box-Muller transform. */
double jobset_normal(uint64_t seed, unsigned stream, uint64_t n) {
    double u = prng_unit(prng_at(seed, stream, 2 * n));
    double v = prng_unit(prng_at(seed, stream, 2 * n + 1));
    return sqrt(-2 * log(u)) * cos(2 * PI * v);
}

/* Multiplies both memories by a factor; their sum stays within the largest GPU. */
static void tell_memory(struct jobset_job *j, double factor, uint64_t largest) {
    double bytes = (double)(j->is.persistent_bytes + j->is.ephemeral_bytes);
    if (bytes * factor > (double)largest) factor = fmax(1, (double)largest / bytes);
    if (bytes * factor > (double)JOBSET_BYTES_MOST) factor = 1;
    j->told.persistent_bytes = (uint64_t)((double)j->is.persistent_bytes * factor);
    j->told.ephemeral_bytes = (uint64_t)((double)j->is.ephemeral_bytes * factor);
}

void jobset_tell(struct jobset *s, const struct jobset_error *error) {
    uint64_t largest = 0;
    for (uint32_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].gpu_bytes > largest) largest = s->nodes[i].gpu_bytes;
    for (uint32_t i = 0; i < s->job_count; i++) {
        struct jobset_job *j = &s->jobs[i];
        double memory = exp(error->memory * jobset_normal(error->seed, STREAM_TOLD_MEMORY, i));
        double util = exp(error->util * jobset_normal(error->seed, STREAM_TOLD_UTIL, i));
        if (j->told.util <= 0) j->told.util = fmin(1, fmax(j->is.util * util, JOBSET_UTIL_LEAST));
        if (!j->told.persistent_bytes && !j->told.ephemeral_bytes) tell_memory(j, memory, largest);
    }
}
