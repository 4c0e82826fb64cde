/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that images for the fake driver can name as kernels. "fill.2" is the same function as
 * "fill".
 */
#include <string.h>

#include "test/lib/driver/fake_state.h"

static uint64_t word_of(const unsigned char *params, uint32_t at) {
    uint64_t value;
    memcpy(&value, params + at, sizeof(value));
    return value;
}

static uint32_t *cells(uint64_t addr, uint64_t count) {
    return fake_memory_reached(addr, count * 4, false) ? (uint32_t *)(uintptr_t)addr : NULL;
}

/* (dst, count, value) */
static CUresult fill(const unsigned char *p) {
    uint64_t count = word_of(p, 8);
    uint32_t *dst = cells(word_of(p, 0), count);
    for (uint64_t i = 0; dst && i < count; i++)
        dst[i] = (uint32_t)word_of(p, 16);
    return dst ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* (dst, a, b, count) */
static CUresult add(const unsigned char *p) {
    uint64_t count = word_of(p, 24);
    uint32_t *dst = cells(word_of(p, 0), count);
    const uint32_t *a = cells(word_of(p, 8), count), *b = cells(word_of(p, 16), count);
    for (uint64_t i = 0; dst && a && b && i < count; i++)
        dst[i] = a[i] + b[i];
    return dst && a && b ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* (list, value): appends the value; the list's first cell is its length */
static CUresult append(const unsigned char *p) {
    uint32_t *list = cells(word_of(p, 0), 1);
    if (!list || !cells(word_of(p, 0), list[0] + 2ull)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    list[++list[0]] = (uint32_t)word_of(p, 8);
    return CUDA_SUCCESS;
}

/* (list) and, in parts, the first block's x, y and z and the grid's: appends these; the list's
 * first cell is its length in cells */
static CUresult place(const unsigned char *p) {
    uint32_t *list = cells(word_of(p, 0), 1);
    if (!list || !cells(word_of(p, 0), list[0] + 7ull)) return CUDA_ERROR_ILLEGAL_ADDRESS;
    memcpy(&list[1 + list[0]], p + 8, 24);
    list[0] += 6;
    return CUDA_SUCCESS;
}

/* (result): ends the context with this result */
static CUresult fault(const unsigned char *p) {
    return (CUresult)word_of(p, 0);
}

fake_kernel fake_kernel_find(const char *name) {
    static const struct {
        const char *name;
        fake_kernel kernel;
    } all[] = {
        {"fill", fill}, {"add", add}, {"append", append}, {"place", place}, {"fault", fault}};
    size_t length = strcspn(name, ".");
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strlen(all[i].name) == length && !strncmp(all[i].name, name, length))
            return all[i].kernel;
    return NULL;
}
