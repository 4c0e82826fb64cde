/* SPDX-License-Identifier: Apache-2.0
 *
 * Clipper as published, the version that the thesis compares with. Its program does not search the
 * batch size by additive increase (pol_clipper.c, as its paper says). For each batch it considers
 * the time that the first request has left. If that is more than any batch ever took, a larger
 * batch is tried. Otherwise a line fitted through the seen sizes, each at its mean plus three
 * deviations, gives the size. A request that waited long is therefore served in a small batch: a
 * cause of waiting makes more requests wait.
 *
 * Our batches have fixed sizes: the fitted size is rounded down to one, and a trial uses the next
 * one.
 */
#include <math.h>

#include "daemon/serve/plan/policy/plan_policies.h"
#include "daemon/serve/plan/state/plan_policy.h"

#define DECAY 0.92   /* used fraction of the remaining time; the rest is slack */
#define DEVIATIONS 3 /* a batch is expected to take at most the mean plus this many deviations */
/* Batches of a size before a larger one is tried, and before its variance counts. */
#define SAMPLES 5

/* Durations of the batches of one size, in ns. */
struct taken {
    double count, mean, squares; /* squares: sum of squared distances from the mean */
};

struct clipper_fit {
    struct lineup line;
    struct taken of[PLAN_SIZES];
    uint32_t largest; /* index of the largest size used so far */
    double most_ns;   /* longest duration of any batch */
};

static struct clipper_fit *fit_of(const struct plan_state *st) {
    return st->own;
}

static int reserve(struct plan_state *st, uint32_t places) {
    return lineup_reserve(&fit_of(st)->line, places);
}

static void finish(struct plan_state *st) {
    lineup_finish(&fit_of(st)->line);
}

static void add(struct plan_state *st, uint32_t place) {
    const struct roster_request *r = plan_state_request(st, place);
    lineup_add(&fit_of(st)->line, place, r->order, r->deadline_ns);
}

static void leave(struct plan_state *st, uint32_t place) {
    lineup_remove(&fit_of(st)->line, place);
}

static uint32_t expired(struct plan_state *st) {
    return lineup_late(&fit_of(st)->line, st->now_ns);
}

/* ---- batch size ------------------------------------------------------------------------------ */

static void done(struct plan_state *st, const struct crew_worker *w, uint64_t ns) {
    struct clipper_fit *c = fit_of(st);
    struct taken *t = &c->of[plan_state_size_of(st, w->count)];
    double off = (double)ns - t->mean;
    t->count++;
    t->mean += off / t->count;
    t->squares += off * ((double)ns - t->mean);
    if ((double)ns > c->most_ns) c->most_ns = (double)ns;
}

/* Deviation over all sizes together: "latency variance does not change significantly with batch
 * size". */
static double deviation(const struct plan_state *st) {
    double squares = 0, freedom = 0;
    for (uint32_t i = 0; i < st->config.size_count; i++) {
        const struct taken *t = &fit_of(st)->of[i];
        if (t->count < SAMPLES) continue;
        squares += t->squares;
        freedom += t->count - 1;
    }
    return sqrt(squares / (freedom > 1 ? freedom : 1));
}

/* Least-squares fit of the size as a linear function of its longest duration. */
static double fitted(const struct plan_state *st, double budget_ns) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, above = DEVIATIONS * deviation(st);
    for (uint32_t i = 0; i < st->config.size_count; i++) {
        if (!fit_of(st)->of[i].count) continue;
        double ms = (fit_of(st)->of[i].mean + above) / 1e6, size = st->config.sizes[i];
        n++;
        x += ms;
        y += size;
        xx += ms * ms;
        xy += ms * size;
    }
    double spread = n * xx - x * x;
    if (spread <= 0) return n > 0 ? y / n : 1;
    double slope = (n * xy - x * y) / spread;
    return (y + slope * (n * budget_ns / 1e6 - x)) / n;
}

/* Index of the size to try. */
static uint32_t explored(const struct plan_state *st) {
    const struct clipper_fit *c = fit_of(st);
    bool enough = c->of[c->largest].count >= SAMPLES;
    return enough && c->largest + 1 < st->config.size_count ? c->largest + 1 : c->largest;
}

/* The line must not be empty. */
static uint32_t size_now(const struct plan_state *st) {
    const struct clipper_fit *c = fit_of(st);
    double budget_ns = DECAY * (double)plan_state_left(st, lineup_first(&c->line));
    if (budget_ns > c->most_ns) return explored(st);
    double size = fitted(st, budget_ns);
    if (size < 1) return 0;
    return plan_state_size_of(st, size > PLAN_BATCH_MOST ? PLAN_BATCH_MOST : (uint32_t)size);
}

static uint32_t pick(struct plan_state *st, uint32_t *places) {
    struct clipper_fit *c = fit_of(st);
    if (!lineup_count(&c->line)) return 0;
    uint32_t size = size_now(st), most = plan_state_size_of(st, lineup_count(&c->line));
    if (size > c->largest) c->largest = size;
    if (size > most) size = most;
    lineup_take(&c->line, st->config.sizes[size], places);
    return st->config.sizes[size];
}

static uint64_t wake(const struct plan_state *st) {
    return lineup_wake(&fit_of(st)->line);
}

static const char *check(const struct plan_state *st) {
    return lineup_check(&fit_of(st)->line);
}

const struct plan_policy plan_clipper_fit = {
    .name = "clipper_fit",
    .own_bytes = sizeof(struct clipper_fit),
    .finish = finish,
    .reserve = reserve,
    .add = add,
    .remove = leave,
    .expired = expired,
    .pick = pick,
    .done = done,
    .wake = wake,
    .check = check,
};
