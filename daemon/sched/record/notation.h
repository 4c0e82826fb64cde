/* SPDX-License-Identifier: Apache-2.0
 *
 * Events and actions as text: the one notation of recordings, of the simulator's traces and of the
 * unit tests. Times in ns, sizes in bytes, everything in decimal. An event is a word, without a
 * blank in it:
 */
/* clang-format off
 *
 *   +J(P,E)opts        job J joined; (?P,E): its needs are not known; (0,0) may be left out, as the
 *                      zeroes of (?0,0) may
 *     wN hN iN dN      opts: weight, high priority, iterations, duration_ns,
 *     tN gN uN rN qN p       admission timeout, group, user, run, request_ns, paused,
 *     f                      fixed
 *     sN oN                  slo_ns, and what of the requests it is of (0 mean, 1 p50, 2 p95, 3 p99)
 *   -J                 it left
 *   J:N/K              its operation N of iteration K submitted (/0 may be left out): of memory
 *   J:N/K#cS*D~T%C,M   a kernel of class c, m or u (compute, memory, unknown) that needs S SMs for
 *                      D ns (*0 may be left out), 0.99 of the times for no more than T (~D may be),
 *                      and C and M thousandths of the peaks (%0,0 may be)
 *   J=N*B+L            operation N done after B ns of device time (*1 may be left out); L bytes of
 *                      ephemeral memory are in use behind it (+0 may be left out)
 *   J|                 boundary
 *   J?P,E              asked; with w behind it: patient
 *   J!P,E              measured
 *   J&                 fixed: it is not swapped out any more
 *   J^                 wanted: it would do something, but is swapped out
 *   J~                 held: its memory is on its way until now
 *   J%opts             set, to these options and the defaults of all others
 *   policy(KEY=VALUE,...)  a configuration; what is not said is the policy's own
 *   .                  nothing but the time
 */
/* clang-format on
 *
 * An action is a phrase: `run J:N`, `admit J@LANE`, `refuse J REASON`, `grant J`, `deny J`,
 * `wait J`, `move J@LANE`, `lane LANE=BYTES`, `switch J`, `spill J`, `restore J`, `out J*BYTES`,
 * `in J*BYTES`, `level J=N`, `share J=SMS`, `arm TIME`, `reject J KIND: WHY`.
 *
 * A recording is lines: NOTATION_HEAD; `config capacity=N chunk=N sms=N share_users=N [one_user=N] policy(...)`,
 * the scheduler's; where it does not begin with the scheduler, a checkpoint (checkpoint.h); then
 * steps; NOTATION_WITHIN, when it ended within a step, whose actions are not known; NOTATION_END. A
 * step is `@TIME`, its events in the order of their array, a line each, and its actions in theirs,
 * each with `> ` before it. Lines with # are comments.
 */
#ifndef DAEMON_SCHED_RECORD_NOTATION_H
#define DAEMON_SCHED_RECORD_NOTATION_H

#include <stddef.h>

#include "daemon/policy/knobs.h"
#include "daemon/sched/sched.h"

#define NOTATION_HEAD "salus-events 1\n"
#define NOTATION_WITHIN "within\n"
#define NOTATION_END "end\n"
/* That the longest event or action takes, with its end: a policy configuration of which everything
 * is said. */
#define NOTATION_BYTES (192 + KNOBS * 48)

/* They write at most NOTATION_BYTES and allocate nothing; the length. */
size_t notation_event(char *out, const struct sched_event *e);
size_t notation_action(char *out, const struct sched_action *a);
/* As in `policy(...)`: what differs from a configuration in which nothing is said. */
size_t notation_policy(char *out, const struct policy_config *c);

size_t notation_config(char *out, const struct sched_config *c);

/* 0; -EINVAL: it is no event. Whether there is such a job is the scheduler's to judge. */
int notation_read_event(const char *word, struct sched_event *out);
/* "policy(...)". */
int notation_read_policy(const char *word, struct policy_config *out);
/* The line of a recording. */
int notation_read_config(const char *line, struct sched_config *out);
/* A whole decimal number up to `most`, and nothing behind it. */
int notation_read_number(const char *text, uint64_t most, uint64_t *out);

#endif
