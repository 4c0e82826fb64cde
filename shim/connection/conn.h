/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection to the broker: handshake, and the memory that comes with it. Made once, by the
 * thread that runs cuInit; never undone, because code that runs after main still calls. When the
 * worker's page is exchanged, `moved` is what changes.
 */
#ifndef SHIM_CONNECTION_CONN_H
#define SHIM_CONNECTION_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/wire.h"

struct conn {
    struct wire_windows windows;
    struct wire_device device;
    struct description description; /* of the device; what jobs are told of it: shown.h */
    uint32_t job_id;
    uint16_t minor; /* version of the broker's */
    struct wire_submission *submission;
    const struct wire_completion *completion; /* one address, also when the job moves */
    _Atomic uint32_t moved; /* number of the wire_moved whose page lies there; 0: the first */
    bool refused;           /* why was said already */
    int workers_lost;       /* while it was being opened */
    int sock;               /* closes when either side ends */
    int doorbell;           /* eventfd that wakes the worker */
    int host; /* the host window's file; programs close descriptors that they do not know */
    uint64_t host_inode; /* by which it is known */
};

/* 0, or -errno / ERR_* with one line in the log that says what to do. On failure nothing stays
 * mapped or open. */
int conn_open(struct conn *c);

/* True once the broker has closed its end. One system call. */
bool conn_closed(const struct conn *c);

/* Another worker has the job, as submission->moved says: its page goes where the other lies, while
 * other threads read there. 0, or -errno / ERR_* with one line in the log: the job is lost. One
 * thread at a time; never waits. */
int conn_follow(struct conn *c);

/* Whether `host` is still the window's file. */
bool conn_has_host(const struct conn *c);

static inline bool conn_in_device(const struct conn *c, uint64_t addr) {
    return addr - c->windows.dev_base < c->windows.alloc_bytes + c->windows.module_bytes;
}

static inline bool conn_in_host(const struct conn *c, uint64_t addr) {
    return addr - c->windows.host_base < c->windows.host_bytes;
}

#endif
