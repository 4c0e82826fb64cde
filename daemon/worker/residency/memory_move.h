/* SPDX-License-Identifier: Apache-2.0
 *
 * What is still to be done to the memory of clients and lanes, in the order in which it was decided
 * (residency.h does it, some granules each time round the loop). The scheduler gives away what a
 * move is to free as soon as it has decided on it, and this order is what makes that true: whoever
 * is to get memory comes after everything before it; all else only after what is about the same
 * client, or bytes in the same lane. So each waits for earlier ones alone, and none for ever.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_RESIDENCY_MEMORY_MOVE_H
#define DAEMON_WORKER_RESIDENCY_MEMORY_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

struct client;
struct worker;

enum move_kind {
    MOVE_ADMIT, /* it comes into its lane, and its ring is read */
    MOVE_LANE,  /* it goes to another */
    MOVE_IN,    /* its persistent memory comes back */
    MOVE_OUT,   /* and goes to host memory */
    MOVE_SPILL, /* so does what it has in its lane */
    MOVE_RESTORE,
    MOVE_SWITCH, /* it has its lane's turn: the same, and the lane is cleared for it */
    MOVE_RETURN, /* all of it comes back */
    MOVE_SHRINK, /* a lane, to `bytes`: of no client */
    MOVE_END,    /* all that it has is given back */
};

struct move {
    struct list link; /* worker.moves.list */
    enum move_kind kind;
    struct client *client;
    uint32_t lane; /* to which, or which; of the other kinds without a meaning */
    uint64_t bytes;
    uint32_t left;            /* granules, of this round of the loop */
    bool has_share;           /* of these; else it has what others leave */
    bool waits;               /* for the next round: it had all of them */
    bool packs;               /* what its lane's clients have is being packed, or has to be */
    uint32_t granules, parts; /* so far */
};

/* Of a client there may be several; behind all others. NULL: out of memory. */
struct move *memory_move_add(struct worker *w, enum move_kind kind, struct client *c,
                             uint32_t lane);
/* A round of the loop begins. The moves that may go on share its granules, each has one at least;
 * the rest of these is for others. */
void memory_move_round(struct worker *w);
/* The move took so many granules of the round. */
void memory_move_pay(struct worker *w, struct move *mv, uint64_t granules);
/* It is over. */
void memory_move_remove(struct worker *w, struct move *mv);
/* The client ends: in the place of what is to be done to it, or behind all others, its memory is
 * given back. Once; false: out of memory. */
bool memory_move_end(struct worker *w, struct client *c);
/* Nothing is to be done to it any more; NULL: to lanes of nobody. */
void memory_move_forget(struct worker *w, const struct client *c);

/* None before it has to be done first, and its client is ready for it. */
bool memory_move_may(const struct worker *w, const struct move *mv);
/* Some may. */
bool memory_move_ready(const struct worker *w);
bool memory_move_any(const struct worker *w);
/* It is how the scheduler gives its client memory, which cannot do anything before. */
bool memory_move_comes(const struct move *mv);
/* The lane is to be less: what its clients have in it may be moved, so none of them begins
 * anything.
 */
bool memory_move_shrinks(const struct worker *w, uint32_t lane);

#endif
