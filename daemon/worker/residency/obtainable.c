/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over all clients. Reservations change seldom.
 */
#include "daemon/worker/residency/obtainable.h"

#include "daemon/sched/admission/grant_bound.h"
#include "daemon/worker/client.h"
#include "daemon/worker/residency/user_limits.h"

#define SUMS 64u

/* Memory granted to the clients of a user, summed up once per pass. */
struct user_sum {
    uint32_t uid;
    uint64_t granted;
    bool known;
};

static uint64_t granted_to_user(const struct client *c, struct user_sum *sums) {
    const struct credit *k = &c->credit;
    struct user_sum *u = &sums[c->uid % SUMS];
    if (!u->known || u->uid != c->uid)
        *u = (struct user_sum){
            c->uid, user_limits_granted(c, credit_granted_p(k), credit_granted_e(k)), true};
    return u->granted;
}

static uint64_t least_of(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static struct sched_need most_of(const struct client *c, struct user_sum *sums) {
    const struct credit *k = &c->credit;
    struct sched_need most;
    uint64_t limit = c->limits.device_bytes;
    if (!sched_obtainable(c->worker->scheduling.sched, c->job_id, &most))
        return (struct sched_need){0};
    if (!limit) return most;
    uint64_t granted = granted_to_user(c, sums), more = limit > granted ? limit - granted : 0;
    return (struct sched_need){least_of(most.persistent_bytes, credit_granted_p(k) + more),
                               least_of(most.ephemeral_bytes, credit_granted_e(k) + more)};
}

void obtainable_update(struct worker *w) {
    struct user_sum sums[SUMS] = {0};
    struct list *pos;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (!c->memory || !c->credit.granted || c->abandoned) continue;
        struct sched_need most = most_of(c, sums);
        c->credit.most_p = most.persistent_bytes;
        c->credit.most_e = most.ephemeral_bytes;
        credit_show(&c->credit, c->memory, c->com.page);
    }
}
