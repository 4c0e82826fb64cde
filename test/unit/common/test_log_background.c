/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon's log: no caller waits for the log's reader, lost records are counted, and each kind of
 * record is written at most once a second. Each test is a separate process.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/log_limit.h"
#include "common/log_writer.h"
#include "test/lib/patience.h"

static int reader = -1;
static char text[1 << 20];
static size_t text_bytes;

/* Makes the process's standard error a pipe; `reader` is its other end. */
static void new_reader(void) {
    int pair[2];

    cr_assert_eq(pipe2(pair, O_CLOEXEC), 0);
    if (reader >= 0) close(reader);
    reader = pair[0];
    dup2(pair[1], STDERR_FILENO);
    close(pair[1]);
}

static void begin(void) {
    alarm((unsigned)patience_ms() * 3 / 2000); /* ends a process that hangs */
    signal(SIGPIPE, SIG_IGN);
    setenv("SALUS_LOG", "info,free:debug", 1);
    new_reader();
    log_init("info");
    cr_assert_eq(log_background(), 0);
}

/* Reads until `part` was seen. */
static void read_until(const char *part) {
    struct pollfd p = {.fd = reader, .events = POLLIN};

    while (!strstr(text, part)) {
        ssize_t n;

        cr_assert_eq(poll(&p, 1, patience_ms()), 1, "'%s' never came; the last: %s", part,
                     text + (text_bytes > 300 ? text_bytes - 300 : 0));
        n = read(reader, text + text_bytes, sizeof(text) - 1 - text_bytes);
        cr_assert_gt(n, 0, "'%s' never came", part);
        text_bytes += (size_t)n;
        text[text_bytes] = '\0';
    }
}

static uint64_t count(const char *part) {
    uint64_t n = 0;

    for (const char *p = text; (p = strstr(p, part)); p++)
        n++;
    return n;
}

/* Returns the number after the last occurrence of `word`. */
static uint64_t number_after(const char *word) {
    const char *found = NULL;

    for (const char *p = text; (p = strstr(p, word)); p++)
        found = p;
    return found ? strtoull(found + strlen(word), NULL, 10) : 0;
}

Test(log_background, a_reader_that_has_stopped_holds_up_nobody) {
    const int records = 20000; /* far more than the pipe and the buffer hold */

    begin();
    for (int i = 0; i < records; i++)
        log_each("x", LOG_INFO, "number=%d", i);
    read_until("event=dropped records=");
    read_until("had closed the log\"\n");
    cr_assert_eq(count("number=") + number_after("event=dropped records="), records,
                 "each is written or counted");
    cr_assert_gt(count("number="), 100);
    log_each("x", LOG_INFO, "afterwards=1");
    read_until("afterwards=1\n");
    usleep(50000);
    log_each("x", LOG_INFO, "more=1");
    read_until("more=1\n");
    cr_assert_eq(count("event=dropped"), 1, "said once");
}

Test(log_background, a_reader_that_is_gone_ends_nothing) {
    begin();
    log_each("x", LOG_INFO, "first=1");
    read_until("first=1\n");
    do { /* until the thread gets EPIPE: on a busy machine it may find the new reader instead */
        close(reader);
        reader = -1;
        log_each("x", LOG_INFO, "lost=1");
        usleep(200000);
        text[text_bytes = 0] = '\0';
        new_reader();
        log_each("x", LOG_INFO, "again=1");
        read_until("again=1\n");
    } while (count("lost=1\n") > 0);
    read_until("event=dropped records=1 ");
}

Test(log_background, one_a_second_of_each_kind) {
    begin();
    for (int i = 0; i < 2000; i++) {
        log_warn("client", "event=refused pid=%d", i);
        log_info("client", "event=ended pid=%d", i);
    }
    log_warn("client", "event=other");
    read_until("event=suppressed records=1999 like=\"event=refused pid=%d\"");
    read_until("event=suppressed records=1999 like=\"event=ended pid=%d\"");
    cr_assert_eq(count("event=refused pid=0\n"), 1);
    cr_assert_eq(count("event=refused pid="), 1 + 1);
    cr_assert_eq(count("event=ended pid="), 1 + 1);
    cr_assert_eq(count("event=other\n"), 1, "another kind");
}

/* With the maximum number of jobs, each job's record is written; repetitions of a record are
 * not. */
Test(log_background, a_burst_is_written_whole_and_what_goes_on_is_not) {
    begin();
    for (int i = 0; i < 3000; i++)
        log_burst("client", LOG_INFO, "event=attached job=%d end", i);
    read_until("event=suppressed records=");
    cr_assert_eq(count("event=attached job=255 end"), 1);
    cr_assert_geq(count("event=attached job="), LOG_BURST);
    cr_assert_leq(count("event=attached job="), LOG_BURST + 100);
}

Test(log_background, the_next_one_says_how_many_were_left_out) {
    begin();
    for (int i = 0; i < 60; i++) {
        log_warn("client", "event=refused pid=%d", i);
        if (i == 58) usleep(1100000);
    }
    read_until("event=refused pid=59");
    /* reported by the next record or, if that comes late, by the thread before it */
    read_until("suppressed");
    cr_assert_eq(number_after(" suppressed=") + number_after("event=suppressed records="), 58);
    cr_assert_eq(count("event=refused pid=0\n") + count("event=refused pid=59"), 2);
    cr_assert_eq(count("event=refused pid=1"), 0);
}

Test(log_background, debug_is_not_limited) {
    begin();
    for (int i = 0; i < 100; i++)
        log_debug("free", "step=%d", i);
    read_until("step=99\n");
    cr_assert_eq(count("step="), 100);
}

Test(log_background, the_end_waits_for_a_reader_but_not_for_ever) {
    begin();
    for (int i = 0; i < 100; i++)
        log_warn("client", "event=refused pid=%d", i);
    log_finish();
    read_until("records=99 ");
    log_each("x", LOG_INFO, "too=late");
    log_finish();
}

Test(log_background, the_end_does_not_wait_for_a_stopped_reader) {
    begin();
    for (int i = 0; i < 5000; i++)
        log_each("x", LOG_INFO, "number=%d", i);
    log_finish();
}

/* Logs three records, the second of which is suppressed unless the test is late; all are read. */
static void log_long_ones(int round) {
    static char big[5000];
    char end[32];

    memset(big, 'y', sizeof(big) - 1);
    for (int i = 0; i < 3; i++) {
        log_warn("client", "name=%s", big);
        if (i == 1) usleep(1100000);
    }
    snprintf(end, sizeof(end), "round=%d\n", round);
    log_each("x", LOG_INFO, "round=%d", round);
    read_until(end);
}

Test(log_background, a_long_record_keeps_the_number) {
    begin();
    for (int round = 0; round < 20 && count("... suppressed=") == 0; round++)
        log_long_ones(round);
    cr_assert_gt(number_after("... suppressed="), 0);
}

static void *shout(void *arg) {
    for (int i = 0; i < 200; i++)
        log_each("x", LOG_INFO, "thread=%d number=%d end", (int)(intptr_t)arg, i);
    return NULL;
}

Test(log_background, records_of_threads_are_whole) {
    pthread_t threads[4];

    begin();
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, shout, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    log_each("x", LOG_INFO, "done=1");
    read_until("done=1\n");
    cr_assert_eq(count(" end\n"), 800);
    cr_assert_eq(count("Z info x thread="), 800);
}

/* ---- the rate limit by itself ---------------------------------------------------------------- */

static uint64_t said;
static int say_calls;

static void say(const char *topic, const char *fmt, uint64_t suppressed) {
    said += suppressed;
    say_calls++;
}

Test(log_limit, counts_until_it_is_said) {
    const uint64_t second = 1000000000u;
    uint64_t before;

    cr_assert(log_limit_pass("t", "a", 1, second, &before));
    cr_assert_not(log_limit_pass("t", "a", 1, 2 * second - 1, &before));
    cr_assert(log_limit_pass("u", "a", 1, second, &before), "another topic");
    log_limit_report(2 * second, false, say);
    cr_assert_eq(say_calls, 0, "the next one may say it");
    cr_assert(log_limit_pass("t", "a", 1, 2 * second, &before));
    cr_assert_eq(before, 1);
    cr_assert_not(log_limit_pass("t", "a", 1, 2 * second, &before));
    log_limit_report(4 * second, false, say);
    log_limit_report(5 * second, true, say);
    cr_assert_eq(said, 1);
    cr_assert(log_limit_pass("t", "a", 1, 6 * second, &before));
    cr_assert_eq(before, 0, "it was said");
}

Test(log_limit, a_burst_fills_again_four_a_second) {
    uint64_t suppressed, s = 1000000000u, now = 5 * s;
    int passed = 0;

    for (int i = 0; i < 1000; i++)
        passed += log_limit_pass("a", "burst", 10, now, &suppressed);
    cr_assert_eq(passed, 10);
    for (int i = 0; i < 1000; i++)
        passed += log_limit_pass("a", "burst", 10, now + s, &suppressed);
    cr_assert_eq(passed, 14);
    for (int i = 0; i < 1000; i++)
        passed += log_limit_pass("a", "burst", 10, now + 100 * s, &suppressed);
    cr_assert_eq(passed, 24, "and no more than that");
}

Test(log_limit, more_kinds_than_places_are_written) {
    static char kinds[1000][16];
    uint64_t before;

    for (int i = 0; i < 1000; i++)
        cr_assert(log_limit_pass("t", kinds[i], 1, 1, &before));
    cr_assert(log_limit_pass("t", kinds[999], 1, 1, &before));
}
