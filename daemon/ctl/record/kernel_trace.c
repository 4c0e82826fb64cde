/* SPDX-License-Identifier: Apache-2.0
 *
 * Assembles lines into operations, operations into iterations, iterations into sums.
 */
#include "daemon/ctl/record/kernel_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/scan.h"

/* An operation of an iteration in progress. */
struct op {
    struct kernel_trace_op facts; /* counts and sums are unused */
    uint64_t name;                /* the scheduler's name, reused after the operation has ended */
    uint64_t offered_ns, run_ns, before_ns, idle_ns; /* before: the previous launch; idle: the end
                                                        of all earlier ones; 0: none, or not yet */
    uint64_t done_ns;                                /* 0: not yet */
    double took_ns, busy_ns;
    bool alone;
};

/* An iteration in progress. */
struct iteration {
    struct op *ops;
    uint32_t count, cap, pending;
    uint64_t begun_ns, ended_ns; /* boundaries; 0: not yet */
    uint64_t last_done_ns;
    bool used, dropped;
};

struct flight {
    uint64_t name;
    uint32_t iteration, op;
};

struct kernel_trace_open {
    struct iteration iterations[KERNEL_TRACE_OPEN];
    struct flight flights[KERNEL_TRACE_IN_FLIGHT];
    uint32_t flying, running;
    uint32_t current; /* iteration that new operations belong to */
    uint64_t last_offer_ns, last_run_ns, last_done_ns;
};

void kernel_trace_init(struct kernel_trace *t) {
    memset(t, 0, sizeof(*t));
}

static void finish_open(struct kernel_trace_job *j) {
    for (uint32_t i = 0; j->open && i < KERNEL_TRACE_OPEN; i++)
        free(j->open->iterations[i].ops);
    free(j->open);
    j->open = NULL;
}

void kernel_trace_finish(struct kernel_trace *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        for (uint32_t k = 0; k < t->jobs[i].shapes_count; k++)
            free(t->jobs[i].shapes[k].ops);
        finish_open(&t->jobs[i]);
    }
    free(t->jobs);
    kernel_trace_init(t);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

const struct kernel_trace_job *kernel_trace_find(const struct kernel_trace *t, uint64_t id) {
    for (uint32_t i = 0; i < t->count; i++)
        if (t->jobs[i].id == id) return &t->jobs[i];
    return NULL;
}

/* Finds the job, or appends it. Sets *out to NULL when there are too many. Returns 0 or -ENOMEM. */
static int place(struct kernel_trace *t, uint32_t id, struct kernel_trace_job **out) {
    *out = (struct kernel_trace_job *)kernel_trace_find(t, id);
    if (*out) return 0;
    if (t->count == KERNEL_TRACE_JOBS) {
        t->jobs_dropped++;
        return 0;
    }
    if (t->count == t->cap) {
        uint32_t cap = t->cap ? 2 * t->cap : 16;
        struct kernel_trace_job *grown = realloc(t->jobs, cap * sizeof(*grown));
        if (!grown) return -ENOMEM;
        t->jobs = grown;
        t->cap = cap;
    }
    struct kernel_trace_job *j = &t->jobs[t->count];
    *j = (struct kernel_trace_job){.id = id, .open = calloc(1, sizeof(*j->open))};
    if (!j->open) return -ENOMEM;
    j->open->iterations[0].used = true;
    t->count++;
    *out = j;
    return 0;
}

/* ---- complete iterations -------------------------------------------------------------------- */

static uint64_t print_of(const struct iteration *it) {
    uint64_t print = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < it->count; i++)
        print =
            (print ^ (it->ops[i].facts.copy ? UINT32_MAX : it->ops[i].facts.sms)) * 0x100000001b3u;
    return print;
}

/* Returns the shape of the iteration, or NULL: there are too many, or (*err) no memory. */
static struct kernel_trace_shape *shape_of(struct kernel_trace_job *j, const struct iteration *it,
                                           int *err) {
    uint64_t print = print_of(it);
    for (uint32_t i = 0; i < j->shapes_count; i++)
        if (j->shapes[i].print == print && j->shapes[i].count == it->count) return &j->shapes[i];
    if (j->shapes_count == KERNEL_TRACE_SHAPES) return NULL;
    struct kernel_trace_shape *s = &j->shapes[j->shapes_count];
    *s = (struct kernel_trace_shape){
        .ops = calloc(it->count, sizeof(*s->ops)), .count = it->count, .print = print};
    if (!s->ops) *err = -ENOMEM;
    if (!s->ops) return NULL;
    j->shapes_count++;
    return s;
}

static void add_op(struct kernel_trace_op *sum, const struct op *o) {
    double behind = o->before_ns ? (double)(o->offered_ns - o->before_ns) : 0;
    sum->copy = o->facts.copy;
    sum->class = o->facts.class;
    sum->sms = o->facts.sms;
    sum->compute_milli = o->facts.compute_milli;
    sum->memory_milli = o->facts.memory_milli;
    sum->profile_ns = o->facts.profile_ns;
    sum->count++;
    sum->took_ns += o->took_ns;
    if (o->alone) {
        sum->alone++;
        sum->alone_ns += o->took_ns;
    }
    sum->behind_ns += behind;
    if (!o->idle_ns) return;
    double after = (double)(o->offered_ns - o->idle_ns);
    sum->idle++;
    sum->after_ns += after;
    sum->after_squares += after * after;
    sum->behind_idle_ns += behind;
    sum->behind_squares += behind * behind;
}

static int add_iteration(struct kernel_trace_job *j, struct iteration *it) {
    int err = 0;
    bool empty = it->count == 0;
    struct kernel_trace_shape *s = empty || it->dropped ? NULL : shape_of(j, it, &err);
    if (!empty) j->iterations++;
    if (!empty && !s) j->dropped++;
    for (uint32_t i = 0; s && i < it->count; i++)
        add_op(&s->ops[i], &it->ops[i]);
    if (s) {
        s->iterations++;
        s->wall_ns += (double)(it->ended_ns - it->begun_ns);
        if (it->ended_ns > it->last_done_ns)
            s->tail_ns += (double)(it->ended_ns - it->last_done_ns);
    }
    struct op *ops = it->ops;
    *it = (struct iteration){.ops = ops, .cap = it->cap};
    return err;
}

static int settle(struct kernel_trace_job *j, struct iteration *it) {
    bool complete = it->used && it->ended_ns && it->pending == 0;
    return complete ? add_iteration(j, it) : 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct op *flying(struct kernel_trace_job *j, uint64_t name, uint32_t *at) {
    struct kernel_trace_open *o = j->open;
    for (uint32_t i = 0; o && i < o->flying; i++)
        if (o->flights[i].name == name) {
            *at = i;
            return &o->iterations[o->flights[i].iteration].ops[o->flights[i].op];
        }
    return NULL;
}

/* Allocates one more operation of the iteration. NULL: it is too long, or (*err) there is no
 * memory. */
static struct op *more(struct iteration *it, int *err) {
    if (it->dropped || it->count == KERNEL_TRACE_OPS) {
        it->dropped = true;
        return NULL;
    }
    if (it->count == it->cap) {
        uint32_t cap = it->cap ? 2 * it->cap : 16;
        struct op *grown = realloc(it->ops, cap * sizeof(*grown));
        if (!grown) *err = -ENOMEM;
        if (!grown) return NULL;
        it->ops = grown;
        it->cap = cap;
    }
    return &it->ops[it->count];
}

static void note_think(struct kernel_trace_job *j, uint64_t now_ns) {
    if (!j->ended_ns || now_ns < j->ended_ns) return;
    double think = (double)(now_ns - j->ended_ns);
    j->think_ns += think;
    j->think_squares += think * think;
    j->thinks++;
}

static int on_offer(struct kernel_trace *t, struct kernel_trace_job *j, uint64_t name,
                    const struct kernel_trace_op *facts) {
    struct kernel_trace_open *o = j->open;
    struct iteration *it = &o->iterations[o->current];
    int err = 0;
    if (!j->first_ns) j->first_ns = t->now_ns;
    if (it->count == 0) note_think(j, t->now_ns);
    struct op *op = o->flying == KERNEL_TRACE_IN_FLIGHT ? NULL : more(it, &err);
    if (!op) {
        it->dropped = true;
        return err;
    }
    *op = (struct op){.facts = *facts, .name = name, .offered_ns = t->now_ns};
    /* The first operation counts from the boundary. Another counts from the start of the previous
     * one if that had to wait: what its client did meanwhile is unknown. */
    if (it->count == 0)
        op->before_ns = it->begun_ns ? it->begun_ns : t->now_ns;
    else
        op->before_ns = o->last_run_ns > o->last_offer_ns ? o->last_run_ns : o->last_offer_ns;
    if (o->flying == 0 && it->count > 0) op->idle_ns = o->last_done_ns;
    o->flights[o->flying++] = (struct flight){name, o->current, it->count};
    o->last_offer_ns = t->now_ns;
    it->count++;
    it->pending++;
    return 0;
}

static void on_run(struct kernel_trace *t, struct kernel_trace_job *j, uint64_t name) {
    uint32_t at;
    struct op *op = flying(j, name, &at);
    if (!op || op->run_ns) return;
    op->run_ns = t->now_ns;
    op->alone = true;
    j->open->last_run_ns = t->now_ns;
    j->open->running++;
    for (uint32_t i = 0; i < t->count; i++) {
        struct kernel_trace_job *other = &t->jobs[i];
        if (other == j || !other->open || other->open->running == 0) continue;
        op->alone = false;
        for (uint32_t k = 0; k < other->open->flying; k++) {
            const struct flight *f = &other->open->flights[k];
            struct op *beside = &other->open->iterations[f->iteration].ops[f->op];
            if (beside->run_ns) beside->alone = false;
        }
    }
}

static int on_done(struct kernel_trace *t, struct kernel_trace_job *j, uint64_t name,
                   uint64_t busy_ns) {
    struct kernel_trace_open *o = j->open;
    uint32_t at;
    struct op *op = flying(j, name, &at);
    if (!op) return 0;
    struct iteration *it = &o->iterations[o->flights[at].iteration];
    uint64_t begun_ns = op->run_ns > o->last_done_ns ? op->run_ns : o->last_done_ns;
    if (op->run_ns) o->running--;
    op->done_ns = t->now_ns;
    op->took_ns = op->run_ns ? (double)(t->now_ns - begun_ns) : 0;
    op->busy_ns = (double)busy_ns;
    if (op->alone) {
        j->busy_ns += op->busy_ns;
        j->wall_ns += op->took_ns;
    }
    o->flights[at] = o->flights[--o->flying];
    o->last_done_ns = j->ended_ns = it->last_done_ns = t->now_ns;
    it->pending--;
    return settle(j, it);
}

/* Begins the next iteration. If too many are in progress, the oldest is dropped. */
static int on_boundary(struct kernel_trace *t, struct kernel_trace_job *j) {
    struct kernel_trace_open *o = j->open;
    struct iteration *it = &o->iterations[o->current];
    uint32_t next = (o->current + 1) % KERNEL_TRACE_OPEN;
    if (!j->first_boundary_ns) {
        j->first_boundary_ns = t->now_ns;
        j->before = it->dropped ? KERNEL_TRACE_OPS : it->count;
    }
    j->last_boundary_ns = t->now_ns;
    j->boundaries++;
    it->ended_ns = t->now_ns;
    int err = it->begun_ns ? settle(j, it) : 0;
    if (!it->begun_ns) it->used = it->dropped = false; /* the iteration's beginning was not seen */
    o->current = next;
    it = &o->iterations[next];
    for (uint32_t i = 0; i < o->flying;) {
        const struct flight *f = &o->flights[i];
        if (f->iteration == next && it->ops[f->op].run_ns) o->running--;
        if (f->iteration == next)
            o->flights[i] = o->flights[--o->flying];
        else
            i++;
    }
    if (it->used && it->count) j->dropped++;
    *it = (struct iteration){.ops = it->ops, .cap = it->cap, .used = true, .begun_ns = t->now_ns};
    return err;
}

/* Time at which as many operations as the usual iteration has were complete; 0: fewer were. */
static uint64_t end_of_usual(const struct kernel_trace_job *j, const struct iteration *it) {
    const struct kernel_trace_shape *s = kernel_trace_usual(j);
    uint64_t end_ns = 0;
    if (!s || it->dropped || it->count < s->count) return 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!it->ops[i].done_ns) return 0;
        if (it->ops[i].done_ns > end_ns) end_ns = it->ops[i].done_ns;
    }
    return end_ns;
}

/* Ends the job. A job without boundaries is one iteration; operations after the last boundary
 * belong to none. */
static int on_left(struct kernel_trace *t, struct kernel_trace_job *j) {
    struct iteration *it = &j->open->iterations[0];
    int err = 0;
    j->left_ns = t->now_ns;
    if (j->boundaries == 0 && it->count > 0) {
        it->begun_ns = j->first_ns;
        it->ended_ns = it->last_done_ns > it->begun_ns ? it->last_done_ns : it->begun_ns;
        err = add_iteration(j, it);
    }
    if (j->boundaries)
        j->last_iteration_ns = end_of_usual(j, &j->open->iterations[j->open->current]);
    finish_open(j);
    return err;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Reads the text behind "J:N": [/K][#cS[*D][~T][%C,M]]. */
static void take_facts(struct scan *in, struct kernel_trace_op *out) {
    *out = (struct kernel_trace_op){.copy = true};
    if (scan_char(in, '/')) scan_number(in, UINT32_MAX);
    if (!scan_char(in, '#')) return;
    out->copy = false;
    out->class = *in->at;
    if (out->class != 'c' && out->class != 'm' && out->class != 'u') in->at = NULL;
    if (!in->at) return;
    in->at++;
    out->sms = (uint32_t)scan_number(in, UINT32_MAX);
    if (scan_char(in, '*')) out->profile_ns = scan_number(in, UINT64_MAX);
    if (scan_char(in, '~')) scan_number(in, UINT64_MAX);
    if (!scan_char(in, '%')) return;
    out->compute_milli = (uint32_t)scan_number(in, UINT32_MAX);
    if (!scan_char(in, ',')) in->at = NULL;
    out->memory_milli = (uint32_t)scan_number(in, UINT32_MAX);
}

/* Takes "J:N...", "J=N*B+L" or "J|"; other events are skipped. */
static int take_event(struct kernel_trace *t, const char *line) {
    struct scan in = {line};
    struct kernel_trace_op facts = {.copy = true};
    struct kernel_trace_job *j;
    uint64_t name, busy_ns = 1;
    uint32_t id = (uint32_t)scan_number(&in, UINT32_MAX);
    char kind = in.at ? *in.at++ : '\0';
    if (kind != ':' && kind != '=' && kind != '|') return 0;
    name = kind == '|' ? 0 : scan_number(&in, UINT64_MAX);
    if (kind == ':') take_facts(&in, &facts);
    if (kind == '=' && scan_char(&in, '*')) busy_ns = scan_number(&in, UINT64_MAX);
    if (kind == '=' && scan_char(&in, '+')) scan_number(&in, UINT64_MAX);
    if (!in.at || *in.at) {
        t->lines_bad++;
        return 0;
    }
    int err = place(t, id, &j);
    if (err || !j || !j->open) return err;
    if (kind == ':') return on_offer(t, j, name, &facts);
    return kind == '=' ? on_done(t, j, name, busy_ns) : on_boundary(t, j);
}

/* Takes "> run J:N" and "> admit J@LANE". */
static int take_action(struct kernel_trace *t, const char *line) {
    bool run = strncmp(line, "> run ", 6) == 0;
    if (!run && strncmp(line, "> admit ", 8) != 0) return 0;
    struct scan in = {line + (run ? 6 : 8)};
    struct kernel_trace_job *j;
    uint32_t id = (uint32_t)scan_number(&in, UINT32_MAX);
    bool right = scan_char(&in, run ? ':' : '@');
    uint64_t name = scan_number(&in, UINT64_MAX);
    if (!right || !in.at || *in.at) {
        t->lines_bad++;
        return 0;
    }
    int err = place(t, id, &j);
    if (err || !j || !j->open) return err;
    if (run)
        on_run(t, j, name);
    else
        j->admitted_ns = t->now_ns;
    return 0;
}

static int take_line(struct kernel_trace *t, const char *line) {
    struct scan in = {line + 1};
    struct kernel_trace_job *j;
    const char *sms = strncmp(line, "config ", 7) == 0 ? strstr(line, " sms=") : NULL;
    if (*line == '@') {
        uint64_t now_ns = scan_number(&in, UINT64_MAX);
        if (!in.at || *in.at || now_ns < t->now_ns)
            t->lines_bad++;
        else
            t->now_ns = now_ns;
    } else if (*line == '>') {
        return take_action(t, line);
    } else if (*line == '-') {
        uint64_t id = scan_number(&in, UINT32_MAX);
        j = (struct kernel_trace_job *)kernel_trace_find(t, id);
        if (j && j->open) return on_left(t, j);
    } else if (*line >= '0' && *line <= '9') {
        return take_event(t, line);
    } else if (sms) {
        in.at = sms + 5;
        t->sms = (uint32_t)scan_number(&in, KERNEL_TRACE_MOST_SMS);
    }
    return 0;
}

int kernel_trace_read(struct kernel_trace *t, FILE *events) {
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int err = 0;
    while (!err && (n = getline(&line, &cap, events)) > 0) {
        if (line[n - 1] == '\n') line[n - 1] = '\0';
        err = take_line(t, line);
    }
    free(line);
    return err;
}

/* ---- results --------------------------------------------------------------------------------- */

const struct kernel_trace_shape *kernel_trace_usual(const struct kernel_trace_job *j) {
    const struct kernel_trace_shape *most = NULL;
    for (uint32_t i = 0; i < j->shapes_count; i++)
        if (!most || j->shapes[i].iterations > most->iterations) most = &j->shapes[i];
    return most && most->iterations ? most : NULL;
}

uint64_t kernel_trace_whole_ns(double ns) {
    return ns >= KERNEL_TRACE_MOST_NS ? KERNEL_TRACE_MOST_NS : ns > 0 ? (uint64_t)ns : 0;
}

uint64_t kernel_trace_alone_ns(const struct kernel_trace_op *op) {
    double ns = op->alone        ? op->alone_ns / op->alone
                : op->profile_ns ? (double)op->profile_ns
                : op->count      ? op->took_ns / op->count
                                 : 0;
    return ns >= 1 ? kernel_trace_whole_ns(ns) : 1;
}

static double variance(double sum, double squares, uint32_t n) {
    return n ? squares / n - sum / n * (sum / n) : 0;
}

/* If the device was idle at the launch, either is possible: the time that varies less is
 * attributed to the client. */
bool kernel_trace_waits(const struct kernel_trace_op *op, uint64_t *host_ns) {
    bool waits =
        2 * op->idle > op->count && variance(op->after_ns, op->after_squares, op->idle) <=
                                        variance(op->behind_idle_ns, op->behind_squares, op->idle);
    double ns = waits ? op->after_ns / op->idle : op->count ? op->behind_ns / op->count : 0;
    *host_ns = kernel_trace_whole_ns(ns);
    return waits;
}

uint32_t kernel_trace_use_milli(const struct kernel_trace_job *j) {
    double use = j->wall_ns > 0 ? j->busy_ns / j->wall_ns * 1000 : 1000;
    return use > 1000 ? 1000 : use < 1 ? 1 : (uint32_t)use;
}
