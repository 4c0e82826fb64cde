/* SPDX-License-Identifier: Apache-2.0
 *
 * Each policy through random events, step by step beside the plain reference: the same jobs on the
 * same GPUs at the same cost, and none lost.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "test/lib/placeworld.h"

#define SEEDS 20u
#define STEPS 600u

static void run_world(const char *policy, uint64_t seed, uint32_t steps) {
    struct placeworld *w = calloc(1, sizeof(*w));
    cr_assert(w);
    placeworld_init(w, seed, policy, seed);
    for (uint32_t i = 0; i < steps; i++)
        if (!placeworld_step(w))
            cr_assert_fail("%s, seed %lu, step %u: %s", policy, (unsigned long)seed, i, w->broken);
    placeworld_finish(w);
    free(w);
}

Test(place_world, as_the_reference_does) {
    for (const char *const *policy = place_policies(); *policy; policy++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            run_world(*policy, seed, STEPS);
}
