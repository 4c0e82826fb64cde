/* SPDX-License-Identifier: Apache-2.0
 *
 * A plain implementation of placement as documented (daemon/place/place.h, the policies' comments):
 * it tries every job in every step on every GPU, and computes all sums anew. It shares no code with
 * the library, accepts only valid events, and is for small clusters. Owner: the test. Thread: the
 * test's.
 */
#ifndef TEST_LIB_PLACEREF_H
#define TEST_LIB_PLACEREF_H

#include "daemon/place/place.h"

#define PLACEREF_NODES 12u
#define PLACEREF_GPUS 8u /* GPUs of a node */
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

/* Every parameter must be set: presets are not applied. Aborts when out of memory. */
struct placeref *placeref_create(const struct place_config *config);
void placeref_destroy(struct placeref *r);

/* All events must be valid. Returns the number of actions. */
uint32_t placeref_step(struct placeref *r, int64_t now_ns, const struct place_event *events,
                       size_t count, const struct placeref_action **actions);

#endif
