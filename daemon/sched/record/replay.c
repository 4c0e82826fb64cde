/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads line by line: collects events until another kind of line comes, then takes the step.
 */
#include "daemon/sched/record/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core/check.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/record/checkpoint.h"
#include "daemon/sched/record/notation.h"
#include "daemon/sched/state.h"

#define REPLAY_CONTEXT 12u /* lines printed before a difference */
#define REPLAY_LINE 1024u  /* longest line, with its terminator */

enum replay_part { REPLAY_HEAD, REPLAY_CONFIG, REPLAY_BEGIN, REPLAY_STEPS, REPLAY_OVER };

struct replayer {
    struct replay *r;
    FILE *in, *out;
    enum replay_part part;
    enum replay_how how;
    struct sched *s;
    struct sched_config config;

    struct checkpoint begin;
    size_t begin_bytes; /* size that the checkpoint's head announces */
    uint64_t begin_hash;

    struct sched_event *events;
    uint32_t count, cap;
    uint64_t now_ns;
    bool open, made; /* a step: its time was read; it was taken */
    struct sched_actions actions;
    uint32_t compared;

    char lines[REPLAY_CONTEXT][REPLAY_LINE]; /* ring of the latest lines */
};

__attribute__((format(printf, 3, 4))) static enum replay_how
fail(struct replayer *p, enum replay_how how, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(p->r->why, sizeof(p->r->why), fmt, args);
    va_end(args);
    return p->how = how;
}

#define replay_damaged(p, ...) fail(p, REPLAY_DAMAGED, __VA_ARGS__)

/* ---- the scheduler --------------------------------------------------------------------------- */

static enum replay_how create_sched(struct replayer *p) {
    char why[160] = "out of memory";
    int err = sched_create(&p->s, &p->config, why, sizeof(why));
    if (err == -EINVAL) return replay_damaged(p, "the recorded configuration is invalid: %s", why);
    return err ? fail(p, REPLAY_FAILED, "%s", why) : REPLAY_SAME;
}

static enum replay_how restore_sched(struct replayer *p) {
    if (p->begin.bytes != p->begin_bytes)
        return replay_damaged(p, "the checkpoint has only %zu of its %zu bytes", p->begin.bytes,
                              p->begin_bytes);
    if (checkpoint_hash(&p->begin) != p->begin_hash)
        return replay_damaged(p, "the checkpoint's checksum is wrong");
    int err = checkpoint_restore(&p->begin, &p->s);
    if (err == -ENOMEM) return fail(p, REPLAY_FAILED, "out of memory");
    if (err) return fail(p, REPLAY_BUILD, "the checkpoint has another build's layout");
    const char *broken = sched_check(p->s);
    return broken ? replay_damaged(p, "the checkpoint breaks an invariant: %s", broken)
                  : REPLAY_SAME;
}

static enum replay_how begin_sched(struct replayer *p) {
    p->part = REPLAY_STEPS;
    return p->begin_bytes ? restore_sched(p) : create_sched(p);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void print_context(const struct replayer *p) {
    uint64_t last = p->r->line, first = last > REPLAY_CONTEXT ? last - REPLAY_CONTEXT + 1 : 1;
    for (uint64_t n = first; n < last; n++)
        fprintf(p->out, "  %" PRIu64 ": %s\n", n, p->lines[n % REPLAY_CONTEXT]);
}

static enum replay_how differs(struct replayer *p, const char *recorded) {
    char text[NOTATION_BYTES] = "nothing";
    if (p->compared < p->actions.count) notation_action(text, &p->actions.items[p->compared]);
    fprintf(p->out, "the step at %" PRIu64 " ns differs, in line %" PRIu64 ":\n", p->now_ns,
            p->r->line);
    print_context(p);
    fprintf(p->out, "recorded: %s\nreplayed: %s\n", recorded, text);
    return p->how = REPLAY_DIFFERS;
}

/* Takes the step before its first action, or before any other line that follows its events. */
static enum replay_how make_step(struct replayer *p) {
    if (!p->open || p->made) return REPLAY_SAME;
    p->made = true;
    p->compared = 0;
    p->r->steps++;
    p->r->events += p->count;
    if (sched_step(p->s, p->now_ns, p->events, p->count, &p->actions))
        return fail(p, REPLAY_FAILED, "out of memory");
    const char *broken = sched_check(p->s);
    if (!broken) return REPLAY_SAME;
    fprintf(p->out,
            "the step at %" PRIu64 " ns, before line %" PRIu64 ", breaks an invariant: %s\n",
            p->now_ns, p->r->line, broken);
    print_context(p);
    return p->how = REPLAY_DIFFERS;
}

static enum replay_how end_step(struct replayer *p) {
    if (make_step(p) != REPLAY_SAME) return p->how;
    if (p->open && p->compared < p->actions.count) return differs(p, "no further action");
    p->open = false;
    return REPLAY_SAME;
}

static enum replay_how take_time(struct replayer *p, const char *text) {
    uint64_t before = p->now_ns;
    if (end_step(p) != REPLAY_SAME) return p->how;
    if (notation_read_number(text, UINT64_MAX, &p->now_ns))
        return replay_damaged(p, "'@%s' is not a time", text);
    if (p->now_ns < before) return replay_damaged(p, "the time decreases");
    p->open = true;
    p->made = false;
    p->count = 0;
    return REPLAY_SAME;
}

static enum replay_how take_event(struct replayer *p, const char *word) {
    if (!p->open || p->made) return replay_damaged(p, "'%.64s' belongs to no step", word);
    if (p->count == p->cap) {
        uint32_t cap = p->cap ? 2 * p->cap : 64;
        struct sched_event *grown = reallocarray(p->events, cap, sizeof(*grown));
        if (!grown) return fail(p, REPLAY_FAILED, "out of memory");
        p->events = grown;
        p->cap = cap;
    }
    if (notation_read_event(word, &p->events[p->count]))
        return replay_damaged(p, "'%.64s' is not an event", word);
    p->count++;
    return REPLAY_SAME;
}

static enum replay_how take_action(struct replayer *p, const char *phrase) {
    char text[NOTATION_BYTES];
    if (!p->open) return replay_damaged(p, "'%.64s' belongs to no step", phrase);
    if (make_step(p) != REPLAY_SAME) return p->how;
    if (p->compared == p->actions.count) return differs(p, phrase);
    notation_action(text, &p->actions.items[p->compared]);
    if (strcmp(text, phrase) != 0) return differs(p, phrase);
    p->compared++;
    p->r->actions++;
    return REPLAY_SAME;
}

static enum replay_how take_step_line(struct replayer *p, const char *line) {
    if (line[0] == '@') return take_time(p, line + 1);
    if (line[0] == '>' && line[1] == ' ') return take_action(p, line + 2);
    if (strcmp(line, "within") == 0) {
        p->r->within = true;
        if (make_step(p) != REPLAY_SAME) return p->how;
        p->open = false;
        return REPLAY_SAME;
    }
    if (strcmp(line, "end") != 0) return take_event(p, line);
    p->part = REPLAY_OVER;
    return end_step(p);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static enum replay_how take_begin_line(struct replayer *p, const char *line) {
    char build[CHECKPOINT_BUILD];
    if (p->begin_bytes) {
        int read = checkpoint_read_line(&p->begin, line, p->begin_bytes);
        if (read == 0) return REPLAY_SAME;
        if (read == -ENOMEM) return fail(p, REPLAY_FAILED, "out of memory");
        if (read < 0) return replay_damaged(p, "the line is not part of the checkpoint");
    } else if (strncmp(line, "checkpoint ", 11) == 0) {
        if (checkpoint_read_head(&p->begin, line, build, &p->begin_hash, &p->begin_bytes) ||
            p->begin_bytes == 0)
            return replay_damaged(p, "the line does not begin a checkpoint");
        if (p->r->any_build || strcmp(build, checkpoint_build()) == 0) return REPLAY_SAME;
        return fail(p, REPLAY_BUILD,
                    "the scheduler's build %s made the recording, and this is build %s; replay it "
                    "with that build",
                    build, checkpoint_build());
    }
    if (begin_sched(p) != REPLAY_SAME) return p->how;
    return take_step_line(p, line);
}

static enum replay_how take_line(struct replayer *p, const char *line) {
    if (line[0] == '#') return REPLAY_SAME;
    switch (p->part) {
    case REPLAY_HEAD:
        if (strcmp(line, "salus-events 1") != 0)
            return replay_damaged(p, "the file is not a recording");
        p->part = REPLAY_CONFIG;
        return REPLAY_SAME;
    case REPLAY_CONFIG:
        if (notation_read_config(line, &p->config))
            return replay_damaged(p, "'%.64s' is not a configuration", line);
        p->part = REPLAY_BEGIN;
        return REPLAY_SAME;
    case REPLAY_BEGIN: return take_begin_line(p, line);
    case REPLAY_STEPS: return take_step_line(p, line);
    case REPLAY_OVER: return replay_damaged(p, "text follows the recording's end");
    }
    return REPLAY_SAME;
}

/* Returns the next line without its newline. NULL: the end, or the line is too long (p->how is set
 * then). */
static char *next_line(struct replayer *p) {
    char *line = p->lines[(p->r->line + 1) % REPLAY_CONTEXT];
    if (!fgets(line, REPLAY_LINE, p->in)) return NULL;
    p->r->line++;
    size_t n = strlen(line);
    if (n == 0 || line[n - 1] != '\n') {
        replay_damaged(p, "the line is cut off, or longer than %u bytes", REPLAY_LINE);
        return NULL;
    }
    line[n - 1] = '\0';
    return line;
}

enum replay_how replay_run(struct replay *r, FILE *in, FILE *out) {
    struct replayer *p = calloc(1, sizeof(*p));
    const char *line;
    if (!p) {
        snprintf(r->why, sizeof(r->why), "out of memory");
        return REPLAY_FAILED;
    }
    *p = (struct replayer){.r = r, .in = in, .out = out};
    while (p->how == REPLAY_SAME && (line = next_line(p)))
        take_line(p, line);
    if (p->how == REPLAY_SAME && p->part != REPLAY_OVER)
        replay_damaged(p, "the recording is cut off: the line 'end' is missing");
    enum replay_how how = p->how;
    sched_destroy(p->s);
    checkpoint_finish(&p->begin);
    free(p->events);
    free(p);
    return how;
}
