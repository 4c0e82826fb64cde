/* SPDX-License-Identifier: Apache-2.0
 *
 * Performance-aware bin packing (Horus, section 5.2): jobs are placed as by obp. If the speed of a
 * job falls by half (`drop`) after another one came, the newcomer goes back to the queue. Speeds
 * count once both jobs have run for the warm-up: until then the earlier speed is remembered and no
 * job is stopped.
 *
 * The paper leaves some choices open. Of the two jobs, the one that came last is stopped and goes
 * to the end of the queue. It avoids the GPUs of the job that it slowed down while that job runs
 * there. (Gandiva, the paper's model for this, moves it elsewhere at random.) If several came
 * during a warm-up, the last one is stopped.
 */
#include "daemon/place/assignment/answer.h"
#include "daemon/place/assignment/cost.h"
#include "daemon/place/assignment/placement.h"
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/place_policy.h"

static void started(struct place *p, uint32_t job) {
    const struct job *it = &p->jobs.at[job];
    for (uint32_t own = it->first_seat; own != GPUS_NONE; own = p->gpus.seats[own].of_job) {
        uint32_t s = p->gpus.at[p->gpus.seats[own].gpu].first_seat;
        for (; s != GPUS_NONE; s = p->gpus.seats[s].next) {
            struct job *other = &p->jobs.at[p->gpus.seats[s].job];
            if (other == it) continue;
            other->before_speed = other->speed;
            other->newcomer = (struct jobs_other){job, it->start};
        }
    }
}

static bool is_warm(const struct place *p, const struct job *it) {
    return p->now_ns - it->started_ns >= p->config.warm_ns;
}

static void put_back(struct place *p, uint32_t newcomer, uint32_t slowed) {
    answer_stop(p, newcomer, "it slowed another job down");
    placement_leave(p, newcomer);
    jobs_wait_last(&p->jobs, newcomer, p->now_ns);
    p->jobs.at[newcomer].shunned = (struct jobs_other){slowed, p->jobs.at[slowed].start};
}

static void measured(struct place *p, uint32_t job, double speed) {
    struct job *it = &p->jobs.at[job];
    uint32_t newcomer = it->newcomer.job;
    if (!is_warm(p, it)) return;
    if (jobs_is_there(&p->jobs, &it->newcomer)) {
        if (!is_warm(p, &p->jobs.at[newcomer])) return;
        it->newcomer.job = JOBS_NONE;
        if (speed < (1 - p->config.drop) * it->before_speed) {
            put_back(p, newcomer, job);
            return;
        }
    }
    it->speed = speed;
}

const struct place_policy place_pab = {
    .name = "pab",
    .order = POLICY_IN_TURN,
    .one_shelf = true,
    .cost = cost_memory,
    .bound = cost_memory_least,
    .started = started,
    .measured = measured,
};
