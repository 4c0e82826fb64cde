/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes tensor maps in the software GPU's format. Interleaved tensors, packed elements, wide
 * columns and swizzles of pieces other than 16 bytes are refused by name.
 */
#include "shim/api/texture/tensor_own.h"

#include <string.h>

#include "common/log.h"

static CUresult refuse(const char *what, unsigned int number) {
    log_warn("shim", "what=\"tensor maps with %s are not supported\" value=%u", what, number);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* Refuses tensors that CUDA supports and this driver does not. */
static CUresult lacking(const struct tensor_ask *a) {
    if (a->type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) return refuse("packed elements", a->type);
    if (a->interleave) return refuse("interleaved elements", a->interleave);
    if (a->swizzle > CU_TENSOR_MAP_SWIZZLE_128B) return refuse("such a swizzle", a->swizzle);
    if (a->kind == TENSOR_WIDE) return refuse("wide columns", a->mode);
    return CUDA_SUCCESS;
}

/* Sets sizes, steps and strides; false when a size or step is out of range. */
static bool set_dimensions(struct tensor_map *m, const struct tensor_ask *a) {
    for (uint32_t d = 0; d < a->rank; d++) {
        const uint32_t by = d ? a->step[d] : 1; /* the step of the first dimension is ignored */
        if (!a->size[d] || a->size[d] > 1ull << 32 || by > TENSOR_MAP_STEP) return false;
        m->last[d] = (uint32_t)(a->size[d] - 1);
        m->box[d] = 1;
        m->step[d] = (uint8_t)by;
        if (d) m->stride[d - 1] = a->stride[d - 1];
    }
    return true;
}

static bool set_tile(struct tensor_map *m, const struct tensor_ask *a) {
    for (uint32_t d = 0; d < a->rank; d++) {
        if (a->box[d] > TENSOR_MAP_BOX) return false;
        m->box[d] = (uint16_t)a->box[d];
    }
    return true;
}

/* Sets the corners of the pixel range, innermost dimension first, as CUTLASS passes them. False: a
 * corner exceeds the range of a map of that many dimensions. */
static bool set_corners(struct tensor_map *m, const int *lower, const int *upper) {
    static const int most[] = {[3] = 1 << 15, [4] = 1 << 7, [5] = 1 << 4};
    for (uint32_t d = 0; d + 2 < m->rank; d++) {
        const int end = most[m->rank];
        if (lower[d] < -end || lower[d] >= end || upper[d] < -end || upper[d] >= end) return false;
        m->lower[d] = (int16_t)lower[d];
        m->upper[d] = (int16_t)upper[d];
    }
    return true;
}

static bool set_columns(struct tensor_map *m, const struct tensor_ask *a) {
    if (a->channels > TENSOR_MAP_BOX || a->pixels > TENSOR_MAP_PIXELS ||
        !set_corners(m, a->lower, a->upper))
        return false;
    m->columns = 1;
    m->box[0] = (uint16_t)a->channels;
    m->pixels = (uint16_t)a->pixels;
    return true;
}

static CUresult encode(const struct tensor_ask *a, struct tensor_map *m) {
    if (!a->address) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = lacking(a);
    if (r) return r;
    *m = (struct tensor_map){.magic = TENSOR_MAP_MAGIC,
                             .type = (uint8_t)a->type,
                             .rank = (uint8_t)a->rank,
                             .swizzle = (uint8_t)a->swizzle,
                             .fill = (uint8_t)a->fill,
                             .address = a->address};
    bool well = set_dimensions(m, a);
    if (well) well = a->kind == TENSOR_TILED ? set_tile(m, a) : set_columns(m, a);
    return well ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Changes an existing map. Copies on this device never touch memory outside the tensor, so its
 * class is always SMALL. */
static CUresult change(const struct tensor_ask *a, struct tensor_map *m, uint32_t *alloc_class) {
    memcpy(m, a->map, sizeof(*m));
    *alloc_class = CU_TENSOR_MAP_ALLOC_CLASS_SMALL;
    if (a->kind == TENSOR_CLASS) return CUDA_SUCCESS;
    m->address = a->address;
    return a->address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult tensor_own(const struct tensor_ask *ask, struct tensor_answer *out) {
    struct tensor_map m;
    bool is_change = ask->kind == TENSOR_ADDRESS || ask->kind == TENSOR_CLASS;
    CUresult r = is_change ? change(ask, &m, &out->alloc_class) : encode(ask, &m);
    if (r) return r;
    if (!tensor_map_is_valid(&m)) return CUDA_ERROR_INVALID_VALUE;
    memcpy(out->map, &m, sizeof(m));
    return CUDA_SUCCESS;
}
