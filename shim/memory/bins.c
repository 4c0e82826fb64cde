/* SPDX-License-Identifier: Apache-2.0
 *
 * Bins of freed blocks by capacity, the newest last: the latest freed block is likely in the cache.
 */
#include "shim/memory/bins.h"

#include <errno.h>
#include <stdlib.h>

void bins_finish(struct bins *b) {
    for (uint32_t i = 0; i < b->count; i++)
        free(b->bins[i].blocks);
    free(b->bins);
    *b = (struct bins){0};
}

static struct bin *find(struct bins *b, uint64_t capacity) {
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->bins[i].capacity == capacity) return &b->bins[i];
    }
    return NULL;
}

static struct bin *find_or_add(struct bins *b, uint64_t capacity) {
    struct bin *bin = find(b, capacity);
    if (bin) return bin;
    if (b->count == b->cap) {
        uint32_t cap = b->cap ? b->cap * 2 : 8;
        struct bin *more = realloc(b->bins, cap * sizeof(*more));
        if (!more) return NULL;
        b->bins = more;
        b->cap = cap;
    }
    b->bins[b->count] = (struct bin){.capacity = capacity};
    return &b->bins[b->count++];
}

int bins_put(struct bins *b, const struct bins_block *block) {
    struct bin *bin = find_or_add(b, block->capacity);
    if (!bin) return -ENOMEM;
    if (bin->count == bin->cap) {
        uint32_t cap = bin->cap ? bin->cap * 2 : 8;
        struct bins_block *more = realloc(bin->blocks, cap * sizeof(*more));
        if (!more) return -ENOMEM;
        bin->blocks = more;
        bin->cap = cap;
    }
    bin->blocks[bin->count++] = *block;
    b->bytes += block->capacity;
    return 0;
}

static struct bins_block remove_at(struct bins *b, struct bin *bin, uint32_t i) {
    struct bins_block block = bin->blocks[i];
    bin->blocks[i] = bin->blocks[--bin->count];
    b->bytes -= block.capacity;
    return block;
}

bool bins_take(struct bins *b, uint64_t capacity, uint32_t stream, bins_done done, uint64_t *addr) {
    struct bin *bin = find(b, capacity);
    if (!bin) return false;
    for (uint32_t i = bin->count; i-- > 0;) {
        const struct bins_block *block = &bin->blocks[i];
        if (block->stream != stream && !done(block->stream, block->seq)) continue;
        *addr = remove_at(b, bin, i).addr;
        return true;
    }
    return false;
}

bool bins_reclaim(struct bins *b, bins_done done, struct bins_block *out) {
    for (uint32_t i = 0; i < b->count; i++) {
        struct bin *bin = &b->bins[i];
        for (uint32_t j = 0; j < bin->count; j++) {
            if (!done(bin->blocks[j].stream, bin->blocks[j].seq)) continue;
            *out = remove_at(b, bin, j);
            return true;
        }
    }
    return false;
}
