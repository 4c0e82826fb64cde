/* SPDX-License-Identifier: Apache-2.0
 *
 * GPUColo: holds a latency at its target, not below, so that best-effort jobs get all that the
 * target leaves. Two loops control two levers. The inner loop moves its lever each period: "we
 * choose a Proportional controller ... s(k+1) = u(k) + s(k)" (section V.B). The outer loop moves
 * the other lever. It is "invoked periodically but at a much coarser time granularity" and "only
 * when the difference is bigger than a configurable threshold (e.g., 2%)" (section IV.C). The
 * paper's outer lever restarts the job. Ours costs nothing, so that the outer loop also acts as
 * soon as the inner lever is at its end. Only one of the two levers moves in a period, so that the
 * effect can be attributed to it.
 *
 * Assignment of the levers: a pause changes how often a request meets a best-effort iteration, not
 * how long the request takes then. Above the median, most requests that determine a quantile meet
 * one whatever the pause. For such targets the share is the inner lever and the pause the outer
 * one.
 */
#include "daemon/sched/control/controller.h"
#include "daemon/sched/control/lever.h"

#define MEDIAN 50u
#define LEAST_BAND 1e-3 /* parameters are in thousandths */

enum { PAUSE, SHARE, LEVERS };

struct colo {
    struct lever levers[LEVERS];
    double before_ns; /* measurement before the latest move */
    double most_ns;   /* largest measurement with the present jobs */
    uint32_t moved;   /* lever moved latest: PAUSE, SHARE; LEVERS: none */
    uint32_t periods; /* consecutive periods beyond the band on this side */
    int32_t side;     /* side of the target: 1 above, -1 below, 0 within the band */
    bool silent;      /* no requests came: no job is slowed down, the levers keep their positions */
    bool stuck;
};

/* ---- slopes ---------------------------------------------------------------------------------- */

/* The configured slope, in microseconds of latency per second of pause or per whole device; 0:
 * learned. */
static double given_slope(const struct policy_config *c, uint32_t lever) {
    if (lever == SHARE) return -(double)c->slope_share * 1e3;
    return -(double)c->slope_pause * 1e3 * (double)c->most_pause_ns / 1e9;
}

/* The steepest plausible slope of a lever that has not been observed: the whole latency that was
 * measured with the lever at 0. A pause of s after iterations of T leaves the job T/(T+s) of the
 * time, which is steepest at s = 0: the latency over T. Nothing comparable is known of shares. */
static double expected_slope(const struct colo *c, const struct controlled *now, uint32_t lever) {
    if (lever == SHARE || !now->cycle_ns) return -c->most_ns;
    return -c->most_ns * (double)now->st->config->most_pause_ns / (double)now->cycle_ns;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* The lever's end: one multiprocessor, or the smallest share, always remains. */
static double most_of(const struct controlled *now, uint32_t lever) {
    const struct sched_state *st = now->st;
    return lever == SHARE ? 1 - (double)st->share_sms / st->sms : 1;
}

static bool is_at_end(const struct colo *c, const struct controlled *now, uint32_t lever) {
    return lever_ends(&c->levers[lever], controller_error(now), most_of(now, lever));
}

static void move(struct colo *c, const struct controlled *now, uint32_t lever) {
    double error_ns = (double)now->measured_ns - (double)now->target_ns;
    double given = given_slope(now->st->config, lever), most = most_of(now, lever);
    if (given < 0)
        lever_move(&c->levers[lever], error_ns, given, most);
    else
        lever_move_learnt(&c->levers[lever], error_ns, expected_slope(c, now, lever), most);
    c->moved = lever;
    c->before_ns = (double)now->measured_ns;
}

static void learn(struct colo *c, const struct controlled *now) {
    if (c->moved < LEVERS)
        lever_learn(&c->levers[c->moved], (double)now->measured_ns - c->before_ns);
    c->moved = LEVERS;
}

/* Counts the periods in which the latency was beyond the band on one side of the target. */
static bool is_beyond_band(struct colo *c, const struct controlled *now) {
    double band = now->st->config->slo_band * LEAST_BAND, error = controller_error(now);
    int32_t side = error > band ? 1 : error < -band ? -1 : 0;
    c->periods = side && side == c->side ? c->periods + 1 : 1;
    c->side = side;
    return side != 0;
}

static void step(void *own, const struct controlled *now) {
    struct colo *c = own;
    bool share_first = now->percent > MEDIAN || now->st->config->share_first;
    uint32_t inner = share_first ? SHARE : PAUSE, outer = SHARE + PAUSE - inner;
    if (now->changed) {
        lever_forget(&c->levers[PAUSE]);
        lever_forget(&c->levers[SHARE]);
        c->moved = LEVERS;
        c->most_ns = 0;
    }
    bool silent = now->ruling == SCHED_NONE, was_silent = c->silent;
    c->silent = silent;
    c->stuck = false;
    if (silent ||
        was_silent) { /* the measurement does not belong to the levers' present positions */
        c->moved = LEVERS;
        return;
    }
    if ((double)now->measured_ns > c->most_ns) c->most_ns = (double)now->measured_ns;
    learn(c, now);
    bool beyond = is_beyond_band(c, now), ends = is_at_end(c, now, inner);
    bool due = c->periods >= now->st->config->outer_periods;
    c->stuck = beyond && controller_error(now) > 0 && ends && is_at_end(c, now, outer);
    if (beyond && (due || ends) && !is_at_end(c, now, outer)) {
        move(c, now, outer);
        c->periods = 0;
    } else {
        move(c, now, inner);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static uint64_t pause_of(const void *own, const struct controlled *now, uint32_t job) {
    const struct colo *c = own;
    if (c->silent || !controller_yields(&now->st->jobs[job])) return 0;
    return (uint64_t)(c->levers[PAUSE].at * (double)now->st->config->most_pause_ns);
}

static double part_of(const void *own, const struct controlled *now, uint32_t job) {
    const struct colo *c = own;
    if (c->silent || !controller_yields(&now->st->jobs[job])) return 0;
    return 1 - c->levers[SHARE].at;
}

static bool is_stuck(const void *own) {
    const struct colo *c = own;
    return c->stuck;
}

const struct controller control_gpucolo = {
    .name = "gpucolo",
    .own_bytes = sizeof(struct colo),
    .step = step,
    .pause = pause_of,
    .part = part_of,
    .stuck = is_stuck,
};
