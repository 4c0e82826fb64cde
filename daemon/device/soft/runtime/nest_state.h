/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch tree's members and their order, for the files that implement launch trees. Guarded by
 * the tree's lock unless stated otherwise.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_NEST_STATE_H
#define DAEMON_DEVICE_SOFT_RUNTIME_NEST_STATE_H

#include <pthread.h>

#include "common/list.h"
#include "daemon/device/soft/exec/grid.h"
#include "daemon/device/soft/memory/transfer.h"
#include "daemon/device/soft/runtime/runtime.h"

/* A point in a stream: reached when a member and all work before it in the stream are complete. */
struct moment {
    /* References by the member whose end it is, and by streams and events that name it. */
    uint32_t refs;
    bool come;
    struct nested **waiting;
    uint32_t count, room;
};

struct named {
    bool used;
    uint16_t generation;
    /* A stream's last moment, or the one an event recorded; NULL: nothing is pending. */
    struct moment *last;
};

/* Streams or events of a grid, by number. */
struct names {
    struct named *items;
    uint32_t count;
    uint32_t lowest; /* all items below it are used */
};

enum nested_kind { NESTED_GRID, NESTED_TRANSFER, NESTED_MARK };

struct nested {
    struct list line; /* link in ready or active, prepared, or the tail of the parent */
    struct list all;  /* link in the tree's `all` */
    struct nest *nest;
    struct nested *parent;
    struct moment *end; /* NULL: only its parent can wait for it */
    enum nested_kind kind;
    uint32_t depth;
    uint32_t before; /* moments that must come before it begins */
    uint32_t open;   /* itself, and its incomplete launches without the tail */
    struct list tail;
    struct names streams, events, blocks; /* blocks: streams by context */
    uint32_t inside;                      /* threads */
    bool idle, done;
    uint64_t params; /* address of its parameters in the client's memory until it begins; 0: none */
    uint32_t params_bytes;
    struct grid *grid;
    struct launch_config config;
    void *room; /* holds the parameters once it has begun */
    struct transfer transfer;
    int err; /* error of a transfer, or why a grid did not begin; only its one thread uses it */
    uint64_t fault_addr;
};

struct nest {
    pthread_mutex_t lock;
    /* Configuration of the first grid; all others share its ranges and runtime. */
    struct launch_config config;
    struct list all, prepared, ready, active;
    struct list marks; /* marks whose predecessors have all completed */
    uint32_t active_count, inside;
    uint32_t live;       /* launched and not complete */
    uint32_t names_used; /* streams, events and marks */
    struct grid_result result;
    bool asked; /* result of nest_asked */
};

/* Creates a member that is in no list yet. Returns NULL when out of memory. */
struct nested *nest_state_member(struct nest *n, enum nested_kind kind);
/* As nest_state_member, launched by `self`. */
struct nested *nest_state_child(struct nested *self, enum nested_kind kind);
/* Called when all predecessors of a member have completed. Adds the member to `ready`, or a mark to
 * `marks`. */
void nest_state_ready(struct nested *m);

#endif
