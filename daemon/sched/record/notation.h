/* SPDX-License-Identifier: Apache-2.0
 *
 * Events and actions as text: the notation of recordings, of the simulator's traces and of the unit
 * tests. Times in ns, sizes in bytes, all numbers in decimal. An event is a word without blanks:
 */
/* clang-format off
 *
 *   +J(P,E)opts        job J joined; (?P,E): its needs are unknown; (0,0) may be omitted, as
 *                      may the zeroes of (?0,0)
 *     wN hN iN dN      opts: weight, high priority, iterations, duration_ns,
 *     tN gN uN rN qN p       admission timeout, group, user, run, request_ns, paused,
 *     f                      fixed
 *     sN oN                  slo_ns, and the statistic that it bounds (0 mean, 1 p50, 2 p95, 3 p99)
 *   -J                 job J left
 *   J:N/K              operation N of iteration K submitted (/0 may be omitted): a memory operation
 *   J:N/K#cS*D~T%C,M   a kernel of class c, m or u (compute, memory, unknown) that needs S SMs for
 *                      D ns (*0 may be omitted), at most T in 0.99 of launches (~D may be omitted),
 *                      and C and M thousandths of the peaks (%0,0 may be omitted)
 *   J=N*B+L            operation N done after B ns of device time (*1 may be omitted); L bytes of
 *                      ephemeral memory remain in use (+0 may be omitted)
 *   J|                 boundary
 *   J?P,E              asked; followed by w: patient
 *   J!P,E              measured
 *   J&                 fixed: never swapped out from now on
 *   J^                 wanted: has work, but is swapped out
 *   J~                 held: memory that it was given has just arrived
 *   J%opts             set, to these options and the defaults of all others
 *   policy(KEY=VALUE,...)  a configuration; omitted parameters have their defaults
 *   .                  only time passed
 */
/* clang-format on
 *
 * An action is a phrase: `run J:N`, `admit J@LANE`, `refuse J REASON`, `grant J`, `deny J`,
 * `wait J`, `move J@LANE`, `lane LANE=BYTES`, `switch J`, `spill J`, `restore J`, `out J*BYTES`,
 * `in J*BYTES`, `level J=N`, `share J=SMS`, `still J=1`, `still J=0`, `arm TIME`,
 * `reject J KIND: WHY`.
 *
 * A recording consists of lines: NOTATION_HEAD; the scheduler's configuration as
 * `config capacity=N chunk=N sms=N share_users=N [one_user=N] [share_sms=N] [slice=N] policy(...)`;
 * a checkpoint (checkpoint.h), unless it begins with the scheduler's creation; steps;
 * NOTATION_WITHIN, if it ended within a step, whose actions are unknown; NOTATION_END. A step is
 * `@TIME`, its events in the order of their array, one per line, and its actions in order, each
 * after `> `. Lines that begin with # are comments.
 */
#ifndef DAEMON_SCHED_RECORD_NOTATION_H
#define DAEMON_SCHED_RECORD_NOTATION_H

#include <stddef.h>

#include "daemon/policy/parameters.h"
#include "daemon/sched/sched.h"

#define NOTATION_HEAD "salus-events 1\n"
#define NOTATION_WITHIN "within\n"
#define NOTATION_END "end\n"
/* Longest text of an event or action, with its terminator: a policy configuration with every
 * parameter set. */
#define NOTATION_BYTES (192 + PARAMETERS * 48)

/* These write at most NOTATION_BYTES and allocate nothing. They return the length. */
size_t notation_event(char *out, const struct sched_event *e);
size_t notation_action(char *out, const struct sched_action *a);
/* Writes `policy(...)` with the parameters that differ from an empty configuration. */
size_t notation_policy(char *out, const struct policy_config *c);

size_t notation_config(char *out, const struct sched_config *c);

/* Reads an event. Returns 0, or -EINVAL for a malformed one. The scheduler checks whether the job
 * exists. */
int notation_read_event(const char *word, struct sched_event *out);
/* Reads "policy(...)". */
int notation_read_policy(const char *word, struct policy_config *out);
/* Reads the config line of a recording. */
int notation_read_config(const char *line, struct sched_config *out);
/* Reads a decimal number up to `most` that ends the text. */
int notation_read_number(const char *text, uint64_t most, uint64_t *out);

#endif
