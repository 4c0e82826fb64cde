/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts for findings of the scheduler that several programs show: why a job does not run, and how
 * the boundaries of its iterations were found. The scheduler's enums are made from these lists.
 * wire_stats carries the numbers between processes; users see the texts.
 */
#ifndef DAEMON_POLICY_REASON_H
#define DAEMON_POLICY_REASON_H

/* clang-format off */
/* X(NAME, text): enum sched_why. Only append; never reorder. */
#define REASON_WHY(X)                                                                                       \
    X(NONE, "")                                                                                             \
    X(TOO_LARGE, "needs more memory than the device has")                                                   \
    X(TIMEOUT, "waited for admission longer than its timeout")                                              \
    X(MEMORY, "waits for memory: the job does not fit beside the admitted jobs")                            \
    X(ORDER, "waits for a job that others have overtaken as often as allowed (overtakes)")                  \
    X(UNKNOWN, "waits: its memory needs are unknown, and memory is reserved for earlier jobs of this kind") \
    X(TURN, "waits for its turn: another job of its lane has the turn")                                     \
    X(PAUSED, "paused by an operator")                                                                      \
    X(SWAPPED, "is swapped out: its persistent memory is in host memory")                                   \
    X(USER, "waits until jobs of another user have ended, because kernels on this GPU can read all memory") \
    X(PACED, "pauses after each iteration so that a service meets its latency target")                      \
    X(SLO, "misses its latency target, and best-effort jobs are slowed down as far as possible")            \
    X(RUN, "does not fit beside other processes of its run, which may wait for this one")                   \
    X(GROWS, "waits for more memory, which other jobs have")                                                \
    X(PART, "waits: its user has an equal share of the memory, and another user waits")                     \
    X(SHARE, "waits for its share: other jobs have received less of the GPU's time")                        \
    X(LANE, "waits for its turn: a job of another lane has the turn, and one lane runs at a time (exclusive)")

/* X(NAME, text): enum iteration_source. */
#define REASON_SOURCE(X)      \
    X(NONE, "not known")      \
    X(MARK, "marks")          \
    X(PERIOD, "period")       \
    X(GAP, "idle gaps")

/* X(NAME, text): enum savepoint_reason, why a job that asked for savepoints has none. */
#define REASON_SAVEPOINT(X)                                                              \
    X(NONE, "")                                                                          \
    X(CHANGED, "the job has freed memory, a texture or code since its latest savepoint") \
    X(ONCE, "the job has done what cannot be repeated since its latest savepoint")       \
    X(ROOM, "the job's memory, or the data that it copies, does not fit")                \
    X(HOST, "the job's kernels use addresses of host memory")                            \
    X(LACK, "the job cannot continue on another worker")

/* X(NAME, text): enum sched_slo_of, the statistic of a job's request latencies that a latency
 * target bounds. */
#define REASON_SLO_OF(X) X(MEAN, "mean") X(P50, "p50") X(P95, "p95") X(P99, "p99")
/* clang-format on */

/* Static strings; "?" for a number outside the list. */
const char *reason_why(unsigned long long number);
const char *reason_source(unsigned long long number);
const char *reason_savepoint(unsigned long long number);
const char *reason_slo_of(unsigned long long number);
/* The number of this text; -1 if it is not in the list. */
int reason_find_slo_of(const char *text);

#endif
