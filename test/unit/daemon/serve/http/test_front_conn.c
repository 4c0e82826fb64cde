/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections by their phases: timeouts, and which connection is closed to make space. A connection
 * that is shut is closed within the call, as in the front.
 */
#include <criterion/criterion.h>

#include "daemon/serve/http/conn.h"

#define MOST 4

static struct conns all;
static bool shut[MOST + 2];
static struct conn c[MOST + 2];

static void shut_one(struct conn *which) {
    shut[which - c] = true;
    conn_close(&all, which);
}

static void begin(void) {
    conns_init(&all, MOST, shut_one);
}

TestSuite(front_conn, .init = begin);

Test(front_conn, each_phase_has_its_limit) {
    all.limit_ns[CONN_IDLE] = 100;
    all.limit_ns[CONN_RECEIVING] = 50;
    for (int i = 0; i < 3; i++)
        conn_open(&all, &c[i], 1000);
    conn_enter(&all, &c[1], CONN_RECEIVING, 1010);
    conn_enter(&all, &c[2], CONN_WAITING, 1010);
    conns_expire(&all, 1059);
    cr_expect_not(shut[1]);
    conns_expire(&all, 1060);
    cr_expect(shut[1], "its time is over");
    conns_expire(&all, 1099);
    cr_expect_not(shut[0]);
    conns_expire(&all, 1100);
    cr_expect(shut[0]);
    conns_expire(&all, 1000000);
    cr_expect_not(shut[2], "who waits has no limit");
    cr_expect_eq(all.count, 1);
}

Test(front_conn, all_whose_time_is_over_are_shut) {
    all.limit_ns[CONN_LEAVING] = 10;
    for (int i = 0; i < MOST; i++) {
        conn_open(&all, &c[i], 0);
        conn_enter(&all, &c[i], CONN_LEAVING, (uint64_t)i);
    }
    conns_expire(&all, 12);
    cr_expect(shut[0] && shut[1] && shut[2]);
    cr_expect_not(shut[3]);
    cr_expect_eq(all.count, 1);
}

Test(front_conn, the_longest_idle_one_gives_way) {
    for (int i = 0; i < MOST; i++)
        conn_open(&all, &c[i], (uint64_t)i);
    conn_enter(&all, &c[0], CONN_WAITING, 10);
    conn_open(&all, &c[MOST], 1 + CONN_GRACE_NS);
    cr_expect(shut[1]);
    cr_expect_not(shut[2]);
    cr_expect_not(c[MOST].surplus);
    conn_open(&all, &c[MOST + 1], 2 + CONN_GRACE_NS);
    cr_expect(shut[2]);
    cr_expect_not(shut[3]);
    cr_expect_eq(all.count, MOST);
}

Test(front_conn, who_just_came_does_not_give_way) {
    for (int i = 0; i <= MOST; i++)
        conn_open(&all, &c[i], i < MOST ? 0 : CONN_GRACE_NS - 1);
    cr_expect(c[MOST].surplus);
    cr_expect_not(shut[0]);
}

Test(front_conn, where_none_is_idle_it_is_a_surplus) {
    for (int i = 0; i < MOST; i++) {
        conn_open(&all, &c[i], (uint64_t)i);
        conn_enter(&all, &c[i], CONN_RECEIVING, (uint64_t)i);
    }
    conn_open(&all, &c[MOST], 10);
    cr_expect(c[MOST].surplus);
    for (int i = 0; i <= MOST; i++)
        cr_expect_not(shut[i]);
    conns_shut_idle(&all);
    cr_expect(shut[MOST]);
    cr_expect_not(shut[0]);
}
