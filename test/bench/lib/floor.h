/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring beside a floor that moves. The round trip of one cache line between two CPUs (the
 * floor) differs between machines, and on a virtual one it jumps between a NEAR and a FAR value
 * within seconds, as the host moves its CPUs about. So every sample is taken between two
 * measurements of the floor, dropped when those differ by more than FLOOR_STEADY, and reported by
 * mode as a ratio to its own floor. Where the floor was not steady there is no verdict.
 *
 * One pair of CPUs at a time: the caller runs pinned to the first one, a peer thread to the second.
 * The peer spins between jobs, so nothing is ever woken in a measurement.
 */
#ifndef TEST_BENCH_FLOOR_H
#define TEST_BENCH_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

#define FLOOR_STEADY 1.5
#define FLOOR_FIRST 20     /* samples dropped at most before there is one */
#define FLOOR_FAR_NS 250.0 /* from here on a floor is FAR */
#define FLOOR_SAMPLES 256
#define FLOOR_ENOUGH 8 /* samples of a mode for a verdict */

/* Pins the caller and starts the peer on the first two CPUs it may use. False: there is but one. */
bool floor_start(void);
void floor_stop(void);

/* Lets the peer run fn(arg), and waits until it has. One job at a time. */
void floor_peer_run(void (*fn)(void *), void *arg);
void floor_peer_wait(void);

/* One round trip, ns: the median of short batches. */
double floor_ns(void);

/* What one thing costs, sample by sample. The struct is the caller's; zero it but for the head. */
struct floor_series {
    const char *name;
    double goal; /* a ratio to the floor, or with goal_is_ns nanoseconds; 0: none is set */
    bool goal_is_ns;
    int count, dropped;
    double ns[FLOOR_SAMPLES], floor[FLOOR_SAMPLES];
};

/* Calls `measure` (it returns ns) between two floors and keeps or drops the result. */
void floor_sample(struct floor_series *s, double (*measure)(void *), void *arg);

/* A table for people, then one JSON object a line and mode. Returns the number of goals missed. */
void floor_print_head(const char *bench);
int floor_print(const struct floor_series *s);
void floor_print_json(const char *bench, const struct floor_series *s);

#endif
