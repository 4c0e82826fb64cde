/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's memory on a GPU: a range of addresses reserved in the driver, in which chunks are
 * mapped; the registered parts of its host window; and the variables of its modules, wherever the
 * driver put them. The hardware does not confine it: copies and fills are checked here, accesses of
 * kernels are not.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_MEMORY_CUDA_SPACE_H
#define DAEMON_DEVICE_CUDA_MEMORY_CUDA_SPACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/cuda/memory/cuda_chunk.h"
#include "daemon/device/device.h"

/* Host memory is registered in pieces, as many at once as are requested, at most SPACE_HOST_PIECES.
 * A copy needs one call for each registration that it touches, and registering takes 300 ms a GiB.
 */
#define SPACE_HOST_PIECE (8ull << 20)
#define SPACE_HOST_PIECES 8u

enum space_piece { PIECE_HIDDEN, PIECE_FIRST, PIECE_NEXT }; /* first and next: of a registration */

/* Sorted by address: cuda_array.h. */
struct arrays {
    struct array **items;
    uint32_t count, room;
};

/* Indexed by the low 16 bits of their numbers: cuda_texture.h. An array's textures are in its list.
 */
struct textures {
    struct texture **items; /* NULL: there was none yet */
    struct list of_memory;
};

/* References with a binding: cuda_reference.h. */
struct references {
    struct list all;
    uint32_t count;
};

struct dev_space {
    struct dev *dev;
    struct chunks *chunks;
    struct dev_windows windows;
    uint8_t *shown;          /* a bit for each granule of the alloc window: a chunk is mapped */
    _Atomic uint8_t *pieces; /* pieces of the host window: enum space_piece */
    CUevent cleared;         /* recorded when mapped chunks are zero; NULL: they always were */
    uint64_t clear;          /* the latest clear that was begun before; 0: none */
    uint64_t peeked;         /* the clear for which peeks have waited */
    /* struct global, of modules: copies may access these outside the windows */
    struct list globals;
    struct arrays arrays;
    struct textures textures;
    struct references references;
    uint64_t cancelled_ns; /* time of the cancellation; 0: none */
    char lacks[160];       /* why it cannot be made again in another process; "": it can */
    const struct dev_space_ops *ops;
    void *ops_arg;
};

/* A variable that the client looked up. */
struct global {
    struct list link;
    const struct dev_module *module;
    uint64_t addr, bytes;
};

/* Reserves the window at w->dev_base, or elsewhere if the driver does, and then changes
 * w->dev_base. -EEXIST: the device already uses the host window's addresses. */
int cuda_space_create(struct chunks *chunks, struct dev_windows *w, struct dev_space **out);
void cuda_space_destroy(struct dev_space *s); /* accepts NULL */

int cuda_space_chunk_map(struct dev_space *s, uint64_t addr, struct dev_chunk *const *chunks,
                         uint32_t count);
int cuda_space_chunk_unmap(struct dev_space *s, uint64_t addr, uint32_t count);

/* Lets kernels and copies access this part of the host window. */
int cuda_space_host_show(struct dev_space *s, uint64_t addr, uint64_t bytes);

/* Makes later work of the stream see zeros in new chunks of the space. `*seen`: the clear for which
 * it has waited already. 0 or ERR_DEVICE_LOST. */
int cuda_space_follow(struct dev_space *s, CUstream stream, uint64_t *seen);

bool cuda_space_host_shown(const struct dev_space *s, uint64_t addr, uint64_t bytes);

/* Bytes from there on that one copy or fill may access. In the host window they end with the
 * registration, because the driver takes no range in two. Elsewhere UINT64_MAX. */
uint64_t cuda_space_room(const struct dev_space *s, uint64_t addr);

/* Records the reason why it cannot be made again, unless there was one before. */
void cuda_space_lacks(struct dev_space *s, const char *why);
/* Implements dev_recovery_ops.space_unrestorable. */
const char *cuda_space_unrestorable(const struct dev_space *s);

int cuda_space_add_global(struct dev_space *s, const struct dev_module *module, uint64_t addr,
                          uint64_t bytes);
void cuda_space_remove_globals(struct dev_space *s, const struct dev_module *module);
/* True when the range lies in a variable of the client. */
bool cuda_space_in_globals(const struct dev_space *s, uint64_t addr, uint64_t bytes);
/* True when the client has all of this memory. */
bool cuda_space_has(const struct dev_space *s, uint64_t addr, uint64_t bytes);

#endif
