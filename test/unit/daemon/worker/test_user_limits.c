/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared state of one user's jobs, and each job's part of it.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "daemon/worker/client.h"
#include "daemon/worker/residency/user_limits.h"

#define MIB (1ull << 20)
#define ALICE 7u
#define BOB 8u

static struct worker w;
static struct client clients[6];

static struct client *add(int i, uint32_t uid, uint32_t lane, uint64_t p, uint64_t e) {
    struct client *c = &clients[i];

    memset(c, 0, sizeof(*c));
    c->worker = &w;
    c->uid = uid;
    c->lane = lane;
    c->credit.reserved_p = p;
    c->credit.reserved_e = e;
    c->credit.granted = true;
    c->quota = WORKER_QUOTA;
    list_append(&w.clients.list, &c->link);
    return c;
}

static void setup(void) {
    list_init(&w.clients.list);
}

TestSuite(user_limits, .init = setup);

Test(user_limits, a_lane_counts_once_with_what_its_neediest_has) {
    struct client *a = add(0, ALICE, 0, 10, 100), *b = add(1, ALICE, 0, 20, 300);

    add(2, ALICE, 1, 30, 50);
    add(3, ALICE, SCHED_NO_LANE, 1, 2);
    add(4, BOB, 2, 1000, 1000);
    cr_assert_eq(user_limits_granted(a, 10, 100), 61 + 300 + 50 + 2);
    cr_assert_eq(user_limits_granted(a, 15, 299), 66 + 300 + 50 + 2, "within the lane's");
    cr_assert_eq(user_limits_granted(a, 10, 400), 61 + 400 + 50 + 2, "it is the neediest then");
    cr_assert_eq(user_limits_granted(a, 10, 300), 61 + 300 + 50 + 2, "two have as much");
    cr_assert_eq(user_limits_granted(b, 20, 40), 61 + 100 + 50 + 2, "it would need less");
    add(5, ALICE, SCHED_NO_LANE, 500, 500)->credit.granted = false;
    cr_assert_eq(user_limits_granted(a, 10, 100), 61 + 300 + 50 + 2,
                 "what is only asked for is not");
    b->leaving = true;
    cr_assert_eq(user_limits_granted(a, 10, 100), 41 + 100 + 50 + 2, "who leaves needs nothing");
}

Test(user_limits, the_limit_is_the_users) {
    struct wire_limits limits = {.device_bytes = 100 * MIB};
    struct client *a = add(0, ALICE, 0, 40 * MIB, 0), *b = add(1, BOB, 1, 90 * MIB, 0);

    add(2, ALICE, 2, 20 * MIB, 10 * MIB);
    cr_assert(user_limits_allows(a, 1000 * MIB, 0), "none yet");
    user_limits_set(&w, ALICE, &limits);
    cr_assert(user_limits_allows(a, 70 * MIB, 0));
    cr_assert(user_limits_allows(a, 40 * MIB, 30 * MIB));
    cr_assert_not(user_limits_allows(a, 70 * MIB, 1));
    cr_assert(user_limits_allows(b, 900 * MIB, 0), "another's");
}

Test(user_limits, operations_are_shared_evenly) {
    struct wire_limits limits = {.operations = 90000};
    struct client *a = add(0, ALICE, 0, 0, 0), *b = add(1, BOB, 0, 0, 0), *c;

    user_limits_set(&w, ALICE, &limits);
    cr_assert_eq(a->quota, WORKER_QUOTA, "no job has more, however few there are");
    c = add(2, ALICE, 0, 0, 0);
    c->limits = limits;
    user_limits_share(&w, ALICE);
    cr_assert_eq(a->quota, 45000);
    cr_assert_eq(c->quota, 45000);
    cr_assert_eq(b->quota, WORKER_QUOTA, "another's");
    list_remove(&c->link);
    user_limits_share(&w, ALICE);
    cr_assert_eq(a->quota, WORKER_QUOTA);
    limits.operations = 10;
    user_limits_set(&w, ALICE, &limits);
    cr_assert_eq(a->quota, 64, "so few that it would not go on");
}

Test(user_limits, a_client_is_held_back_at_its_part) {
    struct wire_limits limits = {.operations = 100};
    struct client *a = add(0, ALICE, 0, 0, 0);

    user_limits_set(&w, ALICE, &limits);
    a->streams.pushed = 150;
    a->streams.completed = 51;
    cr_assert(client_accepts(a));
    a->streams.pushed++;
    cr_assert_not(client_accepts(a));
    a->streams.completed++;
    cr_assert(client_accepts(a));
}
