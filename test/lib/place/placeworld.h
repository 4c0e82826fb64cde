/* SPDX-License-Identifier: Apache-2.0
 *
 * A small cluster with random events: nodes come, go and are closed; jobs come, end, fail, want
 * more memory and are measured; some events are invalid. The library's answers are compared with
 * the plain reference (placeref.h), with a ledger of placements, and with the library's invariants.
 * Owner: the test. Thread: the test's.
 */
#ifndef TEST_LIB_PLACEWORLD_H
#define TEST_LIB_PLACEWORLD_H

#include "daemon/place/place.h"
#include "test/lib/place/placeref.h"

#define PLACEWORLD_EVENTS 8u

struct placeworld_job {
    bool told, runs, refused;
    struct place_job job;
    uint32_t count;
    struct place_where where[PLACEREF_SEATS];
};

struct placeworld_node {
    bool here, shut;
    struct place_node node;
    struct place_gpu gpus[PLACEREF_GPUS];
};

struct placeworld {
    uint64_t seed, draws, salt;
    bool honest; /* no MEASURED or RUNS events: GPUs hold exactly what they were given */
    bool gentle; /* no MEMORY events */
    struct place *p;
    struct placeref *ref;
    struct place_config config;
    int64_t now_ns;
    uint64_t names;
    struct placeworld_node nodes[PLACEREF_NODES];
    uint32_t order[PLACEREF_NODES], order_count; /* nodes in the order of their arrival */
    struct placeworld_job jobs[PLACEREF_JOBS];
    struct place_event events[PLACEWORLD_EVENTS];
    bool bad[PLACEWORLD_EVENTS];
    uint32_t event_count;
    struct place_job new_jobs[PLACEWORLD_EVENTS];
    struct place_where new_where[PLACEWORLD_EVENTS][PLACEREF_SEATS];
    uint64_t digest; /* digest of all answers, without names */
    uint64_t started, stopped, refused, waiting;
    uint64_t acted[PLACE_EVENTS];
    char broken[160]; /* the invariant that is broken; empty: none */
};

/* The seed determines everything but the policy; names depend on the salt. */
void placeworld_init(struct placeworld *w, uint64_t seed, const char *policy, uint64_t salt);
void placeworld_finish(struct placeworld *w);

/* Draws up to four events and checks the answer to them. False: `broken` says what is wrong. */
bool placeworld_step(struct placeworld *w);

/* A random number below `below`. */
uint64_t placeworld_draw(struct placeworld *w, uint64_t below);
/* A random job with a new name; the world does not know it. */
struct place_job placeworld_job(struct placeworld *w);

#endif
