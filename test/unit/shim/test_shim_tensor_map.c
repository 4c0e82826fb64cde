/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps as the driver's calls write them: their contents, the refusals, and that a refused
 * call changes nothing. Also devices with their own maps, for which the library asks the worker.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include "proto/cuda/tensor_map.h"
#include "shim/connection/state.h"
#include "test/lib/shim/rig.h"

TestSuite(shim_tensor_map, .init = rig_begin, .timeout = 60);

static alignas(64) char memory[256];
static CUtensorMap room;

/* The arguments of a call, all valid. */
struct columns {
    uint32_t rank, channels, pixels, steps[5];
    uint64_t sizes[5], strides[4];
    int lower[3], upper[3];
    void *address;
    CUtensorMap *map;
    CUtensorMapDataType type;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
};

static struct columns good(void) {
    return (struct columns){.rank = 4,
                            .channels = 16,
                            .pixels = 64,
                            .steps = {1, 2, 1, 1, 1},
                            .sizes = {32, 9, 7, 3, 2},
                            .strides = {64, 576, 4032, 12096},
                            .lower = {-1, -2, -3},
                            .upper = {1, -4, 5},
                            .address = memory,
                            .map = &room,
                            .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                            .swizzle = CU_TENSOR_MAP_SWIZZLE_32B,
                            .fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA};
}

static CUresult encode(const struct columns *c) {
    return cuTensorMapEncodeIm2col(
        c->map, c->type, c->rank, c->address, c->sizes, c->strides, c->lower, c->upper, c->channels,
        c->pixels, c->steps, c->interleave, c->swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, c->fill);
}

static struct tensor_map written(void) {
    struct tensor_map m;
    memcpy(&m, &room, sizeof(m));
    return m;
}

Test(shim_tensor_map, columns_are_described) {
    struct columns c = good();
    for (c.rank = 3; c.rank <= 5; c.rank++) {
        cr_assert_eq(encode(&c), CUDA_SUCCESS, "rank %u", c.rank);
        const struct tensor_map m = written();
        cr_assert(tensor_map_is_valid(&m));
        cr_assert_eq(m.columns, 1);
        cr_assert_eq(m.rank, c.rank);
        cr_assert_eq(m.box[0], 16);
        cr_assert_eq(m.pixels, 64);
        cr_assert_eq(m.address, (uint64_t)(uintptr_t)memory);
        cr_assert_eq(m.swizzle, CU_TENSOR_MAP_SWIZZLE_32B);
        cr_assert_eq(m.fill, 1);
        for (uint32_t d = 0; d < c.rank; d++) {
            cr_assert_eq(m.last[d], c.sizes[d] - 1, "size %u", d);
            cr_assert_eq(m.step[d], c.steps[d], "step %u", d);
            if (d) cr_assert_eq(m.stride[d - 1], c.strides[d - 1], "stride %u", d);
        }
        for (uint32_t d = 0; d + 2 < c.rank; d++) {
            cr_assert_eq(m.lower[d], c.lower[d], "lower %u", d);
            cr_assert_eq(m.upper[d], c.upper[d], "upper %u", d);
        }
    }
}

#define REFUSED(want, change)                                                            \
    do {                                                                                 \
        struct columns c = good();                                                       \
        memset(&room, 0x5a, sizeof(room));                                               \
        change;                                                                          \
        cr_expect_eq(encode(&c), want, #change);                                         \
        for (size_t k = 0; k < sizeof(room); k++)                                        \
            cr_assert_eq(((unsigned char *)&room)[k], 0x5a, "%s: byte %zu", #change, k); \
    } while (0)
#define INVALID(change) REFUSED(CUDA_ERROR_INVALID_VALUE, change)

Test(shim_tensor_map, columns_that_cannot_be_are_refused) {
    INVALID(c.map = NULL);
    INVALID(c.map = (CUtensorMap *)((char *)&room + 32));
    INVALID(c.address = NULL);
    INVALID(c.address = memory + 8);
    INVALID(c.rank = 2);
    INVALID(c.rank = 6);
    INVALID(c.sizes[2] = 0);
    INVALID(c.sizes[1] = (1ull << 32) + 1);
    INVALID(c.strides[0] = 72);
    INVALID(c.strides[2] = 1ull << 40);
    INVALID(c.steps[1] = 9);
    INVALID(c.steps[3] = 0);
    INVALID(c.channels = 0);
    INVALID(c.channels = 257);
    INVALID(c.channels = 24); /* wider than the swizzle */
    INVALID(c.pixels = 0);
    INVALID(c.pixels = 1025);
    INVALID(c.lower[1] = -129);
    INVALID(c.upper[0] = 128);
    INVALID((c.rank = 5, c.lower[2] = -17));
    INVALID((c.rank = 5, c.upper[2] = 16));
    INVALID(c.type = (CUtensorMapDataType)99);
    INVALID(c.fill = (CUtensorMapFloatOOBfill)2);
    INVALID(c.type = CU_TENSOR_MAP_DATA_TYPE_UINT16); /* the type has no NaN */
    REFUSED(CUDA_ERROR_NOT_SUPPORTED, c.interleave = CU_TENSOR_MAP_INTERLEAVE_16B);
    REFUSED(CUDA_ERROR_NOT_SUPPORTED, c.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B);
    REFUSED(CUDA_ERROR_NOT_SUPPORTED, c.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B);
}

Test(shim_tensor_map, an_address_alone_is_replaced) {
    struct columns c = good();
    cr_assert_eq(encode(&c), CUDA_SUCCESS);
    struct tensor_map want = written(), got;
    cr_assert_eq(cuTensorMapReplaceAddress(&room, memory + 64), CUDA_SUCCESS);
    want.address += 64;
    got = written();
    cr_assert(memcmp(&got, &want, sizeof(got)) == 0, "more than the address changed");
    cr_assert_eq(cuTensorMapReplaceAddress(&room, memory + 8), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuTensorMapReplaceAddress(&room, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuTensorMapReplaceAddress(NULL, memory), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuTensorMapReplaceAddress((CUtensorMap *)((char *)&room + 32), memory),
                 CUDA_ERROR_INVALID_VALUE);
    got = written();
    cr_assert(memcmp(&got, &want, sizeof(got)) == 0, "a refused call changed it");
    memset(&room, 0, sizeof(room));
    cr_assert_eq(cuTensorMapReplaceAddress(&room, memory), CUDA_ERROR_INVALID_VALUE, "no map");
}

Test(shim_tensor_map, all_tensors_are_of_the_small_class) {
    struct columns c = good();
    CUtensorMapAllocClass is = CU_TENSOR_MAP_ALLOC_CLASS_AUTO;
    cr_assert_eq(encode(&c), CUDA_SUCCESS);
    struct tensor_map want = written();
    cr_assert_eq(cuTensorMapSetAllocationClass(&room, CU_TENSOR_MAP_ALLOC_CLASS_LARGE, &is),
                 CUDA_SUCCESS);
    cr_expect_eq(is, CU_TENSOR_MAP_ALLOC_CLASS_SMALL);
    struct tensor_map got = written();
    cr_expect(memcmp(&got, &want, sizeof(got)) == 0, "nothing changed");
    is = CU_TENSOR_MAP_ALLOC_CLASS_LARGE;
    cr_expect_eq(cuTensorMapSetAllocationClass(&room, (CUtensorMapAllocClass)3, &is),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(is, CU_TENSOR_MAP_ALLOC_CLASS_SMALL);
    cr_expect_eq(cuTensorMapSetAllocationClass(NULL, CU_TENSOR_MAP_ALLOC_CLASS_AUTO, NULL),
                 CUDA_ERROR_INVALID_VALUE);
    memset(&room, 0, sizeof(room));
    cr_expect_eq(cuTensorMapSetAllocationClass(&room, CU_TENSOR_MAP_ALLOC_CLASS_AUTO, NULL),
                 CUDA_ERROR_INVALID_VALUE, "no map");
}

/* ---- maps that the device encodes ------------------------------------------------------------ */

static void check_seen(void) {
    for (uint64_t i = 0; i < 16; i++)
        cr_expect_eq(room.opaque[i], RIG_SEEN(i), "word %d", (int)i);
}

/* Returns the only request that the worker received. */
static struct tensor_ask was_asked(void) {
    const struct wire_tensor_map *rec = rig_only(WIRE_TENSOR_MAP);
    cr_assert(rec->rec.ticket != 0);
    struct tensor_ask a = rec->ask;
    rig_forget();
    return a;
}

static void own_maps(void) {
    state.conn.device.flags |= WIRE_DEVICE_MAPS;
    rig_forget();
}

Test(shim_tensor_map, the_device_is_asked_for_columns) {
    struct columns c = good();
    own_maps();
    c.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; /* not supported by the software GPU's own maps */
    c.steps[0] = 77;
    cr_assert_eq(encode(&c), CUDA_SUCCESS);
    check_seen();
    const struct tensor_ask want = {.kind = TENSOR_COLUMNS,
                                    .rank = 4,
                                    .type = c.type,
                                    .interleave = c.interleave,
                                    .swizzle = c.swizzle,
                                    .fill = c.fill,
                                    .address = (uintptr_t)memory,
                                    .size = {32, 9, 7, 3},
                                    .stride = {64, 576, 4032},
                                    .step = {77, 2, 1, 1},
                                    .channels = 16,
                                    .pixels = 64,
                                    .lower = {-1, -2},
                                    .upper = {1, -4}};
    const struct tensor_ask got = was_asked();
    cr_expect(memcmp(&got, &want, sizeof(got)) == 0);
    cr_assert_eq(cuTensorMapEncodeIm2colWide(&room, c.type, 3, memory, c.sizes, c.strides, -5, 6,
                                             16, 64, c.steps, c.interleave,
                                             CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128, c.swizzle,
                                             CU_TENSOR_MAP_L2_PROMOTION_NONE, c.fill),
                 CUDA_SUCCESS);
    const struct tensor_ask wide = was_asked();
    cr_expect(wide.kind == TENSOR_WIDE && wide.mode == 1 && wide.rank == 3);
    cr_expect(wide.lower[0] == -5 && wide.upper[0] == 6 && wide.channels == 16);
    cr_expect(wide.pixels == 64 && !wide.size[3] && !wide.stride[2] && !wide.box[0]);
}

static CUresult tiled(uint32_t rank, const uint64_t *strides, CUtensorMapSwizzle swizzle) {
    const uint64_t sizes[] = {64, 32, 5};
    const uint32_t box[] = {8, 4, 2}, steps[] = {1, 2, 1};
    return cuTensorMapEncodeTiled(&room, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, rank, memory, sizes,
                                  strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

Test(shim_tensor_map, the_device_is_asked_for_tiles) {
    const uint64_t strides[] = {128, 4096};
    own_maps();
    cr_assert_eq(tiled(3, strides, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B), CUDA_SUCCESS);
    check_seen();
    const struct tensor_ask want = {.kind = TENSOR_TILED,
                                    .rank = 3,
                                    .type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                    .swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B,
                                    .promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                    .address = (uintptr_t)memory,
                                    .size = {64, 32, 5},
                                    .stride = {128, 4096},
                                    .step = {1, 2, 1},
                                    .box = {8, 4, 2}};
    struct tensor_ask got = was_asked();
    cr_expect(memcmp(&got, &want, sizeof(got)) == 0);
    cr_assert_eq(tiled(1, NULL, CU_TENSOR_MAP_SWIZZLE_NONE), CUDA_SUCCESS);
    got = was_asked();
    cr_expect(got.rank == 1 && got.box[0] == 8 && !got.box[1] && !got.stride[0]);
}

Test(shim_tensor_map, the_device_changes_its_own_maps) {
    CUtensorMapAllocClass is = CU_TENSOR_MAP_ALLOC_CLASS_AUTO;
    own_maps();
    memset(&room, 0x21, sizeof(room));
    const CUtensorMap before = room;
    cr_assert_eq(cuTensorMapReplaceAddress(&room, memory + 64), CUDA_SUCCESS);
    check_seen();
    struct tensor_ask got = was_asked();
    cr_expect(got.kind == TENSOR_ADDRESS && got.address == (uintptr_t)memory + 64);
    cr_expect(memcmp(got.map, &before, sizeof(before)) == 0);
    room = before;
    cr_assert_eq(cuTensorMapSetAllocationClass(&room, CU_TENSOR_MAP_ALLOC_CLASS_LARGE, &is),
                 CUDA_SUCCESS);
    check_seen();
    cr_expect_eq(is, CU_TENSOR_MAP_ALLOC_CLASS_LARGE);
    got = was_asked();
    cr_expect(got.kind == TENSOR_CLASS && got.mode == CU_TENSOR_MAP_ALLOC_CLASS_LARGE);
    cr_expect(memcmp(got.map, &before, sizeof(before)) == 0);
}

Test(shim_tensor_map, what_the_device_refuses_changes_nothing) {
    own_maps();
    rig_refuse(WIRE_TENSOR_MAP, -EINVAL, NULL);
    INVALID((void)0);
    cr_expect_eq(rig_count(), 1);
    rig_refuse(0, 0, NULL);
    rig_forget();
    INVALID(c.rank = 6);
    INVALID(c.rank = 0);
    INVALID(c.map = NULL);
    INVALID(c.map = (CUtensorMap *)((char *)&room + 32));
    INVALID(c.type = (CUtensorMapDataType)99);
    INVALID(c.fill = (CUtensorMapFloatOOBfill)2);
    cr_expect_eq(rig_count(), 0, "which would end the job");
}

Test(shim_tensor_map, wide_columns_are_refused_by_name_where_maps_are_ours) {
    const struct columns c = good();
    cr_expect_eq(cuTensorMapEncodeIm2colWide(&room, c.type, 3, memory, c.sizes, c.strides, -5, 6,
                                             16, 64, c.steps, c.interleave,
                                             CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, c.swizzle,
                                             CU_TENSOR_MAP_L2_PROMOTION_NONE, c.fill),
                 CUDA_ERROR_NOT_SUPPORTED);
}
