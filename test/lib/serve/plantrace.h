/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler of a served model as timed traces: a script of events, one step a line, and the
 * resulting actions as text. Times are ms. Events:
 *   +ID/APP<DEADLINE   a request arrived         -ID      it was cancelled
 *   wN                 worker N is ready         wN!      it is lost
 *   wN=MS              its batch is done         wN=MS:A,B  and what its requests take alone
 *   aAPP=MS            a request taken alone
 * A line of the answer is `@time` and
 *   wN:ID,ID  sent     ID late     ID refused    arm TIME      rejected (why)
 * After every step the invariants are checked.
 */
#ifndef TEST_LIB_PLANTRACE_H
#define TEST_LIB_PLANTRACE_H

#include "daemon/serve/plan/plan.h"

/* Reports `times` executions of the application's request alone, in one step at time 0. */
void plantrace_learn(struct plan *p, uint32_t app, uint64_t ns, uint32_t times);

/* Runs the script; the caller frees the answer. */
char *plantrace_run(struct plan *p, const char *script);

/* Fails and prints both unless they are equal. */
void plantrace_expect(struct plan *p, const char *script, const char *trace);

#endif
