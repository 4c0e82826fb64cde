/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection to the broker: the handshake, and the memory that comes with it. The thread that
 * runs cuInit opens it. It is never closed, because code that runs after main still makes calls.
 * When the worker's page is exchanged, only `moved` changes.
 */
#ifndef SHIM_CONNECTION_CONN_H
#define SHIM_CONNECTION_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/wire.h"

struct conn {
    struct wire_windows windows;
    struct wire_device device;
    /* The description of the device itself; jobs see it through device_view.h. */
    struct description description;
    uint32_t job_id;
    uint16_t minor; /* the broker's minor version */
    struct wire_submission *submission;
    /* The page stays at one address, also when the job moves to another worker. */
    const struct wire_completion *completion;
    _Atomic uint32_t moved; /* number of the wire_moved whose page is mapped; 0: the first page */
    bool refused;           /* the job was refused, and the reason logged */
    int workers_lost;       /* workers that ended while the connection was being opened */
    int sock;               /* connection to the broker; it hangs up when the broker ends */
    int doorbell;           /* eventfd that wakes the worker */
    int host; /* the host window's file; programs may close descriptors that they do not know */
    uint64_t host_inode; /* inode of the host window's file, which identifies it */
};

/* Returns 0, or -errno / ERR_* with one line in the log that says what to do. On failure nothing
 * stays mapped or open. */
int conn_open(struct conn *c);

/* True once the broker has closed its end. Makes one system call. */
bool conn_closed(const struct conn *c);

/* Changes to the worker that has the job now, as submission->moved says: maps its page in place of
 * the old one while other threads read there. 0, or -errno / ERR_* with one line in the log: the
 * job is lost. One thread at a time; never waits. */
int conn_follow(struct conn *c);

/* True while `host` is still the window's file. */
bool conn_has_host(const struct conn *c);

static inline bool conn_in_device(const struct conn *c, uint64_t addr) {
    return addr - c->windows.dev_base < c->windows.alloc_bytes + c->windows.module_bytes;
}

static inline bool conn_in_host(const struct conn *c, uint64_t addr) {
    return addr - c->windows.host_base < c->windows.host_bytes;
}

#endif
