/* SPDX-License-Identifier: Apache-2.0
 *
 * Derives durations of batches from times alone.
 */
#include "daemon/serve/plan/outlook/outlook.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/plan/outlook/maximum.h"

#define ROW (HISTOGRAM_BINS + 1)

static double *row(const struct outlook *o, uint32_t app) {
    return o->cdf + (size_t)app * ROW;
}

static const double *mixture(const struct outlook *o) {
    return row(o, o->config->apps);
}

int outlook_init(struct outlook *o, const struct plan_config *config) {
    *o = (struct outlook){.config = config, .changed = true};
    o->of = calloc(config->apps, sizeof(*o->of));
    o->cdf = calloc((size_t)(config->apps + 1) * ROW, sizeof(*o->cdf));
    o->own_ns = calloc((size_t)config->apps * config->size_count, sizeof(*o->own_ns));
    if (!o->of || !o->cdf || !o->own_ns) {
        outlook_finish(o);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < config->apps; i++)
        histogram_init(&o->of[i], config->window_ns == PLAN_FOREVER ? 0 : config->window_ns, 0);
    batchtime_init(&o->batchtime, (double)config->c0_ns, config->c1);
    outlook_refresh(o, 0);
    return 0;
}

void outlook_finish(struct outlook *o) {
    free(o->of);
    free(o->cdf);
    free(o->own_ns);
    o->of = NULL;
    o->cdf = NULL;
    o->own_ns = NULL;
}

/* ---- learning -------------------------------------------------------------------------------- */

void outlook_alone(struct outlook *o, uint32_t app, uint64_t ns, uint64_t now_ns) {
    histogram_add(&o->of[app], ns, now_ns);
    o->samples++;
    o->changed = true;
}

void outlook_batch(struct outlook *o, uint32_t size, uint64_t longest_ns, uint64_t ns) {
    double longest = longest_ns ? (double)longest_ns : o->size[size].longest_ns;
    batchtime_add(&o->batchtime, o->config->sizes[size], longest, (double)ns);
    o->changed = true;
}

uint64_t outlook_alone_ns(const struct outlook *o) {
    double sum_ns = 0;
    uint32_t seen = 0;
    for (uint32_t a = 0; a < o->config->apps; a++) {
        sum_ns += histogram_mean(&o->of[a]);
        seen += histogram_count(&o->of[a]) > 0;
    }
    return seen ? (uint64_t)(sum_ns / seen) : 0;
}

bool outlook_due(const struct outlook *o, uint64_t now_ns) {
    return o->changed &&
           (o->samples > 2 * o->used_samples || now_ns - o->refreshed_ns >= o->config->refresh_ns);
}

/* ---- refreshing ------------------------------------------------------------------------------ */

/* Without any samples: the assumed time. */
static void fill_prior(struct outlook *o, double *cdf) {
    uint32_t bin = histogram_bin(o->config->prior_ns);
    for (uint32_t i = 0; i < ROW; i++)
        cdf[i] = i > bin;
}

/* An application without samples is assumed to resemble the others. */
static void fill_rows(struct outlook *o) {
    uint32_t apps = o->config->apps, seen = 0;
    double *mix = row(o, apps);
    memset(mix, 0, ROW * sizeof(*mix));
    for (uint32_t a = 0; a < apps; a++) {
        if (!histogram_count(&o->of[a])) continue;
        histogram_cdf(&o->of[a], row(o, a));
        for (uint32_t i = 0; i < ROW; i++)
            mix[i] += row(o, a)[i];
        seen++;
    }
    for (uint32_t i = 0; seen && i < ROW; i++)
        mix[i] /= seen;
    if (!seen) fill_prior(o, mix);
    for (uint32_t a = 0; a < apps; a++)
        if (!histogram_count(&o->of[a])) memcpy(row(o, a), mix, ROW * sizeof(*mix));
}

/* Fills in the groups of a batch of `count` that contains a request of `app`; returns their
 * number. */
static uint32_t groups_of(const struct outlook *o, uint32_t count, uint32_t app,
                          struct maximum_of groups[2]) {
    if (!o->config->own) {
        groups[0] = (struct maximum_of){mixture(o), count};
        return 1;
    }
    groups[0] = (struct maximum_of){row(o, app), 1};
    groups[1] = (struct maximum_of){mixture(o), count - 1};
    return 2;
}

static void fill_size(struct outlook *o, uint32_t index) {
    uint32_t count = o->config->sizes[index], milli = o->config->point_milli;
    const struct batchtime *b = &o->batchtime;
    struct outlook_size *s = &o->size[index];
    struct maximum_of all = {mixture(o), count}, one = {mixture(o), 1};
    s->longest_ns = maximum_mean(&all, 1);
    s->mean_ns = (uint64_t)batchtime_of(b, count, s->longest_ns);
    s->tail_ns = (uint64_t)batchtime_of(b, count, maximum_quantile(&all, 1, OUTLOOK_TAIL_MILLI));
    s->point_ns =
        milli ? (uint64_t)batchtime_of(b, count, maximum_quantile(&all, 1, milli)) : s->mean_ns;
    s->plain_ns = (uint64_t)batchtime_of(b, count, maximum_mean(&one, 1));
}

static void fill_own(struct outlook *o, uint32_t index) {
    uint32_t apps = o->config->apps, count = o->config->sizes[index];
    for (uint32_t a = 0; a < apps; a++) {
        struct maximum_of groups[2];
        double longest = maximum_mean(groups, groups_of(o, count, a, groups));
        o->own_ns[index * apps + a] = (uint64_t)batchtime_of(&o->batchtime, count, longest);
    }
}

void outlook_refresh(struct outlook *o, uint64_t now_ns) {
    fill_rows(o);
    for (uint32_t i = 0; i < o->config->size_count; i++) {
        fill_size(o, i);
        if (o->config->own) fill_own(o, i);
    }
    o->refreshed_ns = now_ns;
    o->used_samples = o->samples;
    o->changed = false;
}

uint64_t outlook_batch_ns(const struct outlook *o, uint32_t size, uint32_t app) {
    return o->config->own ? o->own_ns[size * o->config->apps + app] : o->size[size].mean_ns;
}

/* f_LB (4.9): each bin of the longest time is mapped to the end of its batch. */
void outlook_shape(const struct outlook *o, uint32_t size, uint32_t app, double b_per_ns,
                   struct score_shape *shape) {
    uint32_t count = o->config->sizes[size];
    struct maximum_of groups[2];
    uint32_t n = groups_of(o, count, app, groups);
    uint64_t edges[ROW];
    double mass[HISTOGRAM_BINS], mean_ns = (double)outlook_batch_ns(o, size, app);
    for (uint32_t i = 0; i < ROW; i++) {
        edges[i] = (uint64_t)batchtime_of(&o->batchtime, count, (double)histogram_edge(i));
        if (i) mass[i - 1] = maximum_at(groups, n, i) - maximum_at(groups, n, i - 1);
    }
    score_build(shape, edges, mass, HISTOGRAM_BINS, mean_ns > 1 ? mean_ns : 1, b_per_ns);
}
