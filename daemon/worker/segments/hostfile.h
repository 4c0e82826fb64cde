/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of a client that parts of its host window show, so that the device sees memory which other
 * processes have mapped as well. They are memfds that cannot shrink, or touching what was cut off
 * would end this process; that is looked at here, whoever looked before. They are kept open for the
 * ranges that come, at most WIRE_FILES, and closed with the client. A range may also lie where the
 * client has it, outside its windows, if nothing else is there. The worker's thread.
 */
#ifndef DAEMON_WORKER_SEGMENTS_HOSTFILE_H
#define DAEMON_WORKER_SEGMENTS_HOSTFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "proto/wire/wire.h"

struct hostfile_range {
    uint64_t addr, bytes;
    bool away; /* outside the window, and shown no longer; its pages are nobody's */
};

/* Where no client may have pages of the worker's: address windows that jobs will be given. */
struct hostfile_bounds {
    uint64_t lo, hi;
};

struct hostfiles {
    const struct dev_ops *ops;
    struct dev_space *space;
    struct hostfile_bounds closed;
    uint64_t base, bytes;          /* of the host window, without what the worker gives out of it */
    int window;                    /* the host window's own; -1: nothing was begun */
    int fds[WIRE_FILES];           /* -1: the number is free */
    struct hostfile_range *ranges; /* ascending */
    uint32_t count, room;
    uint64_t shown_bytes;
};

/* `window_fd` is taken over. */
void hostfile_init(struct hostfiles *h, const struct dev_ops *ops, struct dev_space *space,
                   const struct dev_windows *windows, const struct hostfile_bounds *closed,
                   int window_fd);
/* Closes all; what was mapped goes with the window. Also of one that is all zeros but for
 * `window` -1. */
void hostfile_finish(struct hostfiles *h);

/* `fd`, taken over in any case, is number `file`, which is below WIRE_FILES. -EEXIST: there is one;
 * -EINVAL: it could shrink; -EMFILE: it is among the last that this process may have; -ENOTSUP: the
 * device shows no files. */
int hostfile_take(struct hostfiles *h, uint32_t file, int fd);
/* -ENOENT. Ranges that show it go on. */
int hostfile_drop(struct hostfiles *h, uint32_t file);

/* -ENOENT: no such file; -EINVAL: it is not so large; -ENOSPC: WIRE_FILE_RANGES are shown; -ENOMEM
 * and others of mmap; -EADDRNOTAVAIL: outside the window, where something else lies. ERR_PROTOCOL:
 * some of it is in the window, or shows a file. */
int hostfile_map(struct hostfiles *h, const struct wire_file_range *r);
/* ERR_PROTOCOL: these are no range. `idle`: nothing of the client is on the device, so that the
 * pages can go. */
int hostfile_unmap(struct hostfiles *h, uint64_t addr, uint64_t bytes, bool idle);
/* All of it lies outside the window, and is shown. */
bool hostfile_has(const struct hostfiles *h, uint64_t addr, uint64_t bytes);

#endif
