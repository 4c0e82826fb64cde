/* SPDX-License-Identifier: Apache-2.0
 *
 * Implemented with plain loops over small arrays.
 */
#include "test/lib/place/placeref.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ACTIONS (4 * PLACEREF_JOBS)
#define QUEUES 16u
#define PPM 1000000.0

enum state { NOBODY, WAITS, RUNS, REFUSED };

struct seat {
    uint32_t node, gpu;
};

struct job {
    struct place_job told;
    enum state state;
    uint64_t p, e; /* p: memory that adds up; e: memory used in turns */
    uint64_t ppm;
    bool first;
    uint64_t turn, overtaken;
    int64_t told_ns, since_ns, started_ns;
    uint64_t start; /* number of the latest start, counted over all jobs; 0: never started */
    struct seat seats[PLACEREF_SEATS];
    uint32_t seat_count;
    double speed, before;
    /* The job that came onto one of this job's GPUs last, and the job whose GPUs it avoids, each
     * with the number of that job's start; PLACEREF_JOBS: none. */
    uint32_t newcomer, shunned;
    uint64_t newcomer_start, shunned_start;
};

struct node {
    bool here, shut, kept;
    struct place_node told;
    struct place_gpu gpus[PLACEREF_GPUS];
    uint64_t turn;
    enum place_kind side;
};

struct node_model {
    struct node node;
    uint32_t here, most;
};

struct use {
    uint64_t p, e, ppm, service_ppm;
    double slack;
    uint32_t jobs, services;
    bool alone;
};

struct placeref {
    struct place_config c;
    int64_t now_ns;
    struct node nodes[PLACEREF_NODES];
    struct node_model makes[4 * PLACEREF_NODES];
    uint32_t make_count;
    struct job jobs[PLACEREF_JOBS];
    uint64_t turns, node_turns, starts;
    uint32_t kept_for; /* nodes are kept for this job; PLACEREF_JOBS: for none */
    bool released;     /* nodes were kept and have been released */
    struct placeref_action actions[ACTIONS];
    uint32_t action_count, judged;
};

struct placeref *placeref_create(const struct place_config *config) {
    struct placeref *r = calloc(1, sizeof(*r));
    if (!r) abort();
    r->c = *config;
    r->kept_for = PLACEREF_JOBS;
    return r;
}

void placeref_destroy(struct placeref *r) {
    free(r);
}

static bool policy_is(const struct placeref *r, const char *name) {
    return !strcmp(r->c.policy, name);
}

static bool is_service(const struct job *j) {
    return j->told.kind == PLACE_SERVICE;
}

static void set_memory(const struct placeref *r, struct job *j, uint64_t p, uint64_t e) {
    bool lanes = r->c.memory == PLACE_MEMORY_LANES;
    j->p = lanes ? p : p + e;
    j->e = lanes ? e : 0;
}

/* ---- usage ----------------------------------------------------------------------------------- */

static struct use use_of(const struct placeref *r, uint32_t node, uint32_t gpu,
                         const struct job *but) {
    struct use u = {.slack = INFINITY};
    for (const struct job *j = r->jobs; j < r->jobs + PLACEREF_JOBS; j++)
        for (uint32_t s = 0; j->state == RUNS && j != but && s < j->seat_count; s++) {
            if (j->seats[s].node != node || j->seats[s].gpu != gpu) continue;
            u.p += j->p;
            if (j->e > u.e) u.e = j->e;
            u.ppm += j->ppm;
            if (is_service(j)) u.service_ppm += j->ppm;
            if (is_service(j) && j->told.slack < u.slack) u.slack = j->told.slack;
            u.jobs++;
            u.services += is_service(j);
            u.alone |= j->told.alone;
        }
    return u;
}

static bool cpu_fits(const struct placeref *r, uint32_t node, const struct job *job,
                     uint32_t tasks) {
    const struct place_node *n = &r->nodes[node].told;
    uint64_t cpu = (uint64_t)job->told.cpu_milli * tasks, bytes = job->told.memory_bytes * tasks;
    for (const struct job *j = r->jobs; j < r->jobs + PLACEREF_JOBS; j++)
        for (uint32_t s = 0; j->state == RUNS && s < j->seat_count; s += j->told.gpus)
            if (j->seats[s].node == node) {
                cpu += j->told.cpu_milli;
                bytes += j->told.memory_bytes;
            }
    if (job->told.cpu_milli && cpu > n->cpu_milli) return false;
    return !job->told.memory_bytes || bytes <= n->memory_bytes;
}

static uint64_t bytes_with(const struct use *u, const struct job *j) {
    return u->p + j->p + (u->e > j->e ? u->e : j->e);
}

static double slowdown(const struct place_curve *c, uint64_t ppm) {
    double x = ((double)ppm - PPM) / PPM;
    return ppm > PPM ? fmax((c->a2 * x + c->a1) * x + c->a0, 0) : 0;
}

/* The worst value up to `ppm`, at a few points; the curves of these tests decrease only near
 * their start, if at all. */
static double worst(const struct place_curve *c, uint64_t ppm) {
    return ppm > PPM ? fmax(fmax(c->a0, 0), slowdown(c, ppm)) : 0;
}

static double full_cost(const struct placeref *r, const struct job *j, const struct use *u,
                        const struct place_gpu *g) {
    double memory = (double)bytes_with(u, j) / (double)g->memory_bytes;
    return r->c.w_mem * memory + r->c.w_util * slowdown(&r->c.curves[g->curve], u->ppm + j->ppm);
}

/* ---- eligibility ----------------------------------------------------------------------------- */

static bool shares_well(const struct placeref *r, const struct job *j, const struct use *u,
                        const struct place_gpu *g) {
    const struct place_curve *c = &r->c.curves[g->curve];
    uint64_t ppm = u->ppm + j->ppm;
    bool within = r->c.util_most == 0 || ppm <= (uint64_t)round(r->c.util_most * PPM);
    bool trainings = u->jobs > u->services;
    if (policy_is(r, "fifo") || policy_is(r, "alone") || policy_is(r, "separate")) return !u->jobs;
    if (policy_is(r, "gslice")) {
        if (!is_service(j)) return !u->jobs;
        return within && !trainings && worst(c, ppm) <= fmin(u->slack, j->told.slack);
    }
    if (policy_is(r, "gpucolo")) {
        if ((trainings || !is_service(j)) && !within) return false;
        if (!is_service(j)) return true;
        return worst(c, u->service_ppm + j->ppm) <= fmin(u->slack, j->told.slack);
    }
    return within;
}

static bool shuns(const struct placeref *r, const struct job *j, struct seat at) {
    const struct job *k = j->shunned < PLACEREF_JOBS ? &r->jobs[j->shunned] : NULL;
    if (!k || k->state != RUNS || k->start != j->shunned_start) return false;
    for (uint32_t s = 0; s < k->seat_count; s++)
        if (k->seats[s].node == at.node && k->seats[s].gpu == at.gpu) return true;
    return false;
}

static bool may_go(const struct placeref *r, const struct job *j, struct seat at,
                   const struct use *u) {
    const struct node *n = &r->nodes[at.node];
    const struct place_gpu *g = &n->gpus[at.gpu];
    if (!n->here || n->shut || (n->kept && j != &r->jobs[r->kept_for])) return false;
    if (j->told.labels && !(j->told.labels & n->told.labels)) return false;
    if (policy_is(r, "separate") && n->side != j->told.kind) return false;
    if (u->alone || (j->told.alone && u->jobs)) return false;
    if (r->c.jobs_most && u->jobs >= r->c.jobs_most) return false;
    if (bytes_with(u, j) > g->memory_bytes) return false;
    return shares_well(r, j, u, g) && !shuns(r, j, at);
}

static double wish(const struct placeref *r, const struct job *j, const struct use *u,
                   const struct place_gpu *g) {
    if (r->c.first_fit) return 0;
    if (!strncmp(r->c.policy, "horus", 5)) return full_cost(r, j, u, g);
    if (policy_is(r, "obp") || policy_is(r, "pab"))
        return (double)bytes_with(u, j) / (double)g->memory_bytes;
    if (policy_is(r, "best_fit")) return (double)(g->memory_bytes - bytes_with(u, j));
    if (policy_is(r, "gslice") || policy_is(r, "gpucolo")) return -(double)(u->ppm + j->ppm);
    return 0;
}

/* ---- one job --------------------------------------------------------------------------------- */

struct option {
    double wish, cost;
    uint64_t turn;
    struct seat at;
};

static int by_wish(const void *a, const void *b) {
    const struct option *x = a, *y = b;
    if (x->wish != y->wish) return x->wish < y->wish ? -1 : 1;
    return x->turn < y->turn ? -1 : 1;
}

static uint32_t list_options(const struct placeref *r, const struct job *j,
                             struct option *options) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < PLACEREF_NODES; n++)
        for (uint32_t g = 0; r->nodes[n].here && g < r->nodes[n].told.gpu_count; g++) {
            struct seat at = {n, g};
            struct use u = use_of(r, n, g, NULL);
            const struct place_gpu *gpu = &r->nodes[n].gpus[g];
            if (!may_go(r, j, at, &u)) continue;
            options[count++] = (struct option){wish(r, j, &u, gpu), full_cost(r, j, &u, gpu),
                                               r->nodes[n].turn * 64 + g, at};
        }
    qsort(options, count, sizeof(*options), by_wish);
    return count;
}

/* A task starts where all its GPUs were found first. */
static bool choose(const struct placeref *r, const struct job *j, struct seat *seats,
                   double *costs) {
    struct option options[PLACEREF_SEATS];
    uint32_t count = list_options(r, j, options), tasks = 0;
    uint32_t taken[PLACEREF_NODES] = {0};
    double met[PLACEREF_NODES][PLACEREF_GPUS];
    for (uint32_t n = 0; n < PLACEREF_NODES; n++)
        for (uint32_t g = 0; g < PLACEREF_GPUS; g++)
            met[n][g] = -1;
    for (uint32_t i = 0; i < count && tasks < j->told.tasks; i++) {
        uint32_t n = options[i].at.node, have = 0;
        if (!cpu_fits(r, n, j, taken[n] + 1)) continue;
        met[n][options[i].at.gpu] = options[i].cost;
        for (uint32_t g = 0; g < PLACEREF_GPUS; g++)
            have += met[n][g] >= 0;
        if (have < j->told.gpus) continue;
        for (uint32_t g = 0; g < PLACEREF_GPUS; g++)
            if (met[n][g] >= 0) {
                *seats++ = (struct seat){n, g};
                *costs++ = met[n][g];
                met[n][g] = -1;
            }
        taken[n]++;
        tasks++;
    }
    return tasks == j->told.tasks;
}

static struct placeref_action *act(struct placeref *r, enum place_action_kind kind, uint64_t id) {
    struct placeref_action *a = &r->actions[r->action_count++];
    *a = (struct placeref_action){.kind = kind, .id = id};
    return a;
}

static void release(struct placeref *r) {
    if (r->kept_for == PLACEREF_JOBS) return;
    r->kept_for = PLACEREF_JOBS;
    r->released = true;
    for (uint32_t n = 0; n < PLACEREF_NODES; n++)
        r->nodes[n].kept = false;
}

static void run(struct placeref *r, struct job *j) {
    j->state = RUNS;
    j->first = false;
    j->overtaken = 0;
    j->start = ++r->starts;
    j->started_ns = r->now_ns;
    j->speed = j->before = 0;
    j->newcomer = j->shunned = PLACEREF_JOBS;
    for (struct job *k = r->jobs; k < r->jobs + PLACEREF_JOBS; k++)
        for (uint32_t s = 0; k->state == RUNS && k != j && s < k->seat_count; s++)
            for (uint32_t t = 0; t < j->seat_count; t++)
                if (k->seats[s].node == j->seats[t].node && k->seats[s].gpu == j->seats[t].gpu) {
                    k->before = k->speed;
                    k->newcomer = (uint32_t)(j - r->jobs);
                    k->newcomer_start = j->start;
                }
}

static uint32_t holds(const struct node *n, const struct job *j) {
    uint32_t large = 0, tasks;
    if (j->told.labels && !(j->told.labels & n->told.labels)) return 0;
    for (uint32_t g = 0; g < n->told.gpu_count; g++)
        large += n->gpus[g].memory_bytes >= j->p + j->e;
    for (tasks = large / j->told.gpus; tasks; tasks--)
        if ((uint64_t)tasks * j->told.cpu_milli <= n->told.cpu_milli &&
            tasks * j->told.memory_bytes <= n->told.memory_bytes)
            break;
    return tasks;
}

static bool can_ever(const struct placeref *r, const struct job *j) {
    uint64_t tasks = 0;
    for (uint32_t i = 0; i < r->make_count; i++)
        tasks += (uint64_t)r->makes[i].most * holds(&r->makes[i].node, j);
    return !r->make_count || tasks >= j->told.tasks;
}

static bool attempt(struct placeref *r, struct job *j) {
    double costs[PLACEREF_SEATS];
    if (!can_ever(r, j)) {
        act(r, PLACE_REFUSE, j->told.id);
        j->state = REFUSED;
        if (&r->jobs[r->kept_for] == j) release(r);
        return true;
    }
    if (!choose(r, j, j->seats, costs)) return false;
    struct placeref_action *a = act(r, PLACE_START, j->told.id);
    a->count = j->seat_count = j->told.tasks * j->told.gpus;
    for (uint32_t s = 0; s < a->count; s++) {
        a->where[s] = (struct place_where){r->nodes[j->seats[s].node].told.id, j->seats[s].gpu};
        a->cost += costs[s];
    }
    run(r, j);
    if (&r->jobs[r->kept_for] == j) release(r);
    return true;
}

/* ---- waiting jobs ---------------------------------------------------------------------------- */

static bool goes_before(const struct job *a, const struct job *b) {
    return a->first != b->first ? a->first : a->turn < b->turn;
}

static uint32_t list_waiting(struct placeref *r, struct job **list) {
    uint32_t count = 0;
    for (struct job *j = r->jobs; j < r->jobs + PLACEREF_JOBS; j++) {
        if (j->state != WAITS) continue;
        uint32_t at = count++;
        for (; at && goes_before(j, list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = j;
    }
    return count;
}

static void wait_now(struct placeref *r, struct job *j) {
    struct job *list[PLACEREF_JOBS];
    j->state = WAITS;
    j->since_ns = j->told_ns;
    uint32_t count = list_waiting(r, list);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] != j) continue;
        if (i + 1 < count && list[i + 1]->since_ns < j->since_ns)
            j->since_ns = list[i + 1]->since_ns;
        if (i && list[i - 1]->since_ns > j->since_ns) j->since_ns = list[i - 1]->since_ns;
    }
}

/* ---- Algorithm 1 ----------------------------------------------------------------------------- */

struct queue {
    struct job *jobs[PLACEREF_JOBS];
    uint32_t count;
};

static double far(const double *a, const double *b) {
    return fabs(a[0] - b[0]) + fabs(a[1] - b[1]) + fabs(a[2] - b[2]) + fabs(a[3] - b[3]);
}

static void features(struct job **jobs, uint32_t count, double (*x)[4]) {
    for (uint32_t i = 0; i < count; i++) {
        x[i][0] = jobs[i]->told.tasks;
        x[i][1] = (double)jobs[i]->ppm;
        x[i][2] = jobs[i]->told.gpus;
        x[i][3] = (double)(jobs[i]->p + jobs[i]->e);
    }
    for (uint32_t f = 0; f < 4; f++) {
        double low = x[0][f], high = x[0][f];
        for (uint32_t i = 0; i < count; i++) {
            low = fmin(low, x[i][f]);
            high = fmax(high, x[i][f]);
        }
        for (uint32_t i = 0; i < count; i++)
            x[i][f] = high > low ? (x[i][f] - low) / (high - low) : 0;
    }
}

static uint32_t near(double (*centres)[4], uint32_t k, const double *x) {
    uint32_t best = 0;
    for (uint32_t c = 1; c < k; c++)
        if (far(centres[c], x) < far(centres[best], x)) best = c;
    return best;
}

static void seeds(double (*x)[4], uint32_t count, double (*centres)[4], uint32_t k) {
    static const double origin[4];
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (far(x[i], origin) < far(x[best], origin)) best = i;
    for (uint32_t c = 0; c < k; c++) {
        double most = -1;
        for (uint32_t i = 0; c && i < count; i++) {
            double d = far(centres[near(centres, c, x[i])], x[i]);
            if (d <= most) continue;
            most = d;
            best = i;
        }
        memcpy(centres[c], x[best], sizeof(centres[c]));
    }
}

static void cluster(struct job **jobs, uint32_t count, uint32_t k, uint32_t *of) {
    double x[PLACEREF_JOBS][4], centres[QUEUES][4];
    memset(of, 0, count * sizeof(*of));
    if (k < 2 || count < 2) return;
    features(jobs, count, x);
    seeds(x, count, centres, k);
    for (uint32_t round = 0; round < 32; round++) {
        bool changed = false;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t to = near(centres, k, x[i]);
            changed |= to != of[i];
            of[i] = to;
        }
        if (!changed) return;
        for (uint32_t c = 0; c < k; c++) {
            double sum[4] = {0};
            uint32_t n = 0;
            for (uint32_t i = 0; i < count; i++)
                if (of[i] == c) {
                    n++;
                    for (uint32_t f = 0; f < 4; f++)
                        sum[f] += x[i][f];
                }
            for (uint32_t f = 0; n && f < 4; f++)
                centres[c][f] = sum[f] / n;
        }
    }
}

static double weight(const struct placeref *r, const struct queue *q) {
    if (!q->count) return 0;
    const struct job *a = q->jobs[(q->count - 1) / 2], *b = q->jobs[q->count / 2];
    double median =
        ((double)(r->now_ns - a->since_ns) / 1e9 + (double)(r->now_ns - b->since_ns) / 1e9) / 2;
    return fmax(q->count, median * q->count);
}

/* The number of jobs of each queue that the next round takes. */
static uint32_t portion(const struct placeref *r, const struct queue *queues, uint32_t *given) {
    double w[QUEUES], sum = 0;
    uint32_t all = 0;
    for (uint32_t x = 0; x < r->c.queues; x++) {
        w[x] = weight(r, &queues[x]);
        sum += w[x];
        given[x] = 0;
    }
    for (; all < r->c.batch; all++) {
        int best = -1;
        for (uint32_t x = 0; x < r->c.queues; x++)
            if (given[x] < queues[x].count &&
                (best < 0 ||
                 w[x] / sum * r->c.batch - given[x] > w[best] / sum * r->c.batch - given[best]))
                best = (int)x;
        if (best < 0) break;
        given[best]++;
    }
    return all;
}

static void algorithm_1(struct placeref *r) {
    struct job *list[PLACEREF_JOBS];
    struct queue queues[QUEUES] = {0};
    uint32_t of[PLACEREF_JOBS], given[QUEUES], count = list_waiting(r, list);
    cluster(list, count, r->c.queues, of);
    for (uint32_t i = 0; i < count; i++)
        queues[of[i]].jobs[queues[of[i]].count++] = list[i];
    for (uint32_t n = portion(r, queues, given); n; n = portion(r, queues, given)) {
        struct job *round[PLACEREF_JOBS];
        uint32_t in = 0;
        for (uint32_t x = 0; x < r->c.queues; x++) {
            struct queue *q = &queues[x];
            for (uint32_t i = 0; i < given[x]; i++)
                round[in++] = q->jobs[i];
            memmove(q->jobs, q->jobs + given[x], (q->count -= given[x]) * sizeof(*q->jobs));
        }
        for (uint32_t done = 0; done < in; done++) {
            struct job **next = NULL;
            for (uint32_t i = 0; i < in; i++)
                if (round[i] && (!next || goes_before(round[i], *next))) next = &round[i];
            struct job *j = *next;
            *next = NULL;
            attempt(r, j);
        }
    }
}

/* ---- kept nodes ------------------------------------------------------------------------------ */

static uint64_t open_tasks(const struct placeref *r, const struct job *j) {
    uint64_t tasks = 0;
    for (uint32_t n = 0; n < PLACEREF_NODES; n++)
        if (r->nodes[n].here && !r->nodes[n].shut) tasks += holds(&r->nodes[n], j);
    return tasks;
}

static uint32_t tasks_on(const struct placeref *r, uint32_t node) {
    uint32_t tasks = 0;
    for (const struct job *j = r->jobs; j < r->jobs + PLACEREF_JOBS; j++)
        for (uint32_t s = 0; j->state == RUNS && s < j->seat_count; s += j->told.gpus)
            tasks += j->seats[s].node == node;
    return tasks;
}

static void keep(struct placeref *r, struct job *j) {
    uint32_t tasks = 0;
    r->kept_for = (uint32_t)(j - r->jobs);
    while (tasks < j->told.tasks) {
        int best = -1;
        for (uint32_t n = 0; n < PLACEREF_NODES; n++) {
            const struct node *it = &r->nodes[n];
            if (!it->here || it->shut || it->kept || !holds(it, j)) continue;
            if (best < 0 || tasks_on(r, n) < tasks_on(r, (uint32_t)best) ||
                (tasks_on(r, n) == tasks_on(r, (uint32_t)best) && it->turn < r->nodes[best].turn))
                best = (int)n;
        }
        r->nodes[best].kept = true;
        tasks += holds(&r->nodes[best], j);
    }
}

static struct job *find_job(struct placeref *r, uint64_t id) {
    for (struct job *j = r->jobs; j < r->jobs + PLACEREF_JOBS; j++)
        if (j->state != NOBODY && j->told.id == id) return j;
    abort();
}

static void judge(struct placeref *r) {
    struct job *list[PLACEREF_JOBS], *longest = NULL;
    uint32_t count = list_waiting(r, list);
    if (!policy_is(r, "horus_f")) return;
    for (uint32_t i = 0; i < count && !longest; i++)
        if (open_tasks(r, list[i]) >= list[i]->told.tasks) longest = list[i];
    for (; longest && r->judged < r->action_count; r->judged++)
        if (r->actions[r->judged].kind == PLACE_START &&
            find_job(r, r->actions[r->judged].id)->turn > longest->turn)
            longest->overtaken++;
    r->judged = r->action_count;
    if (longest && r->kept_for == PLACEREF_JOBS && longest->overtaken >= r->c.patience)
        keep(r, longest);
}

static void pass(struct placeref *r) {
    struct job *list[PLACEREF_JOBS];
    uint32_t count = list_waiting(r, list);
    if (!strncmp(r->c.policy, "horus", 5)) {
        algorithm_1(r);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!attempt(r, list[i]) && policy_is(r, "fifo")) return;
}

/* ---- events ---------------------------------------------------------------------------------- */

static uint32_t find_node(const struct placeref *r, uint64_t id) {
    for (uint32_t n = 0; n < PLACEREF_NODES; n++)
        if (r->nodes[n].here && r->nodes[n].told.id == id) return n;
    abort();
}

static enum place_kind side_of_new(const struct placeref *r) {
    double gpus[2] = {0};
    for (uint32_t n = 0; n < PLACEREF_NODES; n++)
        if (r->nodes[n].here) gpus[r->nodes[n].side] += r->nodes[n].told.gpu_count;
    return gpus[PLACE_SERVICE] < r->c.separate_ratio * gpus[PLACE_TRAINING] ? PLACE_SERVICE
                                                                            : PLACE_TRAINING;
}

static int by_bytes(const void *a, const void *b) {
    const struct place_gpu *x = a, *y = b;
    return (x->memory_bytes > y->memory_bytes) - (x->memory_bytes < y->memory_bytes);
}

static bool alike(const struct node *a, const struct node *b) {
    struct place_gpu x[PLACEREF_GPUS], y[PLACEREF_GPUS];
    if (a->told.cpu_milli != b->told.cpu_milli || a->told.memory_bytes != b->told.memory_bytes ||
        a->told.labels != b->told.labels || a->told.gpu_count != b->told.gpu_count)
        return false;
    memcpy(x, a->gpus, sizeof(x));
    memcpy(y, b->gpus, sizeof(y));
    qsort(x, a->told.gpu_count, sizeof(*x), by_bytes);
    qsort(y, b->told.gpu_count, sizeof(*y), by_bytes);
    for (uint32_t g = 0; g < a->told.gpu_count; g++)
        if (x[g].memory_bytes != y[g].memory_bytes) return false;
    return true;
}

static struct node_model *make_of(struct placeref *r, const struct node *n) {
    for (uint32_t i = 0; i < r->make_count; i++)
        if (alike(&r->makes[i].node, n)) return &r->makes[i];
    if (r->make_count == sizeof(r->makes) / sizeof(*r->makes)) abort();
    r->makes[r->make_count] = (struct node_model){.node = *n};
    return &r->makes[r->make_count++];
}

static void take_node(struct placeref *r, const struct place_node *told) {
    struct node n = {.here = true, .told = *told, .turn = r->node_turns++, .side = side_of_new(r)};
    memcpy(n.gpus, told->gpus, told->gpu_count * sizeof(*told->gpus));
    struct node_model *m = make_of(r, &n);
    if (++m->here > m->most) m->most = m->here;
    for (uint32_t i = 0; i < PLACEREF_NODES; i++)
        if (!r->nodes[i].here) {
            r->nodes[i] = n;
            return;
        }
    abort();
}

static void leave(struct job *j) {
    j->seat_count = 0;
    j->start = 0;
}

static void take_node_gone(struct placeref *r, uint32_t n) {
    for (struct job *j = r->jobs; j < r->jobs + PLACEREF_JOBS; j++)
        for (uint32_t s = 0; j->state == RUNS && s < j->seat_count; s++)
            if (j->seats[s].node == n) {
                leave(j);
                j->first = true;
                wait_now(r, j);
            }
    make_of(r, &r->nodes[n])->here--;
    r->nodes[n].here = false;
}

static void take_of_node(struct placeref *r, const struct place_event *e) {
    uint32_t n = find_node(r, e->id);
    if (r->nodes[n].kept && e->kind != PLACE_NODE_OPEN) release(r);
    if (e->kind == PLACE_NODE_GONE) take_node_gone(r, n);
    if (e->kind == PLACE_NODE_SHUT) r->nodes[n].shut = true;
    if (e->kind == PLACE_NODE_OPEN) r->nodes[n].shut = false;
}

static struct job *add(struct placeref *r, const struct place_job *told) {
    struct job *j = r->jobs;
    while (j->state != NOBODY)
        if (++j == r->jobs + PLACEREF_JOBS) abort();
    *j = (struct job){.told = *told,
                      .ppm = (uint64_t)fmax(round(told->util * PPM), 1),
                      .turn = r->turns++,
                      .told_ns = told->since_ns ? told->since_ns : r->now_ns,
                      .newcomer = PLACEREF_JOBS,
                      .shunned = PLACEREF_JOBS};
    if (j->told_ns > r->now_ns) j->told_ns = r->now_ns;
    set_memory(r, j, told->persistent_bytes, told->ephemeral_bytes);
    return j;
}

static void take_runs(struct placeref *r, const struct place_event *e) {
    struct job *j = add(r, e->job);
    j->seat_count = e->job->tasks * e->job->gpus;
    for (uint32_t s = 0; s < j->seat_count; s++)
        j->seats[s] = (struct seat){find_node(r, e->where[s].node), e->where[s].gpu};
    run(r, j);
}

/* The most memory that a node offers on as many GPUs as a task wants. */
static uint64_t most_bytes(const struct placeref *r, const struct job *j) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < r->make_count; i++) {
        const struct node *n = &r->makes[i].node;
        if (j->told.labels && !(j->told.labels & n->told.labels)) continue;
        for (uint32_t g = 0; g < n->told.gpu_count; g++) {
            uint64_t bytes = n->gpus[g].memory_bytes;
            uint32_t count = 0;
            for (uint32_t h = 0; h < n->told.gpu_count; h++)
                count += n->gpus[h].memory_bytes >= bytes;
            if (count >= j->told.gpus && bytes > most) most = bytes;
        }
    }
    return most;
}

static void take_memory(struct placeref *r, struct job *j) {
    uint64_t had = UINT64_MAX;
    for (uint32_t s = 0; s < j->seat_count; s++) {
        struct use u = use_of(r, j->seats[s].node, j->seats[s].gpu, j);
        uint64_t all = r->nodes[j->seats[s].node].gpus[j->seats[s].gpu].memory_bytes;
        uint64_t left = all > u.p ? all - u.p : 0;
        if (left < had) had = left;
    }
    j->p = (uint64_t)ceil((double)j->p * r->c.more);
    j->e = (uint64_t)ceil((double)j->e * r->c.more);
    if (j->p + j->e < had) j->p = had - j->e;
    uint64_t most = most_bytes(r, j);
    if (had < most && j->p + j->e > most) {
        j->e = j->e < most ? j->e : most;
        j->p = most - j->e;
    }
    leave(j);
    wait_now(r, j);
}

static void judge_speed(struct placeref *r, struct job *j, double speed) {
    if (r->now_ns - j->started_ns < r->c.warm_ns) return;
    struct job *n = j->newcomer < PLACEREF_JOBS ? &r->jobs[j->newcomer] : NULL;
    if (n && n->state == RUNS && n->start == j->newcomer_start) {
        if (r->now_ns - n->started_ns < r->c.warm_ns) return;
        j->newcomer = PLACEREF_JOBS;
        if (speed < (1 - r->c.drop) * j->before) {
            act(r, PLACE_STOP, n->told.id);
            leave(n);
            n->turn = r->turns++;
            n->told_ns = r->now_ns;
            wait_now(r, n);
            n->shunned = (uint32_t)(j - r->jobs);
            n->shunned_start = j->start;
            return;
        }
    }
    j->speed = speed;
}

static void take_measured(struct placeref *r, struct job *j, const struct place_event *e) {
    bool memory = e->persistent_bytes || e->ephemeral_bytes;
    if (memory) set_memory(r, j, e->persistent_bytes, e->ephemeral_bytes);
    if (e->util > 0) j->ppm = (uint64_t)fmax(round(e->util * PPM), 1);
    if ((memory || e->util > 0) && j->state == WAITS && &r->jobs[r->kept_for] == j) release(r);
    if (e->speed > 0 && j->state == RUNS && policy_is(r, "pab")) judge_speed(r, j, e->speed);
}

static void take_of_job(struct placeref *r, const struct place_event *e) {
    struct job *j = find_job(r, e->id);
    if (e->kind == PLACE_GONE) {
        if (&r->jobs[r->kept_for] == j) release(r);
        leave(j);
        j->state = NOBODY;
    }
    if (e->kind == PLACE_FAILED) {
        leave(j);
        wait_now(r, j);
    }
    if (e->kind == PLACE_MEMORY) take_memory(r, j);
    if (e->kind == PLACE_MEASURED) take_measured(r, j, e);
}

uint32_t placeref_step(struct placeref *r, int64_t now_ns, const struct place_event *events,
                       size_t count, const struct placeref_action **actions) {
    if (now_ns > r->now_ns) r->now_ns = now_ns;
    r->action_count = r->judged = 0;
    for (size_t i = 0; i < count; i++) {
        const struct place_event *e = &events[i];
        if (e->kind == PLACE_NODE) take_node(r, e->node);
        if (e->kind == PLACE_NODE_GONE || e->kind == PLACE_NODE_SHUT || e->kind == PLACE_NODE_OPEN)
            take_of_node(r, e);
        if (e->kind == PLACE_JOB) wait_now(r, add(r, e->job));
        if (e->kind == PLACE_RUNS) take_runs(r, e);
        if (e->kind == PLACE_GONE || e->kind == PLACE_FAILED || e->kind == PLACE_MEMORY ||
            e->kind == PLACE_MEASURED)
            take_of_job(r, e);
    }
    do {
        r->released = false;
        pass(r);
        judge(r);
    } while (r->released);
    *actions = r->actions;
    return r->action_count;
}
