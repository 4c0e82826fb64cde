/* SPDX-License-Identifier: Apache-2.0
 *
 * Scheduler scenarios as text: a script of events, and the actions as literal text.
 *
 * Script, one step a line: `@time event...`
 *   +J(P,E)opts  job J joined; opts: wN weight, hN priority, iN iterations, dN duration_ns, tN
 *                admission timeout, gN group, qN request_ns; (?) instead of (P,E): needs unknown
 *   -J           it left
 *   J:N/K        its operation N of iteration K submitted (/0 may be left out): a memory
 *                operation, or with #cS*D behind it a kernel of class c, m or u that needs S SMs
 *                for D ns (*D may be left out: not known)
 *   J=N*B        operation N done after B ns of device time (*1 may be left out)
 *   J|           boundary             J?P,E  asked            J!P,E  word
 *   J%opts       SET with these options and no others; p: paused
 *   .            nothing but the time
 * Trace, one line a step: `@time action, action`. Sizes are in chunks of one byte.
 */
#ifndef TEST_LIB_SCHEDTRACE_H
#define TEST_LIB_SCHEDTRACE_H

#include "daemon/sched/core/sched.h"

/* Runs the script; the trace is malloc'ed. Ends the test when a step breaks an invariant. */
char *schedtrace_run(struct sched *s, const char *script);

/* For Criterion's tests: the script's trace is this one. */
#define SCHEDTRACE_EXPECT(s, script, trace)                                  \
    do {                                                                     \
        char *schedtrace_got = schedtrace_run(s, script);                    \
        cr_expect_str_eq(schedtrace_got, trace, "got:\n%s", schedtrace_got); \
        free(schedtrace_got);                                                \
    } while (0)

#endif
