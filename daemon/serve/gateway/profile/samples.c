/* SPDX-License-Identifier: Apache-2.0
 *
 * One slot per application.
 */
#include "daemon/serve/gateway/profile/samples.h"

void samples_init(struct samples *s, size_t bytes_most) {
    *s = (struct samples){.bytes_most = bytes_most};
}

static void leave(struct samples *s, struct samples_app *a) {
    samples_drop(s, a->waiting);
    a->waiting = NULL;
    s->waiting--;
}

void samples_finish(struct samples *s) {
    for (uint32_t i = 0; i < PLAN_APPS; i++)
        if (s->apps[i].waiting) leave(s, &s->apps[i]);
}

bool samples_choose(struct samples *s, uint32_t app, uint64_t now_ns) {
    struct samples_app *a = &s->apps[app];
    if (a->chosen || (a->waiting && now_ns - a->since_ns < SAMPLES_OLD_NS)) return false;
    a->chosen = true;
    return true;
}

void samples_pass(struct samples *s, uint32_t app) {
    s->apps[app].chosen = false;
}

/* ---- memory limit ---------------------------------------------------------------------------- */

/* The application with the oldest waiting sample; at least one must wait. */
static struct samples_app *oldest(struct samples *s) {
    struct samples_app *found = NULL;
    for (uint32_t i = 0; i < PLAN_APPS; i++) {
        struct samples_app *a = &s->apps[i];
        if (a->waiting && (!found || a->waiting->age < found->waiting->age)) found = a;
    }
    return found;
}

/* Bytes of samples that cannot be dropped, because they are in a batch or running. */
static size_t bytes_under_way(const struct samples *s) {
    size_t bytes = s->bytes;
    for (uint32_t i = 0; i < PLAN_APPS; i++)
        if (s->apps[i].waiting) bytes -= s->apps[i].waiting->bytes;
    return bytes;
}

static bool make_room(struct samples *s, size_t bytes) {
    if (bytes_under_way(s) + bytes > s->bytes_most) return false;
    while (s->bytes + bytes > s->bytes_most) {
        leave(s, oldest(s));
        s->crowded++;
    }
    return true;
}

struct sample *samples_copy(struct samples *s, const struct tensor *inputs, uint32_t count,
                            uint32_t app) {
    bool room = make_room(s, sample_size(inputs, count));
    struct sample *sample = room ? sample_create(inputs, count, app) : NULL;
    if (!sample) {
        s->crowded++;
        samples_pass(s, app);
        return NULL;
    }
    sample->age = s->made++;
    s->bytes += sample->bytes;
    return sample;
}

void samples_drop(struct samples *s, struct sample *sample) {
    if (!sample) return;
    s->bytes -= sample->bytes;
    sample_destroy(sample);
}

/* ---- waiting samples ------------------------------------------------------------------------- */

void samples_wait(struct samples *s, struct sample *sample, uint64_t now_ns) {
    struct samples_app *a = &s->apps[sample->app];
    a->chosen = false;
    if (a->waiting) {
        leave(s, a);
        s->replaced++;
    }
    a->waiting = sample;
    a->since_ns = now_ns;
    s->waiting++;
}

struct sample *samples_take(struct samples *s) {
    for (uint32_t i = 0; i < PLAN_APPS; i++) {
        struct samples_app *a = &s->apps[(s->next + i) % PLAN_APPS];
        struct sample *sample = a->waiting;
        if (!sample) continue;
        s->next = (sample->app + 1) % PLAN_APPS;
        a->waiting = NULL;
        s->waiting--;
        return sample;
    }
    return NULL;
}
