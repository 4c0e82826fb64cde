/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's memory on a GPU: a range of addresses that the driver reserved, in which chunks are
 * shown; the parts of its host window that are registered; and the variables of its modules, which
 * lie wherever the driver put them. The hardware holds nobody to it: what copies and fills touch is
 * looked up here, what kernels touch is not.
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

/* Host memory is registered in pieces, as many of them at once as are asked for and these: a copy
 * goes in as many calls as it lies in registrations, and one of them takes 300 ms a GiB. */
#define SPACE_HOST_PIECE (8ull << 20)
#define SPACE_HOST_PIECES 8u

enum space_piece { PIECE_HIDDEN, PIECE_FIRST, PIECE_NEXT }; /* of a registration */

/* By address: cuda_array.h. */
struct arrays {
    struct array **items;
    uint32_t count, room;
};

/* By the low 16 bits of their numbers: cuda_texture.h. Those of an array are in its list. */
struct textures {
    struct texture **items; /* NULL: there was none yet */
    struct list of_memory;
};

/* That were told of something: cuda_reference.h. */
struct references {
    struct list all;
    uint32_t count;
};

struct dev_space {
    struct dev *dev;
    struct chunks *chunks;
    struct dev_windows windows;
    uint8_t *shown;          /* a bit for each granule of the alloc window: a chunk is there */
    _Atomic uint8_t *pieces; /* of the host window: enum space_piece */
    CUevent cleared;         /* chunks that are shown are zero; NULL: they always were */
    uint64_t clear;          /* the latest clear that was begun before; 0: none */
    uint64_t peeked;         /* that peeks have waited for */
    struct list globals; /* struct global, of modules: what copies may touch outside the windows */
    struct arrays arrays;
    struct textures textures;
    struct references references;
    uint64_t cancelled_ns; /* when it was; 0: it was not */
    char lacks[160];       /* why it cannot be made again in another process; "": it can */
    const struct dev_space_ops *ops;
    void *ops_arg;
};

/* A variable that was asked for. */
struct global {
    struct list link;
    const struct dev_module *module;
    uint64_t addr, bytes;
};

/* At or, when the driver has it so, elsewhere than w->dev_base, which is changed then. -EEXIST: the
 * host window is another's for the device. */
int cuda_space_create(struct chunks *chunks, struct dev_windows *w, struct dev_space **out);
void cuda_space_destroy(struct dev_space *s); /* accepts NULL */

int cuda_space_chunk_map(struct dev_space *s, uint64_t addr, struct dev_chunk *const *chunks,
                         uint32_t count);
int cuda_space_chunk_unmap(struct dev_space *s, uint64_t addr, uint32_t count);

/* Kernels and copies may touch this part of the host window from now on. */
int cuda_space_host_show(struct dev_space *s, uint64_t addr, uint64_t bytes);

/* What comes on the stream finds zeros in chunks that are new in the space. `*seen`: the clear
 * that it waited for already. 0 or ERR_DEVICE_LOST. */
int cuda_space_follow(struct dev_space *s, CUstream stream, uint64_t *seen);

bool cuda_space_host_shown(const struct dev_space *s, uint64_t addr, uint64_t bytes);

/* Bytes from there on that one copy or fill may touch: of the host window to the end of what was
 * registered with it, since the driver takes none that lies in two. Elsewhere UINT64_MAX. */
uint64_t cuda_space_room(const struct dev_space *s, uint64_t addr);

/* It cannot be made again, for this reason unless there was one before. */
void cuda_space_lacks(struct dev_space *s, const char *why);
/* As dev_ops has it. */
const char *cuda_space_unrestorable(const struct dev_space *s);

int cuda_space_add_global(struct dev_space *s, const struct dev_module *module, uint64_t addr,
                          uint64_t bytes);
void cuda_space_remove_globals(struct dev_space *s, const struct dev_module *module);
/* It lies in a variable of the client's. */
bool cuda_space_in_globals(const struct dev_space *s, uint64_t addr, uint64_t bytes);
/* All of it is memory that the client has. */
bool cuda_space_has(const struct dev_space *s, uint64_t addr, uint64_t bytes);

#endif
