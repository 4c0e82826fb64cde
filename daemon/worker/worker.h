/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker: one device, the scheduler, and the state that its clients share: the clock, lanes,
 * and lists of work for the next round. The worker knows nothing of a client's inside (client.h).
 * One thread does everything here except background tasks, which may take long. The device has
 * threads of its own.
 */
#ifndef DAEMON_WORKER_WORKER_H
#define DAEMON_WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/device.h"
#include "daemon/device/device_driver.h"
#include "daemon/sched/sched.h"
#include "daemon/worker/background/background_task.h"
#include "daemon/worker/link/board.h"
#include "daemon/worker/link/broker_link.h"
#include "daemon/worker/link/events_link.h"
#include "daemon/worker/load.h"
#include "daemon/worker/pace.h"
#include "daemon/worker/residency/lane_table.h"
#include "daemon/worker/segments/hostfile.h"
#include "daemon/worker/segments/keeper.h"
#include "daemon/worker/segments/segment.h"
#include "proto/wire/ring.h"
#include "proto/wire/wire.h"

#define WORKER_CLIENTS 1024u
#define WORKER_QUOTA 65536u /* operations that one client may have accepted and not completed */

/* ---- the parts of the worker -------------------------------------------------------------------
 *
 * Each struct names the one file that writes its members, after worker.c has initialised them. The
 * work lists name a file each. scripts/check-pipeline checks the code against these names. */

/* Settings that worker_create writes once. */
struct worker_settings {
    uint64_t seed; /* a secret, for hashes of values that clients choose */
    struct hostfile_bounds closed;
    uint64_t savepoint_ns; /* interval of savepoints for jobs that ask for them */
    bool clear_always;     /* clears a lane between jobs of one user as well */
};

/* Events for one step of the scheduler. At least one free slot is always left. */
struct event_batch {
    struct sched_event *items;
    uint32_t count, cap;
};

/* State between the worker and its scheduler: scheduling/sched_link.c. */
struct scheduling {
    struct sched *sched;
    struct event_batch events; /* events for the next step */
    struct event_batch taken;  /* events of the step whose actions are being carried out */
    uint64_t steps;            /* steps so far */
    uint64_t arm_ns;    /* the scheduler wants a step at this time at the latest; 0: at no time */
    bool reserved_anew; /* the obtainable memory of jobs must be published again after the step */
};

/* Kernels on trial, in lists through op.next: faults/fault_isolation.c. */
struct fault_isolation {
    struct op *waiting, **waiting_last; /* kernels that will run alone, in this order */
    struct op *held, **held_last;       /* all other operations that could run meanwhile */
    const struct op *alone;             /* the kernel on trial that is on the device */
    uint64_t kernels;                   /* kernels on the device */
    uint64_t since_ns;                  /* when the first of `waiting` came, or `alone` began */
};

/* The end of an earlier worker's device, and of this one's: faults/device_loss.c. */
struct recovery {
    bool restoring;   /* clients of an earlier worker have yet to arrive; no other client is read */
    int ending;       /* the reason why all clients end with this worker; 0: the broker has ended */
    uint32_t culprit; /* the job whose kernel ended the device; 0: unknown */
    uint32_t suspects; /* kernels that may have ended the device */
};

/* Granules that a round of the loop moves: so few that other clients do not wait for long. */
#define WORKER_GRANULES 8u

/* Moves of clients' memory: residency/memory_move.c. */
struct moves {
    struct list list;
    uint32_t most;    /* granules of all clients that a round of the loop may move */
    uint32_t left;    /* granules that new moves may still take in this round */
    uint32_t parts;   /* the most parts in which one move was done */
    struct pace pace; /* granules of moves and deferred requests in a round of the loop */
};

/* Segments that clients share with other clients of their user: requests/segment_request.c. */
struct shared_segments {
    struct segment_set segments;
    struct keepers keepers;
};

/* Signals that clients share with other clients of their user: front/signal_record.c. */
struct shared_signals {
    struct list list; /* signal.link: all signals */
};

/* All clients: client.c. */
struct client_set {
    struct list list; /* client.link */
    uint32_t count, leaving;
};

/* Background tasks that load modules: front/module_load.c. */
struct module_loads {
    struct background_tasks background_tasks;
    struct list back; /* completed tasks whose results are not yet taken over */
    uint32_t count;   /* clients with an unfinished background task */
};

/* Iterations that end: operations/iteration_boundary.c. */
struct boundaries {
    struct list passing; /* client.boundary.link: clients that may be at a boundary */
    struct list keeping; /* client.keeping: clients at a boundary whose survivors are being kept */
    uint32_t held;       /* clients with a record that waits for a boundary */
    uint32_t waiting;    /* clients whose iteration may be complete without another operation */
    uint32_t early;      /* clients at a boundary whose next operation may come at any moment */
};

/* The clients that the next round looks at. One file takes entries from each list. */
struct work_lists {
    struct list active;  /* stream.active: streams that may have operations to start: pump.c */
    struct list faulted; /* client.fault_link: clients to abandon at the next safe point: pump.c */
    struct list parts; /* client.parts: memory that is being created or freed: deferred_request.c */
    struct list asking; /* memory_ask.link: requests for memory: sched_link.c */
    struct list
        saving; /* client.recovery_state.savepoint.link: clients being saved: savepoint_writer.c */
    /* client.clearing: clients whose part of a lane is being cleared: sched_link.c */
    struct list clearing;
    /* client.watch.link: clients whose streams wait for a value: value_wait.c */
    struct list watching;
};

struct kernels;

/* Knowledge of kernels, and how much of it the broker has: front/kernel_link.c. */
struct profiles {
    struct kernels *kernels;
    bool telling;        /* changed profiles have yet to be sent to the broker */
    uint32_t generation; /* the number of the latest WIRE_FORGET */
};

/* The loop's own state, and the times of periodic work: loop.c. */
struct loop_state {
    int epoll_fd;
    uint32_t cores, cpu;
    uint32_t dev_threads; /* device threads that compete with the loop; 0 for hardware */
    uint64_t idle_since_ns, tick_ns, beat_ns, status_ns, spin_ns;
};

struct worker {
    const struct dev_ops *ops;
    struct dev *dev;
    struct dev_info info;
    struct description description;
    struct worker_settings config;

    struct events_link events_link; /* the scheduler's latest steps */
    struct scheduling scheduling;
    struct fault_isolation isolation;
    struct recovery recovery;
    struct lane_table lanes;
    struct moves moves;
    struct shared_segments shared;
    struct shared_signals signals;
    struct load load;
    struct board board;
    struct client_set clients;
    struct module_loads loads;
    struct boundaries boundaries;
    struct work_lists work;
    struct profiles profiles;
    struct broker_link link;
    struct loop_state loop;
    uint64_t now_ns; /* time of the present round of the loop */

    /* The record being read, in private memory only. ring_pop may write 7 bytes behind the longest
     * record. */
    unsigned char record[RING_RECORD_MAX + 8] __attribute__((aligned(64)));
};

struct worker_config {
    const struct dev_ops *ops;
    struct dev_config device;
    struct policy_config policy;
    bool share_users;              /* users take turns in a lane */
    struct hostfile_bounds closed; /* address windows of other jobs, including those to come */
    bool clear_always;     /* clears a job's data in a lane for jobs of the same user as well */
    int kept_fd;           /* list of the memory's descriptors: surviving_memory.h; 0: none */
    uint64_t savepoint_ns; /* interval of savepoints for jobs that ask for them */
    bool keep;             /* gives the broker descriptors of the device's memory */
    int broker_fd;         /* owned by the worker once worker_create succeeds */
};

/* Closes device.memory_fd, kept_fd and the descriptors that the list names, in any case. On failure
 * `why` (>= 256 bytes) gives the reason, and the caller still owns the broker_fd. */
int worker_create(struct worker **out, const struct worker_config *config, char *why,
                  size_t why_bytes);
/* Called when no client is left; accepts NULL. */
void worker_destroy(struct worker *w);

/* The reason why the device will not work again in this process; 0: it works. */
static inline int worker_lost(const struct worker *w) {
    return w->ops->driver ? w->ops->driver->lost(w->dev) : 0;
}

#endif
