/* SPDX-License-Identifier: Apache-2.0
 *
 * A nest's members and their order, for the files that make it. All of it is guarded by its lock
 * but for what says otherwise.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_NEST_STATE_H
#define DAEMON_DEVICE_SOFT_RUNTIME_NEST_STATE_H

#include <pthread.h>

#include "common/list.h"
#include "daemon/device/soft/exec/grid.h"
#include "daemon/device/soft/memory/transfer.h"
#include "daemon/device/soft/runtime/runtime.h"

/* A moment: that something is complete, as all before it in its stream. */
struct moment {
    uint32_t refs; /* of the member whose end it is, of streams and events that name it */
    bool come;
    struct nested **waiting;
    uint32_t count, room;
};

struct named {
    bool used;
    uint16_t generation;
    struct moment *last; /* of a stream; what an event recorded; NULL: nothing that is open */
};

/* Streams or events of a grid, by number. */
struct names {
    struct named *items;
    uint32_t count;
    uint32_t lowest; /* below it all are used */
};

enum nested_kind { NESTED_GRID, NESTED_TRANSFER, NESTED_MARK };

struct nested {
    struct list line; /* ready or active, prepared, or its parent's tail */
    struct list all;  /* of the nest */
    struct nest *nest;
    struct nested *parent;
    struct moment *end; /* NULL: nobody can wait for it but its parent */
    enum nested_kind kind;
    uint32_t depth;
    uint32_t before; /* moments that have to come before it begins */
    uint32_t open;   /* itself, and what it launched and is not complete; the tail aside */
    struct list tail;
    struct names streams, events, blocks; /* blocks: streams by context */
    uint32_t inside;                      /* threads */
    bool idle, done;
    uint64_t params; /* room in the client's memory, until it begins; 0: none */
    uint32_t params_bytes;
    struct grid *grid;
    struct launch_config config;
    void *room; /* for the parameters, once it has begun */
    struct transfer transfer;
    int err; /* of a transfer, or why a grid did not begin; its one thread's */
    uint64_t fault_addr;
};

struct nest {
    pthread_mutex_t lock;
    struct launch_config config; /* the first grid's, of which all others have ranges and runtime */
    struct list all, prepared, ready, active;
    struct list marks; /* that nothing has to come before any more */
    uint32_t active_count, inside;
    uint32_t live;       /* launched and not complete */
    uint32_t names_used; /* streams, events and marks */
    struct grid_result result;
    bool asked; /* nest_asked */
};

/* A member that is in no line yet; NULL when out of memory. */
struct nested *nest_state_member(struct nest *n, enum nested_kind kind);
/* The same, launched by `self`. */
struct nested *nest_state_child(struct nested *self, enum nested_kind kind);
/* Nothing has to come before it any more. */
void nest_state_ready(struct nested *m);

#endif
