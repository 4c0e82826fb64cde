/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPUs ("strips" of the thesis's packing problem, section 3.4.1). Each GPU is idle, owned by
 * one trial, or shared by trials whose shares are below one.
 *
 * The thesis does not say how fractions share one GPU. Here a share is a weight, like a lane's
 * under Salus: a trial gets its weight divided by the sum of weights on the GPU, so that no part of
 * a GPU is idle. With p trials of weight 1/c, each gets 1/p. That is the w of (3.2), because (3.1)
 * measures p trials, not c.
 *
 * A new trial goes to the GPU with the least remaining work among those with space ("the most idle
 * worker", appendix B). A GPU has space for c trials, and with fractions for shares up to one.
 *
 * Owner: the library's state. Thread: the state's owner.
 */
#ifndef DAEMON_TUNE_STRIPS_H
#define DAEMON_TUNE_STRIPS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/tune/trials.h"

#define STRIPS_NONE UINT32_MAX

struct strip {
    bool here;
    bool leaving;   /* the owner is to leave the GPU, and has not yet; not in the owner's list */
    uint32_t owner; /* place of the trial that has the GPU alone; STRIPS_NONE: no trial has */
    uint32_t next;  /* next GPU in the owner's list; STRIPS_NONE: the last */
    uint32_t sharers;
    uint32_t room;  /* most sharers: the least c of the present sharers */
    double weight;  /* sum of the sharers' shares */
    double load_ns; /* sum of the sharers' remaining work, h_{i,1} */
};

struct strips {
    struct strip *at; /* indexed by GPU number */
    uint32_t most, here;
    uint32_t idle; /* GPUs that exist and have no trial */
};

int strips_init(struct strips *s, uint32_t most, uint32_t here);
void strips_finish(struct strips *s);

void strips_come(struct strips *s, uint32_t gpu);
/* Removes a GPU. The caller has taken its trials off before. */
void strips_go(struct strips *s, uint32_t gpu);

/* Recomputes the sums over sharers from the trials, after trials progressed or left. */
void strips_recount(struct strips *s, const struct trials *trials);

/* The trial's actual part of its shared GPU, or its number of GPUs; 0: none. */
double strips_part(const struct strips *s, const struct trial *t);

/* Gives the trial `count` more idle GPUs for itself; that many must be idle. The caller sets
 * t->share. */
void strips_take(struct strips *s, struct trial *t, uint32_t place, uint32_t count);
/* Keeps the first `count` GPUs of the trial's list and marks the others as leaving. */
void strips_leave(struct strips *s, struct trial *t, uint32_t count);
/* Frees the GPUs that the trial had to leave. */
void strips_settle(struct strips *s, uint32_t place);
/* Takes the trial off all its GPUs, including those that it had to leave. */
void strips_free(struct strips *s, struct trial *t, uint32_t place);
/* Removes a GPU from the trial's list and changes nothing else. */
void strips_drop(struct strips *s, struct trial *t, uint32_t gpu);

/* Finds a GPU for a share below one; STRIPS_NONE if none has space. `full`: shares may add up to
 * one at most. */
uint32_t strips_open(const struct strips *s, const struct trial *t, double share, bool full);
void strips_join(struct strips *s, struct trial *t, uint32_t gpu, double share);
/* Takes the trial off the GPU that it shares. */
void strips_part_with(struct strips *s, struct trial *t);
/* Turns the one GPU that the trial has alone into a shared one. */
void strips_share(struct strips *s, struct trial *t, double share);

#endif
