/* SPDX-License-Identifier: Apache-2.0
 *
 * A broker inside the test's process: its loop in a thread, its own run directory, and a fake
 * worker that answers over the socket pair as the test configures. Also the client's side of the
 * handshake, step by step, so that tests can do each step wrongly.
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

/* Behaviour of the fake worker; set before it runs or while it runs. */
struct broker_rig_worker {
    _Atomic int ready_result;       /* result in READY */
    _Atomic int fail_ready;         /* the result of the next n READY messages is -EIO */
    _Atomic int never_ready;        /* sends no message at all */
    _Atomic int silent;             /* stops its heartbeat */
    _Atomic int collide;            /* the next n ATTACH are answered with -EEXIST */
    _Atomic int attach_result;      /* result in ATTACHED, when negative */
    _Atomic int bad_completion;     /* passes a memfd that is too small */
    _Atomic int keep;               /* does not answer DETACH */
    _Atomic int nonsense;           /* sends a message of unknown type after READY */
    _Atomic int set_result;         /* result in DID, the answer to SET_JOB and SET_POLICY */
    _Atomic int set_silent;         /* does not answer SET_JOB and SET_POLICY */
    _Atomic int no_board;           /* sends no board with READY */
    _Atomic int launch_result;      /* when negative: starting the worker fails with this error */
    _Atomic int trial_result;       /* result in ATTACHED for the broker's own job */
    _Atomic int trial_silent;       /* does not answer ATTACH for the broker's own job */
    _Atomic int trials;             /* times that the broker's own job arrived */
    _Atomic int recovery_states;    /* keeps recovery states; its device memory outlives it */
    _Atomic int in_parts;           /* device memory consists of parts, not of one memfd */
    _Atomic int early_part;         /* sends part 1 of its device memory before READY */
    _Atomic int fresh;              /* starts afresh instead of using the memory it is given */
    _Atomic int restore_result;     /* result in ATTACHED, the answer to RESTORE, when negative */
    _Atomic int restore_dies;       /* the next n RESTORE messages kill the worker */
    _Atomic int restore_silent;     /* does not answer RESTORE */
    _Atomic int bad_restore;        /* passes a page that is too small with RESTORE */
    _Atomic int restores;           /* RESTORE messages received */
    _Atomic int resume_silent;      /* does not report that restored jobs continue */
    _Atomic int restored;           /* RESTORED messages received */
    _Atomic uint64_t memory_inode;  /* inode of the latest worker's memory; 0: none */
    _Atomic uint64_t given_inode;   /* inode of the memory given to it; 0: none */
    _Atomic int launches;           /* times the worker was started */
    _Atomic int attached, detached; /* jobs so far, without the broker's own */
    _Atomic int sets;               /* SET_JOB and SET_POLICY messages received */
    _Atomic int kernels;            /* WIRE_KERNELS messages received */
    _Atomic int forgets;            /* WIRE_FORGET messages received */
    _Atomic int limits;             /* WIRE_LIMITS messages received */
    _Atomic int begins;             /* WIRE_BEGIN messages received */
    _Atomic int files;              /* WIRE_FILE and WIRE_KEEP messages received */
    _Atomic int file_silent;        /* does not answer WIRE_FILE and WIRE_KEEP */
    _Atomic uint64_t file_inode;    /* inode of the latest such message's descriptor; 0: none */
    _Atomic int detach_result;      /* result in the latest DETACH */
    _Atomic uint64_t last_dev_base; /* base of the device window in the latest ATTACH */
    _Atomic int fd;                 /* the worker's end of the socket; -1: not running */
    _Atomic int running; /* threads of workers; a killed worker's thread takes time to end */
    _Atomic int rests;   /* times the worker was idle with all descriptors closed */
    _Atomic uint64_t silence_ns; /* the longest time without a heartbeat */
    /* The latest message of each kind, valid once its counter has increased. */
    struct wire_worker_msg last_attach, last_set, last_forget, last_limits, last_file, last_restore;
    uint64_t restore_inodes[5];         /* inodes of the latest RESTORE's descriptors */
    uint32_t restore_ids[64];           /* jobs in the order of their RESTORE messages */
    uint64_t recovery_inode;            /* inode of the recovery state of the job attached last */
    uint32_t last_hints, last_profiles; /* counts in the latest WIRE_KERNELS */
    /* The page of the job attached last, and the board of the worker started last. The next
     * attached job unmaps the page, the next worker the board. */
    struct wire_completion *page;
    struct wire_board *board;
    struct wire_kept *parts; /* parts given to the latest worker, with copies of their contents */
    uint32_t part_count;
    /* The device's multiprocessors (0: 4), the first byte of its UUID (the others are 0), and
     * its PCI bus (0: 0x41). Set before the worker runs. */
    uint32_t sm_count, uuid, pci_bus;
};

struct broker_rig {
    char dir[64];
    struct config config;
    struct server *server;
    struct broker_rig_worker worker, second; /* workers of GPU 0, and of GPU 1 if there is one */
    pthread_t thread;
    int result; /* result of server_run, valid once `ended` is set */
    _Atomic int ended;
};

/* Prepares the directory and the configuration, which the test may change before the start. No
 * timeout in it is short enough for a late thread to reach. The directory is removed after the
 * test, however the test ends. */
void broker_rig_init(struct broker_rig *r);
void broker_rig_start(struct broker_rig *r); /* with the fake worker */
/* The two halves of broker_rig_start: the broker first reads messages that clients send in
 * between. */
void broker_rig_listen(struct broker_rig *r);
void broker_rig_run(struct broker_rig *r);
void broker_rig_start_real(struct broker_rig *r); /* with the configured worker program */
void broker_rig_stop(struct broker_rig *r);
/* Stops, but keeps the directory, so that the rig can be started in it again. */
void broker_rig_stop_keep(struct broker_rig *r);

/* Waits until the rig's only fake worker has handled all earlier messages. */
void broker_rig_settle(struct broker_rig *r);
/* Ends the fake worker as a crash would. */
void broker_rig_kill_worker(struct broker_rig *r);
/* Sends a message as the worker. */
void broker_rig_say(struct broker_rig *r, const struct wire_worker_msg *msg);

/* Sends a part of the worker's device memory as descriptor `fd`, which the caller still owns; fd
 * below 0: sends no descriptor. */
void broker_rig_keep(struct broker_rig *r, uint64_t id, int fd);

/* Sends kernel profiles that the worker learned: `bytes` bytes of the batch. */
void broker_rig_learned(struct broker_rig *r, const struct kernel_wire_batch *b, size_t bytes);

/* Returns a connected socket (blocking, receive timeout of a minute). */
int broker_rig_connect(const struct broker_rig *r, const char *socket_name);

struct wire_hello broker_rig_hello(void);
/* Receives one message of exactly `bytes` bytes; asserts that it arrives. */
void broker_rig_expect(int fd, void *msg, size_t bytes, int *fds, int want_fds);
/* True when the other side closed. */
int broker_rig_closed(int fd);

/* Marks this submission page as a client does that has created a context. */
void broker_rig_use(int submission_fd);
/* The whole handshake (hello, offer, answer, welcome), then broker_rig_use. Stores the offer's
 * WIRE_FD_COUNT descriptors in fds[]; the caller owns them. Ends the test when it is refused. */
struct wire_offer broker_rig_attach(int fd, int *fds);
struct wire_offer broker_rig_attach_as(int fd, const struct wire_hello *h, int *fds);

/* Waits at most a minute until *word == value; returns whether that happened. */
int broker_rig_wait(const _Atomic int *word, int value);
int broker_rig_count_fds(void);

#endif
