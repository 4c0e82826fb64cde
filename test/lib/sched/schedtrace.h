/* SPDX-License-Identifier: Apache-2.0
 *
 * Scheduler scenarios as text: a script of events, and the actions as literal text.
 *
 * Script, one step a line: `@time event...`; trace, one line a step: `@time action, action`. Events
 * and actions are written as in daemon/sched/record/notation.h. Sizes are in chunks of one byte.
 */
#ifndef TEST_LIB_SCHEDTRACE_H
#define TEST_LIB_SCHEDTRACE_H

#include "daemon/sched/sched.h"

/* Runs the script; the trace is malloc'ed. Ends the test when a step breaks an invariant. */
char *schedtrace_run(struct sched *s, const char *script);

/* Criterion assertion: the script yields this trace. */
#define SCHEDTRACE_EXPECT(s, script, trace)                                  \
    do {                                                                     \
        char *schedtrace_got = schedtrace_run(s, script);                    \
        cr_expect_str_eq(schedtrace_got, trace, "got:\n%s", schedtrace_got); \
        free(schedtrace_got);                                                \
    } while (0)

#endif
