/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that the plugin runs leave nothing behind: none of their descendants outlives them. Each
 * descendant holds the write end of a pipe, whose end the test waits for.
 */
#include "daemon/place/slurm/spank/child.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test/lib/patience.h"

static int held[2]; /* the pipe */

static struct child_output run(const char *script, int limit_ms) {
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)script, NULL};
    struct child_output c;

    cr_assert_eq(pipe(held), 0);
    cr_assert_eq(child_run(argv, environ, limit_ms, &c), 0);
    close(held[1]);
    return c;
}

/* Returns once no process holds the other end. */
static void await_nobody(void) {
    struct pollfd p = {.fd = held[0], .events = POLLIN};
    char byte;

    cr_assert_eq(poll(&p, 1, patience_ms()), 1, "somebody holds it still");
    cr_assert_eq(read(held[0], &byte, 1), 0);
    close(held[0]);
}

Test(slurm_child, nothing_is_left_of_a_program_that_took_too_long) {
    struct child_output c = run("sleep 1000 & sleep 1000; echo never", 50);

    cr_expect_eq(c.status, 124);
    cr_expect_str_eq(c.out, "");
    child_finish(&c);
    await_nobody();
}

Test(slurm_child, nothing_is_left_of_a_program_that_ended) {
    struct child_output c = run("sleep 1000 >/dev/null 2>&1 & exit 0", CHILD_LIMIT_MS);

    cr_expect_eq(c.status, 0);
    child_finish(&c);
    await_nobody();
}

/* Signals to the caller's process group do not reach the program, and vice versa. */
Test(slurm_child, it_has_a_process_group_of_its_own) {
    struct child_output c = run("kill -KILL 0", CHILD_LIMIT_MS);

    cr_expect_eq(c.status, 128 + 9);
    child_finish(&c);
    await_nobody();
}
