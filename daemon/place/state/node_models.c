/* SPDX-License-Identifier: Apache-2.0
 *
 * Node models; a cluster has only a few, so they are searched linearly.
 */
#include "daemon/place/state/node_models.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/place/state/place_growth.h"

void node_models_finish(struct node_models *m) {
    free(m->at);
}

int node_models_reserve(struct node_models *m, uint64_t more) {
    int err = 0;
    m->at = place_growth_for(m->at, &m->capacity, m->count + more, sizeof(*m->at), &err);
    return err;
}

static struct node_model make_of(const struct place_node *node) {
    struct node_model make = {.cpu_milli = node->cpu_milli,
                              .memory_bytes = node->memory_bytes,
                              .labels = node->labels,
                              .gpu_count = node->gpu_count};
    for (uint32_t i = 0; i < node->gpu_count; i++) {
        uint32_t at = i;
        for (; at && make.gpu_bytes[at - 1] < node->gpus[i].memory_bytes; at--)
            make.gpu_bytes[at] = make.gpu_bytes[at - 1];
        make.gpu_bytes[at] = node->gpus[i].memory_bytes;
    }
    return make;
}

static bool same(const struct node_model *a, const struct node_model *b) {
    return a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           a->labels == b->labels && a->gpu_count == b->gpu_count &&
           !memcmp(a->gpu_bytes, b->gpu_bytes, sizeof(a->gpu_bytes));
}

uint32_t node_models_of(struct node_models *m, const struct place_node *node) {
    struct node_model make = make_of(node);
    for (uint32_t i = 0; i < m->count; i++)
        if (same(&m->at[i], &make)) return i;
    m->at[m->count] = make;
    return m->count++;
}

void node_models_come(struct node_models *m, uint32_t make) {
    struct node_model *it = &m->at[make];
    it->open++;
    if (++it->here > it->most) it->most = it->here;
}

void node_models_go(struct node_models *m, uint32_t make, bool open) {
    m->at[make].here--;
    if (open) m->at[make].open--;
}

void node_models_set_open(struct node_models *m, uint32_t make, bool open) {
    if (open)
        m->at[make].open++;
    else
        m->at[make].open--;
}

/* ---- capacity -------------------------------------------------------------------------------- */

static bool labels_fit(const struct node_model *make, const struct demand *d) {
    return !d->labels || d->labels & make->labels;
}

static uint32_t large_enough(const struct node_model *make, const struct demand *d) {
    uint32_t count = 0;
    while (count < make->gpu_count && make->gpu_bytes[count] >= demand_bytes(d))
        count++;
    return count;
}

uint64_t node_models_most(const struct node_models *m, const struct demand *d) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct node_model *make = &m->at[i];
        if (!labels_fit(make, d) || make->gpu_count < d->gpus) continue;
        if (make->gpu_bytes[d->gpus - 1] > most) most = make->gpu_bytes[d->gpus - 1];
    }
    return most;
}

static void at_most(uint32_t *tasks, uint64_t has, uint64_t wants) {
    if (wants && has / wants < *tasks) *tasks = (uint32_t)(has / wants);
}

uint32_t node_models_hold(const struct node_model *make, const struct demand *d) {
    if (!labels_fit(make, d)) return 0;
    uint32_t tasks = large_enough(make, d) / d->gpus;
    at_most(&tasks, make->cpu_milli, d->cpu_milli);
    at_most(&tasks, make->memory_bytes, d->memory_bytes);
    return tasks;
}

bool node_models_open_hold(const struct node_models *m, const struct demand *d) {
    uint64_t tasks = 0;
    for (uint32_t i = 0; i < m->count; i++)
        if (m->at[i].open) tasks += (uint64_t)m->at[i].open * node_models_hold(&m->at[i], d);
    return tasks >= d->tasks;
}

/* How far a job's demands, in this order, are met by some model. */
enum found { NOTHING, LABELS, BYTES, GPUS, TASK, ALL };

static const char *const faults[] = {
    [NOTHING] = "no node has a label that the job asks for",
    [LABELS] = "no GPU that the job may use has as much memory as it needs",
    [BYTES] = "no node has as many such GPUs as a task needs",
    [GPUS] = "no node has as much CPU or memory as a task needs",
    [TASK] = "the cluster never had enough nodes for all tasks of the job",
};

static enum found look(const struct node_model *make, const struct demand *d) {
    if (!labels_fit(make, d)) return NOTHING;
    uint32_t gpus = large_enough(make, d);
    if (!gpus) return LABELS;
    if (gpus < d->gpus) return BYTES;
    return node_models_hold(make, d) ? TASK : GPUS;
}

const char *node_models_fault(const struct node_models *m, const struct demand *d) {
    enum found best = NOTHING;
    uint64_t tasks = 0;
    if (!m->count) return NULL;
    for (uint32_t i = 0; i < m->count; i++) {
        enum found found = look(&m->at[i], d);
        if (found > best) best = found;
        tasks += (uint64_t)m->at[i].most * node_models_hold(&m->at[i], d);
    }
    return tasks >= d->tasks ? NULL : faults[best];
}
