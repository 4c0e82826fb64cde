/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts between text and events or actions.
 */
#include "test/lib/serve/plantrace.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull
#define EVENTS 64u
#define TEXT 16384u

struct line {
    struct plan_event events[EVENTS];
    uint64_t alone_ns[EVENTS][PLAN_BATCH_MOST];
    uint32_t count;
    uint64_t now_ns;
};

static uint64_t ms(const char **at) {
    char *end;
    double value = strtod(*at, &end);
    cr_assert_neq(end, *at, "a time is missing: %s", *at);
    *at = end;
    return (uint64_t)(value * (double)MS + 0.5);
}

static uint64_t number(const char **at) {
    char *end;
    uint64_t value = strtoull(*at, &end, 10);
    cr_assert_neq(end, *at, "a number is missing: %s", *at);
    *at = end;
    return value;
}

static void parse_arrived(struct line *l, struct plan_event *e, const char *at) {
    e->kind = PLAN_ARRIVED;
    e->arrived.id = number(&at);
    e->arrived.arrived_ns = l->now_ns;
    if (*at == '/') {
        at++;
        e->arrived.app = (uint32_t)number(&at);
    }
    cr_assert_eq(*at++, '<');
    e->arrived.deadline_ns = ms(&at);
}

static void parse_worker(struct line *l, struct plan_event *e, const char *at) {
    uint64_t *alone = l->alone_ns[l->count];
    e->worker = (uint32_t)number(&at);
    e->kind = *at == '!' ? PLAN_LOST : *at == '=' ? PLAN_DONE : PLAN_READY;
    if (*at++ != '=') return;
    e->done.batch_ns = ms(&at);
    for (uint32_t i = 0; *at == ':' || *at == ','; i++) {
        at++;
        alone[i] = ms(&at);
        e->done.alone_ns = alone;
    }
}

static void parse_event(struct line *l, const char *word) {
    struct plan_event *e = &l->events[l->count];
    const char *at = word + 1;
    cr_assert_lt(l->count, EVENTS);
    *e = (struct plan_event){.kind = PLAN_TIME};
    if (word[0] == '+')
        parse_arrived(l, e, at);
    else if (word[0] == 'w')
        parse_worker(l, e, at);
    else if (word[0] == '-') {
        e->kind = PLAN_CANCELLED;
        e->id = number(&at);
    } else {
        cr_assert_eq(word[0], 'a', "what is %s?", word);
        e->kind = PLAN_ALONE;
        e->alone.app = (uint32_t)number(&at);
        cr_assert_eq(*at++, '=');
        e->alone.ns = ms(&at);
    }
    l->count++;
}

static void say_action(FILE *f, const struct plan_action *a) {
    switch (a->kind) {
    case PLAN_SEND:
        fprintf(f, " w%u:", a->worker);
        for (uint32_t i = 0; i < a->size; i++)
            fprintf(f, "%s%lu", i ? "," : "", (unsigned long)a->ids[i]);
        break;
    case PLAN_TIMEOUT: fprintf(f, " %lu late", (unsigned long)a->id); break;
    case PLAN_REFUSE: fprintf(f, " %lu refused", (unsigned long)a->id); break;
    case PLAN_ARM: fprintf(f, " arm %.6g", (double)a->at_ns / (double)MS); break;
    case PLAN_REJECT: fprintf(f, " rejected (%s)", plan_fault_text(a->rejected.fault)); break;
    case PLAN_ACTIONS: cr_assert_fail("an action of no kind");
    }
}

static void run_line(struct plan *p, char *text, FILE *f) {
    static struct line l;
    struct plan_actions out;
    char *rest = text, *word = strtok_r(rest, " ", &rest);
    const char *at = word + 1;
    l.count = 0;
    l.now_ns = ms(&at);
    while ((word = strtok_r(rest, " ", &rest)))
        parse_event(&l, word);
    cr_assert_eq(plan_step(p, l.now_ns, l.events, l.count, &out), 0);
    fprintf(f, "@%.6g", (double)l.now_ns / (double)MS);
    for (uint32_t i = 0; i < out.count; i++)
        say_action(f, &out.items[i]);
    fputc('\n', f);
    cr_assert_null(plan_check(p), "%s", plan_check(p));
}

char *plantrace_run(struct plan *p, const char *script) {
    char *copy = strdup(script), *rest = copy, *line, *got = calloc(1, TEXT);
    cr_assert(copy && got);
    FILE *f = fmemopen(got, TEXT, "w");
    cr_assert_not_null(f);
    while ((line = strtok_r(rest, "\n", &rest)))
        run_line(p, line, f);
    fclose(f);
    free(copy);
    return got;
}

void plantrace_expect(struct plan *p, const char *script, const char *trace) {
    char *got = plantrace_run(p, script);
    cr_expect_str_eq(got, trace, "got:\n%s", got);
    free(got);
}

void plantrace_learn(struct plan *p, uint32_t app, uint64_t ns, uint32_t times) {
    struct plan_event e = {.kind = PLAN_ALONE, .alone = {.ns = ns, .app = app}};
    struct plan_actions out;
    for (uint32_t i = 0; i < times; i++)
        cr_assert_eq(plan_step(p, 0, &e, 1, &out), 0);
}
