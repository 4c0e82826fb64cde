/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker: one device, the scheduler, and what the clients between them share: the clock, lanes,
 * and lists of what is to be looked at next. It knows no client from inside (client.h). One thread
 * does everything here but errands, which may take long; the device has its own.
 */
#ifndef DAEMON_WORKER_WORKER_H
#define DAEMON_WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/device.h"
#include "daemon/device/device_driver.h"
#include "daemon/sched/sched.h"
#include "daemon/worker/errand/errand.h"
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
#define WORKER_QUOTA 65536u /* operations of one client that are accepted and not complete */

/* ---- the parts of the worker -------------------------------------------------------------------
 *
 * Each names the one file that writes its members; worker.c sets them at first. The lists of work
 * name a file each. scripts/check-pipeline holds the code to that.
 */

/* Set once, by worker_create. */
struct worker_settings {
    uint64_t seed; /* a secret, for hashes of what clients choose */
    struct hostfile_bounds closed;
    uint64_t savepoint_ns; /* how often memory is saved of who asks for that */
    bool clear_always;     /* between jobs of one user as well */
};

/* What happened, for one step: room for one event more at least. */
struct event_batch {
    struct sched_event *items;
    uint32_t count, cap;
};

/* Between the worker and its scheduler: scheduling/sched_link.c. */
struct scheduling {
    struct sched *sched;
    struct event_batch events; /* for the next step */
    struct event_batch taken;  /* of the step whose actions are being carried out */
    uint64_t steps;            /* so far */
    uint64_t arm_ns;           /* it wants one then, at the latest; 0: it does not */
    bool reserved_anew;        /* what jobs can have is to be shown again after the step */
};

/* Kernels on trial, in lists through op.next: faults/fault_isolation.c. */
struct fault_isolation {
    struct op *waiting, **waiting_last; /* to run alone, in this order */
    struct op *held, **held_last;       /* all others that may run, meanwhile */
    const struct op *alone;             /* on trial, on the device */
    uint64_t kernels;                   /* on the device */
    uint64_t since_ns;                  /* when the first of `waiting` came, or `alone` began */
};

/* The end of an earlier worker's device, and of this one's: faults/device_loss.c. */
struct recovery {
    bool restoring;    /* clients of an earlier worker are still to come: no other is read */
    int ending;        /* why all clients end with this worker; 0: the broker is gone */
    uint32_t culprit;  /* the job whose kernel ended the device; 0: not known */
    uint32_t suspects; /* kernels that may have been what did it */
};

/* What the device takes for so many is little; then others have their turn. */
#define WORKER_GRANULES 8u

/* Moves of clients' memory: residency/memory_move.c. */
struct moves {
    struct list list;
    uint32_t most;    /* granules, in a round of the loop: of all clients */
    uint32_t left;    /* of this one's, for moves that are new */
    uint32_t parts;   /* that one was done in, at most */
    struct pace pace; /* how much of these, and of deferred requests, in a round of the loop */
};

/* Segments that clients show to others of their user: requests/segment_request.c. */
struct shared_segments {
    struct segment_set segments;
    struct keepers keepers;
};

/* Signals that clients show to others of their user: front/signal_record.c. */
struct shared_signals {
    struct list list; /* signal.link: all */
};

/* All clients: client.c. */
struct client_set {
    struct list list; /* client.link */
    uint32_t count, leaving;
};

/* Work that takes long, beside the loop: front/module_load.c. */
struct module_loads {
    struct errands errands;
    struct list back; /* errands that are to be finished */
    uint32_t count;   /* clients with an errand that is not finished */
};

/* Iterations that end: operations/iteration_boundary.c. */
struct boundaries {
    struct list passing; /* client.boundary.link: may be at a boundary */
    struct list keeping; /* client.keeping: at a boundary, survivors are being kept */
    uint32_t held;       /* clients with a record that waits for one */
    uint32_t waiting;    /* clients whose iteration may be over without another operation */
    uint32_t early;      /* clients at one, whose next operation may come any moment */
};

/* The clients to be looked at next. Each list has one file that takes from it. */
struct work_lists {
    struct list active;   /* stream.active: streams that may have something to do: pump.c */
    struct list faulted;  /* client.fault_link: to be abandoned at the next safe point: pump.c */
    struct list parts;    /* client.parts: memory that comes or goes: deferred_request.c */
    struct list asking;   /* memory_ask.link: requests for memory: sched_link.c */
    struct list saving;   /* client.estate.savepoint.link: being saved: savepoint_writer.c */
    struct list clearing; /* client.clearing: their part of a lane is cleared: sched_link.c */
    struct list watching; /* client.watch.link: streams of theirs wait for a value: value_wait.c */
};

struct kernels;

/* Knowledge of kernels, and whether the broker has it too: front/kernel_link.c. */
struct profiles {
    struct kernels *kernels;
    bool telling;        /* the broker, what was learned of them */
    uint32_t generation; /* of the latest WIRE_FORGET */
};

/* The loop's own state, and the times of what it does only now and then: loop.c. */
struct loop_state {
    int epoll_fd;
    uint32_t cores, cpu;
    uint32_t dev_threads; /* of the device, that compete with us for cores; 0 for hardware */
    uint64_t idle_since_ns, tick_ns, beat_ns, status_ns, spin_ns;
};

struct worker {
    const struct dev_ops *ops;
    struct dev *dev;
    struct dev_info info;
    struct description description;
    struct worker_settings config;

    struct events_link events_link; /* its latest steps */
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
    uint64_t now_ns; /* read once a sweep */

    /* The record being read; only ever private memory. ring_pop may write 7 bytes behind it. */
    unsigned char record[RING_RECORD_MAX + 8] __attribute__((aligned(64)));
};

struct worker_config {
    const struct dev_ops *ops;
    struct dev_config device;
    struct policy_config policy;
    bool share_users;              /* of a lane */
    struct hostfile_bounds closed; /* address windows, those of jobs to come as well */
    bool clear_always;     /* what a job left in a lane, for jobs of the same user as well */
    int kept_fd;           /* a list of parts of its memory, kept.h; 0: none */
    uint64_t savepoint_ns; /* how often memory is saved of who asks for that */
    bool keep;             /* the broker is given what the device's memory is made of */
    int broker_fd;         /* owned by the worker from now on */
};

/* device.memory_fd, and kept_fd with what it names, are closed in any case. On failure `why` (>=
 * 256 bytes) says what failed, and the broker_fd is still the caller's. */
int worker_create(struct worker **out, const struct worker_config *config, char *why,
                  size_t why_bytes);
/* No client is left; accepts NULL. */
void worker_destroy(struct worker *w);

/* Why the device will not work again in this process; 0: it works. */
static inline int worker_lost(const struct worker *w) {
    return w->ops->driver ? w->ops->driver->lost(w->dev) : 0;
}

#endif
