/* SPDX-License-Identifier: Apache-2.0
 *
 * A small cluster to which anything happens at random: nodes come and go and are shut, jobs come,
 * end, fail, want more memory, are measured; some events cannot be. What the library says is held
 * against the plain reference (placeref.h), against a ledger of who is where, and against its own
 * invariants.
 *
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
    bool honest; /* no MEASURED, no RUNS: GPUs hold what they were given */
    bool gentle; /* no MEMORY */
    struct place *p;
    struct placeref *ref;
    struct place_config config;
    int64_t now_ns;
    uint64_t names;
    struct placeworld_node nodes[PLACEREF_NODES];
    uint32_t order[PLACEREF_NODES], order_count; /* of nodes, as they came */
    struct placeworld_job jobs[PLACEREF_JOBS];
    struct place_event events[PLACEWORLD_EVENTS];
    bool bad[PLACEWORLD_EVENTS];
    uint32_t event_count;
    struct place_job new_jobs[PLACEWORLD_EVENTS];
    struct place_where new_where[PLACEWORLD_EVENTS][PLACEREF_SEATS];
    uint64_t digest; /* of all answers, without names */
    uint64_t started, stopped, refused, waiting;
    uint64_t acted[PLACE_EVENTS];
    char broken[160]; /* empty: nothing is */
};

/* The seed says all but the policy; names hang on the salt. */
void placeworld_init(struct placeworld *w, uint64_t seed, const char *policy, uint64_t salt);
void placeworld_finish(struct placeworld *w);

/* Something happens, and is held against what it must be. False: `broken` says what is wrong. */
bool placeworld_step(struct placeworld *w);

uint64_t placeworld_draw(struct placeworld *w, uint64_t below);
/* The world's name of a job or a node that was told. */
struct place_job placeworld_job(struct placeworld *w);

#endif
