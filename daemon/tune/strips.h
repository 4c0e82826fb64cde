/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPUs (strips of the thesis's packing problem, section 3.4.1): each is nobody's, one trial's
 * alone, or shared by trials whose shares are below one.
 *
 * How fractions share one GPU the thesis does not say. Here a share is a weight, as a lane's under
 * Salus: a trial has its share of the sum of those that are there, so that a GPU never stands still
 * in part. Of p trials with 1/c each has 1/p, which is the w of (3.2), for (3.1) measures p trials,
 * not c. Which one: the GPU with the least left to do among those with room ("the most idle
 * worker", appendix B), where room is for c trials, and with fractions for shares up to one.
 *
 * Owner: the library's state. Thread: its caller's.
 */
#ifndef DAEMON_TUNE_STRIPS_H
#define DAEMON_TUNE_STRIPS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/tune/trials.h"

#define STRIPS_NONE UINT32_MAX

struct strip {
    bool here;
    bool leaving;   /* its owner was told to leave it, and has not yet: not in the owner's list */
    uint32_t owner; /* a trial's place; STRIPS_NONE: nobody has it alone */
    uint32_t next;  /* in the owner's list; STRIPS_NONE: the last */
    uint32_t sharers;
    uint32_t room;  /* sharers at most: the least c of theirs */
    double weight;  /* sum of their shares */
    double load_ns; /* sum of what is left of them, h_{i,1} */
};

struct strips {
    struct strip *at; /* by number */
    uint32_t most, here;
    uint32_t idle; /* here, and nobody's */
};

int strips_init(struct strips *s, uint32_t most, uint32_t here);
void strips_finish(struct strips *s);

void strips_come(struct strips *s, uint32_t gpu);
/* Who was on it has to be told before. */
void strips_go(struct strips *s, uint32_t gpu);

/* Sums over sharers are made anew from the trials, as after they got on with their work, or left.
 */
void strips_recount(struct strips *s, const struct trials *trials);

/* What the trial has of its GPU, or of how many; 0: none. */
double strips_part(const struct strips *s, const struct trial *t);

/* `count` idle GPUs more for the trial alone; they must be there. Its share is the caller's. */
void strips_take(struct strips *s, struct trial *t, uint32_t place, uint32_t count);
/* It keeps the first `count` of its list and has to leave the others. */
void strips_leave(struct strips *s, struct trial *t, uint32_t count);
/* What the trial had to leave is left. */
void strips_settle(struct strips *s, uint32_t place);
/* The trial is on no GPU any more, those included that it had to leave. */
void strips_free(struct strips *s, struct trial *t, uint32_t place);
/* A GPU of the trial's alone is not its any more; only its list is changed. */
void strips_drop(struct strips *s, struct trial *t, uint32_t gpu);

/* A GPU for the share, which is below one; STRIPS_NONE: none has room. `full`: shares add up to one
 * at most. */
uint32_t strips_open(const struct strips *s, const struct trial *t, double share, bool full);
void strips_join(struct strips *s, struct trial *t, uint32_t gpu, double share);
/* Its share of a GPU is given up. */
void strips_part_with(struct strips *s, struct trial *t);
/* The one GPU that it has alone others may share from now on. */
void strips_share(struct strips *s, struct trial *t, double share);

#endif
