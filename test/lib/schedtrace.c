/* SPDX-License-Identifier: Apache-2.0
 *
 * From text to events, from actions to text.
 */
#include "test/lib/schedtrace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core/state.h"

#define TRACE_EVENTS 64
#define TRACE_KERNELS 256 /* different ones, of all scripts of a process */

struct trace {
    char *text;
    size_t used, cap;
};

static __attribute__((format(printf, 2, 3))) void trace_add(struct trace *t, const char *fmt, ...) {
    va_list args;
    if (t->cap - t->used < 256) t->text = realloc(t->text, t->cap = 2 * t->cap + 4096);
    va_start(args, fmt);
    t->used += (size_t)vsnprintf(t->text + t->used, t->cap - t->used, fmt, args);
    va_end(args);
}

static void trace_options(const char *at, struct sched_spec *spec) {
    while (*at) {
        char kind = *at++;
        long long n = strtoll(at, (char **)&at, 10);
        switch (kind) {
        case 'w': spec->weight = (uint32_t)n; break;
        case 'h': spec->priority = (int32_t)n; break;
        case 'i': spec->iterations = (uint64_t)n; break;
        case 'd': spec->duration_ns = (uint64_t)n; break;
        case 't': spec->admit_timeout_ns = (uint64_t)n; break;
        case 'g': spec->group = (uint32_t)n; break;
        case 'q': spec->request_ns = (uint64_t)n; break;
        case 'p': spec->paused = true; break;
        default: fprintf(stderr, "no such option %c\n", kind); abort();
        }
    }
}

static void trace_needs(const char *at, struct sched_spec *spec) {
    char *comma;
    spec->persistent_bytes = strtoull(at, &comma, 10);
    spec->ephemeral_bytes = strtoull(comma + 1, NULL, 10);
}

static void trace_joined(const char *word, struct sched_event *e, struct sched_spec *spec) {
    const char *open = strchr(word, '('), *close = strchr(word, ')');
    e->kind = SCHED_JOINED;
    if (open && open[1] == '?')
        spec->unknown = true;
    else if (open)
        trace_needs(open + 1, spec);
    if (close) trace_options(close + 1, spec);
}

/* One for each kernel of all scripts: operations name it as long as they are there. */
static const struct sched_kernel *trace_kernel(const char *at) {
    static struct sched_kernel kernels[TRACE_KERNELS];
    static uint32_t count;
    struct sched_kernel *k = &kernels[count];
    if (count == TRACE_KERNELS) abort();
    *k = (struct sched_kernel){0};
    k->class = at[1] == 'c'   ? SCHED_CLASS_COMPUTE
               : at[1] == 'm' ? SCHED_CLASS_MEMORY
                              : SCHED_CLASS_UNKNOWN;
    k->sms = (uint32_t)strtoul(at + 2, (char **)&at, 10);
    if (*at == '*') k->mean_ns = k->tail_ns = strtoull(at + 1, NULL, 10);
    for (uint32_t i = 0; i < count; i++)
        if (memcmp(&kernels[i], k, sizeof(*k)) == 0) return &kernels[i];
    count++;
    return k;
}

static void trace_event(const char *word, struct sched_event *e, struct sched_spec *spec) {
    char *at;
    *e = (struct sched_event){.kind = SCHED_TIME, .spec = spec, .busy_ns = 1};
    *spec = (struct sched_spec){0};
    if (word[0] == '.') return;
    bool sign = word[0] == '+' || word[0] == '-';
    e->job = (uint32_t)strtoul(word + sign, &at, 10);
    if (word[0] == '+') {
        trace_joined(word, e, spec);
        return;
    }
    char kind = word[0] == '-' ? '-' : *at++;
    switch (kind) {
    case '-': e->kind = SCHED_LEFT; break;
    case ':':
        e->kind = SCHED_SUBMITTED;
        e->op = strtoull(at, &at, 10);
        if (*at == '/') e->iteration = (uint32_t)strtoul(at + 1, &at, 10);
        if (*at == '#') e->kernel = trace_kernel(at);
        break;
    case '=':
        e->kind = SCHED_DONE;
        e->op = strtoull(at, &at, 10);
        if (*at == '*') e->busy_ns = strtoull(at + 1, NULL, 10);
        break;
    case '|': e->kind = SCHED_BOUNDARY; break;
    case '?':
        e->kind = SCHED_ASKED;
        trace_needs(at, spec);
        break;
    case '!':
        e->kind = SCHED_WORD;
        trace_needs(at, spec);
        break;
    case '%':
        e->kind = SCHED_SET;
        trace_options(at, spec);
        break;
    default: fprintf(stderr, "bad word %s\n", word); abort();
    }
}

static void trace_action(struct trace *t, const struct sched_action *a) {
    unsigned long long op = a->op, bytes = a->bytes, at = a->at_ns;
    switch (a->kind) {
    case SCHED_RUN: trace_add(t, "run %u:%llu", a->job, op); break;
    case SCHED_ADMIT: trace_add(t, "admit %u@%u", a->job, a->lane); break;
    case SCHED_REFUSE: trace_add(t, "refuse %u why %d", a->job, a->why); break;
    case SCHED_GRANT: trace_add(t, "grant %u", a->job); break;
    case SCHED_DENY: trace_add(t, "deny %u", a->job); break;
    case SCHED_MOVE: trace_add(t, "move %u@%u", a->job, a->lane); break;
    case SCHED_LANE: trace_add(t, "lane %u=%llu", a->lane, bytes); break;
    case SCHED_SWITCH: trace_add(t, "switch %u", a->job); break;
    case SCHED_SPILL: trace_add(t, "spill %u", a->job); break;
    case SCHED_RESTORE: trace_add(t, "restore %u", a->job); break;
    case SCHED_SWAP_OUT: trace_add(t, "out %u*%llu", a->job, bytes); break;
    case SCHED_SWAP_IN: trace_add(t, "in %u*%llu", a->job, bytes); break;
    case SCHED_LEVEL: trace_add(t, "level %u=%u", a->job, a->level); break;
    case SCHED_ARM: trace_add(t, "arm %llu", at); break;
    }
}

static void trace_step(struct sched *s, char *line, struct trace *t) {
    struct sched_event events[TRACE_EVENTS];
    struct sched_spec specs[TRACE_EVENTS];
    struct sched_actions actions;
    uint32_t count = 0;
    char *rest = line, *word = strtok_r(rest, " ", &rest);
    trace_add(t, "%s", word);
    uint64_t now = strtoull(word + 1, NULL, 10);
    for (; (word = strtok_r(rest, " ", &rest)); count++)
        trace_event(word, &events[count], &specs[count]);
    int err = sched_step(s, now, events, count, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        trace_add(t, i ? ", " : " ");
        trace_action(t, &actions.items[i]);
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
