/* SPDX-License-Identifier: Apache-2.0
 *
 * A client without a shim, and a broker without a daemon: drives a worker over the raw wire
 * protocol, in one process. `struct wirebench` owns the worker and the broker's end of its socket.
 * The test either calls wirebench_run, which runs the worker's loop until it is idle
 * (deterministic), or starts the worker's own thread.
 */
#ifndef TEST_LIB_WIRECLIENT_H
#define TEST_LIB_WIRECLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/worker.h"
#include "proto/wire/ring.h"
#include "proto/wire/wire.h"

#define WIRECLIENT_ALLOC_BYTES (128ull << 20) /* two windows of 64 MiB */
#define WIRECLIENT_MODULE_BYTES (16ull << 20)
#define WIRECLIENT_HOST_BYTES (16ull << 20)

struct wirebench {
    struct worker *worker;
    int sock;
    pthread_t thread;
    bool threaded;
    bool background_waits; /* wirebench_run does not wait for background tasks to end */
    uint64_t clock_ns;     /* the time that the worker's rounds are given; 0: real time */
    uint32_t next_job;
    uint32_t uid; /* uid of the next client that attaches */
    bool holds;   /* the next client that attaches is held until wireclient_begin */
};

struct wireclient {
    struct wirebench *bench;
    uint32_t job_id;
    struct wire_windows windows;
    struct wire_submission *sub;
    const struct wire_completion *com;
    int doorbell;
    struct ring_tx tx;
    uint64_t seq[WIRE_STREAMS_FIRST + 64]; /* last number used; tests have no higher stream ids */
    uint64_t ticket;
    char *host; /* the host window's address */
    struct wire_job job;
    uint32_t group;
};

/* Starts a worker on `ops` with at most `cap` operations of a client in flight. Aborts the
 * process on any error. */
struct wirebench *wirebench_start(const struct dev_ops *ops, uint32_t cap);
/* Starts a worker with any configuration; fills in its broker_fd. */
struct wirebench *wirebench_start_as(const struct worker_config *as);
void wirebench_thread(struct wirebench *b);
void wirebench_stop(struct wirebench *b);
/* Runs the loop until the worker is idle and no background task is in flight. If the worker has a
 * thread, only waits a moment. */
void wirebench_run(struct wirebench *b);
/* Runs, and returns the tokens that the fake device got since the last call; static text. */
const char *wirebench_launched(struct wirebench *b);
/* Sets *msg to the worker's next message, other than heartbeats, WIRE_RESUMED and batches of
 * learned profiles, and *fd, unless NULL, to its first descriptor or -1. False when none comes in
 * time. */
bool wirebench_hear(struct wirebench *b, struct wire_worker_msg *msg, int *fd);

/* Attaches a job with an empty reservation. The worker admits it at once, in a lane of its own,
 * and the client asks for all memory that it uses. */
struct wireclient *wireclient_attach(struct wirebench *b);
/* `group`: as the broker derives it from job->group. */
struct wireclient *wireclient_attach_as(struct wirebench *b, const struct wire_job *job,
                                        uint32_t group);
/* Attaches with windows and descriptors that the test chooses; returns the result of
 * WIRE_ATTACHED. */
int wireclient_try(struct wirebench *b, struct wireclient *wc, const struct wire_windows *windows,
                   const int fds[3], int nfds);
/* Windows at addresses that are free at present. */
struct wire_windows wireclient_windows(void);
/* Sends WIRE_BEGIN. */
void wireclient_begin(struct wireclient *wc);
/* Sends WIRE_DETACH and waits for WIRE_DETACHED. Does not free the client. */
void wireclient_detach(struct wireclient *wc);
void wireclient_free(struct wireclient *wc);

/* Sends any record; fills in op, stream, seq (`ordered`) and ticket (`reply`), and rings the
 * doorbell. Returns the seq or the ticket. Aborts when the ring stays full. */
uint64_t wireclient_send(struct wireclient *wc, uint16_t op, uint32_t stream, bool reply, void *rec,
                         uint32_t bytes, const void *tail, uint32_t tail_bytes);

uint64_t wireclient_launch(struct wireclient *wc, uint32_t stream, uint32_t func, uint64_t token);
uint64_t wireclient_copy(struct wireclient *wc, uint32_t stream, uint64_t dst, uint64_t src,
                         uint64_t bytes);
uint64_t wireclient_event(struct wireclient *wc, uint32_t stream, uint32_t event);
uint64_t wireclient_wait(struct wireclient *wc, uint32_t stream, uint32_t on, uint64_t on_seq);
uint64_t wireclient_host_func(struct wireclient *wc, uint32_t stream, uint64_t token);
void wireclient_create_stream(struct wireclient *wc, uint32_t stream, uint32_t flags);
void wireclient_destroy_stream(struct wireclient *wc, uint32_t stream);
/* Sends the broker's WIRE_FILE with the descriptor, which is closed; or without (fd -1), with
 * `result` as reason. Waits for WIRE_FILED; returns the ticket. */
uint64_t wireclient_file(struct wireclient *wc, uint32_t file, int fd, int result);
/* The same for WIRE_KEEP: the other end of a segment's descriptor. */
uint64_t wireclient_keep(struct wireclient *wc, uint32_t segment, int fd, int result);
/* Start of the ephemeral half of the window: an offset for wireclient_mem. */
#define WIRECLIENT_EPHEMERAL (WIRECLIENT_ALLOC_BYTES / 2)
/* MEM_BACK and similar records, at an offset of the alloc window; with a ticket or without. */
uint64_t wireclient_mem(struct wireclient *wc, uint16_t op, uint64_t offset, uint64_t bytes);
void wireclient_mem_silent(struct wireclient *wc, uint16_t op, uint64_t offset, uint64_t bytes);
/* Sends ITERATION or IDLE. */
void wireclient_say(struct wireclient *wc, uint16_t op);
uint64_t wireclient_load(struct wireclient *wc, uint32_t module, const char *image);
uint64_t wireclient_func(struct wireclient *wc, uint32_t module, uint32_t func, const char *name);
uint64_t wireclient_ping(struct wireclient *wc);

/* Loads module 0 with these kernels; functions 0, 1, ... in order. */
void wireclient_kernels(struct wireclient *wc, const char *names);

uint64_t wireclient_done(const struct wireclient *wc, uint32_t stream);
/* The reply, or NULL while there is none. */
const struct wire_reply *wireclient_reply(const struct wireclient *wc, uint64_t ticket);
/* Runs the bench; returns the reply's result, or -EAGAIN when there is none. */
int wireclient_result(struct wireclient *wc, uint64_t ticket);
uint32_t wireclient_fault(const struct wireclient *wc);

#endif
