/* SPDX-License-Identifier: Apache-2.0
 *
 * Most programs have no such block: for them a lookup costs one load.
 */
#include "shim/memory/placed.h"

#include <pthread.h>

#include "common/atomics.h"
#include "shim/lock.h"
#include "shim/memory/identity.h"
#include "shim/memory/spans.h"

static struct spans blocks; /* `tag`: the owner */
static _Atomic uint32_t known;
static pthread_mutex_t placed_lock = PTHREAD_MUTEX_INITIALIZER;

CUresult placed_add(uint64_t addr, uint64_t bytes, uint32_t owner) {
    identity_forget(addr, bytes);
    lock_enter(&placed_lock);
    int err = spans_add(&blocks, &(struct span){.addr = addr, .bytes = bytes, .tag = owner});
    atom_store_relaxed(&known, blocks.count);
    lock_leave(&placed_lock);
    return err ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

void placed_remove(uint64_t addr, uint64_t bytes) {
    lock_enter(&placed_lock);
    uint32_t first = 0, end;
    while (first < blocks.count && blocks.items[first].addr < addr)
        first++;
    for (end = first; end < blocks.count && blocks.items[end].addr - addr < bytes;)
        end++;
    spans_remove(&blocks, first, end - first);
    atom_store_relaxed(&known, blocks.count);
    lock_leave(&placed_lock);
}

bool placed_find(uint64_t addr, struct mem_block *out) {
    if (!atom_load_relaxed(&known)) return false;
    lock_enter(&placed_lock);
    const struct span *b = spans_find(&blocks, addr);
    if (b)
        *out = (struct mem_block){.addr = b->addr,
                                  .bytes = b->bytes,
                                  .kind = MEM_GRAPH,
                                  .owner = b->tag,
                                  .device = true,
                                  .window = MEM_EPHEMERAL};
    lock_leave(&placed_lock);
    return b != NULL;
}
