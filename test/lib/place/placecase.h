/* SPDX-License-Identifier: Apache-2.0
 *
 * A cluster that gets event by event, for tests that state the expected answer. Memory is in GiB.
 * Aborts if a valid event is rejected. Owner: the test. Thread: the test's.
 */
#ifndef TEST_LIB_PLACECASE_H
#define TEST_LIB_PLACECASE_H

#include "daemon/place/place.h"

#define PLACECASE_GIB ((uint64_t)1 << 30)
#define PLACECASE_S 1000000000ll

struct placecase {
    struct place *p;
    int64_t now_ns;
    struct place_answer answer; /* latest answer */
};

void placecase_init(struct placecase *c, const struct place_config *config);
void placecase_finish(struct placecase *c);

/* Sends one event; returns what was wrong with it, or NULL. */
const char *placecase_try(struct placecase *c, struct place_event e);
/* Sends one valid event. */
void placecase_tell(struct placecase *c, struct place_event e);
void placecase_tell_all(struct placecase *c, const struct place_event *events, size_t count);

/* A node with this number of GPUs of this memory; 64 CPUs, 512 GiB, no labels. */
void placecase_node(struct placecase *c, uint64_t id, uint32_t gpus, uint64_t gib);
void placecase_node_of(struct placecase *c, struct place_node node, uint64_t gib);

/* A training with one GPU. */
struct place_job placecase_job(uint64_t id, double util, uint64_t gib);
struct place_job placecase_service(uint64_t id, double util, uint64_t gib, double slack);
void placecase_come(struct placecase *c, struct place_job job);
void placecase_go(struct placecase *c, uint64_t id);
void placecase_at(struct placecase *c, enum place_event_kind kind, uint64_t id);

/* The part of the latest answer about a job; NULL: none. */
const struct place_action *placecase_said(const struct placecase *c, uint64_t id);
/* Returns 100 * node + GPU of the first place where the latest answer starts the job; -1:
 * nowhere. */
int placecase_on(const struct placecase *c, uint64_t id);

struct place_use placecase_use(const struct placecase *c, uint64_t node, uint32_t gpu);
double placecase_cost(const struct placecase *c, struct place_job job, uint64_t node, uint32_t gpu);

#endif
