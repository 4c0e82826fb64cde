/* SPDX-License-Identifier: Apache-2.0
 *
 * A broker inside the test's process: its loop in a thread, a run directory of its own, and a fake
 * worker that answers over the socket pair as it is told. Also the client's side of the handshake,
 * step by step, so that tests can do each step wrongly.
 */
#ifndef TEST_LIB_BROKER_RIG_H
#define TEST_LIB_BROKER_RIG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "daemon/broker/config/config.h"
#include "daemon/broker/server.h"
#include "daemon/kernels/kernel_wire.h"
#include "proto/wire/wire.h"

/* How the fake worker behaves; set before or while it runs. */
struct broker_rig_worker {
    _Atomic int ready_result;      /* result in READY */
    _Atomic int fail_ready;        /* the next n READY have the result -EIO */
    _Atomic int never_ready;       /* says nothing at all */
    _Atomic int silent;            /* stops its heartbeat */
    _Atomic int collide;           /* the next n ATTACH are answered with -EEXIST */
    _Atomic int attach_result;     /* result in ATTACHED, when negative */
    _Atomic int bad_completion;    /* passes a memfd that is too small */
    _Atomic int keep;              /* does not answer DETACH */
    _Atomic int nonsense;          /* sends a message of no known kind after READY */
    _Atomic int set_result;        /* result in DID, the answer to SET_JOB and SET_POLICY */
    _Atomic int set_silent;        /* does not answer them */
    _Atomic int no_board;          /* sends none with READY */
    _Atomic int launch_result;     /* when negative: it cannot be started */
    _Atomic int trial_result;      /* result in ATTACHED for the broker's own job */
    _Atomic int trial_silent;      /* does not answer it */
    _Atomic int trials;            /* times that the trial job arrived */
    _Atomic int recovery_states;   /* keeps recovery states, and its device's memory outlives it */
    _Atomic int in_parts;          /* the device's memory is no memfd */
    _Atomic int early_part;        /* KEEPs part 1 before READY */
    _Atomic int fresh;             /* does not go on with memory that it is given */
    _Atomic int restore_result;    /* result in ATTACHED, the answer to RESTORE, when negative */
    _Atomic int restore_dies;      /* the next n RESTORE end it */
    _Atomic int restore_silent;    /* does not answer RESTORE */
    _Atomic int bad_restore;       /* passes a page that is too small */
    _Atomic int restores;          /* RESTORE that came */
    _Atomic int resume_silent;     /* does not say that restored jobs go on */
    _Atomic int restored;          /* RESTORED that came */
    _Atomic uint64_t memory_inode; /* inode of the latest worker's memory; 0: none */
    _Atomic uint64_t given_inode;  /* inode of the memory given to it; 0: none */
    _Atomic int launches;          /* times it was started */
    _Atomic int attached, detached;
    _Atomic int sets;               /* SET_JOB and SET_POLICY that came */
    _Atomic int kernels;            /* WIRE_KERNELS that came */
    _Atomic int forgets;            /* WIRE_FORGET that came */
    _Atomic int limits;             /* WIRE_LIMITS that came */
    _Atomic int begins;             /* WIRE_BEGIN that came */
    _Atomic int files;              /* WIRE_FILE that came */
    _Atomic int file_silent;        /* does not say that these were answered */
    _Atomic uint64_t file_inode;    /* inode of the latest WIRE_FILE's descriptor; 0: none */
    _Atomic int detach_result;      /* result in the latest DETACH */
    _Atomic uint64_t last_dev_base; /* base of the device window in the latest ATTACH */
    _Atomic int fd;                 /* the worker's end of the socket; -1: not running */
    _Atomic int running;            /* threads: one that was killed takes its time to end */
    _Atomic int rests;              /* times the worker was idle with all descriptors closed */
    _Atomic uint64_t silence_ns;    /* the longest without a heartbeat */
    /* The latest of each, to be read once its counter says that it came. */
    struct wire_worker_msg last_attach, last_set, last_forget, last_limits, last_file, last_restore;
    uint64_t restore_inodes[5];         /* inodes of the latest RESTORE's descriptors */
    uint32_t restore_ids[64];           /* jobs, in the order in which they came */
    uint64_t recovery_inode;            /* of the job attached last */
    uint32_t last_hints, last_profiles; /* counts in the latest WIRE_KERNELS */
    struct wire_completion *page;       /* page of the job attached last; never unmapped */
    struct wire_board *board;           /* board of the worker started last; never unmapped */
    struct wire_kept *parts;            /* parts given to the latest worker, with copies */
    uint32_t part_count;
    /* The device's multiprocessors (0: 4), the first byte of its UUID, whose others are 0, and its
     * bus (0: 0x41). Set before the worker runs. */
    uint32_t sm_count, uuid, pci_bus;
};

struct broker_rig {
    char dir[64];
    struct config config;
    struct server *server;
    struct broker_rig_worker worker, second; /* workers of GPU 0, and of GPU 1 if there is one */
    pthread_t thread;
    int result; /* result of server_run, once it `ended` */
    _Atomic int ended;
};

/* Prepares directory and configuration (no timeout that a late thread could reach), to be changed
 * before the start. The directory goes with the test, however that ends. */
void broker_rig_init(struct broker_rig *r);
void broker_rig_start(struct broker_rig *r); /* with the fake worker */
/* The two halves of broker_rig_start: messages that clients send in between arrive before the
 * broker reads. */
void broker_rig_listen(struct broker_rig *r);
void broker_rig_run(struct broker_rig *r);
void broker_rig_start_real(struct broker_rig *r); /* with the configured worker program */
void broker_rig_stop(struct broker_rig *r);
void broker_rig_stop_keep(struct broker_rig *r); /* keeps the directory, for another start in it */

/* Waits until the only fake worker has handled all earlier messages. */
void broker_rig_settle(struct broker_rig *r);
/* Ends the fake worker as a crash would. */
void broker_rig_kill_worker(struct broker_rig *r);
/* Sends a message as the worker. */
void broker_rig_say(struct broker_rig *r, const struct wire_worker_msg *msg);

/* Sends a part of its device's memory, which stays the caller's; below 0: without. */
void broker_rig_keep(struct broker_rig *r, uint64_t id, int fd);

/* Sends what it learned of kernels, `bytes` of it. */
void broker_rig_learned(struct broker_rig *r, const struct kernel_wire_batch *b, size_t bytes);

/* A connected socket (blocking, a minute's receive timeout). */
int broker_rig_connect(const struct broker_rig *r, const char *socket_name);

struct wire_hello broker_rig_hello(void);
/* Receives one message of exactly `bytes`; asserts that it came. */
void broker_rig_expect(int fd, void *msg, size_t bytes, int *fds, int want_fds);
/* True when the other side closed. */
int broker_rig_closed(int fd);

/* The whole handshake: hello, offer, answer, welcome. Descriptors of the offer in fds[]. */
/* The client of this submission page has made a context. */
void broker_rig_use(int submission_fd);
struct wire_offer broker_rig_attach(int fd, int *fds);
struct wire_offer broker_rig_attach_as(int fd, const struct wire_hello *h, int *fds);

/* Waits until *word == value, for at most a minute; returns whether it came to be. */
int broker_rig_wait(const _Atomic int *word, int value);
int broker_rig_count_fds(void);

#endif
