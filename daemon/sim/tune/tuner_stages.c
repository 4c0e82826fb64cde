/* SPDX-License-Identifier: Apache-2.0
 *
 * Successive halving and Hyperband (Jamieson, Talwalkar 2016; Li et al. 2017). The best third of a
 * stage continues for three times as long; each stage is a TrialGroup. Brackets follow one another,
 * and start again from the first, until the target is reached.
 */
#include <stdlib.h>

#include "daemon/sim/tune/tuners.h"

#define BRACKETS 5u /* R = 3^4 */

struct stages {
    struct tuner_points in, out; /* configurations of this stage; those of them that are finished */
    uint32_t begun;
    uint32_t bracket; /* s */
    uint32_t epochs;  /* the epoch to which this stage trains */
    bool started;
};

static uint32_t power(uint32_t n) {
    return n ? TUNER_ETA * power(n - 1) : 1;
}

/* n = ceil((s_max + 1) / (s + 1) eta^s) configurations, starting with R eta^-s epochs. */
static bool begin_bracket(struct tuner *t, struct stages *own) {
    uint32_t s = own->bracket;
    uint32_t count = (BRACKETS * power(s) + s) / (s + 1);
    own->epochs = WORK_EPOCHS / power(s);
    own->in.count = 0;
    while (own->in.count < count) {
        uint32_t config = tuner_draw(t);
        if (config == TUNER_NONE || !tuner_push(t, &own->in, config, 0)) return false;
    }
    return true;
}

static bool go_on(struct tuner *t, struct stages *own) {
    uint32_t kept = own->out.count / TUNER_ETA;
    own->in.count = 0;
    tuner_sort(&own->out);
    for (uint32_t i = 0; i < kept; i++)
        if (!tuner_push(t, &own->in, own->out.at[i].config, 0)) return false;
    own->epochs *= TUNER_ETA;
    return true;
}

static bool next_stage(struct tuner *t, struct stages *own, uint32_t lowest) {
    bool over = own->epochs >= WORK_EPOCHS || own->out.count < TUNER_ETA;
    bool begun;
    if (own->started && !over) {
        begun = go_on(t, own);
    } else {
        own->bracket = own->started && own->bracket > lowest ? own->bracket - 1 : BRACKETS - 1;
        own->started = true;
        begun = begin_bracket(t, own);
    }
    own->begun = own->out.count = 0;
    t->group++;
    return begun;
}

static bool next_run(struct tuner *t, struct tuner_run *out, uint32_t lowest) {
    struct stages *own = t->own;
    if (own->begun == own->in.count) {
        if (own->out.count < own->in.count) return false;
        if (!next_stage(t, own, lowest)) return false;
    }
    bool first = own->epochs == WORK_EPOCHS / power(own->bracket);
    *out = (struct tuner_run){.config = own->in.at[own->begun++].config,
                              .from = first ? 0 : own->epochs / TUNER_ETA,
                              .to = own->epochs,
                              .group = t->group};
    return true;
}

static bool next_hyperband(struct tuner *t, struct tuner_run *out) {
    return next_run(t, out, 0);
}

static bool next_halving(struct tuner *t, struct tuner_run *out) {
    return next_run(t, out, BRACKETS - 1);
}

static void told(struct tuner *t, const struct tuner_run *run, double accuracy) {
    struct stages *own = t->own;
    tuner_push(t, &own->out, run->config, accuracy);
}

static void finish(struct tuner *t) {
    struct stages *own = t->own;
    free(own->in.at);
    free(own->out.at);
}

const struct tuner_kind tuner_halving = {.name = "halving",
                                         .own_bytes = sizeof(struct stages),
                                         .finish = finish,
                                         .next = next_halving,
                                         .told = told};
const struct tuner_kind tuner_hyperband = {.name = "hyperband",
                                           .own_bytes = sizeof(struct stages),
                                           .finish = finish,
                                           .next = next_hyperband,
                                           .told = told};
const struct tuner_kind tuner_syncbohb = {.name = "syncbohb",
                                          .model = true,
                                          .own_bytes = sizeof(struct stages),
                                          .finish = finish,
                                          .next = next_hyperband,
                                          .told = told};
