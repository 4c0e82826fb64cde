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
#define REASON_WHY(X)                                                                    \
    X(NONE, "")                                                                          \
    X(TOO_LARGE, "needs more memory than the device has")                                \
    X(TIMEOUT, "waited for admission longer than its timeout")                           \
    X(MEMORY, "waits for memory: it does not fit beside the admitted jobs")              \
    X(ORDER, "waits for its place: behind a job that was overtaken often enough")        \
    X(UNKNOWN, "waits: its needs are unknown, and memory is kept for such jobs that began earlier") \
    X(TURN, "waits for its turn: another job of its lane has it")                        \
    X(PAUSED, "paused by an operator")                                                   \
    X(SWAPPED, "its persistent memory is in host memory")                                \
    X(USER, "waits until another user's jobs have left a GPU whose kernels read everybody's memory") \
    X(PACED, "stands still after an iteration: a service beside it has a target of latency") \
    X(SLO, "its target of latency is not held, and nothing is left to take from others") \
    X(RUN, "does not fit beside the other processes of its run, which may wait for it")     \
    X(GROWS, "waits for memory beyond what it holds: other jobs have it")                   \
    X(PART, "waits: its user has an equal part of the memory, and another user waits")      \
    X(SHARE, "waits for its share: other jobs are owed more of the GPU's time")             \
    X(LANE, "waits for its turn: a job of another lane has it, and one lane runs at a time (exclusive)")

/* X(NAME, text): enum iteration_source. */
#define REASON_SOURCE(X)      \
    X(NONE, "not known")      \
    X(MARK, "marks")          \
    X(PERIOD, "period")       \
    X(GAP, "idle gaps")

/* X(NAME, text): enum savepoint_reason, why a job that asked for savepoints has none. */
#define REASON_SAVEPOINT(X)                                                     \
    X(NONE, "")                                                                  \
    X(CHANGED, "since the latest it gave back memory, a texture or code")        \
    X(ONCE, "since the latest it did what cannot be done again")                 \
    X(ROOM, "there is no room for its memory, or for what it copies")            \
    X(HOST, "its kernels know addresses of host memory")                         \
    X(LACK, "it cannot go on with another worker")

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
