/* SPDX-License-Identifier: Apache-2.0
 *
 * Measurements relative to a varying floor. The floor is the round trip of one cache line between
 * two CPUs. It differs between machines, and on a virtual machine it jumps between a NEAR and a FAR
 * value within seconds, as the host moves its CPUs. So every sample is taken between two
 * measurements of the floor, and dropped when those differ by more than FLOOR_STEADY. It is
 * reported by mode as a ratio to its own floor. Without a steady floor there is no verdict.
 *
 * Uses one pair of CPUs at a time: the caller runs pinned to the first, a peer thread to the
 * second. The peer spins between jobs, so no measurement includes a wake-up.
 */
#ifndef TEST_BENCH_FLOOR_H
#define TEST_BENCH_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

#define FLOOR_STEADY 1.5
#define FLOOR_FIRST 20     /* samples that may be dropped before the first valid one */
#define FLOOR_FAR_NS 250.0 /* a floor of at least this is FAR */
#define FLOOR_SAMPLES 256
#define FLOOR_ENOUGH 8 /* samples of a mode for a verdict */

/* Pins the caller and starts the peer on the first two CPUs it may use. False: there is only
 * one. */
bool floor_start(void);
void floor_stop(void);

/* Lets the peer run fn(arg), and waits until it has returned. One job at a time. */
void floor_peer_run(void (*fn)(void *), void *arg);
void floor_peer_wait(void);

/* One round trip in ns: the median of short batches. */
double floor_ns(void);

/* Samples of one cost. The caller owns the struct and zeroes all but its head. */
struct floor_series {
    const char *name;
    double goal; /* a ratio to the floor, or nanoseconds if goal_is_ns; 0: no goal */
    bool goal_is_ns;
    int count, dropped;
    double ns[FLOOR_SAMPLES], floor[FLOOR_SAMPLES];
};

/* Calls `measure` (which returns ns) between two measurements of the floor and keeps or drops
 * the result. */
void floor_sample(struct floor_series *s, double (*measure)(void *), void *arg);

/* Prints a table, then one JSON object per line and mode. Returns the number of missed goals. */
void floor_print_head(const char *bench);
int floor_print(const struct floor_series *s);
void floor_print_json(const char *bench, const struct floor_series *s);

#endif
