/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests that a model's profiler runs again: one of each application at a time, within
 * limits, and never chosen by their duration.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "daemon/serve/gateway/profile/samples.h"

#define MS 1000000ull

static struct samples s;

static struct tensor floats(const char *name, const void *data, uint64_t bytes) {
    return (struct tensor){.name = name,
                           .type = DATATYPE_FP32,
                           .rank = 1,
                           .shape = {(int64_t)bytes / 4},
                           .elements = bytes / 4,
                           .data = data,
                           .bytes = bytes};
}

static const char data[4096];

/* A request of this application that arrives and completes at once; NULL: it is not chosen, or
 * not stored. */
static struct sample *pass_by(uint32_t app, uint64_t bytes, uint64_t now_ns) {
    struct tensor t = floats("x", data, bytes);
    if (!samples_choose(&s, app, now_ns)) return NULL;
    struct sample *sample = samples_copy(&s, &t, 1, app);
    if (sample) samples_wait(&s, sample, now_ns);
    return sample;
}

static void drop_next(uint32_t app) {
    struct sample *sample = samples_take(&s);
    cr_assert_not_null(sample);
    cr_assert_eq(sample->app, app);
    samples_drop(&s, sample);
}

static void begin(void) {
    samples_init(&s, 10000);
}

static void end(void) {
    samples_finish(&s);
    cr_assert_eq(s.bytes, 0, "%zu bytes are left", s.bytes);
    cr_assert_eq(s.waiting, 0);
}

TestSuite(serve_samples, .init = begin, .fini = end);

/* ---- copies ---------------------------------------------------------------------------------- */

Test(serve_samples, a_copy_has_nothing_of_the_request) {
    char name[] = "weights", more[] = "b";
    float values[] = {1, 2, 3};
    struct tensor inputs[] = {floats(name, values, sizeof(values)), floats(more, NULL, 0)};
    struct sample *copy = sample_create(inputs, 2, 7);
    memset(name, '?', sizeof(name) - 1);
    memset(values, 0, sizeof(values));
    more[0] = '?';
    cr_assert_eq(copy->app, 7);
    cr_assert_eq(copy->count, 2);
    cr_assert_str_eq(copy->inputs[0].name, "weights");
    cr_assert_str_eq(copy->inputs[1].name, "b");
    cr_assert_arr_eq(copy->inputs[0].data, ((float[]){1, 2, 3}), 12);
    cr_assert_eq(copy->inputs[0].shape[0], 3);
    cr_assert_eq(copy->bytes, sample_size(copy->inputs, 2));
    sample_destroy(copy);
}

/* ---- selection ------------------------------------------------------------------------------- */

Test(serve_samples, one_at_a_time_of_each_application) {
    cr_assert(samples_choose(&s, 1, 0));
    cr_assert_not(samples_choose(&s, 1, 5000 * MS), "the first one has not ended");
    cr_assert(samples_choose(&s, 2, 0), "another application");
    samples_pass(&s, 1);
    cr_assert(samples_choose(&s, 1, 1));
    samples_pass(&s, 1);
    samples_pass(&s, 2);
}

Test(serve_samples, who_waits_keeps_its_place_for_a_second) {
    cr_assert_not_null(pass_by(1, 8, 10 * MS));
    cr_assert_null(pass_by(1, 8, 1009 * MS));
    cr_assert_eq(s.replaced, 0);
    cr_assert_not_null(pass_by(1, 16, 1010 * MS));
    cr_assert_eq(s.replaced, 1);
    cr_assert_eq(s.waiting, 1);
    struct sample *sample = samples_take(&s);
    cr_assert_eq(sample->inputs[0].bytes, 16, "the newer one is there");
    samples_drop(&s, sample);
}

Test(serve_samples, a_place_is_free_as_soon_as_it_is_run) {
    pass_by(1, 8, 0);
    struct sample *running = samples_take(&s);
    cr_assert_not_null(pass_by(1, 8, 1));
    samples_drop(&s, running);
}

Test(serve_samples, applications_take_turns) {
    for (uint32_t app = 0; app < 3; app++)
        pass_by(app, 8, 0);
    drop_next(0);
    pass_by(0, 8, 0);
    drop_next(1);
    drop_next(2);
    drop_next(0);
    cr_assert_null(samples_take(&s));
    pass_by(PLAN_APPS - 1, 8, 0);
    pass_by(2, 8, 0);
    drop_next(2);
    drop_next(PLAN_APPS - 1);
}

/* ---- memory ---------------------------------------------------------------------------------- */

Test(serve_samples, the_oldest_gives_way_to_the_newest) {
    pass_by(3, 3000, 0);
    pass_by(1, 3000, 1);
    pass_by(2, 100, 2);
    cr_assert_not_null(pass_by(4, 4000, 3));
    cr_assert_eq(s.crowded, 1);
    cr_assert(s.bytes <= 10000);
    drop_next(1);
    drop_next(2);
    drop_next(4);
}

Test(serve_samples, what_can_have_no_room_is_left_alone) {
    struct tensor t = floats("x", data, 20000);
    pass_by(2, 8, 0);
    cr_assert(samples_choose(&s, 1, 0));
    cr_assert_null(samples_copy(&s, &t, 1, 1));
    cr_assert_eq(s.crowded, 1);
    cr_assert_eq(s.waiting, 1, "nobody gives way in vain");
    cr_assert(samples_choose(&s, 1, 1), "the next one may come");
    samples_pass(&s, 1);
}

/* Copies in a batch or in flight count as well, and are not evicted. */
Test(serve_samples, copies_under_way_count) {
    struct tensor t = floats("x", data, 4096);
    struct sample *first, *second;
    cr_assert(samples_choose(&s, 1, 0));
    first = samples_copy(&s, &t, 1, 1);
    cr_assert(samples_choose(&s, 2, 0));
    second = samples_copy(&s, &t, 1, 2);
    cr_assert_not_null(second);
    cr_assert_null(pass_by(3, 4096, 0));
    samples_pass(&s, 1);
    samples_drop(&s, first);
    cr_assert_not_null(pass_by(3, 4096, 0));
    samples_pass(&s, 2);
    samples_drop(&s, second);
}

/* ---- no bias --------------------------------------------------------------------------------- */

#define LONG_BYTES 76u

/* A server with a queue that processes one request at a time, of 1 ms or 19 ms with equal
 * probability, busy 0.9 of the time; and a profiler that samples one every 50 ms. */
struct world {
    uint64_t dice;
    double now_ms, free_ms, tick_ms;
    struct sample *under_way;      /* the sampled request */
    double ends_ms;                /* when the request in service ends */
    uint32_t runs, longs;          /* number of samples, and of long ones among them */
    uint32_t next_ends, next_long; /* requests that end first after a tick; long ones among them */
    bool ticked;
};

static double uniform(struct world *w) {
    w->dice = w->dice * 6364136223846793005u + 1442695040888963407u;
    return (double)(w->dice >> 11) * 0x1p-53;
}

static void run_next(struct world *w) {
    struct sample *sample = samples_take(&s);
    w->runs += sample != NULL;
    w->longs += sample && sample->inputs[0].bytes == LONG_BYTES;
    samples_drop(&s, sample);
}

/* Runs all events before `until_ms`, in order. */
static void pass(struct world *w, double until_ms) {
    for (;;) {
        bool ends = w->under_way && w->ends_ms < w->tick_ms;
        if ((ends ? w->ends_ms : w->tick_ms) >= until_ms) return;
        if (ends) {
            samples_wait(&s, w->under_way, (uint64_t)(w->ends_ms * 1e6));
            w->under_way = NULL;
        } else {
            run_next(w);
            w->tick_ms += 50;
        }
    }
}

static void arrive(struct world *w) {
    double takes_ms = uniform(w) < 0.5 ? 1 : 19;
    struct tensor t = floats("x", data, (uint64_t)takes_ms * 4);
    w->now_ms += 2 * uniform(w) * 10 / 0.9;
    pass(w, w->now_ms);
    double before_ms = w->free_ms;
    w->free_ms = (w->now_ms > w->free_ms ? w->now_ms : w->free_ms) + takes_ms;
    /* a tick, and the end of the request that runs then */
    if ((uint64_t)before_ms / 50 != (uint64_t)w->free_ms / 50) {
        w->next_ends++;
        w->next_long += takes_ms > 1;
    }
    if (!samples_choose(&s, 0, (uint64_t)(w->now_ms * 1e6))) return;
    w->under_way = samples_copy(&s, &t, 1, 0);
    w->ends_ms = w->free_ms;
}

/* Half of the sampled requests are long, as of all requests. Of the requests that end next after
 * a given moment nearly all are long. */
Test(serve_samples, nothing_is_chosen_by_how_long_it_takes) {
    struct world w = {.dice = 1};
    for (uint32_t i = 0; i < 400000; i++)
        arrive(&w);
    if (w.under_way) samples_wait(&s, w.under_way, 0);
    cr_assert(w.runs > 10000, "%u runs", w.runs);
    cr_assert_float_eq((double)w.longs / w.runs, 0.5, 0.02, "%u of %u", w.longs, w.runs);
    cr_assert_gt((double)w.next_long / w.next_ends, 0.8, "%u of %u", w.next_long, w.next_ends);
}
