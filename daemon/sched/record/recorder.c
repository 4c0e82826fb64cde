/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a half are copied verbatim: a head, each event as far as its kind uses it, and the
 * actions. Every operation of a job passes here, so that rare cases are kept out of line.
 */
#include "daemon/sched/record/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/sched/record/checkpoint.h"
#include "daemon/sched/record/notation.h"

#define RECORDER_SLACK \
    65536u /* bytes by which a step may exceed a half before the half must grow */

struct recorder_head {
    uint64_t now_ns;
    uint32_t events, actions;
};

struct recorder_half {
    unsigned char *data;
    size_t used, cap;
    struct checkpoint begin;
    bool whole; /* begins with the scheduler's creation: no checkpoint is needed */
    bool kept;  /* the beginning and the steps are valid */
};

/* Text on its way to a file. */
struct recorder_text {
    int fd, err;
    size_t used;
    char data[16384];
};

struct recorder {
    struct recorder_half *now;        /* the half that is being filled */
    const struct sched_event *events; /* events of the step in progress; NULL: none */
    struct recorder_head head;        /* head of that step */
    struct sched_actions actions;     /* actions of that step; items NULL: no answer yet */
    uint32_t half_bytes;
    bool failed; /* out of memory: nothing is recorded until the next half */
    bool streaming;
    struct recorder_half half[2];
    struct sched_config config;
    struct recorder_text stream;
};

static inline struct recorder_half *other_half(const struct recorder *r) {
    return (struct recorder_half *)&r->half[r->now == &r->half[0]];
}

static int open_half(struct recorder_half *h, uint32_t bytes) {
    h->cap = bytes + RECORDER_SLACK;
    h->data = malloc(h->cap);
    return h->data ? 0 : -ENOMEM;
}

int recorder_create(struct recorder **out, const struct sched_config *config, uint32_t half_bytes) {
    struct recorder *r = calloc(1, sizeof(*r));
    *out = NULL;
    if (!r) return -ENOMEM;
    r->config = *config;
    r->half_bytes = half_bytes ? half_bytes : RECORDER_HALF_BYTES;
    r->now = &r->half[0];
    r->half[0].whole = r->half[0].kept = true;
    for (int i = 0; i < 2; i++)
        if (open_half(&r->half[i], r->half_bytes)) {
            recorder_destroy(r);
            return -ENOMEM;
        }
    *out = r;
    return 0;
}

void recorder_destroy(struct recorder *r) {
    if (!r) return;
    recorder_stop(r);
    for (int i = 0; i < 2; i++) {
        checkpoint_finish(&r->half[i].begin);
        free(r->half[i].data);
    }
    free(r);
}

/* ---- recording ------------------------------------------------------------------------------ */

#define RECORDER_HEAD offsetof(struct sched_event, need) /* kind and job */
/* Size of an event whose last used member is `field`. */
#define RECORDER_BYTES(field) \
    (offsetof(struct sched_event, field) + sizeof(((struct sched_event *)0)->field))

static size_t event_bytes(const struct sched_event *e) {
    switch (e->kind) {
    case SCHED_SUBMITTED: return RECORDER_BYTES(submitted);
    case SCHED_DONE: return RECORDER_BYTES(done);
    case SCHED_ASKED: return RECORDER_BYTES(patient);
    case SCHED_MEASURED: return RECORDER_BYTES(need);
    case SCHED_BOUNDARY:
    case SCHED_WANTED:
    case SCHED_HELD:
    case SCHED_FIXED:
    case SCHED_LEFT:
    case SCHED_TIME: return RECORDER_HEAD;
    default: return sizeof(*e);
    }
}

static bool grow(struct recorder_half *h, size_t bytes) {
    unsigned char *grown = realloc(h->data, h->used + bytes);
    if (!grown) return false;
    h->data = grown;
    h->cap = h->used + bytes;
    return true;
}

static inline bool has_room(const struct recorder_half *h, size_t bytes) {
    return bytes <= h->cap - h->used;
}

static inline unsigned char *put_bytes(unsigned char *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    return to + bytes;
}

static __attribute__((noinline)) unsigned char *put_other(unsigned char *to,
                                                          const struct sched_event *e) {
    return put_bytes(to, e, event_bytes(e));
}

/* The frequent kinds have constant sizes, so that the compiler copies them with a few moves. */
static inline unsigned char *put_event(unsigned char *to, const struct sched_event *e) {
    if (e->kind == SCHED_SUBMITTED) return put_bytes(to, e, RECORDER_BYTES(submitted));
    if (e->kind == SCHED_DONE) return put_bytes(to, e, RECORDER_BYTES(done));
    if (e->kind == SCHED_BOUNDARY) return put_bytes(to, e, RECORDER_HEAD);
    return put_other(to, e);
}

static inline unsigned char *put_action(unsigned char *to, const struct sched_action *a) {
    return put_bytes(to, a, sizeof(*a));
}

/* Appends the step in progress, with its actions. */
static inline void keep_step(struct recorder *r) {
    struct recorder_half *h = r->now;
    const struct sched_event *events_end = r->events + r->head.events;
    const struct sched_action *actions_end = r->actions.items + r->actions.count;
    r->head.actions = r->actions.count;
    unsigned char *to = put_bytes(h->data + h->used, &r->head, sizeof(r->head));
    for (const struct sched_event *e = r->events; e != events_end; e++)
        to = put_event(to, e);
    for (const struct sched_action *a = r->actions.items; a != actions_end; a++)
        to = put_action(to, a);
    h->used = (size_t)(to - h->data);
}

/* Upper bound of the step's size. */
static inline size_t step_bytes(const struct recorder *r) {
    return sizeof(r->head) + r->head.events * sizeof(struct sched_event) +
           r->actions.count * sizeof(*r->actions.items);
}

/* ---- rare cases ----------------------------------------------------------------------------- */

/* Drops the older half and begins it anew with a checkpoint. Without memory for a checkpoint,
 * nothing is recorded until the next step tries again. */
static void swap_halves(struct recorder *r, const struct sched *s) {
    struct recorder_half *h = other_half(r);
    r->failed = checkpoint_take(&h->begin, s) != 0;
    h->whole = false;
    h->kept = !r->failed;
    h->used = r->failed ? r->half_bytes : 0;
    if (r->failed) r->now->kept = false; /* the new half would not continue it */
    r->now = h;
}

static void lose_all(struct recorder *r) {
    r->failed = true;
    r->half[0].kept = r->half[1].kept = false;
    r->now->used = r->half_bytes; /* the next step begins a half */
}

/* Returns false when nothing is recorded at present. */
static bool make_room(struct recorder *r, size_t bytes) {
    if (r->failed) return false;
    if (!has_room(r->now, bytes) && !grow(r->now, bytes)) lose_all(r);
    return !r->failed;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void flush(struct recorder_text *t) {
    size_t done = 0;
    while (done < t->used && !t->err) {
        ssize_t n = write(t->fd, t->data + done, t->used - done);
        if (n > 0) done += (size_t)n;
        if (n < 0 && errno != EINTR) t->err = -errno;
        if (n == 0) t->err = -EIO;
    }
    t->used = 0;
}

/* Returns where to write the next line, of at most NOTATION_BYTES and its frame. */
static char *line_of(struct recorder_text *t) {
    if (sizeof(t->data) - t->used < NOTATION_BYTES + 16) flush(t);
    return t->data + t->used;
}

static void say(struct recorder_text *t, const char *text) {
    size_t n = strlen(text);
    memcpy(line_of(t), text, n);
    t->used += n;
}

static void say_events(struct recorder_text *t, uint64_t now_ns) {
    char *line = line_of(t);
    t->used += (size_t)snprintf(line, NOTATION_BYTES, "@%" PRIu64 "\n", now_ns);
}

static void say_event(struct recorder_text *t, const struct sched_event *e) {
    char *line = line_of(t);
    size_t n = notation_event(line, e);
    line[n] = '\n';
    t->used += n + 1;
}

static void say_action(struct recorder_text *t, const struct sched_action *a) {
    char *line = line_of(t);
    line[0] = '>';
    line[1] = ' ';
    size_t n = notation_action(line + 2, a) + 2;
    line[n] = '\n';
    t->used += n + 1;
}

static void say_checkpoint(struct recorder_text *t, const struct checkpoint *c) {
    size_t at = 0, n;
    char *line = line_of(t);
    t->used += (size_t)snprintf(line, NOTATION_BYTES, "checkpoint %zu %s %016" PRIx64 "\n",
                                c->bytes, checkpoint_build(), checkpoint_hash(c));
    while ((n = checkpoint_line(c, &at, line_of(t))))
        t->used += n;
}

/* Writes the head of a recording. `begin` NULL: it begins with the scheduler's creation. */
static void say_head(struct recorder_text *t, const struct sched_config *config,
                     const struct checkpoint *begin) {
    say(t, NOTATION_HEAD);
    t->used += notation_config(line_of(t), config);
    say(t, "\n");
    if (begin) say_checkpoint(t, begin);
}

/* Writes the last step, of which perhaps only the events are known. */
static void say_open(struct recorder_text *t, const struct recorder *r) {
    say_events(t, r->head.now_ns);
    for (uint32_t i = 0; i < r->head.events; i++)
        say_event(t, &r->events[i]);
    if (!r->actions.items) say(t, NOTATION_WITHIN);
    for (uint32_t i = 0; i < r->actions.count; i++)
        say_action(t, &r->actions.items[i]);
}

static size_t say_kept_event(struct recorder_text *t, const unsigned char *data) {
    struct sched_event e = {0};
    memcpy(&e, data, RECORDER_HEAD);
    size_t bytes = event_bytes(&e);
    memcpy(&e, data, bytes);
    say_event(t, &e);
    return bytes;
}

static void say_half(struct recorder_text *t, const struct recorder_half *h) {
    struct recorder_head head = {0};
    for (size_t at = 0; at < h->used && !t->err;) {
        memcpy(&head, h->data + at, sizeof(head));
        at += sizeof(head);
        say_events(t, head.now_ns);
        for (uint32_t i = 0; i < head.events; i++)
            at += say_kept_event(t, h->data + at);
        for (uint32_t i = 0; i < head.actions; i++) {
            struct sched_action a;
            memcpy(&a, h->data + at, sizeof(a));
            say_action(t, &a);
            at += sizeof(a);
        }
    }
}

int recorder_write(const struct recorder *r, int fd) {
    struct recorder_text t = {.fd = fd};
    const struct recorder_half *older = other_half(r), *newer = r->now;
    const struct recorder_half *first = older->kept ? older : newer;
    if (!newer->kept) return -ENODATA;
    say_head(&t, &r->config, first->whole ? NULL : &first->begin);
    if (older->kept) say_half(&t, older);
    say_half(&t, newer);
    if (r->events) say_open(&t, r);
    say(&t, NOTATION_END);
    flush(&t);
    return t.err;
}

/* ---- while it goes on ------------------------------------------------------------------------ */

int recorder_stream(struct recorder *r, const struct sched *s, int fd) {
    struct checkpoint begin = {0};
    if (r->streaming) return -EBUSY;
    if (checkpoint_take(&begin, s)) return -ENOMEM;
    r->streaming = true;
    r->stream.fd = fd;
    r->stream.err = 0;
    r->stream.used = 0;
    say_head(&r->stream, &r->config, &begin);
    checkpoint_finish(&begin);
    return 0;
}

int recorder_stop(struct recorder *r) {
    if (!r->streaming) return 0;
    say(&r->stream, NOTATION_END);
    flush(&r->stream);
    close(r->stream.fd);
    r->streaming = false;
    return r->stream.err;
}

bool recorder_streaming(const struct recorder *r) {
    return r->streaming;
}

bool recorder_failing(const struct recorder *r) {
    return r->streaming && r->stream.err;
}

static void stream_events(struct recorder *r, uint64_t now_ns, const struct sched_event *events,
                          uint32_t count) {
    say_events(&r->stream, now_ns);
    for (uint32_t i = 0; i < count; i++)
        say_event(&r->stream, &events[i]);
}

static void stream_actions(struct recorder *r) {
    for (uint32_t i = 0; i < r->actions.count; i++)
        say_action(&r->stream, &r->actions.items[i]);
}

/* Handles the rare cases: a half is full, a stream is open, or there was no memory. */
static __attribute__((noinline)) void begin_otherwise(struct recorder *r, const struct sched *s) {
    if (r->now->used >= r->half_bytes) swap_halves(r, s);
    if (r->streaming) stream_events(r, r->head.now_ns, r->events, r->head.events);
}

static __attribute__((noinline)) void end_otherwise(struct recorder *r) {
    if (make_room(r, step_bytes(r))) keep_step(r);
    if (r->streaming) stream_actions(r);
}

/* Called at every step: rare cases are separate functions, so that this one needs no stack. Events
 * are copied when the step ends. At its beginning they have just been written piecewise, and the
 * processor would stall on store forwarding of a wide copy. */
void recorder_begin(struct recorder *r, const struct sched *s, uint64_t now_ns,
                    const struct sched_event *events, uint32_t count) {
    r->events = events;
    r->actions = (struct sched_actions){0};
    r->head.now_ns = now_ns;
    r->head.events = count;
    if (r->now->used >= r->half_bytes || r->streaming) begin_otherwise(r, s);
}

void recorder_answer(struct recorder *r, const struct sched_actions *actions) {
    r->actions = *actions;
}

void recorder_end(struct recorder *r) {
    const struct recorder_half *h = r->now;
    if (has_room(h, step_bytes(r)) && !r->failed && !r->streaming)
        keep_step(r);
    else
        end_otherwise(r);
    r->events = NULL;
}
