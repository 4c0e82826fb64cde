/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes and strictly reads the notation: whatever is read is written back identically.
 */
#include "daemon/sched/record/notation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/text/scan.h"
#include "daemon/policy/parameters.h"
#include "daemon/sched/core/view.h"

/* ---- tables ---------------------------------------------------------------------------------- */

/* The letters of a spec's options. */
struct notation_option {
    char letter;
    uint8_t bytes;
    uint16_t offset;
};

#define OPTION(letter, field) \
    { letter, sizeof(((struct sched_spec *)0)->field), offsetof(struct sched_spec, field) }
static const struct notation_option notation_options[] = {
    OPTION('w', weight),     OPTION('h', priority),
    OPTION('i', iterations), OPTION('d', duration_ns),
    OPTION('g', group),      OPTION('u', user),
    OPTION('r', run),        OPTION('t', admit_timeout_ns),
    OPTION('q', request_ns), OPTION('s', slo_ns),
    OPTION('o', slo_of)};
#undef OPTION

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int64_t get_field(const void *at, uint8_t bytes) {
    int32_t narrow;
    int64_t wide;
    if (bytes == sizeof(narrow)) {
        memcpy(&narrow, at, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, at, sizeof(wide));
    return wide;
}

/* Stores a field. Returns false when the value does not fit. */
static bool put_field(void *at, uint8_t bytes, int64_t value) {
    int32_t narrow = (int32_t)(uint32_t)value;
    if (bytes == sizeof(value)) {
        memcpy(at, &value, sizeof(value));
        return true;
    }
    memcpy(at, &narrow, sizeof(narrow));
    return value >= INT32_MIN && value <= UINT32_MAX;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct notation_out {
    char *text;
    size_t used;
};

static __attribute__((format(printf, 2, 3))) void add(struct notation_out *o, const char *fmt,
                                                      ...) {
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(o->text + o->used, NOTATION_BYTES - o->used, fmt, args);
    va_end(args);
    if (n > 0) o->used += (size_t)n;
    if (o->used >= NOTATION_BYTES) o->used = NOTATION_BYTES - 1;
}

static void add_options(struct notation_out *o, const struct sched_spec *s) {
    for (size_t i = 0; i < COUNT(notation_options); i++) {
        const struct notation_option *n = &notation_options[i];
        int64_t value = get_field((const char *)s + n->offset, n->bytes);
        if (value == 0) continue;
        if (n->letter == 'h')
            add(o, "h%" PRId64, value);
        else
            add(o, "%c%" PRIu64, n->letter,
                n->bytes == 4 ? (uint64_t)(uint32_t)value : (uint64_t)value);
    }
    if (s->paused) add(o, "p");
    if (s->fixed) add(o, "f");
}

static void add_joined(struct notation_out *o, const struct sched_event *e) {
    const struct sched_spec *s = &e->spec;
    bool needs = s->persistent_bytes || s->ephemeral_bytes;
    add(o, "+%u", e->job);
    if (needs || s->unknown) add(o, s->unknown ? "(?" : "(");
    if (needs) add(o, "%" PRIu64 ",%" PRIu64, s->persistent_bytes, s->ephemeral_bytes);
    if (needs || s->unknown) add(o, ")");
    add_options(o, s);
}

static void add_submitted(struct notation_out *o, const struct sched_event *e) {
    static const char classes[] = {
        [SCHED_CLASS_UNKNOWN] = 'u', [SCHED_CLASS_COMPUTE] = 'c', [SCHED_CLASS_MEMORY] = 'm'};
    const struct sched_kernel *k = &e->submitted.kernel;
    add(o, "%u:%" PRIu64, e->job, e->submitted.op);
    if (e->submitted.iteration) add(o, "/%u", e->submitted.iteration);
    if (k->class == SCHED_CLASS_COPY) return;
    add(o, "#%c%u", classes[k->class], k->sms);
    if (k->mean_ns || k->tail_ns) add(o, "*%" PRIu64, k->mean_ns);
    if (k->tail_ns != k->mean_ns) add(o, "~%" PRIu64, k->tail_ns);
    if (k->compute_milli || k->memory_milli) add(o, "%%%u,%u", k->compute_milli, k->memory_milli);
}

static void add_policy(struct notation_out *o, const struct policy_config *c) {
    const char *comma = "";
    add(o, "policy(");
    if (c->lane[0]) add(o, "lane=%.*s", POLICY_NAME_BYTES - 1, c->lane);
    if (c->lane[0]) comma = ",";
    if (c->kernel[0]) add(o, "%skernel=%.*s", comma, POLICY_NAME_BYTES - 1, c->kernel);
    if (c->kernel[0]) comma = ",";
    if (c->control[0]) add(o, "%scontrol=%.*s", comma, POLICY_NAME_BYTES - 1, c->control);
    if (c->control[0]) comma = ",";
    const struct parameter *k;
    for (int i = 0; (k = parameters_at(i)); i++) {
        int64_t value = parameters_get(c, k);
        if (value == parameters_unset(k)) continue;
        add(o, "%s%s=", comma, k->field);
        add(o, parameters_unset(k) < 0 ? "%" PRId64 : "%" PRIu64, value);
        comma = ",";
    }
    add(o, ")");
}

size_t notation_event(char *out, const struct sched_event *e) {
    struct notation_out o = {out, 0};
    uint64_t p = e->need.persistent_bytes, ephemeral = e->need.ephemeral_bytes;
    switch (e->kind) {
    case SCHED_POLICY: add_policy(&o, &e->policy); break;
    case SCHED_DONE:
        add(&o, "%u=%" PRIu64, e->job, e->done.op);
        if (e->done.busy_ns != 1) add(&o, "*%" PRIu64, e->done.busy_ns);
        if (e->done.lane_bytes) add(&o, "+%" PRIu64, e->done.lane_bytes);
        break;
    case SCHED_ASKED:
        add(&o, "%u?%" PRIu64 ",%" PRIu64 "%s", e->job, p, ephemeral, e->patient ? "w" : "");
        break;
    case SCHED_MEASURED: add(&o, "%u!%" PRIu64 ",%" PRIu64, e->job, p, ephemeral); break;
    case SCHED_BOUNDARY: add(&o, "%u|", e->job); break;
    case SCHED_WANTED: add(&o, "%u^", e->job); break;
    case SCHED_HELD: add(&o, "%u~", e->job); break;
    case SCHED_FIXED: add(&o, "%u&", e->job); break;
    case SCHED_LEFT: add(&o, "-%u", e->job); break;
    case SCHED_JOINED: add_joined(&o, e); break;
    case SCHED_SET:
        add(&o, "%u%%", e->job);
        add_options(&o, &e->spec);
        break;
    case SCHED_SUBMITTED: add_submitted(&o, e); break;
    case SCHED_TIME: add(&o, "."); break;
    default: add(&o, "unknown(%u)", (unsigned)e->kind);
    }
    return o.used;
}

size_t notation_policy(char *out, const struct policy_config *c) {
    struct notation_out o = {out, 0};
    add_policy(&o, c);
    return o.used;
}

size_t notation_config(char *out, const struct sched_config *c) {
    struct notation_out o = {out, 0};
    add(&o, "config capacity=%" PRIu64 " chunk=%" PRIu64 " sms=%u share_users=%d ",
        c->capacity_bytes, c->chunk_bytes, c->sms, c->share_users);
    if (c->one_user) add(&o, "one_user=1 ");
    if (c->share_sms > 1) add(&o, "share_sms=%u ", c->share_sms);
    if (c->slice_ns) add(&o, "slice=%" PRIu64 " ", c->slice_ns);
    add_policy(&o, &c->policy);
    return o.used;
}

static const char *why_name(enum sched_why why) {
    static const char *const names[] = {
#define X(name, text) #name,
        REASON_WHY(X)
#undef X
    };
    return (uint32_t)why < COUNT(names) ? names[why] : "?";
}

static const char *kind_name(enum sched_event_kind kind) {
    static const char *const names[SCHED_EVENTS] = {
        "policy", "done",  "asked",  "measured", "boundary",  "left", "joined",
        "set",    "fixed", "wanted", "held",     "submitted", "time"};
    return (uint32_t)kind < SCHED_EVENTS ? names[kind] : "?";
}

size_t notation_action(char *out, const struct sched_action *a) {
    struct notation_out o = {out, 0};
    switch (a->kind) {
    case SCHED_RUN: add(&o, "run %u:%" PRIu64, a->job, a->op); break;
    case SCHED_ADMIT: add(&o, "admit %u@%u", a->job, a->lane); break;
    case SCHED_REFUSE: add(&o, "refuse %u %s", a->job, why_name(a->why)); break;
    case SCHED_GRANT: add(&o, "grant %u", a->job); break;
    case SCHED_DENY: add(&o, "deny %u", a->job); break;
    case SCHED_WAIT: add(&o, "wait %u", a->job); break;
    case SCHED_MOVE: add(&o, "move %u@%u", a->job, a->lane); break;
    case SCHED_LANE: add(&o, "lane %u=%" PRIu64, a->lane, a->bytes); break;
    case SCHED_SWITCH: add(&o, "switch %u", a->job); break;
    case SCHED_SPILL: add(&o, "spill %u", a->job); break;
    case SCHED_RESTORE: add(&o, "restore %u", a->job); break;
    case SCHED_SWAP_OUT: add(&o, "out %u*%" PRIu64, a->job, a->bytes); break;
    case SCHED_SWAP_IN: add(&o, "in %u*%" PRIu64, a->job, a->bytes); break;
    case SCHED_LEVEL: add(&o, "level %u=%u", a->job, a->level); break;
    case SCHED_SHARE: add(&o, "share %u=%u", a->job, a->sms); break;
    case SCHED_STILL: add(&o, "still %u=%u", a->job, a->still); break;
    case SCHED_ARM: add(&o, "arm %" PRIu64, a->at_ns); break;
    case SCHED_REJECT:
        add(&o, "reject %u %s: %s", a->job, kind_name(a->rejected.event),
            sched_fault_text(a->rejected.fault));
        break;
    default: add(&o, "unknown(%u)", (unsigned)a->kind);
    }
    return o.used;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void must_be(struct scan *in, char c) {
    if (!scan_char(in, c)) in->at = NULL;
}

static void take_need(struct scan *in, uint64_t *p, uint64_t *e) {
    *p = scan_number(in, UINT64_MAX);
    must_be(in, ',');
    *e = scan_number(in, UINT64_MAX);
}

static bool take_option(struct scan *in, struct sched_spec *spec) {
    for (size_t i = 0; i < COUNT(notation_options); i++) {
        const struct notation_option *n = &notation_options[i];
        if (!scan_char(in, n->letter)) continue;
        bool minus = n->letter == 'h' && scan_char(in, '-');
        uint64_t most = n->letter == 'h' ? INT32_MAX : n->bytes == 4 ? UINT32_MAX : UINT64_MAX;
        int64_t value = (int64_t)scan_number(in, most);
        put_field((char *)spec + n->offset, n->bytes, minus ? -value : value);
        return true;
    }
    return false;
}

static void take_options(struct scan *in, struct sched_spec *spec) {
    while (in->at && *in->at)
        if (scan_char(in, 'p'))
            spec->paused = true;
        else if (scan_char(in, 'f'))
            spec->fixed = true;
        else if (!take_option(in, spec))
            in->at = NULL;
}

static void take_joined(struct scan *in, struct sched_event *e) {
    e->kind = SCHED_JOINED;
    e->job = (uint32_t)scan_number(in, UINT32_MAX);
    if (scan_char(in, '(')) {
        e->spec.unknown = scan_char(in, '?');
        if (!e->spec.unknown || !in->at || *in->at != ')')
            take_need(in, &e->spec.persistent_bytes, &e->spec.ephemeral_bytes);
        must_be(in, ')');
    }
    take_options(in, &e->spec);
}

static void take_kernel(struct scan *in, struct sched_kernel *k) {
    k->class = scan_char(in, 'c')   ? SCHED_CLASS_COMPUTE
               : scan_char(in, 'm') ? SCHED_CLASS_MEMORY
                                    : SCHED_CLASS_UNKNOWN;
    if (k->class == SCHED_CLASS_UNKNOWN) must_be(in, 'u');
    k->sms = (uint32_t)scan_number(in, UINT32_MAX);
    if (scan_char(in, '*')) k->mean_ns = scan_number(in, UINT64_MAX);
    k->tail_ns = scan_char(in, '~') ? scan_number(in, UINT64_MAX) : k->mean_ns;
    if (!scan_char(in, '%')) return;
    k->compute_milli = scan_number(in, SCHED_MILLI_MAX) & SCHED_MILLI_MAX;
    must_be(in, ',');
    k->memory_milli = scan_number(in, SCHED_MILLI_MAX) & SCHED_MILLI_MAX;
}

static void take_submitted(struct scan *in, struct sched_event *e) {
    e->kind = SCHED_SUBMITTED;
    e->submitted.op = scan_number(in, UINT64_MAX);
    if (scan_char(in, '/')) e->submitted.iteration = (uint32_t)scan_number(in, UINT32_MAX);
    e->submitted.kernel.class = SCHED_CLASS_COPY;
    if (scan_char(in, '#')) take_kernel(in, &e->submitted.kernel);
}

/* Reads a job, a sign, and what follows the sign. */
static void take_of_job(struct scan *in, struct sched_event *e) {
    e->job = (uint32_t)scan_number(in, UINT32_MAX);
    if (scan_char(in, ':')) {
        take_submitted(in, e);
    } else if (scan_char(in, '=')) {
        e->kind = SCHED_DONE;
        e->done.op = scan_number(in, UINT64_MAX);
        e->done.busy_ns = scan_char(in, '*') ? scan_number(in, UINT64_MAX) : 1;
        e->done.lane_bytes = scan_char(in, '+') ? scan_number(in, UINT64_MAX) : 0;
    } else if (scan_char(in, '|')) {
        e->kind = SCHED_BOUNDARY;
    } else if (scan_char(in, '^')) {
        e->kind = SCHED_WANTED;
    } else if (scan_char(in, '~')) {
        e->kind = SCHED_HELD;
    } else if (scan_char(in, '&')) {
        e->kind = SCHED_FIXED;
    } else if (scan_char(in, '%')) {
        e->kind = SCHED_SET;
        take_options(in, &e->spec);
    } else {
        e->kind = scan_char(in, '?') ? SCHED_ASKED : SCHED_MEASURED;
        if (e->kind == SCHED_MEASURED) must_be(in, '!');
        take_need(in, &e->need.persistent_bytes, &e->need.ephemeral_bytes);
        if (e->kind == SCHED_ASKED) e->patient = scan_char(in, 'w');
    }
}

/* Skips "NAME=" of the configuration. Returns true when it was next. */
static bool is_named(struct scan *in, const char *name) {
    size_t n = strlen(name);
    if (!in->at || strncmp(in->at, name, n) != 0 || in->at[n] != '=') return false;
    in->at += n + 1;
    return true;
}

static void take_name(struct scan *in, char out[POLICY_NAME_BYTES]) {
    size_t n = in->at ? strcspn(in->at, ",)=( ") : 0;
    if (n == 0 || n >= POLICY_NAME_BYTES) {
        in->at = NULL;
        return;
    }
    memcpy(out, in->at, n);
    out[n] = '\0';
    in->at += n;
}

static void take_key(struct scan *in, struct policy_config *c) {
    if (is_named(in, "lane")) {
        take_name(in, c->lane);
        return;
    }
    if (is_named(in, "kernel")) {
        take_name(in, c->kernel);
        return;
    }
    if (is_named(in, "control")) {
        take_name(in, c->control);
        return;
    }
    const struct parameter *k;
    for (int i = 0; (k = parameters_at(i)); i++) {
        if (!is_named(in, k->field)) continue;
        bool minus = parameters_unset(k) < 0 && scan_char(in, '-');
        int64_t value = (int64_t)scan_number(in, parameters_unset(k) < 0 ? INT64_MAX : UINT64_MAX);
        if (!parameters_put(c, k, minus ? -value : value)) in->at = NULL;
        return;
    }
    in->at = NULL;
}

static void take_policy(struct scan *in, struct policy_config *c) {
    parameters_clear(c);
    bool more = !scan_char(in, ')');
    while (in->at && more) {
        take_key(in, c);
        more = scan_char(in, ',');
        if (!more) must_be(in, ')');
    }
}

static bool is_policy(struct scan *in) {
    static const char word[] = "policy(";
    if (strncmp(in->at, word, sizeof(word) - 1) != 0) return false;
    in->at += sizeof(word) - 1;
    return true;
}

int notation_read_policy(const char *word, struct policy_config *out) {
    struct scan in = {word};
    if (!is_policy(&in)) return -EINVAL;
    take_policy(&in, out);
    return in.at && *in.at == '\0' ? 0 : -EINVAL;
}

int notation_read_event(const char *word, struct sched_event *out) {
    struct scan in = {word};
    *out = (struct sched_event){.kind = SCHED_TIME};
    if (is_policy(&in)) {
        out->kind = SCHED_POLICY;
        take_policy(&in, &out->policy);
    } else if (scan_char(&in, '+')) {
        take_joined(&in, out);
    } else if (scan_char(&in, '-')) {
        out->kind = SCHED_LEFT;
        out->job = (uint32_t)scan_number(&in, UINT32_MAX);
    } else if (!scan_char(&in, '.')) {
        take_of_job(&in, out);
    }
    return in.at && *in.at == '\0' ? 0 : -EINVAL;
}

/* Reads "word=" and a number. */
static uint64_t take_field(struct scan *in, const char *name, uint64_t most) {
    if (!is_named(in, name)) in->at = NULL;
    uint64_t value = scan_number(in, most);
    must_be(in, ' ');
    return value;
}

int notation_read_config(const char *line, struct sched_config *out) {
    static const char word[] = "config ";
    struct scan in = {strncmp(line, word, sizeof(word) - 1) == 0 ? line + sizeof(word) - 1 : NULL};
    *out = (struct sched_config){0};
    out->capacity_bytes = take_field(&in, "capacity", UINT64_MAX);
    out->chunk_bytes = take_field(&in, "chunk", UINT64_MAX);
    out->sms = (uint32_t)take_field(&in, "sms", UINT32_MAX);
    out->share_users = take_field(&in, "share_users", 1);
    if (in.at && !strncmp(in.at, "one_user=", strlen("one_user=")))
        out->one_user = take_field(&in, "one_user", 1);
    if (in.at && !strncmp(in.at, "share_sms=", strlen("share_sms=")))
        out->share_sms = (uint32_t)take_field(&in, "share_sms", UINT32_MAX);
    if (in.at && !strncmp(in.at, "slice=", strlen("slice=")))
        out->slice_ns = take_field(&in, "slice", UINT64_MAX);
    return in.at ? notation_read_policy(in.at, &out->policy) : -EINVAL;
}

int notation_read_number(const char *text, uint64_t most, uint64_t *out) {
    struct scan in = {text};
    *out = scan_number(&in, most);
    return in.at && *in.at == '\0' ? 0 : -EINVAL;
}
