/* SPDX-License-Identifier: Apache-2.0
 *
 * Placement as it is written down (daemon/place/place.h, the policies' comments), done plainly:
 * every job is tried in every step, on every GPU, and all sums are made anew. It shares no code
 * with the library, knows events that can be only, and is for small clusters.
 *
 * Owner: the test. Thread: the test's.
 */
#ifndef TEST_LIB_PLACEREF_H
#define TEST_LIB_PLACEREF_H

#include "daemon/place/place.h"

#define PLACEREF_NODES 12u
#define PLACEREF_GPUS 8u /* of a node */
#define PLACEREF_JOBS 64u
#define PLACEREF_SEATS (PLACEREF_NODES * PLACEREF_GPUS)

struct placeref;

struct placeref_action {
    enum place_action_kind kind;
    uint64_t id;
    uint32_t count;
    struct place_where where[PLACEREF_SEATS];
    double cost;
};

/* Nothing in the configuration may be left to a preset. Aborts without memory. */
struct placeref *placeref_create(const struct place_config *config);
void placeref_destroy(struct placeref *r);

/* All events can be. How many actions there are. */
uint32_t placeref_step(struct placeref *r, int64_t now_ns, const struct place_event *events,
                       size_t count, const struct placeref_action **actions);

#endif
