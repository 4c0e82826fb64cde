/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's memory in the worker. The whole device window is reserved without access. Pages appear
 * where chunks are mapped (the alloc part, and variables of modules) or where modules need other
 * memory (the module part). Kernels may touch exactly the mapped ranges, the host window, and the
 * ranges of space_host_add.
 */
#include "daemon/device/soft/dev/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/err.h"
#include "common/remap.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_textures.h"
#include "daemon/device/soft/texture/textures.h"

struct block {
    struct list space_link; /* first: space->blocks, ascending */
    struct list owner_link;
    uint64_t addr, bytes;
    bool host;                 /* block of the host window, which others map */
    struct dev_chunk **chunks; /* one per granule; NULL: it is not device memory */
};

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

/* Replaces the snapshot of ranges. Running launches keep the one with which they began. */
static int set_ranges(struct dev_space *s, struct ranges *next) {
    if (!next) return -ENOMEM;
    ranges_unref(s->ranges);
    s->ranges = next;
    return 0;
}

int space_create(const struct space_config *config, const struct dev_windows *w,
                 struct dev_space **out) {
    uint64_t bytes = w->alloc_bytes + w->module_bytes;
    if ((w->dev_base | w->alloc_bytes | w->module_bytes) % CHUNK_BYTES) return -EINVAL;
    struct dev_space *s = calloc(1, sizeof(*s));
    if (!s) return -ENOMEM;
    *s = (struct dev_space){.config = *config, .windows = *w};
    list_init(&s->queues);
    rotation_init(&s->rotation);
    launch_memory_init(&s->memory);
    list_init(&s->blocks);
    list_init(&s->managed);
    int err = -ENOMEM;
    if (set_ranges(s, ranges_with(NULL, w->host_base, w->host_base + w->host_bytes))) goto fail;
    void *p = mmap(at(w->dev_base), bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p == MAP_FAILED) {
        err = -errno;
        goto fail;
    }
    if (p != at(w->dev_base)) { /* a Linux kernel before 4.17 takes the address as a hint */
        munmap(p, bytes);
        err = -EEXIST;
        goto fail;
    }
    *out = s;
    return 0;
fail:
    launch_memory_finish(&s->memory);
    ranges_unref(s->ranges);
    free(s);
    return err;
}

/* Removes access again. A process that has all the mappings it may have cannot even replace some,
 * but can remove them first. No other new mapping goes into the gap, since Linux fills from the
 * top. The process cannot split a mapping either; then the old mapping stays until the next one
 * replaces it. The ranges, not these mappings, decide what a client may touch. */
static void reserve_range(uint64_t addr, uint64_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (mmap(at(addr), bytes, PROT_NONE, flags | MAP_FIXED, -1, 0) != MAP_FAILED) return;
    if (!munmap(at(addr), bytes))
        (void)mmap(at(addr), bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
}

/* Maps memory for kernels other than variables. It belongs to the space alone and needs no
 * chunk. */
static int map_range(struct dev_space *s, uint64_t addr, uint64_t bytes) {
    if (!chunk_charge(s->config.chunks, bytes)) return ERR_NO_MEMORY;
    struct ranges *next = ranges_with(s->ranges, addr, addr + bytes);
    void *p = next ? mmap(at(addr), bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)
                   : MAP_FAILED;
    if (p == MAP_FAILED) {
        chunk_refund(s->config.chunks, bytes);
        if (!next) return -ENOMEM;
        ranges_unref(next);
        return ERR_NO_MEMORY;
    }
    s->memory_used += bytes;
    return set_ranges(s, next);
}

static int unmap_range(struct dev_space *s, uint64_t addr, uint64_t bytes) {
    struct ranges *next = ranges_without(s->ranges, addr, addr + bytes);
    if (!next) return -ENOMEM;
    reserve_range(addr, bytes);
    chunk_refund(s->config.chunks, bytes);
    s->memory_used -= bytes;
    return set_ranges(s, next);
}

static bool in_alloc(const struct dev_space *s, uint64_t addr, uint64_t bytes) {
    const struct dev_windows *w = &s->windows;
    return bytes && (addr | bytes) % CHUNK_BYTES == 0 && addr >= w->dev_base &&
           bytes <= w->alloc_bytes && addr - w->dev_base <= w->alloc_bytes - bytes;
}

static bool overlaps(const struct dev_space *s, uint64_t addr, uint64_t bytes) {
    for (uint32_t i = 0; i < s->ranges->count; i++)
        if (s->ranges->items[i].lo < addr + bytes && addr < s->ranges->items[i].hi) return true;
    return false;
}

/* Maps chunks. Chunks that are neighbours in the file become one mapping, since Linux allows a
 * process 65,530 mappings. */
static int map_runs(struct dev_space *s, uint64_t addr, struct dev_chunk *const *chunks,
                    uint32_t count) {
    for (uint32_t i = 0, n; i < count; i += n) {
        n = chunk_run(chunks + i, count - i);
        void *want = at(addr + i * CHUNK_BYTES);
        off_t offset = (off_t)chunk_offset(s->config.chunks, chunks[i]);
        void *got = mmap(want, n * CHUNK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE | MAP_FIXED, s->config.chunks->fd, offset);
        if (got == MAP_FAILED) {
            if (i) reserve_range(addr, i * CHUNK_BYTES);
            return ERR_NO_MEMORY;
        }
        madvise(got, n * CHUNK_BYTES, MADV_HUGEPAGE);
    }
    return 0;
}

static int map_chunks(struct dev_space *s, uint64_t addr, struct dev_chunk *const *chunks,
                      uint32_t count) {
    struct ranges *next = ranges_with(s->ranges, addr, addr + count * CHUNK_BYTES);
    if (!next) return -ENOMEM;
    int err = map_runs(s, addr, chunks, count);
    if (err) {
        ranges_unref(next);
        return err;
    }
    return set_ranges(s, next);
}

int space_chunk_map(struct dev_space *s, uint64_t addr, struct dev_chunk *const *chunks,
                    uint32_t count) {
    uint64_t bytes = count * CHUNK_BYTES;
    if (!in_alloc(s, addr, bytes)) return -EINVAL;
    if (overlaps(s, addr, bytes)) return -EEXIST;
    return map_chunks(s, addr, chunks, count);
}

int space_chunk_unmap(struct dev_space *s, uint64_t addr, uint32_t count) {
    uint64_t bytes = count * CHUNK_BYTES;
    if (!in_alloc(s, addr, bytes)) return -EINVAL;
    if (!ranges_find(s->ranges, addr, bytes)) return -ENOENT;
    struct ranges *next = ranges_without(s->ranges, addr, addr + bytes);
    if (!next) return -ENOMEM;
    reserve_range(addr, bytes);
    return set_ranges(s, next);
}

static struct block *block_of(struct list *space_link) {
    return list_entry(space_link, struct block, space_link);
}

/* Inserts a block before `pos`. */
static struct block *block_put(struct list *pos, uint64_t addr, uint64_t bytes,
                               struct list *owner) {
    struct block *b = calloc(1, sizeof(*b));
    if (!b) return NULL;
    b->addr = addr;
    b->bytes = bytes;
    list_append(pos, &b->space_link);
    list_append(owner, &b->owner_link);
    return b;
}

/* Takes the first gap that is large enough: modules are few and live long. Blocks are whole
 * granules, so that no two modules share a page. */
static struct block *block_take(struct list *blocks, uint64_t addr, uint64_t end, uint64_t bytes,
                                struct list *owner) {
    struct list *pos;
    list_each(pos, blocks) {
        if (block_of(pos)->addr - addr >= bytes) break;
        addr = block_of(pos)->addr + block_of(pos)->bytes;
    }
    return end - addr >= bytes ? block_put(pos, addr, bytes, owner) : NULL;
}

/* Takes the end of the last gap that is large enough. */
static struct block *block_take_last(struct list *blocks, uint64_t addr, uint64_t end,
                                     uint64_t bytes, struct list *owner) {
    struct list *pos = blocks;
    for (; pos->prev != blocks; pos = pos->prev) {
        const struct block *b = block_of(pos->prev);
        if (end - (b->addr + b->bytes) >= bytes) break;
        end = b->addr;
    }
    uint64_t lo = pos->prev == blocks ? addr : 0;
    return end - lo >= bytes ? block_put(pos, end - bytes, bytes, owner) : NULL;
}

/* Takes exactly these bytes, if they are free. */
static struct block *block_take_at(struct list *blocks, uint64_t at_addr, uint64_t bytes,
                                   struct list *owner) {
    struct list *pos;
    list_each(pos, blocks) {
        const struct block *b = block_of(pos);
        if (b->addr >= at_addr + bytes) break;
        if (b->addr + b->bytes > at_addr) return NULL;
    }
    return block_put(pos, at_addr, bytes, owner);
}

static void free_chunks(struct dev_space *s, struct block *b) {
    for (uint64_t i = 0; b->chunks && i < b->bytes / CHUNK_BYTES; i++)
        chunk_destroy(s->config.chunks, b->chunks[i]);
    free(b->chunks);
    b->chunks = NULL;
}

static void block_give(struct block *b) {
    list_remove(&b->space_link);
    list_remove(&b->owner_link);
    free(b);
}

static uint64_t whole_granules(uint64_t bytes) {
    return (bytes + CHUNK_BYTES - 1) & ~(uint64_t)(CHUNK_BYTES - 1);
}

static uint64_t module_lo(const struct dev_space *s) {
    return s->windows.dev_base + s->windows.alloc_bytes;
}

static bool fits_modules(const struct dev_space *s, uint64_t bytes, uint64_t align) {
    return bytes && bytes <= s->windows.module_bytes && align <= CHUNK_BYTES;
}

uint64_t space_module_alloc(struct dev_space *s, uint64_t bytes, uint64_t align,
                            struct list *owner) {
    uint64_t lo = module_lo(s);
    if (!fits_modules(s, bytes, align)) return 0;
    bytes = whole_granules(bytes);
    struct block *b = block_take_last(&s->blocks, lo, lo + s->windows.module_bytes, bytes, owner);
    if (!b) return 0;
    if (!map_range(s, b->addr, bytes)) return b->addr;
    block_give(b);
    return 0;
}

/* Gives each granule a chunk: new ones, or with `where` those that were there before. */
static int take_chunks(struct dev_space *s, struct block *b, const struct dev_granule *where) {
    uint64_t count = b->bytes / CHUNK_BYTES;
    int err = 0;
    b->chunks = calloc(count, sizeof(struct dev_chunk *));
    if (!b->chunks) return -ENOMEM;
    for (uint64_t i = 0; !err && i < count; i++)
        err = where ? chunk_adopt(s->config.chunks, where[i].chunk, &b->chunks[i])
                    : chunk_create(s->config.chunks, &b->chunks[i]);
    return err ? err : map_chunks(s, b->addr, b->chunks, (uint32_t)count);
}

static int back_block(struct dev_space *s, struct block *b, const struct dev_granule *where) {
    int err = take_chunks(s, b, where);
    if (!err) return 0;
    free_chunks(s, b);
    block_give(b);
    return err;
}

uint64_t space_vars_alloc(struct dev_space *s, uint64_t bytes, uint64_t align, struct list *owner) {
    uint64_t lo = module_lo(s);
    if (!fits_modules(s, bytes, align)) return 0;
    struct block *b =
        block_take(&s->blocks, lo, lo + s->windows.module_bytes, whole_granules(bytes), owner);
    return b && !back_block(s, b, NULL) ? b->addr : 0;
}

/* Allocates managed memory. The client can write there at any time, so no value read back from it
 * is trusted. */
uint64_t space_managed_alloc(struct dev_space *s, uint64_t bytes, uint64_t align,
                             struct list *owner) {
    const struct dev_windows *w = &s->windows;
    uint64_t end = w->host_base + w->host_bytes;
    if (!bytes || bytes > w->managed_bytes || align > CHUNK_BYTES) return 0;
    struct block *b =
        block_take(&s->managed, end - w->managed_bytes, end, whole_granules(bytes), owner);
    if (!b) return 0;
    b->host = true;
    memset(at(b->addr), 0, bytes);
    return b->addr;
}

/* True if the granules are consecutive, of one kind, and within [lo, lo + room). */
static bool is_row(const struct dev_granule *where, uint32_t count, uint64_t lo, uint64_t room) {
    uint64_t bytes = count * CHUNK_BYTES, first = where[0].addr;
    if (first < lo || bytes > room || first - lo > room - bytes) return false;
    for (uint32_t i = 0; i < count; i++)
        if (where[i].addr != first + i * CHUNK_BYTES ||
            (where[i].chunk == DEV_NO_CHUNK) != (where[0].chunk == DEV_NO_CHUNK))
            return false;
    return true;
}

int space_vars_adopt(struct dev_space *s, const struct dev_granule *where, uint32_t count,
                     struct list *owner) {
    const struct dev_windows *w = &s->windows;
    if (!count) return -EINVAL;
    bool host = where[0].chunk == DEV_NO_CHUNK;
    uint64_t room = host ? w->managed_bytes : w->module_bytes;
    uint64_t lo = host ? w->host_base + w->host_bytes - room : module_lo(s);
    if (!is_row(where, count, lo, room) || (where[0].addr - lo) % CHUNK_BYTES) return -EINVAL;
    struct block *b =
        block_take_at(host ? &s->managed : &s->blocks, where[0].addr, count * CHUNK_BYTES, owner);
    if (!b) return -EINVAL;
    b->host = host;
    return host ? 0 : back_block(s, b, where);
}

uint32_t space_vars_where(const struct dev_space *s, const struct list *owner,
                          struct dev_granule *out, uint32_t cap) {
    struct list *pos;
    uint32_t n = 0;
    list_each(pos, owner) {
        const struct block *b = list_entry(pos, struct block, owner_link);
        for (uint64_t i = 0; i < b->bytes / CHUNK_BYTES; i++, n++) {
            uint64_t id = b->chunks ? chunk_id(s->config.chunks, b->chunks[i]) : DEV_NO_CHUNK;
            if (n < cap) out[n] = (struct dev_granule){b->addr + i * CHUNK_BYTES, id};
        }
    }
    return n;
}

/* Unmaps chunks and gives them back. If the ranges cannot be replaced, the chunks stay until the
 * space ends. */
static void unmap_chunks(struct dev_space *s, struct block *b) {
    struct ranges *next = ranges_without(s->ranges, b->addr, b->addr + b->bytes);
    if (!next) return;
    reserve_range(b->addr, b->bytes);
    set_ranges(s, next);
    free_chunks(s, b);
    block_give(b);
}

void space_module_free(struct dev_space *s, struct list *owner) {
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, owner) {
        struct block *b = list_entry(pos, struct block, owner_link);
        if (b->chunks) {
            list_remove(&b->owner_link);
            unmap_chunks(s, b);
            continue;
        }
        if (!b->host) unmap_range(s, b->addr, b->bytes);
        block_give(b);
    }
}

/* Remaps atomically: kernels that run meanwhile see either the old or the new memory. */
int space_host_map(struct dev_space *s, uint64_t addr, uint64_t bytes, int fd, uint64_t offset) {
    return remap_file(addr, bytes, fd, offset);
}

int space_host_add(struct dev_space *s, uint64_t addr, uint64_t bytes) {
    if (overlaps(s, addr, bytes)) return -EEXIST;
    return set_ranges(s, ranges_with(s->ranges, addr, addr + bytes));
}

int space_host_remove(struct dev_space *s, uint64_t addr, uint64_t bytes) {
    return set_ranges(s, ranges_without(s->ranges, addr, addr + bytes));
}

int space_texture_add(struct dev_space *s, const struct dev_texture *texture, uint64_t *seen) {
    *seen = texture->handle;
    if (!s->textures) s->textures = textures_create();
    return s->textures ? textures_add(s->textures, texture) : -ENOMEM;
}

void space_texture_remove(struct dev_space *s, uint64_t handle) {
    if (s->textures) textures_remove(s->textures, handle);
}

void space_destroy(struct dev_space *s) {
    if (!s) return;
    const struct dev_windows *w = &s->windows;
    uint64_t lo = w->dev_base, hi = lo + w->alloc_bytes + w->module_bytes;
    struct list *pos, *tmp;
    chunk_refund(s->config.chunks, s->memory_used);
    munmap(at(lo), hi - lo);
    list_each_safe(pos, tmp, &s->blocks) {
        free_chunks(s, block_of(pos));
        block_give(block_of(pos));
    }
    list_each_safe(pos, tmp, &s->managed) block_give(block_of(pos));
    textures_destroy(s->textures);
    launch_memory_finish(&s->memory);
    ranges_unref(s->ranges);
    free(s);
}
