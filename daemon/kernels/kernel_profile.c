/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes, keys and hints of kernel profiles.
 */
#include "daemon/kernels/kernel_profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/slotmap.h"

#define BOUND_MILLI 600u /* 60 %, the limit of Orion's section 5.2 */

_Static_assert(sizeof(struct kernel_profile_key) == 40, "a key has no padding");

const char *kernel_profile_class_name(unsigned class) {
    static const char *const names[KERNEL_PROFILE_CLASSES] = {"unknown", "compute", "memory"};

    return class < KERNEL_PROFILE_CLASSES ? names[class] : "?";
}

const char *kernel_profile_source_name(unsigned source) {
    static const char *const names[KERNEL_PROFILE_SOURCES] = {"none", "counted", "imported"};

    return source < KERNEL_PROFILE_SOURCES ? names[source] : "?";
}

enum kernel_profile_class kernel_profile_classify(uint32_t compute_milli, uint32_t memory_milli) {
    if (compute_milli <= BOUND_MILLI && memory_milli <= BOUND_MILLI) return KERNEL_PROFILE_UNKNOWN;
    return compute_milli >= memory_milli ? KERNEL_PROFILE_COMPUTE : KERNEL_PROFILE_MEMORY;
}

void kernel_profile_utilise(const struct kernel_profile_rate *launch,
                            const struct kernel_profile_rate *peak, uint16_t *compute_milli,
                            uint16_t *memory_milli) {
    double insts_ns = 0, bytes_ns = 0, took_ns;

    if (peak->thread_insts)
        insts_ns = 1e9 * (double)launch->thread_insts / (double)peak->thread_insts;
    if (peak->memory_bytes)
        bytes_ns = 1e9 * (double)launch->memory_bytes / (double)peak->memory_bytes;
    took_ns = KERNEL_PROFILE_FLOOR_NS + (insts_ns > bytes_ns ? insts_ns : bytes_ns);
    *compute_milli = (uint16_t)(1000 * insts_ns / took_ns + 0.5);
    *memory_milli = (uint16_t)(1000 * bytes_ns / took_ns + 0.5);
}

bool kernel_profile_same(const struct kernel_profile_key *a, const struct kernel_profile_key *b) {
    return memcmp(a, b, sizeof(*a)) == 0;
}

uint64_t kernel_profile_hash(const struct kernel_profile_key *key, uint64_t seed) {
    uint64_t words[sizeof(*key) / sizeof(uint64_t)];

    memcpy(words, key, sizeof(words));
    return slotmap_hash(words, sizeof(words) / sizeof(*words), seed);
}

/* ---- hints ----------------------------------------------------------------------------------- */

static int compare_shapes(const uint32_t a[3], const uint32_t b[3]) {
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

int kernel_profile_hint_order(const void *a, const void *b) {
    const struct kernel_profile_hint *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order == 0) order = compare_shapes(x->grid, y->grid);
    if (order == 0) order = compare_shapes(x->block, y->block);
    return order;
}

/* Binary search for the hint with exactly this name and shape. */
static const struct kernel_profile_hint *search(const struct kernel_profile_hint *hints,
                                                uint32_t count,
                                                const struct kernel_profile_hint *wanted) {
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = kernel_profile_hint_order(wanted, &hints[middle]);

        if (order == 0) return &hints[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const struct kernel_profile_hint *kernel_profile_hint_find(const struct kernel_profile_hint *hints,
                                                           uint32_t count, const char *name,
                                                           const uint32_t grid[3],
                                                           const uint32_t block[3]) {
    const struct kernel_profile_hint *found = NULL;
    struct kernel_profile_hint wanted = {0};

    snprintf(wanted.name, sizeof(wanted.name), "%s", name);
    for (int any = 0; any < 4 && !found; any++) { /* bit 0: any block; bit 1: any grid */
        for (int i = 0; i < 3; i++) {
            wanted.grid[i] = any & 2 ? 0 : grid[i];
            wanted.block[i] = any & 1 ? 0 : block[i];
        }
        found = search(hints, count, &wanted);
    }
    return found;
}

/* ---- checks of external data ----------------------------------------------------------------- */

static int bad(char *why, const char *what) {
    snprintf(why, KERNEL_PROFILE_WHY_BYTES, "%s", what);
    return -EINVAL;
}

static bool ends(const char *name, size_t cap) {
    return memchr(name, '\0', cap) != NULL;
}

static bool positive(const uint32_t v[3]) {
    return v[0] && v[1] && v[2];
}

int kernel_profile_check(struct kernel_profile *p, char *why) {
    if (!positive(p->key.grid)) return bad(why, "the grid has no blocks");
    if (!positive(p->key.block)) return bad(why, "the block has no threads");
    if (!ends(p->name, sizeof(p->name)) || !kernel_name_clean(p->name))
        return bad(why, "the name is empty, too long or not printable");
    if (p->sms > KERNEL_PROFILE_SMS_MAX) return bad(why, "the number of SMs is too large");
    if (p->class >= KERNEL_PROFILE_CLASSES || p->source >= KERNEL_PROFILE_SOURCES || p->lone > 1)
        return bad(why, "the class or the source is unknown");
    if (p->compute_milli > 1000 || p->memory_milli > 1000)
        return bad(why, "a utilisation exceeds 100 %");
    if (!kernel_dist_settle(&p->durations)) return bad(why, "the sum of the durations is wrong");
    return 0;
}

int kernel_profile_hint_check(const struct kernel_profile_hint *h, char *why) {
    static const uint32_t any[3];

    if (!ends(h->name, sizeof(h->name)) || !kernel_name_clean(h->name))
        return bad(why, "the name is empty, too long or not printable");
    if (!positive(h->grid) && compare_shapes(h->grid, any) != 0)
        return bad(why, "the grid has no blocks");
    if (!positive(h->block) && compare_shapes(h->block, any) != 0)
        return bad(why, "the block has no threads");
    if (h->sms > KERNEL_PROFILE_SMS_MAX) return bad(why, "the number of SMs is too large");
    if (h->class >= KERNEL_PROFILE_CLASSES) return bad(why, "the class is unknown");
    if (h->compute_milli > 1000 || h->memory_milli > 1000)
        return bad(why, "a utilisation exceeds 100 %");
    if (h->duration_ns > KERNEL_PROFILE_NS_MAX) return bad(why, "the duration exceeds one hour");
    return 0;
}
