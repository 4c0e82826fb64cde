/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps of the real driver's device: the driver gets all arguments, and the map that it
 * writes is used.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_native.h"
#include "test/lib/cuda/cuda_rig.h"

static struct cuda_rig rig;

static void open_all(void) {
    cuda_rig_load(&rig, false);
    rig.fake->start(&(struct fake_options){.greatest = -2});
    cr_assert_eq(cuda_rig_open(&rig), 0);
}

static void close_all(void) {
    cuda_rig_close(&rig);
    cr_assert_str_eq(cuda_rig_complaint(&rig), "");
}

TestSuite(cuda_tensor, .init = open_all, .fini = close_all);

/* Arguments of which no two are equal. */
static struct tensor_ask asked(uint32_t kind) {
    struct tensor_ask a = {.kind = kind, .address = 0x7700123450};
    if (kind == TENSOR_CLASS) a = (struct tensor_ask){.kind = kind, .mode = 2};
    if (kind == TENSOR_ADDRESS || kind == TENSOR_CLASS) {
        memset(a.map, 0x5c, sizeof(a.map));
        return a;
    }
    a.rank = 5;
    a.type = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    a.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
    a.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B;
    a.promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    a.fill = 1;
    for (uint32_t d = 0; d < 5; d++) {
        a.size[d] = (7 + d) << 28;
        a.step[d] = 21 + d;
        if (kind == TENSOR_TILED) a.box[d] = 31 + d;
        if (d < 4) a.stride[d] = (1000ull + d) << 24;
    }
    if (kind == TENSOR_TILED) return a;
    a.channels = 77;
    a.pixels = 99;
    for (uint32_t d = 0; d < (kind == TENSOR_WIDE ? 1u : 3u); d++) {
        a.lower[d] = -11 - (int)d;
        a.upper[d] = 41 + (int)d;
    }
    if (kind == TENSOR_WIDE) a.mode = CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;
    return a;
}

static bool same(const struct tensor_ask *a, const struct tensor_ask *b) {
    return memcmp(a, b, sizeof(*a)) == 0;
}

Test(cuda_tensor, the_driver_hears_all_and_writes_it) {
    uint64_t before[16] = {0};
    for (uint32_t kind = 0; kind < TENSOR_KINDS; kind++) {
        const struct tensor_ask ask = asked(kind);
        struct tensor_answer answer;
        cr_assert(tensor_ask_is_sane(&ask), "kind %u", kind);
        cr_assert_eq(rig.ops->native->tensor_map(rig.dev, &ask, &answer), 0, "kind %u", kind);
        const struct tensor_ask told = rig.fake->last_tensor();
        cr_expect(same(&told, &ask), "kind %u", kind);
        cr_expect(memcmp(answer.map, ask.map, sizeof(ask.map)), "kind %u: nothing came", kind);
        cr_expect(memcmp(answer.map, before, sizeof(before)), "kind %u: another's", kind);
        cr_expect_eq(answer.alloc_class,
                     kind == TENSOR_CLASS ? CU_TENSOR_MAP_ALLOC_CLASS_LARGE : 0);
        memcpy(before, answer.map, sizeof(before));
    }
    cr_expect(rig.info.maps);
}

/* A tensor of one dimension: the fake reads no more strides. */
Test(cuda_tensor, a_line_has_no_strides) {
    struct tensor_ask ask = {.rank = 1, .address = 4096, .size = {64}, .box = {32}, .step = {1}};
    struct tensor_answer answer;
    cr_assert_eq(rig.ops->native->tensor_map(rig.dev, &ask, &answer), 0);
    const struct tensor_ask told = rig.fake->last_tensor();
    cr_expect(same(&told, &ask));
}

Test(cuda_tensor, what_the_driver_refuses_is_no_map) {
    static const struct tensor_answer nothing;
    for (uint32_t kind = 0; kind < TENSOR_CLASS; kind++) {
        struct tensor_ask ask = asked(kind);
        struct tensor_answer answer;
        ask.address += 8;
        cr_expect_eq(rig.ops->native->tensor_map(rig.dev, &ask, &answer), -EINVAL, "kind %u", kind);
        cr_expect(memcmp(&answer, &nothing, sizeof(answer)) == 0, "kind %u", kind);
    }
    cr_expect_eq(rig.ops->driver->lost(rig.dev), 0);
}
