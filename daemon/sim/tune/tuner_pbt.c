/* SPDX-License-Identifier: Apache-2.0
 *
 * Population based training (Jaderberg et al. 2017), in generations. Every three epochs,
 * configurations near those of the best quarter replace the worst quarter and continue with the
 * weights of the best. Here they continue with what the new configuration would have learnt by
 * then. After the last epoch another population begins.
 */
#include <stdlib.h>

#include "daemon/sim/tune/tuners.h"

#define POPULATION 8u
#define STEP 3u /* epochs per generation */

struct pbt {
    struct tuner_points in, out;
    uint32_t begun, epoch;
};

static bool begin_population(struct tuner *t, struct pbt *own) {
    own->epoch = 0;
    own->in.count = 0;
    while (own->in.count < POPULATION) {
        uint32_t config = tuner_draw(t);
        if (config == TUNER_NONE || !tuner_push(t, &own->in, config, 0)) return false;
    }
    return true;
}

static bool go_on(struct tuner *t, struct pbt *own) {
    uint32_t quarter = POPULATION / 4;
    tuner_sort(&own->out);
    own->in.count = 0;
    for (uint32_t i = 0; i < POPULATION; i++) {
        uint32_t config = own->out.at[i].config;
        if (i >= POPULATION - quarter)
            config = tuner_draw_near(t, own->out.at[i - (POPULATION - quarter)].config);
        if (config == TUNER_NONE || !tuner_push(t, &own->in, config, 0)) return false;
    }
    own->epoch += STEP;
    return true;
}

static bool next_generation(struct tuner *t, struct pbt *own) {
    bool first = own->in.count == 0 || own->epoch + STEP >= WORK_EPOCHS;
    bool begun = first ? begin_population(t, own) : go_on(t, own);
    own->begun = own->out.count = 0;
    t->group++;
    return begun;
}

static bool next_run(struct tuner *t, struct tuner_run *out) {
    struct pbt *own = t->own;
    if (own->begun == own->in.count) {
        if (own->out.count < own->in.count) return false;
        if (!next_generation(t, own)) return false;
    }
    *out = (struct tuner_run){.config = own->in.at[own->begun++].config,
                              .from = own->epoch,
                              .to = own->epoch + STEP,
                              .group = t->group};
    return true;
}

static void told(struct tuner *t, const struct tuner_run *run, double accuracy) {
    struct pbt *own = t->own;
    tuner_push(t, &own->out, run->config, accuracy);
}

static void finish(struct tuner *t) {
    struct pbt *own = t->own;
    free(own->in.at);
    free(own->out.at);
}

const struct tuner_kind tuner_pbt = {.name = "pbt",
                                     .own_bytes = sizeof(struct pbt),
                                     .finish = finish,
                                     .next = next_run,
                                     .told = told};
