/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections by their phases: whose time is over, and who gives way. Sockets are pairs, whose
 * other end sees what was shut.
 */
#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/serve/http/conn.h"
#include "daemon/serve/http/hangup.h"

#define MOST 4

struct pair {
    struct conn c;
    int ends[2];
};

static void open_at(struct conns *all, struct pair *p, uint64_t now_ns) {
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p->ends), 0);
    conn_open(all, &p->c, p->ends[0], now_ns);
}

static bool is_shut(const struct pair *p) {
    char c;
    return recv(p->ends[1], &c, 1, 0) == 0;
}

Test(front_conn, each_phase_has_its_limit) {
    struct pair p[3];
    struct conns all;

    conns_init(&all, MOST);
    all.limit_ns[CONN_IDLE] = 100;
    all.limit_ns[CONN_RECEIVING] = 50;
    for (int i = 0; i < 3; i++)
        open_at(&all, &p[i], 1000);
    conn_enter(&all, &p[1].c, CONN_RECEIVING, 1010);
    conn_enter(&all, &p[2].c, CONN_WAITING, 1010);
    conns_expire(&all, 1059);
    cr_expect_not(is_shut(&p[1]));
    conns_expire(&all, 1060);
    cr_expect(is_shut(&p[1]), "its time is over");
    conns_expire(&all, 1099);
    cr_expect_not(is_shut(&p[0]));
    conns_expire(&all, 1100);
    cr_expect(is_shut(&p[0]));
    conns_expire(&all, 1000000);
    cr_expect_not(is_shut(&p[2]), "who waits has no limit");
    for (int i = 0; i < 3; i++)
        conn_close(&all, &p[i].c);
    cr_expect_eq(all.count, 0);
}

Test(front_conn, the_longest_idle_one_gives_way) {
    struct pair p[MOST + 2];
    struct conns all;

    conns_init(&all, MOST);
    for (int i = 0; i < MOST; i++)
        open_at(&all, &p[i], (uint64_t)i);
    conn_enter(&all, &p[0].c, CONN_WAITING, 10);
    open_at(&all, &p[MOST], 1 + CONN_GRACE_NS);
    cr_expect(is_shut(&p[1]));
    cr_expect_not(is_shut(&p[2]));
    cr_expect_not(p[MOST].c.surplus);
    /* The library did not see the end of the first yet: the next one goes. */
    open_at(&all, &p[MOST + 1], 2 + CONN_GRACE_NS);
    cr_expect(is_shut(&p[2]));
    conn_close(&all, &p[1].c);
    conn_close(&all, &p[2].c);
    cr_expect_eq(all.count, MOST);
}

Test(front_conn, who_just_came_does_not_give_way) {
    struct pair p[MOST + 1];
    struct conns all;

    conns_init(&all, MOST);
    for (int i = 0; i <= MOST; i++)
        open_at(&all, &p[i], i < MOST ? 0 : CONN_GRACE_NS - 1);
    cr_expect(p[MOST].c.surplus);
    cr_expect_not(is_shut(&p[0]));
}

Test(front_conn, where_none_is_idle_it_is_a_surplus) {
    struct pair p[MOST + 1];
    struct conns all;

    conns_init(&all, MOST);
    for (int i = 0; i < MOST; i++) {
        open_at(&all, &p[i], (uint64_t)i);
        conn_enter(&all, &p[i].c, CONN_RECEIVING, (uint64_t)i);
    }
    open_at(&all, &p[MOST], 10);
    cr_expect(p[MOST].c.surplus);
    for (int i = 0; i <= MOST; i++)
        cr_expect_not(is_shut(&p[i]));
    conns_shut_idle(&all);
    cr_expect(is_shut(&p[MOST]));
    cr_expect_not(is_shut(&p[0]));
}

Test(front_conn, a_hangup_is_seen_once) {
    struct pair p[2];
    struct hangup h;
    struct conns all;

    conns_init(&all, MOST);
    cr_assert_eq(hangup_init(&h), 0);
    for (int i = 0; i < 2; i++) {
        open_at(&all, &p[i], 0);
        cr_assert_eq(hangup_watch(&h, p[i].ends[0], &p[i]), 0);
    }
    cr_expect_null(hangup_next(&h));
    cr_assert_eq(write(p[1].ends[1], "x", 1), 1);
    cr_expect_null(hangup_next(&h), "that something comes is no end");
    shutdown(p[1].ends[1], SHUT_WR);
    cr_expect_eq(hangup_next(&h), &p[1]);
    conn_hang_up(&p[1].c);
    cr_expect(p[1].c.hung_up);
    cr_expect_null(hangup_next(&h));
    char c;
    cr_expect_eq(recv(p[1].ends[0], &c, 1, 0), 1, "what came can be read");
    cr_expect_eq(recv(p[1].ends[0], &c, 1, 0), 0);
    conn_hang_up(&p[0].c);
    cr_expect_eq(recv(p[0].ends[0], &c, 1, 0), 0, "whoever reads is told of the end");
    cr_expect_eq(hangup_next(&h), &p[0]);
    close(p[0].ends[0]);
    close(p[0].ends[1]);
    cr_expect_null(hangup_next(&h), "who is closed is not watched any more");
    hangup_finish(&h);
}
