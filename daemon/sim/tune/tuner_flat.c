/* SPDX-License-Identifier: Apache-2.0
 *
 * Grid and random search: one TrialGroup with the given number of trials, each trained to the end.
 */
#include "daemon/sim/tune/tuners.h"

struct flat {
    uint32_t begun;
};

static bool next_one(struct tuner *t, struct tuner_run *out, uint32_t (*draw)(struct tuner *)) {
    struct flat *own = t->own;
    if (own->begun == t->trials) return false;
    own->begun++;
    *out = (struct tuner_run){.config = draw(t), .to = WORK_EPOCHS, .group = 1};
    return true;
}

static bool next_lattice(struct tuner *t, struct tuner_run *out) {
    return next_one(t, out, tuner_draw_lattice);
}

static bool next_random(struct tuner *t, struct tuner_run *out) {
    return next_one(t, out, tuner_draw);
}

static void told(struct tuner *t, const struct tuner_run *run, double accuracy) {}

const struct tuner_kind tuner_grid = {
    .name = "grid", .own_bytes = sizeof(struct flat), .next = next_lattice, .told = told};
const struct tuner_kind tuner_random = {
    .name = "random", .own_bytes = sizeof(struct flat), .next = next_random, .told = told};
