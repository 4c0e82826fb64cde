/* SPDX-License-Identifier: Apache-2.0
 *
 * The table: pages of slots, indexed by the handles' low bits and allocated on first use.
 */
#include "daemon/device/soft/texture/textures.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "daemon/device/device_textures.h"
#include "proto/cuda/cuda_abi.h"

#define PAGE_SLOTS 256
#define PAGES 4096 /* numbers of textures are below PAGES * PAGE_SLOTS */

struct page {
    _Atomic(struct texture *) slots[PAGE_SLOTS];
};

struct textures {
    _Atomic(struct page *) pages[PAGES];
};

struct textures *textures_create(void) {
    return calloc(1, sizeof(struct textures));
}

void textures_destroy(struct textures *s) {
    if (!s) return;
    for (size_t p = 0; p < sizeof(s->pages) / sizeof(s->pages[0]); p++) {
        struct page *page = atom_load_relaxed(&s->pages[p]);
        for (uint32_t k = 0; page && k < PAGE_SLOTS; k++)
            free(atom_load_relaxed(&page->slots[k]));
        free(page);
    }
    free(s);
}

static _Atomic(struct page *) *place_of(const struct textures *s, uint64_t handle) {
    return &((struct textures *)s)->pages[handle / PAGE_SLOTS % PAGES];
}

static struct page *page_of(const struct textures *s, uint64_t handle) {
    return atom_load_acquire(place_of(s, handle));
}

/* ---- a texture ------------------------------------------------------------------------------- */

static uint32_t channel_bytes(uint32_t format) {
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    default: return 4;
    }
}

static enum texel_kind kind_of(const struct dev_texture *d) {
    bool narrow = channel_bytes(d->format) < 4, values = d->normalized_values && narrow;
    switch (d->format) {
    case CU_AD_FORMAT_HALF: return TEXEL_HALF;
    case CU_AD_FORMAT_FLOAT: return TEXEL_FLOAT;
    case CU_AD_FORMAT_UNSIGNED_INT8:
        if (values && d->srgb) return TEXEL_SRGB;
        /* fall through */
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_UNSIGNED_INT32: return values ? TEXEL_UNORM : TEXEL_UINT;
    default: return values ? TEXEL_SNORM : TEXEL_SINT;
    }
}

/* Replaces modes that have no meaning as CUDA does. Wrapping and mirroring need normalised
 * coordinates, filters need numbers; outside of linear memory everything is 0. */
static void replace_modes(struct texture *t) {
    struct dev_texture *d = &t->as;
    for (int k = 0; k < 3; k++)
        if (d->linear)
            d->address_mode[k] = CU_TR_ADDRESS_MODE_BORDER;
        else if (!d->normalized_coords && d->address_mode[k] != CU_TR_ADDRESS_MODE_BORDER)
            d->address_mode[k] = CU_TR_ADDRESS_MODE_CLAMP;
    if (d->linear) memset(d->border, 0, sizeof(d->border));
    if (d->linear || !texture_is_number(t)) d->filter = CU_TR_FILTER_MODE_POINT;
    if (!texture_is_number(t)) d->level_filter = CU_TR_FILTER_MODE_POINT;
}

static void find_extent(struct texture *t) {
    t->lo = UINT64_MAX;
    for (uint32_t k = 0; k < t->as.level_count; k++) {
        const struct dev_texture_level *l = &t->as.levels[k];
        uint64_t end = l->addr + (l->depth - 1) * l->slice + (l->height - 1) * l->pitch +
                       (uint64_t)l->width * t->element_bytes;
        if (l->addr < t->lo) t->lo = l->addr;
        if (end > t->hi) t->hi = end;
    }
}

static struct texture *make(const struct dev_texture *d) {
    size_t as = offsetof(struct dev_texture, levels) + d->level_count * sizeof(d->levels[0]);
    struct texture *t = calloc(1, offsetof(struct texture, as) + as);
    if (!t) return NULL;
    memcpy(&t->as, d, as);
    t->kind = (uint8_t)kind_of(d);
    t->element_bytes = channel_bytes(d->format) * d->channels;
    replace_modes(t);
    find_extent(t);
    return t;
}

/* ---- the table ------------------------------------------------------------------------------- */

int textures_add(struct textures *s, const struct dev_texture *d) {
    struct page *page = page_of(s, d->handle);
    if (!page) {
        page = calloc(1, sizeof(*page));
        if (!page) return -ENOMEM;
        atom_store_release(place_of(s, d->handle), page);
    }
    _Atomic(struct texture *) *slot = &page->slots[d->handle % PAGE_SLOTS];
    if (atom_load_relaxed(slot)) return -EEXIST;
    struct texture *t = make(d);
    if (!t) return -ENOMEM;
    atom_store_release(slot, t);
    return 0;
}

const struct texture *textures_find(const struct textures *s, uint64_t handle) {
    struct page *page = s ? page_of(s, handle) : NULL;
    const struct texture *t = page ? atom_load_acquire(&page->slots[handle % PAGE_SLOTS]) : NULL;
    return t && t->as.handle == handle ? t : NULL;
}

void textures_remove(struct textures *s, uint64_t handle) {
    struct texture *t = (struct texture *)textures_find(s, handle);
    if (!t) return;
    atom_store_release(&page_of(s, handle)->slots[handle % PAGE_SLOTS], NULL);
    free(t);
}
