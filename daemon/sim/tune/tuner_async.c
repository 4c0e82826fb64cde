/* SPDX-License-Identifier: Apache-2.0
 *
 * ASHA (Li et al. 2020), and BOHB without stages. Whenever there is capacity, a configuration in
 * the best third of its rung that was not promoted yet continues, the highest rung first. If there
 * is none, a new configuration begins.
 */
#include <stdlib.h>

#include "daemon/sim/tune/tuners.h"

#define RUNGS 5u /* 1, 3, 9, 27, 81 epochs */

struct async {
    struct tuner_points rungs[RUNGS];
};

static const uint32_t epochs[RUNGS] = {1, 3, 9, 27, 81};

/* The best configuration that may be promoted from this rung. */
static struct tuner_point *promotable(struct tuner_points *rung) {
    uint32_t best = rung->count / TUNER_ETA;
    if (best) tuner_sort(rung);
    for (uint32_t i = 0; i < best; i++)
        if (!rung->at[i].promoted) return &rung->at[i];
    return NULL;
}

static bool next_run(struct tuner *t, struct tuner_run *out) {
    struct async *own = t->own;
    for (uint32_t rung = RUNGS - 1; rung-- > 0;) {
        struct tuner_point *p = promotable(&own->rungs[rung]);
        if (!p) continue;
        p->promoted = true;
        *out = (struct tuner_run){
            .config = p->config, .from = epochs[rung], .to = epochs[rung + 1], .group = 1};
        return true;
    }
    *out = (struct tuner_run){.config = tuner_draw(t), .to = epochs[0], .group = 1};
    return true;
}

static void told(struct tuner *t, const struct tuner_run *run, double accuracy) {
    struct async *own = t->own;
    uint32_t rung = 0;
    while (epochs[rung] < run->to)
        rung++;
    tuner_push(t, &own->rungs[rung], run->config, accuracy);
}

static void finish(struct tuner *t) {
    struct async *own = t->own;
    for (uint32_t i = 0; i < RUNGS; i++)
        free(own->rungs[i].at);
}

const struct tuner_kind tuner_asha = {.name = "asha",
                                      .async = true,
                                      .own_bytes = sizeof(struct async),
                                      .finish = finish,
                                      .next = next_run,
                                      .told = told};
const struct tuner_kind tuner_bohb = {.name = "bohb",
                                      .model = true,
                                      .async = true,
                                      .own_bytes = sizeof(struct async),
                                      .finish = finish,
                                      .next = next_run,
                                      .told = told};
