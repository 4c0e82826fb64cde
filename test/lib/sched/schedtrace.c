/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts text to events and actions to text.
 */
#include "test/lib/sched/schedtrace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core/check.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/record/notation.h"
#include "daemon/sched/state.h"

#define TRACE_EVENTS 64

struct trace {
    char *text;
    size_t used, cap;
};

static void trace_room(struct trace *t) {
    if (t->cap - t->used < NOTATION_BYTES + 64)
        t->text = realloc(t->text, t->cap = 2 * t->cap + 4096);
    if (!t->text) abort();
}

static __attribute__((format(printf, 2, 3))) void trace_add(struct trace *t, const char *fmt, ...) {
    va_list args;
    trace_room(t);
    va_start(args, fmt);
    t->used += (size_t)vsnprintf(t->text + t->used, t->cap - t->used, fmt, args);
    va_end(args);
}

static void trace_event(const char *word, struct sched_event *e) {
    if (notation_read_event(word, e) == 0) return;
    fprintf(stderr, "bad word %s\n", word);
    abort();
}

static void trace_step(struct sched *s, char *line, struct trace *t) {
    struct sched_event events[TRACE_EVENTS];
    struct sched_actions actions;
    uint32_t count = 0;
    char *rest = line, *word = strtok_r(rest, " ", &rest);
    trace_add(t, "%s", word);
    uint64_t now = strtoull(word + 1, NULL, 10);
    for (; (word = strtok_r(rest, " ", &rest)); count++) {
        if (count == TRACE_EVENTS) abort();
        trace_event(word, &events[count]);
    }
    int err = sched_step(s, now, events, count, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        trace_add(t, i ? ", " : " ");
        trace_room(t);
        t->used += notation_action(t->text + t->used, &actions.items[i]);
    }
    trace_add(t, err ? " error %d\n" : "\n", err);
    const char *broken = sched_check(s);
    if (!broken) return;
    fprintf(stderr, "%s: %s\n%s", line, broken, t->text);
    abort();
}

char *schedtrace_run(struct sched *s, const char *script) {
    struct trace t = {0};
    char *copy = strdup(script), *rest = copy, *line;
    trace_add(&t, "%s", "");
    while ((line = strtok_r(rest, "\n", &rest)))
        trace_step(s, line, &t);
    free(copy);
    return t.text;
}
