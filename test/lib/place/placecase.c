/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends events one at a time.
 */
#include "test/lib/place/placecase.h"

#include <stdio.h>
#include <stdlib.h>

void placecase_init(struct placecase *c, const struct place_config *config) {
    char why[160];
    *c = (struct placecase){0};
    if (!place_create(&c->p, config, why, sizeof(why))) return;
    fprintf(stderr, "placecase: %s\n", why);
    abort();
}

void placecase_finish(struct placecase *c) {
    place_destroy(c->p);
}

const char *placecase_try(struct placecase *c, struct place_event e) {
    if (place_step(c->p, c->now_ns, &e, 1, &c->answer)) abort();
    const char *broken = place_check(c->p);
    if (broken) fprintf(stderr, "placecase: %s\n", broken);
    if (broken) abort();
    return c->answer.wrong_count ? c->answer.wrong[0].why : NULL;
}

void placecase_tell(struct placecase *c, struct place_event e) {
    placecase_tell_all(c, &e, 1);
}

void placecase_tell_all(struct placecase *c, const struct place_event *events, size_t count) {
    if (place_step(c->p, c->now_ns, events, count, &c->answer)) abort();
    const char *broken = c->answer.wrong_count ? c->answer.wrong[0].why : place_check(c->p);
    if (!broken) return;
    fprintf(stderr, "placecase: %s\n", broken);
    abort();
}

void placecase_node_of(struct placecase *c, struct place_node node, uint64_t gib) {
    struct place_gpu gpus[PLACE_GPUS_A_NODE];
    for (uint32_t g = 0; g < node.gpu_count; g++)
        gpus[g] = (struct place_gpu){.memory_bytes = gib * PLACECASE_GIB};
    node.gpus = gpus;
    placecase_tell(c, (struct place_event){.kind = PLACE_NODE, .node = &node});
}

void placecase_node(struct placecase *c, uint64_t id, uint32_t gpus, uint64_t gib) {
    placecase_node_of(
        c,
        (struct place_node){
            .id = id, .cpu_milli = 64000, .memory_bytes = 512 * PLACECASE_GIB, .gpu_count = gpus},
        gib);
}

struct place_job placecase_job(uint64_t id, double util, uint64_t gib) {
    return (struct place_job){.id = id,
                              .tasks = 1,
                              .gpus = 1,
                              .util = util,
                              .persistent_bytes = gib * PLACECASE_GIB,
                              .kind = PLACE_TRAINING};
}

struct place_job placecase_service(uint64_t id, double util, uint64_t gib, double slack) {
    struct place_job job = placecase_job(id, util, gib);
    job.kind = PLACE_SERVICE;
    job.slack = slack;
    return job;
}

void placecase_come(struct placecase *c, struct place_job job) {
    placecase_tell(c, (struct place_event){.kind = PLACE_JOB, .job = &job});
}

void placecase_go(struct placecase *c, uint64_t id) {
    placecase_at(c, PLACE_GONE, id);
}

void placecase_at(struct placecase *c, enum place_event_kind kind, uint64_t id) {
    placecase_tell(c, (struct place_event){.kind = kind, .id = id});
}

const struct place_action *placecase_said(const struct placecase *c, uint64_t id) {
    for (size_t i = 0; i < c->answer.action_count; i++)
        if (c->answer.actions[i].id == id) return &c->answer.actions[i];
    return NULL;
}

int placecase_on(const struct placecase *c, uint64_t id) {
    const struct place_action *a = placecase_said(c, id);
    if (!a || a->kind != PLACE_START) return -1;
    return (int)(100 * a->where[0].node + a->where[0].gpu);
}

struct place_use placecase_use(const struct placecase *c, uint64_t node, uint32_t gpu) {
    struct place_use use;
    if (place_look(c->p, &(struct place_where){node, gpu}, &use)) abort();
    return use;
}

double placecase_cost(const struct placecase *c, struct place_job job, uint64_t node,
                      uint32_t gpu) {
    return place_cost(c->p, &job, &(struct place_where){node, gpu});
}
