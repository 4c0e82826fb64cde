/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes under random arrivals, departures, growth, boundaries, draining, swapping, groups and
 * users. After every step it calls lanes_check, and compares the lanes with a model, which has only
 * a list of jobs and a list of lanes and computes all sums anew. The model checks the safety
 * condition, the result of each call, and the lane that it chooses. The model also judges plans.
 * Every other plan is carried out, in a random order with boundaries in between: afterwards the
 * waiting job must fit.
 *
 *   lane_random [steps [seed...]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/lanes/lane.h"
#include "daemon/sched/lanes/lane_check.h"

#define JOBS 24
#define WORLD 20000 /* steps before the next world: another device with other jobs */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STEPS 100000
#else
#define STEPS 1000000
#endif

struct mjob {
    uint64_t p, e;
    uint32_t group, user, lane;
    bool in, swapped;
};
struct mlane {
    uint64_t size;
    bool open, draining;
};
struct model {
    struct mjob jobs[JOBS];
    struct mlane lanes[JOBS];
    uint64_t capacity, chunk;
    uint32_t limit;
    uint32_t users; /* number of users in this world */
    bool share;
};

static struct model m;
static struct lanes *l;
static uint64_t seed, state, step;
static uint32_t slots; /* only jobs below this number are used */

enum tally {
    OPENED,
    FITTED,
    REPLACED,
    WAITED,
    NEVER,
    LEFT,
    GREW,
    REFUSED,
    SETTLED,
    DRAINED,
    IN,
    OUT,
    PLANNED,
    JUDGED,
    CARRIED,
    MULTIPLE,
    DROPPED,
    TALLIES
};
static const char *const tally_names[] = {"opened",   "fitted", "replaced", "waited",  "never",
                                          "left",     "grew",   "refused",  "settled", "drained",
                                          "in",       "out",    "planned",  "judged",  "carried",
                                          "multiple", "dropped"};
static unsigned long tally[TALLIES];

#define MUST(condition)                                                                      \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "seed %lu step %lu, line %d: not so: %s\n", (unsigned long)seed, \
                    (unsigned long)step, __LINE__, #condition);                              \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

static uint32_t below(uint32_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 33) % n);
}

/* ---- the model: everything is computed from the two lists ------------------------------------ */

static uint64_t up(uint64_t bytes) {
    return (bytes + m.chunk - 1) / m.chunk * m.chunk;
}

static uint64_t model_used(const struct model *w) {
    uint64_t sum = 0;
    for (int i = 0; i < JOBS; i++) {
        if (w->jobs[i].in && !w->jobs[i].swapped) sum += w->jobs[i].p;
        if (w->lanes[i].open) sum += w->lanes[i].size;
    }
    return sum;
}

static uint32_t model_open(const struct model *w) {
    uint32_t n = 0;
    for (int i = 0; i < JOBS; i++)
        n += w->lanes[i].open;
    return n;
}

static uint32_t model_members(const struct model *w, uint32_t lane) {
    uint32_t n = 0;
    for (int i = 0; i < JOBS; i++)
        n += w->jobs[i].in && w->jobs[i].lane == lane;
    return n;
}

static uint64_t model_need(const struct model *w, uint32_t lane) {
    uint64_t need = 0;
    for (int i = 0; i < JOBS; i++) {
        const struct mjob *j = &w->jobs[i];
        if (j->in && j->lane == lane && !j->swapped && j->e > need) need = j->e;
    }
    return need;
}

static bool model_admits(const struct model *w, uint32_t lane, const struct mjob *j) {
    if (!w->lanes[lane].open || w->lanes[lane].draining) return false;
    for (int i = 0; i < JOBS; i++) {
        const struct mjob *k = &w->jobs[i];
        if (!k->in || k->lane != lane || k == j) continue;
        if (j->group && k->group == j->group) return false;
        if (k->user != j->user && !w->share) return false;
    }
    return true;
}

/* `a` goes before `b`: smaller, then fewer members, then the lower number. */
static bool model_before(const struct model *w, uint32_t a, uint32_t b) {
    if (b == LANE_NONE) return true;
    if (w->lanes[a].size != w->lanes[b].size) return w->lanes[a].size < w->lanes[b].size;
    uint32_t x = model_members(w, a), y = model_members(w, b);
    return x != y ? x < y : a < b;
}

static enum lane_how model_find(const struct model *w, const struct mjob *j, uint32_t *lane) {
    uint64_t used = model_used(w) + j->p;
    uint32_t fit = LANE_NONE, grow = LANE_NONE;
    *lane = LANE_NONE;
    if (j->p + j->e > w->capacity) return LANE_NEVER;
    for (uint32_t i = 0; i < JOBS; i++) {
        if (!w->lanes[i].open && *lane == LANE_NONE) *lane = i; /* the lowest free number */
        if (!model_admits(w, i, j)) continue;
        if (w->lanes[i].size >= j->e) {
            if (used <= w->capacity && model_before(w, i, fit)) fit = i;
        } else if (used - w->lanes[i].size + j->e <= w->capacity && model_before(w, i, grow)) {
            grow = i;
        }
    }
    if (used + j->e <= w->capacity && (!w->limit || model_open(w) < w->limit)) return LANE_OPENED;
    *lane = fit != LANE_NONE ? fit : grow;
    return fit != LANE_NONE ? LANE_FITTED : grow != LANE_NONE ? LANE_REPLACED : LANE_WAITS;
}

static uint32_t model_target(const struct model *w, uint32_t job) {
    const struct mjob *j = &w->jobs[job];
    uint32_t best = LANE_NONE;
    for (uint32_t i = 0; i < JOBS; i++) {
        uint64_t need = model_need(w, i);
        if (!model_admits(w, i, j) || need < j->e) continue;
        uint64_t of_best = best == LANE_NONE ? UINT64_MAX : model_need(w, best);
        if (need < of_best || (need == of_best && model_before(w, i, best))) best = i;
    }
    return best;
}

static void model_move(struct model *w, uint32_t job, uint32_t to) {
    uint32_t from = w->jobs[job].lane;
    w->jobs[job].lane = to;
    if (to == LANE_NONE) w->jobs[job].in = false;
    if (!model_members(w, from)) w->lanes[from] = (struct mlane){0};
}

/* ---- the implementation compared with the model ---------------------------------------------- */

static void compare(void) {
    const char *wrong = lanes_check(l);
    uint32_t count = 0;
    if (wrong)
        fprintf(stderr, "seed %lu step %lu: %s\n", (unsigned long)seed, (unsigned long)step, wrong);
    MUST(!wrong && "lanes_check");
    for (uint32_t i = 0; i < JOBS; i++) {
        const struct mjob *j = &m.jobs[i];
        MUST(lanes_of(l, i) == (j->in ? j->lane : LANE_NONE));
        if (j->in) MUST(lanes_persistent(l, i) == j->p && lanes_ephemeral(l, i) == j->e);
        if (m.lanes[i].open) count = i + 1;
        MUST(lanes_open(l, i) == m.lanes[i].open);
        MUST(lanes_size(l, i) == m.lanes[i].size);
        MUST(lanes_members(l, i) == model_members(&m, i));
        MUST(lanes_draining(l, i) == m.lanes[i].draining);
        if (m.lanes[i].open) MUST(m.lanes[i].size >= model_need(&m, i));
        for (uint32_t k = 0; j->in && k < i; k++) {
            if (!m.jobs[k].in || m.jobs[k].lane != j->lane) continue;
            MUST(!j->group || m.jobs[k].group != j->group);
            MUST(m.share || m.jobs[k].user == j->user);
        }
    }
    MUST(lanes_count(l) == count);
    MUST(lanes_used(l) == model_used(&m));
    MUST(model_used(&m) <= m.capacity); /* the safety condition */
}

static void settle(uint32_t lane) {
    uint64_t need = model_need(&m, lane);
    bool shrinks = m.lanes[lane].open && need != m.lanes[lane].size;
    MUST(lanes_settle(l, lane) == shrinks);
    if (m.lanes[lane].open) m.lanes[lane].size = need;
    tally[SETTLED] += shrinks;
}

static bool drain(uint32_t job) {
    bool drains = m.jobs[job].in && m.lanes[m.jobs[job].lane].draining;
    uint32_t to, want = drains ? model_target(&m, job) : LANE_NONE;
    MUST(lanes_drain(l, job, &to) == (want != LANE_NONE));
    MUST(to == want);
    if (want == LANE_NONE) return false;
    model_move(&m, job, want);
    tally[DRAINED]++;
    return true;
}

static enum lane_how admit(uint32_t job, const struct mjob *j, bool reorganise) {
    struct lane_need need = {j->p, j->e, j->group, j->user};
    struct mjob whole = *j;
    whole.p = up(j->p);
    whole.e = up(j->e);
    whole.in = true;
    uint32_t got;
    enum lane_how want = model_find(&m, &whole, &whole.lane);
    MUST(lanes_admit(l, job, &need, reorganise, &got) == want);
    tally[OPENED + want]++;
    if (want == LANE_WAITS || want == LANE_NEVER) {
        MUST(got == LANE_NONE);
        return want;
    }
    MUST(got == whole.lane);
    if (want != LANE_FITTED) m.lanes[got].size = whole.e;
    m.lanes[got].open = true;
    m.jobs[job] = whole;
    return want;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void shuffle(uint32_t order[JOBS]) {
    for (uint32_t i = 0; i < JOBS; i++) {
        uint32_t k = below(i + 1);
        order[i] = order[k];
        order[k] = i;
    }
}

/* Empties all lanes that drain, in any order, with or without boundaries in between. Returns
 * whether that lets the job in; *possible: whether they can be emptied. */
static bool helps(struct model w, const struct mjob *j, bool boundaries, bool *possible) {
    uint32_t order[JOBS], lane;
    shuffle(order);
    *possible = false;
    for (int i = 0; i < JOBS; i++) {
        uint32_t job = order[i], to;
        uint32_t settled = below(JOBS);
        if (boundaries && below(2) && w.lanes[settled].open)
            w.lanes[settled].size = model_need(&w, settled);
        if (!w.jobs[job].in || !w.lanes[w.jobs[job].lane].draining) continue;
        if ((to = model_target(&w, job)) == LANE_NONE) return false;
        model_move(&w, job, to);
    }
    *possible = true;
    return model_find(&w, j, &lane) != LANE_WAITS;
}

/* Returns the least number of lanes to empty so that the job fits; 0: none. Without groups,
 * users and swapped jobs, lanes can be emptied when a lane is left that is as large as the
 * largest member needs. */
static uint32_t fewest(const struct mjob *j) {
    uint32_t open[JOBS], n = 0, best = 0, lane;
    for (uint32_t i = 0; i < JOBS; i++)
        if (m.lanes[i].open) open[n++] = i;
    for (uint32_t mask = 1; mask < 1u << n; mask++) {
        uint32_t count = (uint32_t)__builtin_popcount(mask);
        uint64_t moves = 0, keeps = 0;
        struct model w = m;
        if (best && count >= best) continue;
        for (uint32_t b = 0; b < n; b++) {
            uint64_t need = model_need(&m, open[b]), *to = mask >> b & 1 ? &moves : &keeps;
            if (need > *to) *to = need;
            if (mask >> b & 1) w.lanes[open[b]] = (struct mlane){0};
        }
        if (count < n && moves <= keeps && model_find(&w, j, &lane) != LANE_WAITS) best = count;
    }
    return best;
}

static bool plain(const struct mjob *j) {
    if (j->group || m.users > 1 || model_open(&m) > 7) return false;
    for (int i = 0; i < JOBS; i++)
        if ((m.jobs[i].in && (m.jobs[i].group || m.jobs[i].swapped)) || m.lanes[i].draining)
            return false;
    return true;
}

/* Checks the draining lanes after the job had to wait and lanes_admit was asked to reorganise. */
static bool judge(const struct mjob *j, bool is_plain) {
    uint32_t least = is_plain ? fewest(j) : 0, added = 0, before = 0;
    bool possible, good;
    for (uint32_t i = 0; i < JOBS; i++) {
        bool now = lanes_draining(l, i);
        before += m.lanes[i].draining;
        added += now && !m.lanes[i].draining;
        tally[DROPPED] += !now && m.lanes[i].draining;
        m.lanes[i].draining = now;
    }
    good = helps(m, j, false, &possible);
    MUST(possible);
    MUST(helps(m, j, true, &possible) || !good);
    MUST(possible);
    MUST(good || added == 0);
    if (is_plain) {
        MUST(before == 0);
        MUST(added == least);
        tally[JUDGED]++;
    }
    tally[PLANNED] += added > 0;
    tally[MULTIPLE] += added > 1;
    return good;
}

static void carry_out(uint32_t job, const struct mjob *j) {
    uint32_t order[JOBS];
    shuffle(order);
    for (int i = 0; i < JOBS; i++) {
        if (below(2)) settle(below(JOBS));
        if (m.jobs[order[i]].in && m.lanes[m.jobs[order[i]].lane].draining) MUST(drain(order[i]));
        compare();
    }
    MUST(admit(job, j, false) != LANE_WAITS);
    tally[CARRIED]++;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static struct mjob make_job(void) {
    uint32_t c = (uint32_t)m.capacity;
    struct mjob j = {.p = below(c / (1 + below(12)) + 1) / 2, .e = below(c / (1 + below(8)) + 1)};
    if (below(3) == 0) j.group = 1 + below(3);
    j.user = below(m.users);
    if (below(10) == 0) j.e = 0;
    if (below(20) == 0) j.p = 0;
    return j;
}

static void arrive(uint32_t job) {
    struct mjob j = make_job(), whole;
    bool reorganise = below(2), is_plain;
    if (step % WORLD < WORLD / 4) j.group = 0; /* a quarter of each world has no groups */
    whole = j;
    whole.p = up(j.p);
    whole.e = up(j.e);
    is_plain = reorganise && plain(&whole);
    if (admit(job, &j, reorganise) != LANE_WAITS || !reorganise) return;
    if (judge(&whole, is_plain) && below(2)) carry_out(job, &j);
}

static void change(uint32_t job) {
    struct mjob *j = &m.jobs[job], next = *j;
    struct mlane *lane = &m.lanes[j->lane];
    struct model w = m;
    uint32_t kind = below(4);
    uint64_t p = j->p, e = j->e;
    if (kind != 0) p = kind == 1 ? below((uint32_t)p + 1) : p + below(9);
    if (kind != 1) e = kind == 2 ? below((uint32_t)e + 1) : e + below(9);
    next.p = up(p);
    next.e = up(e);
    w.jobs[job] = next;
    if (!j->swapped && next.e > lane->size) w.lanes[j->lane].size = next.e;
    bool fits = model_used(&w) <= m.capacity && next.p + next.e <= m.capacity;
    MUST(lanes_set(l, job, p, e) == fits);
    MUST(fits || next.p > j->p || next.e > j->e); /* shrinking always succeeds */
    tally[fits ? GREW : REFUSED]++;
    if (fits) m = w;
}

static void swap(uint32_t job) {
    struct model w = m;
    struct mjob *j = &w.jobs[job];
    if (!j->swapped) {
        lanes_swap_out(l, job);
        m.jobs[job].swapped = true;
        tally[OUT]++;
        return;
    }
    j->swapped = false;
    if (j->e > w.lanes[j->lane].size) w.lanes[j->lane].size = j->e;
    bool fits = model_used(&w) <= m.capacity;
    MUST(lanes_swap_in(l, job) == fits);
    tally[fits ? IN : REFUSED]++;
    if (fits) m = w;
}

static void keep(void) {
    lanes_keep(l);
    for (int i = 0; i < JOBS; i++)
        m.lanes[i].draining = false;
}

static void another_world(void) {
    lanes_destroy(l);
    memset(&m, 0, sizeof(m));
    m.chunk = 1 + below(3);
    slots = 1 + below(JOBS);
    uint64_t capacity = 16 + below(100);
    m.capacity = capacity / m.chunk * m.chunk;
    m.users = below(2) ? 1 : 2 + below(2);
    m.share = below(3) == 0;
    MUST(lanes_create(&l, capacity, m.chunk) == 0);
    if (m.share) lanes_share(l);
    MUST(lanes_reserve(l, slots) == 0);
    MUST(lanes_capacity(l) == m.capacity);
}

static void make_step(void) {
    uint32_t job = below(slots), kind = below(100);
    if (kind == 0) {
        slots += slots < JOBS;
        MUST(lanes_reserve(l, slots) == 0);
    } else if (kind == 1) {
        m.limit = below(2) ? 0 : 1 + below(6);
        lanes_limit(l, m.limit);
    } else if (kind == 2) {
        keep();
    } else if (kind < 20) {
        settle(below(JOBS));
    } else if (kind < 35) {
        drain(job);
    } else if (!m.jobs[job].in) {
        arrive(job);
    } else if (kind < 55) {
        change(job);
    } else if (kind < 62 || (kind < 75 && m.jobs[job].swapped)) {
        if (step % WORLD >= WORLD / 8) swap(job);
    } else if (kind < 75) {
        lanes_leave(l, job);
        model_move(&m, job, LANE_NONE);
        tally[LEFT]++;
    }
}

static void run(uint64_t of_seed, uint64_t steps) {
    seed = of_seed;
    state = of_seed * 0x9e3779b97f4a7c15ull + 1;
    for (step = 0; step < steps; step++) {
        if (step % WORLD == 0) another_world();
        make_step();
        compare();
    }
}

int main(int argc, char **argv) {
    uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : STEPS;
    for (int i = 2; i < argc; i++)
        run(strtoull(argv[i], NULL, 10), steps);
    for (uint64_t s = 1; argc < 3 && s <= 3; s++)
        run(s, steps);
    lanes_destroy(l);
    printf("lane_random:");
    for (int i = 0; i < TALLIES; i++)
        printf(" %s %lu", tally_names[i], tally[i]);
    printf("\n");
    for (int i = 0; i < TALLIES && steps >= STEPS; i++)
        MUST(tally[i] > 0);
    return 0;
}
