/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sched/dispatch/pause.h"

void pause_passed(struct sched_state *st, uint64_t ns) {
    uint64_t back_ns = ns / PAUSE_SPENT;
    if (st->idles)
        st->idled_ns += ns < PAUSE_DEBT_NS ? ns : PAUSE_DEBT_NS;
    else
        st->idled_ns -= back_ns < st->idled_ns ? back_ns : st->idled_ns;
    if (st->idled_ns > 2 * PAUSE_DEBT_NS) st->idled_ns = 2 * PAUSE_DEBT_NS;
}

void pause_look(struct sched_state *st) {
    st->idles = !st->running && st->waiting;
}

static uint64_t longest(const struct sched_state *st, const struct sched_job *j) {
    uint64_t part_ns = st->idled_ns < PAUSE_DEBT_NS ? j->burst_ns : j->burst_ns / PAUSE_PART;
    uint64_t most_ns = st->config->idle_turn_ns;
    return part_ns < most_ns ? part_ns : most_ns;
}

static bool is_waited_for(const struct sched_job *j) {
    return j->unawaited + 1 >= 1u << j->missed;
}

void pause_over(struct sched_state *st, uint32_t job) {
    struct sched_job *j = &st->jobs[job];
    if (!j->done_ns) return; /* the first operation of a job follows no pause */
    if (st->now_ns - j->done_ns <= longest(st, j)) {
        j->missed = j->unawaited = 0;
    } else if (!is_waited_for(j)) {
        j->unawaited++;
    } else {
        j->missed += j->missed < PAUSE_MISSED;
        j->unawaited = 0;
    }
    j->burst_ns = state_mean(j->burst_ns, j->busy_ns - j->burst_from_ns);
    j->burst_from_ns = j->busy_ns;
}

uint64_t pause_end(const struct sched_state *st, uint32_t job) {
    const struct sched_job *j = &st->jobs[job];
    bool absent = !j->admitted || j->left || j->swapped || j->spec.paused || j->paced_ns;
    if (absent || !j->done_ns || !is_waited_for(j)) return 0;
    return j->done_ns + longest(st, j);
}
