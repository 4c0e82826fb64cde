/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's end of the socket to its broker: the broker's end is no error, even with messages
 * unread; an invalid message is one.
 */
#include "daemon/worker/front/broker_order.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/worker/loop.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

static char text[4096];

/* Captures the worker's log of warnings and errors during `body`. */
static void logged_by(struct wirebench *b, void (*body)(struct wirebench *)) {
    int pair[2], before = dup(STDERR_FILENO);
    ssize_t n;

    unsetenv("SALUS_LOG");
    log_init("warn");
    cr_assert_eq(pipe(pair), 0);
    dup2(pair[1], STDERR_FILENO);
    body(b);
    log_init("none");
    dup2(before, STDERR_FILENO);
    close(before);
    close(pair[1]);
    n = read(pair[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    close(pair[0]);
}

static void listen_once(struct wirebench *b) {
    broker_order_read(b->worker);
}

/* The socket then reports a reset instead of an end of file. */
static void broker_ends_with_beats_unread(struct wirebench *b) {
    broker_link_beat(&b->worker->link);
    fdutil_close(&b->sock);
    broker_order_read(b->worker);
}

/* The worker's next send reports the reset first. */
static void broker_ends_with_words_unread(struct wirebench *b) {
    broker_link_beat(&b->worker->link);
    fdutil_close(&b->sock);
    broker_link_beat(&b->worker->link);
}

static void broker_ends_while_we_speak(struct wirebench *b) {
    fdutil_close(&b->sock);
    broker_link_beat(&b->worker->link);
}

static struct wirebench *begin(void) {
    return wirebench_start_as(
        &(struct worker_config){.ops = &fakedev, .policy = {.exclusive = -1, .swap = -1}});
}

static void expect_silence(void (*body)(struct wirebench *)) {
    struct wirebench *b = begin();

    logged_by(b, body);
    cr_assert(b->worker->link.over);
    cr_assert_str_eq(text, "");
    wirebench_stop(b);
}

Test(broker_link, an_end_with_messages_unread_is_no_error) {
    expect_silence(broker_ends_with_beats_unread);
}

Test(broker_link, an_end_with_words_unread_is_no_error_to_who_speaks) {
    expect_silence(broker_ends_with_words_unread);
}

Test(broker_link, an_end_while_it_is_spoken_to_is_no_error) {
    expect_silence(broker_ends_while_we_speak);
}

Test(broker_link, what_is_no_message_is_one) {
    struct wirebench *b = begin();

    cr_assert_eq(fdutil_send(b->sock, "nonsense", 8, NULL, 0), 0);
    logged_by(b, listen_once);
    cr_assert(b->worker->link.over);
    cr_assert(strstr(text, "event=bad-message bytes=8 text=\"the broker sent an invalid message, "
                           "so the worker ends\""),
              "%s", text);
    wirebench_stop(b);
}

/* The message is read at the end of a round, after clients that left were freed: sleeping then
 * would delay the report that their memory is free by up to a second. */
Test(broker_link, the_worker_does_not_sleep_over_one_that_left) {
    struct wirebench *b = begin();
    struct wireclient *c = wireclient_attach(b);
    struct wire_worker_msg msg = {.kind = WIRE_DETACH, .job_id = c->job_id};

    wirebench_run(b);
    cr_assert(loop_idle(b->worker));
    cr_assert_eq(fdutil_send(b->sock, &msg, sizeof(msg), NULL, 0), 0);
    b->worker->loop.tick_ns = 0; /* checks the socket in every round */
    loop_once(b->worker);
    cr_assert_eq(b->worker->clients.leaving, 1);
    cr_assert_not(loop_idle(b->worker));
    loop_once(b->worker);
    cr_assert(loop_idle(b->worker));
    cr_assert(wirebench_hear(b, &msg, NULL));
    cr_assert_eq(msg.kind, WIRE_DETACHED);
    wireclient_free(c);
    wirebench_stop(b);
}
