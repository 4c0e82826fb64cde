/* SPDX-License-Identifier: Apache-2.0
 *
 * The common part of all algorithms: configurations, and the model of those that use one.
 */
#include "daemon/sim/tune/tuner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_MODEL 100u
#define MODEL_LEAST 16u /* configurations seen before the model is used */
#define MODEL_RANDOM 3u /* one in this many is still drawn at random */
#define MODEL_BEST 0.15 /* fraction of the configurations that counts as good */

int tuner_init(struct tuner *t, const struct tuner_kind *kind, const struct work *work,
               uint32_t trials) {
    *t = (struct tuner){.work = work, .kind = kind, .trials = trials};
    t->own = calloc(1, kind->own_bytes);
    return t->own ? 0 : -ENOMEM;
}

void tuner_finish(struct tuner *t) {
    if (t->own && t->kind->finish) t->kind->finish(t);
    free(t->own);
    free(t->configs);
    free(t->seen.at);
}

/* ---- points ---------------------------------------------------------------------------------- */

bool tuner_push(struct tuner *t, struct tuner_points *points, uint32_t config, double accuracy) {
    if (points->count == points->room) {
        uint32_t room = points->room ? 2 * points->room : 64;
        struct tuner_point *grown = realloc(points->at, room * sizeof(*grown));
        if (!grown) {
            t->err = -ENOMEM;
            return false;
        }
        points->at = grown;
        points->room = room;
    }
    points->at[points->count++] = (struct tuner_point){.config = config, .accuracy = accuracy};
    return true;
}

static int is_behind(const void *a, const void *b) {
    const struct tuner_point *x = a, *y = b;
    if (x->accuracy != y->accuracy) return x->accuracy < y->accuracy ? 1 : -1;
    return (x->config > y->config) - (x->config < y->config);
}

void tuner_sort(struct tuner_points *points) {
    if (points->count) qsort(points->at, points->count, sizeof(*points->at), is_behind);
}

/* Updates a configuration's accuracy; only the latest, after the longest training, counts. */
static void see(struct tuner *t, uint32_t config, double accuracy) {
    for (uint32_t i = 0; i < t->seen.count; i++)
        if (t->seen.at[i].config == config) {
            t->seen.at[i].accuracy = accuracy;
            return;
        }
    tuner_push(t, &t->seen, config, accuracy);
}

bool tuner_next(struct tuner *t, struct tuner_run *out) {
    return !t->err && t->kind->next(t, out) && !t->err;
}

void tuner_told(struct tuner *t, const struct tuner_run *run, double accuracy) {
    if (t->kind->model) see(t, run->config, accuracy);
    t->kind->told(t, run, accuracy);
}

/* ---- configurations -------------------------------------------------------------------------- */

static struct work_config *add(struct tuner *t) {
    if (t->config_count == t->config_room) {
        uint32_t room = t->config_room ? 2 * t->config_room : 64;
        struct work_config *grown = realloc(t->configs, room * sizeof(*grown));
        if (!grown) {
            t->err = -ENOMEM;
            return NULL;
        }
        t->configs = grown;
        t->config_room = room;
    }
    return &t->configs[t->config_count++];
}

uint32_t tuner_draw_near(struct tuner *t, uint32_t config) {
    struct work_config *c = add(t);
    if (!c) return TUNER_NONE;
    work_near(t->work, &t->configs[config], t->config_count - 1, c);
    return t->config_count - 1;
}

/* Approximates BOHB's kernel density over the good configurations: selects one and draws a point
 * near it. */
static uint32_t draw_good(struct tuner *t, double u) {
    uint32_t good = (uint32_t)(t->seen.count * MODEL_BEST);
    tuner_sort(&t->seen);
    return tuner_draw_near(t, t->seen.at[(uint32_t)(u * good)].config);
}

uint32_t tuner_draw(struct tuner *t) {
    uint32_t number = t->config_count;
    double u = work_unit(t->work, STREAM_MODEL, number) * MODEL_RANDOM;
    if (t->kind->model && t->seen.count >= MODEL_LEAST && u >= 1)
        return draw_good(t, (u - 1) / (MODEL_RANDOM - 1));
    struct work_config *c = add(t);
    if (!c) return TUNER_NONE;
    work_random(t->work, number, c);
    return number;
}

uint32_t tuner_draw_lattice(struct tuner *t) {
    struct work_config *c = add(t);
    if (!c) return TUNER_NONE;
    work_lattice(t->config_count - 1, c);
    return t->config_count - 1;
}
