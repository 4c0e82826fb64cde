/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of a client that are mapped into parts of its host window. The device then sees memory that
 * other processes have mapped too. They are memfds that cannot shrink; otherwise an access past a
 * new end would kill this process. This file checks that itself, even where another process did.
 *
 * At most WIRE_FILES files stay open for later ranges, and are closed with the client. A range may
 * also lie at the client's own address outside its windows, if nothing else is mapped there.
 * Thread: the worker's.
 */
#ifndef DAEMON_WORKER_SEGMENTS_HOSTFILE_H
#define DAEMON_WORKER_SEGMENTS_HOSTFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "proto/wire/wire.h"

struct hostfile_range {
    uint64_t addr, bytes;
    bool away; /* outside the window and no longer mapped to its file, but to anonymous pages */
};

/* Addresses at which no client may place a range: address windows that jobs will be given. */
struct hostfile_bounds {
    uint64_t lo, hi;
};

struct hostfiles {
    const struct dev_ops *ops;
    struct dev_space *space;
    struct hostfile_bounds closed;
    uint64_t base, bytes; /* the host window, without the part that the worker allocates from */
    int window;           /* file of the host window itself; -1: not initialised */
    int fds[WIRE_FILES];  /* -1: the number is free */
    struct hostfile_range *ranges; /* ascending */
    uint32_t count, room;
    uint64_t shown_bytes;
};

/* Takes over `window_fd`. */
void hostfile_init(struct hostfiles *h, const struct dev_ops *ops, struct dev_space *space,
                   const struct dev_windows *windows, const struct hostfile_bounds *closed,
                   int window_fd);
/* Closes all files; their mappings end with the window. Accepts a struct that is all zeros but for
 * `window` -1. */
void hostfile_finish(struct hostfiles *h);

/* Opens `fd`, taken over in any case, as number `file` (below WIRE_FILES). -EEXIST: the number is
 * in use; -EINVAL: the file could shrink; -EMFILE: `fd` is one of this process's last descriptors;
 * -ENOTSUP: the device cannot map files. */
int hostfile_take(struct hostfiles *h, uint32_t file, int fd);
/* Closes the file; -ENOENT: there is none. Ranges that map it stay mapped. */
int hostfile_drop(struct hostfiles *h, uint32_t file);

/* Maps a range. -ENOENT: no such file; -EINVAL: the file is shorter; -ENOSPC: WIRE_FILE_RANGES are
 * mapped; -ENOMEM and others of mmap; -EADDRNOTAVAIL: outside the window, where something else is
 * mapped. ERR_PROTOCOL: the range is partly in the window, or overlaps another range. */
int hostfile_map(struct hostfiles *h, const struct wire_file_range *r);
/* Unmaps the range with this address and size. ERR_PROTOCOL: there is none. `idle`: the device runs
 * nothing of the client, so that the pages can be freed. */
int hostfile_unmap(struct hostfiles *h, uint64_t addr, uint64_t bytes, bool idle);
/* True when all of it lies outside the window and is mapped. */
bool hostfile_has(const struct hostfiles *h, uint64_t addr, uint64_t bytes);

#endif
