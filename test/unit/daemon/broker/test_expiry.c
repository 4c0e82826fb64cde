/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages that arrived while the loop itself was late are read before their sender times out.
 */
#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/broker/expiry.h"

#define MS 1000000u

static uv_loop_t loop;
static uv_poll_t poll;
static struct expiry expiry;
static int pair[2], given_up;

static void on_expired(uv_timer_t *t) {
    cr_assert_eq(t->data, &given_up);
    given_up++;
    uv_poll_stop(&poll);
}

static void on_said(uv_poll_t *p, int status, int events) {
    char byte;

    cr_assert(status == 0 && events == UV_READABLE);
    cr_assert_eq(read(pair[0], &byte, 1), 1);
    expiry_stop(&expiry);
    uv_poll_stop(p);
}

static void on_closed(uv_handle_t *h) {
    (void)h;
}

static void setup(void) {
    given_up = 0;
    cr_assert_eq(uv_loop_init(&loop), 0);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    cr_assert_eq(uv_poll_init(&loop, &poll, pair[0]), 0);
    cr_assert_eq(uv_poll_start(&poll, UV_READABLE, on_said), 0);
    expiry_init(&expiry, &loop, &given_up, on_expired);
}

static void teardown(void) {
    uv_close((uv_handle_t *)&poll, on_closed);
    uv_close((uv_handle_t *)&expiry.timer, on_closed);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0);
    close(pair[0]);
    close(pair[1]);
}

TestSuite(expiry, .init = setup, .fini = teardown, .timeout = 60);

Test(expiry, who_says_nothing_is_given_up_once) {
    expiry_start(&expiry, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(given_up, 1);
}

Test(expiry, what_was_said_while_we_were_late_counts) {
    expiry_start(&expiry, 1 * MS);
    cr_assert_eq(write(pair[1], "x", 1), 1);
    usleep(20000);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(given_up, 0);
}

/* The loop's clock has whole milliseconds, and may be one behind. */
#define CLOCK (2 * MS)

Test(expiry, a_later_one_replaces_it) {
    const uint64_t begin = uv_hrtime();

    expiry_start(&expiry, 1);
    expiry_start(&expiry, 30 * MS);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(given_up, 1);
    cr_assert_geq(uv_hrtime() - begin, 30 * MS - CLOCK, "never before its time");
}

Test(expiry, it_begins_now_however_long_the_loop_has_not_looked) {
    usleep(20000);
    const uint64_t begin = uv_hrtime();

    expiry_start(&expiry, 10 * MS);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(given_up, 1);
    cr_assert_geq(uv_hrtime() - begin, 10 * MS - CLOCK, "never before its time");
}
