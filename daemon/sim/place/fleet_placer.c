/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects a policy of daemon/place to the simulated cluster.
 */
#include "daemon/sim/place/fleet_placer.h"

static int step(void *self, int64_t now_ns, const struct place_event *events, size_t count,
                struct place_answer *answer) {
    return place_step(self, now_ns, events, count, answer);
}

struct fleet_placer fleet_placer_of(struct place *p) {
    return (struct fleet_placer){.step = step, .self = p};
}
