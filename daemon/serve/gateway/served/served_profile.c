/* SPDX-License-Identifier: Apache-2.0
 *
 * The profiler uses the command of the model's workers. Under Salus its job has the lowest
 * priority, so that lanes and the policies that distinguish classes prefer other jobs.
 */
#include "daemon/serve/gateway/served/served_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 96u

struct served_profile {
    struct served *of;
    struct profiler_config config;
    char name[NAME_BYTES]; /* name in the log, and of the job under Salus */
    char **argv;
    struct profiler *profile; /* NULL: the profiler has stopped */
};

/* ---- callbacks of the profiler --------------------------------------------------------------- */

/* Only wall times suffer from other batches; device times do not. */
bool served_profile_is_crowded(const struct served *s) {
    if (s->measure.kind == MEASURE_DEVICE) return false;
    for (uint32_t i = 0; i < s->settings->workers; i++)
        if (s->workers[i].batch) return true;
    return false;
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct profiler *profile_of(const struct served *s) {
    return s->profile ? s->profile->profile : NULL;
}

void served_profile_asked(struct asked *asked) {
    struct profiler *p = profile_of(asked->of);
    asked->chosen = p && profiler_choose(p, asked->app);
}

/* Tests whether a request of a batch ended well and cannot have caused its program's end. */
static bool is_sound(const struct asked *asked, enum served_end end) {
    return end == SERVED_ANSWERED || (end == SERVED_GONE && !asked->lost);
}

static void let_go(struct asked *asked) {
    struct profiler *p = profile_of(asked->of);
    if (asked->sample)
        profiler_drop(p, asked->sample);
    else if (asked->chosen)
        profiler_pass(p, asked->app);
    asked->sample = NULL;
    asked->chosen = false;
}

/* Copies a selected request that is in a batch. A request alone in its batch needs no profiler. */
void served_profile_sent(struct asked *asked, uint32_t count) {
    if (!asked->chosen || (asked->sample && count > 1)) return;
    if (count == 1) {
        let_go(asked);
        return;
    }
    const struct request *r = asked->request;
    asked->sample = profiler_copy(profile_of(asked->of), r->inputs, r->inputs_count, asked->app);
    asked->chosen = asked->sample != NULL;
}

void served_profile_end(struct asked *asked, enum served_end end) {
    if (asked->sample && is_sound(asked, end)) {
        profiler_ended(profile_of(asked->of), asked->sample);
        asked->sample = NULL;
        asked->chosen = false;
    }
    let_go(asked);
}

void served_profile_quiet(struct served *s) {
    if (profile_of(s)) profiler_look(profile_of(s));
}

struct profiler_counts served_profile_counts(const struct served *s) {
    const struct profiler *p = profile_of(s);
    return p ? profiler_counts(p) : (struct profiler_counts){0};
}

/* ---- start and stop -------------------------------------------------------------------------- */

/* Adds options for the profiler's job at the end, because later options of `salusctl run` override
 * earlier ones. */
static int make_argv(struct served_profile *sp) {
    char *const *argv = sp->of->argv;
    const char *words[] = {"--priority", "-1000", "--slo", "0", "--name", sp->name};
    const uint32_t more = sizeof(words) / sizeof(words[0]);
    uint32_t count = 0, at = 0;
    while (argv[count])
        count++;
    sp->argv = calloc(count + more + 1, sizeof(*sp->argv));
    if (!sp->argv) return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        bool here = sp->of->settings->salus && at == i && strcmp(argv[i], "--") == 0;
        for (uint32_t k = 0; here && k < more; k++)
            sp->argv[at++] = (char *)(uintptr_t)words[k];
        sp->argv[at++] = argv[i];
    }
    return 0;
}

int served_profile_create(struct served *s, const struct profiler_ops *ops) {
    if (!s->settings->profile_part) return 0;
    struct served_profile *sp = s->profile = calloc(1, sizeof(*sp));
    if (!sp) return -ENOMEM;
    sp->of = s;
    snprintf(sp->name, sizeof(sp->name), "%.80s/profiler", s->model->name);
    int err = make_argv(sp);
    if (err) return err;
    sp->config = (struct profiler_config){.name = sp->name,
                                          .argv = sp->argv,
                                          .limit_ns = s->settings->limit_ns,
                                          .part = s->settings->profile_part};
    sp->profile = profiler_create(s->loop, &sp->config, ops, s);
    return sp->profile ? 0 : -ENOMEM;
}

void served_profile_stop(struct served *s) {
    if (!s->profile) return;
    s->stopping++;
    profiler_stop(s->profile->profile);
}

void served_profile_stopped(struct served *s) {
    profiler_destroy(s->profile->profile);
    s->profile->profile = NULL;
}

void served_profile_destroy(struct served *s) {
    struct served_profile *sp = s->profile;
    if (!sp) return;
    profiler_destroy(sp->profile);
    free(sp->argv);
    free(sp);
    s->profile = NULL;
}
