/* SPDX-License-Identifier: Apache-2.0
 *
 * Pending moves of the memory of clients and lanes, in the order of the decisions. residency.h
 * carries them out, some granules in each round of the loop.
 *
 * The scheduler gives away the memory that a move will free as soon as it has decided on the move.
 * This order makes that safe. A move that takes memory comes after all earlier moves. Any other
 * move comes only after earlier moves of the same client, or of bytes in the same lane. So each
 * move waits only for earlier ones, and none for ever.
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
    MOVE_ADMIT, /* the client enters its lane, and its ring is read */
    MOVE_LANE,  /* the client moves to another lane */
    MOVE_IN,    /* persistent memory moves in */
    MOVE_OUT,   /* persistent memory moves to host memory */
    MOVE_SPILL, /* pages in the lane move to host memory */
    MOVE_RESTORE,
    MOVE_SWITCH, /* restores its pages for its turn, and clears the lane for it */
    MOVE_RETURN, /* all of its memory moves in */
    MOVE_SHRINK, /* a lane shrinks to `bytes`; no client */
    MOVE_END,    /* all of its memory is released */
};

struct move {
    struct list link; /* worker.moves.list */
    enum move_kind kind;
    struct client *client;
    uint32_t lane; /* the client's new lane, or the lane to change; unused by other kinds */
    uint64_t bytes;
    uint32_t left;  /* granules that the move may still take in this round of the loop */
    bool has_share; /* the move has a share of the round; else it gets what others leave */
    bool waits;     /* the share is used up; the move waits for the next round */
    bool packs;     /* pages of its lane's clients are being packed, or will be */
    uint32_t granules, parts; /* totals since the move began */
};

/* Appends a move; a client may have several. NULL: out of memory. */
struct move *memory_move_add(struct worker *w, enum move_kind kind, struct client *c,
                             uint32_t lane);
/* Begins a round of the loop. The moves that are ready share its granules, at least one each; the
 * rest is for others. */
void memory_move_round(struct worker *w);
/* Charges the granules that the move took in this round. */
void memory_move_pay(struct worker *w, struct move *mv, uint64_t granules);
/* Removes a completed move. */
void memory_move_remove(struct worker *w, struct move *mv);
/* The client ends: releasing its memory replaces its first move and drops the others, or follows
 * all other moves. Called once. False: out of memory. */
bool memory_move_end(struct worker *w, struct client *c);
/* Drops all moves of the client; NULL: of lanes without a client. */
void memory_move_forget(struct worker *w, const struct client *c);

/* True when no earlier move must be done first, and the client is ready. */
bool memory_move_may(const struct worker *w, const struct move *mv);
/* True when some move may proceed. */
bool memory_move_ready(const struct worker *w);
bool memory_move_any(const struct worker *w);
/* True for a move by which the scheduler gives its client memory. The client can do nothing before.
 */
bool memory_move_comes(const struct move *mv);
/* True when the lane will shrink. Pages in it may be moved, so none of its clients begins an
 * operation. */
bool memory_move_shrinks(const struct worker *w, uint32_t lane);

#endif
