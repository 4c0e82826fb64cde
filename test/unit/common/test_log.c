/* SPDX-License-Identifier: Apache-2.0
 *
 * Levels by topic, the format of a record, and that no value can forge a second record.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

static char text[8192];

/* Captures in `text` what the statement's body writes to stderr. */
static int capture_pipe[2], saved_stderr;

static void capture_begin(void) {
    cr_assert_eq(pipe(capture_pipe), 0);
    saved_stderr = dup(STDERR_FILENO);
    dup2(capture_pipe[1], STDERR_FILENO);
}

static void capture_end(void) {
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    close(capture_pipe[1]);
    size_t n = 0;
    ssize_t got;
    while ((got = read(capture_pipe[0], text + n, sizeof(text) - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(capture_pipe[0]);
}

static void init(const char *fallback, const char *env) {
    if (env)
        setenv("SALUS_LOG", env, 1);
    else
        unsetenv("SALUS_LOG");
    log_init(fallback);
}

static int lines(void) {
    int n = 0;
    for (const char *p = text; *p; p++)
        n += *p == '\n';
    return n;
}

Test(log, topics_have_levels) {
    init("info", "sched:debug,ring:none,warn");
    cr_assert(log_on("sched", LOG_DEBUG));
    cr_assert_not(log_on("ring", LOG_ERROR));
    cr_assert(log_on("broker", LOG_WARN));
    cr_assert_not(log_on("broker", LOG_INFO));
    cr_assert_not(log_on("sche", LOG_DEBUG), "a prefix is another topic");
}

Test(log, environment_overrides_fallback) {
    init("error", NULL);
    cr_assert_not(log_on("x", LOG_WARN));
    init("error", "debug");
    cr_assert(log_on("x", LOG_DEBUG));
    init("a:debug,error", "a:warn");
    cr_assert_not(log_on("a", LOG_INFO), "the later entry of a topic wins");
}

Test(log, record_is_one_line_with_time_level_topic) {
    init("info", NULL);
    capture_begin();
    log_info("sched", "job=%d lane=%d", 3, 1);
    log_debug("sched", "not=%s", "written");
    capture_end();
    int year, chars = 0;
    cr_assert_eq(
        sscanf(text, "%d-%*d-%*dT%*d:%*d:%*d.%*6dZ info sched job=3 lane=1%n", &year, &chars), 1,
        "got: %s", text);
    cr_assert_gt(chars, 0, "got: %s", text);
    cr_assert_str_eq(text + chars, "\n");
}

Test(log, values_cannot_forge_a_record) {
    init("info", NULL);
    capture_begin();
    log_info("job", "name=%s", "evil\n2026-01-01 info broker admitted=root\r\033[31m");
    capture_end();
    cr_assert_eq(lines(), 1);
    cr_assert_null(strchr(text, '\033'));
    cr_assert_not_null(strstr(text, "evil?2026"));
}

/* Readers of logs reject a whole file for one byte that is invalid UTF-8. */
Test(log, a_record_is_utf8) {
    init("info", NULL);
    capture_begin();
    log_info("job", "name=%s", "caf\xe9 \xc3\xa9 \x9b\x33\x31m \xc2\x85\x32\x30\x32\x36");
    capture_end();
    cr_assert_eq(lines(), 1);
    cr_expect_not_null(strstr(text, "name=caf? \xc3\xa9 ?31m ??2026\n"), "got: %s", text);
}

Test(log, a_cut_leaves_no_half_character) {
    init("info", NULL);
    for (int before = 0; before < 3; before++) {
        char big[5000] = "xx";
        for (size_t i = (size_t)before; i + 3 < sizeof(big); i += 3)
            memcpy(big + i, "\xe2\x82\xac", 3);
        capture_begin();
        log_info("job", "name=%s", big);
        capture_end();
        size_t n = strlen(text);
        cr_assert_gt(n, 7);
        cr_expect_str_eq(text + n - 4, "...\n");
        cr_expect((unsigned char)text[n - 5] == 0xac || text[n - 5] == '?', "got: %s",
                  text + n - 9);
    }
}

Test(log, long_record_is_cut_and_marked) {
    init("info", NULL);
    char big[5000];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    capture_begin();
    log_info("job", "name=%s", big);
    capture_end();
    cr_assert_eq(lines(), 1);
    cr_assert_str_eq(text + strlen(text) - 4, "...\n");
}

Test(log, preserves_errno_even_when_stderr_is_gone) {
    init("info", NULL);
    int saved = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    errno = ERANGE;
    log_error("x", "a=1");
    int seen = errno;
    dup2(saved, STDERR_FILENO);
    cr_assert_eq(seen, ERANGE);
}

Test(log, bad_items_are_named_and_the_rest_holds) {
    capture_begin();
    init("warn", "loud,ring:shout,sched:debug,:info");
    capture_end();
    cr_assert_not_null(strstr(text, "item=\"loud\""), "got: %s", text);
    cr_assert(log_on("sched", LOG_DEBUG));
    cr_assert_not(log_on("ring", LOG_INFO));
}

Test(log, too_many_topics_are_refused_not_overrun) {
    char spec[1024] = "";
    for (int i = 0; i < 40; i++)
        sprintf(spec + strlen(spec), "t%d:debug,", i);
    capture_begin();
    init("warn", spec);
    capture_end();
    cr_assert(log_on("t31", LOG_DEBUG));
    cr_assert_not(log_on("t32", LOG_DEBUG));
    cr_assert_not_null(strstr(text, "item=\"t32:debug\""), "got: %s", text);
}
