/* SPDX-License-Identifier: Apache-2.0
 *
 * Optional interface of a device: its memory outlives the process. The next worker opens the same
 * memory (dev_config.memory_fd, .kept), takes over the chunks that its clients' recovery state
 * names, and frees the rest.
 *
 * A backend without it (dev_ops.recovery is NULL) has memory that ends with the process. The worker
 * then records no recovery state and gives the broker no memory: jobs run as usual, and end with
 * their worker.
 *
 * Threads and errors: see device.h.
 */
#ifndef DAEMON_DEVICE_DEVICE_RECOVERY_H
#define DAEMON_DEVICE_DEVICE_RECOVERY_H

#include "daemon/device/device.h"

/* A granule of a module's variables, and the chunk mapped there. */
struct dev_granule {
    uint64_t addr, chunk; /* the chunk's number, see chunk_id; DEV_NO_CHUNK: in the host window */
};
#define DEV_NO_CHUNK UINT64_MAX
/* The number of a chunk that ends with the process, as far as the device knows. */
#define DEV_NOT_KEPT (UINT64_MAX >> 8)

/* An access to global memory, host windows and variables of modules. */
enum dev_touch {
    DEV_READS,           /* this range, or a part of it */
    DEV_WRITES,          /* likewise; a repetition writes the same places */
    DEV_READS_VARIABLES, /* variables of the kernel's module, wherever they are */
    DEV_READS_ALL,       /* any memory: the device cannot tell which */
};

struct dev_touched {
    enum dev_touch kind;
    uint64_t addr, bytes; /* for a range; it does not wrap */
};

struct dev_recovery_ops {
    /* The addresses of module variables depend on this process's own layout: the worker fixes that.
     */
    bool by_process;

    /* The device's memory, which outlives the process while any process holds it: a memfd that
     * stays the device's. */
    int (*memory_fd)(const struct dev *dev);
    /* Ends the adoption that open began: memory that was not adopted is zeroed and free. Until then
     * chunk_create returns -EBUSY, and memory that chunk_destroy frees keeps its bytes. Does
     * nothing without such an adoption. */
    void (*memory_settle)(struct dev *dev);

    /* The number of the chunk's part of the device's memory, below memory_bytes /
     * granularity_bytes; or DEV_NOT_KEPT. */
    uint64_t (*chunk_id)(const struct dev *dev, const struct dev_chunk *chunk);
    /* Makes a chunk of the part with this number, with its bytes; between open and memory_settle.
     * -EINVAL: there is none; -EEXIST: it is in use; -ENOENT: too late. */
    int (*chunk_adopt)(struct dev *dev, uint64_t id, struct dev_chunk **out);
    /* Reserves the part, also after memory_settle, for a later chunk_adopt or module_place_at, or
     * until chunk_renounce frees it. Only a reserved part can be renounced. */
    int (*chunk_promise)(struct dev *dev, uint64_t id);
    void (*chunk_renounce)(struct dev *dev, uint64_t id);

    /* Stores the places of the module's variables, at most `cap`, and returns the number of
     * granules. They are in the order of their addresses, without gaps. */
    uint32_t (*module_where)(const struct dev_module *module, struct dev_granule *out,
                             uint32_t cap);
    /* Does module_place for an image that was placed before: its variables are at `where`, and are
     * not initialised. Adopts the chunks. -EINVAL where that is impossible, and chunk_adopt's
     * errors. */
    int (*module_place_at)(struct dev_module *module, const struct dev_granule *where,
                           uint32_t count, char *why, size_t why_bytes);

    /* The reason why the space cannot be made again in another process: a text for people that
     * lives as long as the space; NULL: it can be. The worker asks again whenever a kernel of the
     * space is complete, before the client is told of that. */
    const char *(*space_unrestorable)(const struct dev_space *space);
    /* Calls `see` for all memory that this launch can touch, according to its kernel's code and its
     * parameters; an error of `see` ends the call. Takes milliseconds. `image`: the bytes from
     * which module_read made its module. -ENOTSUP, with `why` (>= 256 bytes), where the memory is
     * unknown. */
    int (*launch_touches)(const struct dev_launch *launch, const void *image, size_t bytes,
                          int (*see)(void *arg, const struct dev_touched *t), void *arg, char *why,
                          size_t why_bytes);
};

#endif
