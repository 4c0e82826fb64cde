/* SPDX-License-Identifier: Apache-2.0
 *
 * The measured silence of a process excludes the time that it waits for a processor.
 */
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/broker/life/silence.h"

TestSuite(silence, .timeout = 60);

/* Runs on the test's processor, so that each of the two waits for the other. */
static pid_t spinner(void) {
    cpu_set_t one;
    sched_getaffinity(0, sizeof(one), &one);
    for (int k = 0, seen = 0; k < CPU_SETSIZE; k++)
        if (CPU_ISSET(k, &one) && seen++) CPU_CLR(k, &one);
    pid_t pid = fork();
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sched_setaffinity(0, sizeof(one), &one);
    for (;;) {
    }
}

static void end(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

Test(silence, waiting_for_a_processor_does_not_count) {
    pid_t rival = spinner(), pid = spinner();
    struct silence s;
    uint64_t more_ms = 0;
    silence_begin(&s, pid);
    for (int k = 0; k < 1000 && more_ms < 20; k++) {
        usleep(10000);
        more_ms += silence_more_ms(&s);
    }
    cr_assert_geq(more_ms, 20, "it has a rival");
    cr_assert_eq(kill(pid, SIGSTOP), 0);
    cr_assert_eq(waitpid(pid, NULL, WUNTRACED), pid);
    silence_more_ms(&s);
    for (int k = 0; k < 5; k++) {
        usleep(5000);
        cr_assert_eq(silence_more_ms(&s), 0, "a stopped one waits for no processor");
    }
    silence_begin(&s, pid);
    cr_assert_eq(silence_more_ms(&s), 0, "of a time before it spoke nothing counts");
    end(pid);
    end(rival);
}

Test(silence, of_one_that_is_not_known_all_counts) {
    struct silence s;
    silence_begin(&s, 0);
    cr_assert_eq(silence_more_ms(&s), 0);
    pid_t pid = spinner();
    end(pid);
    silence_begin(&s, pid);
    cr_assert_eq(silence_more_ms(&s), 0);
}
