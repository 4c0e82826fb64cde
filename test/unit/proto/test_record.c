/* SPDX-License-Identifier: Apache-2.0
 *
 * Record validation: one valid record of every operation is accepted. Each of its truncated
 * prefixes, every extension and each bad field is rejected, with a reason.
 */
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

#include "common/err.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/wire/record.h"

union any {
    struct wire_record rec;
    struct wire_launch launch;
    struct wire_copy copy;
    struct wire_memset memset;
    struct wire_event_record event;
    struct wire_stream_wait wait;
    struct wire_host_func host;
    struct wire_stream_create create;
    struct wire_mem mem;
    struct wire_segment segment;
    struct wire_file_range file;
    struct wire_signal signal;
    struct wire_value value;
    struct wire_module_load load;
    struct wire_module_unload unload;
    struct wire_func_get func;
    struct wire_global_get global;
    struct wire_func_name name;
    struct wire_graph_data data;
    struct wire_graph_launch graph;
    struct wire_choice choice;
    struct wire_graph_offer offer;
    struct wire_texture texture;
    struct wire_texture_ref reference;
    struct wire_limit limit;
    struct wire_tensor_map tensor;
    struct wire_clusters clusters;
    struct wire_array array;
    unsigned char bytes[sizeof(struct wire_texture_ref) + WIRE_REFERENCE_NAME + 64];
};

static uint32_t head_of(uint16_t op) {
    switch (op) {
#define X(name, number, type) \
    case number: return sizeof(struct type);
        WIRE_OPS(X)
#undef X
    }
    return 0;
}

/* Makes a valid record; returns its length. */
static uint32_t valid(uint16_t op, union any *r) {
    memset(r, 0, sizeof(*r));
    r->rec.op = op;
    r->rec.stream = 3;
    r->rec.seq = record_ordered(op) ? 9 : 0;
    r->rec.ticket = record_ordered(op) ? 0 : 77;
    switch (op) {
    case WIRE_LAUNCH:
        r->launch.param_bytes = 24;
        for (int i = 0; i < 3; i++)
            r->launch.grid[i] = r->launch.block[i] = 2;
        return sizeof(r->launch) + 24;
    case WIRE_COPY:
        r->copy.width_bytes = 64;
        r->copy.height = 4;
        r->copy.depth = 2;
        r->copy.dst_pitch = r->copy.src_pitch = 128;
        r->copy.dst_slice = r->copy.src_slice = 512;
        break;
    case WIRE_MEMSET: r->memset = (struct wire_memset){r->rec, 4096, 256, 16, 8, 1, 4}; break;
    case WIRE_STREAM_CREATE: r->create.first_seq = 1; break;
    case WIRE_MEM_BACK:
    case WIRE_MEM_UNBACK:
    case WIRE_MEM_USE:
    case WIRE_HOST_SHOW:
    case WIRE_MEM_DROP: r->mem.bytes = 2 << 20; break;
    case WIRE_MEM_MAKE:
    case WIRE_MEM_SHOW:
    case WIRE_MEM_SHARE: r->segment.bytes = 2 << 20; break;
    case WIRE_FILE_MAP:
    case WIRE_FILE_UNMAP: r->file.addr = r->file.bytes = r->file.offset = WIRE_FILE_PAGE; break;
    case WIRE_VALUE_WAIT:
    case WIRE_VALUE_WRITE: r->value = (struct wire_value){r->rec, 4096, UINT32_MAX, 4, 0}; break;
    case WIRE_TEXTURE: /* three layers of 100 x 50, with mips */
        r->texture.addr = 4096;
        r->texture.width = 100;
        r->texture.height = 50;
        r->texture.depth = 3;
        r->texture.layers = 2;
        r->texture.first_layer = 1;
        r->texture.levels = 4;
        r->texture.first_level = 2;
        r->texture.format = CU_AD_FORMAT_FLOAT;
        r->texture.channels = 4;
        r->texture.flags = WIRE_TEXTURE_LAYERED;
        break;
    case WIRE_TEXTURE_REF: /* bound to linear memory */
        r->reference = (struct wire_texture_ref){.texture = {.rec = r->rec,
                                                             .addr = 4096,
                                                             .width = 100,
                                                             .height = 1,
                                                             .depth = 1,
                                                             .levels = 1,
                                                             .format = CU_AD_FORMAT_FLOAT,
                                                             .channels = 4,
                                                             .flags = WIRE_TEXTURE_LINEAR},
                                                 .bound = 1,
                                                 .name_bytes = 5};
        memcpy(r->bytes + sizeof(r->reference), "line", 5);
        return sizeof(r->reference) + 5;
    case WIRE_ARRAY_MAKE: /* the same shape */
        r->array.addr = 4096;
        r->array.width = 100;
        r->array.height = 50;
        r->array.depth = 3;
        r->array.levels = 7;
        r->array.format = CU_AD_FORMAT_UNORM_INT16X4;
        r->array.channels = 4;
        r->array.flags = CUDA_ARRAY3D_LAYERED;
        break;
    case WIRE_TEXT: r->mem.bytes = 2 * WIRE_TEXT_RING_LEAST; break;
    case WIRE_CLUSTERS:
        r->clusters.threads = 1024;
        r->clusters.flags = wire_cluster_flags(4, 2, 2);
        break;
    case WIRE_TENSOR_MAP:
        r->tensor.ask.kind = TENSOR_COLUMNS;
        r->tensor.ask.rank = 4;
        break;
    case WIRE_MODULE_LOAD:
        r->load.image_bytes = 100;
        r->load.why_bytes = 256;
        break;
    case WIRE_FUNC_GET:
        r->func.name_bytes = 5;
        memcpy(r->bytes + sizeof(r->func), "kern", 5);
        return sizeof(r->func) + 5;
    case WIRE_GLOBAL_GET:
        r->global.name_bytes = 4;
        memcpy(r->bytes + sizeof(r->global), "var", 4);
        return sizeof(r->global) + 4;
    case WIRE_GRAPH_DATA:
        r->data.piece_bytes = 16;
        r->data.total_bytes = 48;
        return sizeof(r->data) + 16;
    case WIRE_GRAPH_CHOICE: r->choice.count = 2; return sizeof(r->choice) + 2 * sizeof(uint32_t);
    case WIRE_GRAPH_LAUNCH:
        r->graph.lanes = r->graph.waits = 2;
        return sizeof(r->graph) + 2 * sizeof(struct wire_graph_lane) +
               2 * sizeof(struct wire_graph_wait);
    }
    return head_of(op);
}

static int check(const union any *r, uint32_t bytes) {
    char why[128] = "";
    int err = record_check(r, bytes, why, sizeof(why));
    cr_expect_eq(err != 0, why[0] != 0, "a refusal, and nothing else, has a reason: '%s'", why);
    cr_expect(err == 0 || err == ERR_PROTOCOL);
    return err;
}

Test(record, every_operation_has_a_valid_record) {
#define X(name, number, type)                           \
    {                                                   \
        union any r;                                    \
        uint32_t bytes = valid(number, &r);             \
        cr_expect_eq(check(&r, bytes), 0, "%s", #name); \
        cr_expect_str_eq(record_name(number), #name);   \
    }
    WIRE_OPS(X)
#undef X
    cr_expect_str_eq(record_name(999), "?");
}

Test(record, every_truncated_prefix_and_every_extension_is_refused) {
    int refused = 0;
#define X(name, number, type)                                                     \
    {                                                                             \
        union any r;                                                              \
        uint32_t bytes = valid(number, &r);                                       \
        for (uint32_t n = 0; n < bytes; n++, refused++)                           \
            cr_expect_eq(check(&r, n), ERR_PROTOCOL, "%s cut to %u", #name, n);   \
        for (uint32_t n = bytes + 1; n < bytes + 9; n++)                          \
            cr_expect_eq(check(&r, n), ERR_PROTOCOL, "%s grown to %u", #name, n); \
    }
    WIRE_OPS(X)
#undef X
    cr_expect_gt(refused, 16 * (int)sizeof(struct wire_record));
}

/* Sets one field of an otherwise valid record, which must then be rejected. */
#define REFUSED(op, field, value)                                                         \
    do {                                                                                  \
        union any r;                                                                      \
        uint32_t bytes = valid(op, &r);                                                   \
        r.field = (value);                                                                \
        cr_expect_eq(check(&r, bytes), ERR_PROTOCOL, "%s = %s accepted", #field, #value); \
    } while (0)
#define ACCEPTED(op, field, value)                                            \
    do {                                                                      \
        union any r;                                                          \
        uint32_t bytes = valid(op, &r);                                       \
        r.field = (value);                                                    \
        cr_expect_eq(check(&r, bytes), 0, "%s = %s refused", #field, #value); \
    } while (0)

Test(record, the_head) {
    REFUSED(WIRE_PING, rec.op, 0);
    REFUSED(WIRE_PING, rec.op, 999);
    REFUSED(WIRE_PING, rec.stream, WIRE_STREAMS);
    REFUSED(WIRE_PING, rec.reply, WIRE_REPLIES);
    REFUSED(WIRE_PING, rec.seq, 1);
    REFUSED(WIRE_HOST_FUNC, rec.seq, 0);
    REFUSED(WIRE_EVENT_RECORD, rec.ticket, 1);
    ACCEPTED(WIRE_PING, rec.reply, WIRE_REPLIES - 1);
}

Test(record, launches) {
    REFUSED(WIRE_LAUNCH, launch.func, WIRE_FUNCS);
    REFUSED(WIRE_LAUNCH, launch.flags, 4);
    REFUSED(WIRE_LAUNCH, launch.flags, 1 << 4);
    REFUSED(WIRE_LAUNCH, launch.param_bytes, 23);
    REFUSED(WIRE_LAUNCH, launch.param_bytes, UINT32_MAX - 31);
    for (int i = 0; i < 3; i++) {
        REFUSED(WIRE_LAUNCH, launch.grid[i], 0);
        REFUSED(WIRE_LAUNCH, launch.block[i], 0);
    }
    REFUSED(WIRE_LAUNCH, launch.grid[0], 0x80000000u);
    REFUSED(WIRE_LAUNCH, launch.grid[1], 65536);
    REFUSED(WIRE_LAUNCH, launch.grid[2], 65536);
    REFUSED(WIRE_LAUNCH, launch.block[0], 1025);
    REFUSED(WIRE_LAUNCH, launch.block[0], 512); /* 512 x 2 x 2 */
    REFUSED(WIRE_LAUNCH, launch.block[2], 65);
    ACCEPTED(WIRE_LAUNCH, launch.grid[0], 0x7fffffffu);
    ACCEPTED(WIRE_LAUNCH, launch.block[1], 256);
}

static int check_cluster(uint32_t grid, uint16_t flags) {
    union any r;
    uint32_t bytes = valid(WIRE_LAUNCH, &r);
    for (int axis = 0; axis < 3; axis++)
        r.launch.grid[axis] = grid;
    r.launch.flags = flags;
    return check(&r, bytes);
}

Test(record, clusters) {
    for (uint32_t axis = 0; axis < 3; axis++) {
        uint16_t three = wire_cluster_flags(axis ? 1 : 3, axis == 1 ? 3 : 1, axis == 2 ? 3 : 1);
        for (uint32_t k = 0; k < 3; k++)
            cr_expect_eq(wire_cluster_side(three, k), k == axis ? 3u : 1u);
        cr_expect_eq(wire_cluster_side(0, axis), 0u);
        cr_expect_eq(check_cluster(6, three), 0);
        cr_expect_eq(check_cluster(6, three | WIRE_LAUNCH_COOPERATIVE), 0);
        cr_expect_eq(check_cluster(6, three | 4), ERR_PROTOCOL);
        cr_expect_eq(check_cluster(6, three & ~WIRE_LAUNCH_CLUSTER), ERR_PROTOCOL);
        cr_expect_eq(check_cluster(7, three), ERR_PROTOCOL);
    }
    cr_expect_eq(check_cluster(16, wire_cluster_flags(16, 1, 1)), 0);
    cr_expect_eq(check_cluster(16, wire_cluster_flags(4, 2, 2)), 0);
    cr_expect_eq(check_cluster(16, wire_cluster_flags(8, 4, 1)), ERR_PROTOCOL);
    cr_expect_eq(check_cluster(1 << 12, UINT16_MAX), ERR_PROTOCOL);
}

Test(record, copies) {
    REFUSED(WIRE_COPY, copy.width_bytes, 0);
    REFUSED(WIRE_COPY, copy.height, 0);
    REFUSED(WIRE_COPY, copy.depth, 0);
    REFUSED(WIRE_COPY, copy.dst_pitch, 63);
    REFUSED(WIRE_COPY, copy.src_slice, 128 * 3 + 63);
    REFUSED(WIRE_COPY, copy.height, UINT64_MAX);
    REFUSED(WIRE_COPY, copy.depth, UINT64_MAX / 256);
    REFUSED(WIRE_COPY, copy.dst_slice, UINT64_MAX);
    REFUSED(WIRE_COPY, copy.dst, UINT64_MAX - 959);
    REFUSED(WIRE_COPY, copy.src, UINT64_MAX);
    ACCEPTED(WIRE_COPY, copy.dst, UINT64_MAX - 960);
    ACCEPTED(WIRE_COPY, copy.src_slice, 128 * 3 + 64);
}

Test(record, memsets) {
    REFUSED(WIRE_MEMSET, memset.elem_bytes, 3);
    REFUSED(WIRE_MEMSET, memset.elem_bytes, 8);
    REFUSED(WIRE_MEMSET, memset.width_elems, 0);
    REFUSED(WIRE_MEMSET, memset.height, 0);
    REFUSED(WIRE_MEMSET, memset.dst, 4098);
    REFUSED(WIRE_MEMSET, memset.pitch, 258);
    REFUSED(WIRE_MEMSET, memset.pitch, 60);
    REFUSED(WIRE_MEMSET, memset.width_elems, 1ull << 62);
    REFUSED(WIRE_MEMSET, memset.dst, UINT64_MAX - 3);
}

Test(record, limits) {
    static const uint32_t known[] = {0, 1, 2, 4};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        ACCEPTED(WIRE_LIMIT, limit.limit, known[i]);
    REFUSED(WIRE_LIMIT, limit.limit, 3);
    REFUSED(WIRE_LIMIT, limit.limit, 5);
    REFUSED(WIRE_LIMIT, limit.limit, UINT32_MAX);
    ACCEPTED(WIRE_LIMIT, limit.value, UINT64_MAX);
}

Test(record, rings_of_output) {
    ACCEPTED(WIRE_TEXT, mem.bytes, 0);
    ACCEPTED(WIRE_TEXT, mem.bytes, WIRE_TEXT_RING_LEAST);
    REFUSED(WIRE_TEXT, mem.bytes, WIRE_TEXT_RING_LEAST - 1);
    REFUSED(WIRE_TEXT, mem.addr, UINT64_MAX - WIRE_TEXT_RING_LEAST);
    REFUSED(WIRE_TEXT, rec.ticket, 0);
}

Test(record, textures) {
    REFUSED(WIRE_TEXTURE, texture.format, 0);
    REFUSED(WIRE_TEXTURE, texture.format, CU_AD_FORMAT_UNORM_INT8X4);
    REFUSED(WIRE_TEXTURE, texture.format, CU_AD_FORMAT_BC1_UNORM);
    REFUSED(WIRE_TEXTURE, texture.channels, 3);
    REFUSED(WIRE_TEXTURE, texture.channels, 0);
    REFUSED(WIRE_TEXTURE, texture.flags, 256);
    REFUSED(WIRE_TEXTURE, texture.width, 0);
    REFUSED(WIRE_TEXTURE, texture.height, 0);
    REFUSED(WIRE_TEXTURE, texture.depth, 0);
    REFUSED(WIRE_TEXTURE, texture.width, (1u << 17) + 1);
    REFUSED(WIRE_TEXTURE, texture.height, UINT32_MAX);
    REFUSED(WIRE_TEXTURE, texture.depth, UINT32_MAX);
    REFUSED(WIRE_TEXTURE, texture.pitch, 1600);
    REFUSED(WIRE_TEXTURE, texture.levels, 0);
    REFUSED(WIRE_TEXTURE, texture.levels, 6); /* a texture of 100 pixels has 7 levels */
    REFUSED(WIRE_TEXTURE, texture.first_level, 255);
    REFUSED(WIRE_TEXTURE, texture.layers, 3);
    REFUSED(WIRE_TEXTURE, texture.layers, 0);
    REFUSED(WIRE_TEXTURE, texture.first_layer, 3);
    REFUSED(WIRE_TEXTURE, texture.first_layer, UINT32_MAX);
    REFUSED(WIRE_TEXTURE, texture.flags, 0); /* layers and a volume exclude each other */
    REFUSED(WIRE_TEXTURE, texture.addr, 4104);
    REFUSED(WIRE_TEXTURE, texture.addr, UINT64_MAX - 4095);
    REFUSED(WIRE_TEXTURE_REF, rec.ticket, 0);
    REFUSED(WIRE_TEXTURE_REF, reference.module, WIRE_MODULES);
    REFUSED(WIRE_TEXTURE_REF, reference.bound, 2);
    REFUSED(WIRE_TEXTURE_REF, reference.bound, 0); /* linear memory, one row */
    REFUSED(WIRE_TEXTURE_REF, reference.name_bytes, 4);
    REFUSED(WIRE_TEXTURE_REF, texture.handle, 1);
    REFUSED(WIRE_TEXTURE_REF, texture.width, 0);
    REFUSED(WIRE_TEXTURE, texture.address_mode[2], 4);
    REFUSED(WIRE_TEXTURE, texture.filter, 2);
    REFUSED(WIRE_TEXTURE, texture.level_filter, 2);
    REFUSED(WIRE_TEXTURE, texture.flags, WIRE_TEXTURE_LAYERED | WIRE_TEXTURE_LINEAR);
    REFUSED(WIRE_TEXTURE, texture.flags, WIRE_TEXTURE_LAYERED | WIRE_TEXTURE_PITCHED);
    ACCEPTED(WIRE_TEXTURE, texture.levels, 5);
    ACCEPTED(WIRE_TEXTURE, texture.width, 1u << 17);
}

Test(record, clusters_that_are_asked_for) {
    REFUSED(WIRE_CLUSTERS, rec.ticket, 0);
    REFUSED(WIRE_CLUSTERS, clusters.func, WIRE_FUNCS);
    REFUSED(WIRE_CLUSTERS, clusters.largest, 2);
    REFUSED(WIRE_CLUSTERS, clusters.threads, 0);
    REFUSED(WIRE_CLUSTERS, clusters.threads, 1025);
    REFUSED(WIRE_CLUSTERS, clusters.flags, 0);
    REFUSED(WIRE_CLUSTERS, clusters.flags, wire_cluster_flags(4, 4, 2));
    ACCEPTED(WIRE_CLUSTERS, clusters.shared_bytes, UINT32_MAX);
    ACCEPTED(WIRE_CLUSTERS, clusters.largest, 1);
}

Test(record, tensor_maps) {
    REFUSED(WIRE_TENSOR_MAP, rec.ticket, 0);
    REFUSED(WIRE_TENSOR_MAP, tensor.ask.kind, TENSOR_KINDS);
    REFUSED(WIRE_TENSOR_MAP, tensor.ask.rank, 0);
    REFUSED(WIRE_TENSOR_MAP, tensor.ask.rank, 2);
    REFUSED(WIRE_TENSOR_MAP, tensor.ask.rank, 6);
    REFUSED(WIRE_TENSOR_MAP, tensor.ask.rank, UINT32_MAX);
    REFUSED(WIRE_TENSOR_MAP, tensor.ask.type, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B + 1u);
    REFUSED(WIRE_TENSOR_MAP, tensor.ask.interleave, CU_TENSOR_MAP_INTERLEAVE_32B + 1u);
    REFUSED(WIRE_TENSOR_MAP, tensor.ask.swizzle, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B + 1u);
    REFUSED(WIRE_TENSOR_MAP, tensor.ask.promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_256B + 1u);
    REFUSED(WIRE_TENSOR_MAP, tensor.ask.fill, 2);
    REFUSED(WIRE_TENSOR_MAP, tensor.ask.mode, 2);
    ACCEPTED(WIRE_TENSOR_MAP, tensor.ask.rank, 5);
    ACCEPTED(WIRE_TENSOR_MAP, tensor.ask.kind, TENSOR_ADDRESS);
    union any r;
    uint32_t bytes = valid(WIRE_TENSOR_MAP, &r);
    r.tensor.ask.kind = TENSOR_TILED;
    r.tensor.ask.rank = 1;
    cr_expect_eq(check(&r, bytes), 0, "one dimension of tiles");
    r.tensor.ask = (struct tensor_ask){.kind = TENSOR_CLASS, .mode = 2};
    cr_expect_eq(check(&r, bytes), 0);
    r.tensor.ask.mode = 3;
    cr_expect_eq(check(&r, bytes), ERR_PROTOCOL, "no such class");
}

Test(record, arrays) {
    REFUSED(WIRE_ARRAY_MAKE, rec.ticket, 0);
    REFUSED(WIRE_ARRAY_MAKE, array.format, 0);
    REFUSED(WIRE_ARRAY_MAKE, array.format, CU_AD_FORMAT_BC1_UNORM);
    REFUSED(WIRE_ARRAY_MAKE, array.channels, 3);
    REFUSED(WIRE_ARRAY_MAKE, array.channels, 2); /* the format has four */
    REFUSED(WIRE_ARRAY_MAKE, array.flags, CUDA_ARRAY3D_LAYERED | 256);
    REFUSED(WIRE_ARRAY_MAKE, array.flags, CUDA_ARRAY3D_CUBEMAP);
    REFUSED(WIRE_ARRAY_MAKE, array.width, 0);
    REFUSED(WIRE_ARRAY_MAKE, array.width, (1u << 17) + 1);
    REFUSED(WIRE_ARRAY_MAKE, array.width, UINT32_MAX);
    REFUSED(WIRE_ARRAY_MAKE, array.height, UINT32_MAX);
    REFUSED(WIRE_ARRAY_MAKE, array.depth, UINT32_MAX);
    REFUSED(WIRE_ARRAY_MAKE, array.depth, 0); /* a layered array has at least one layer */
    REFUSED(WIRE_ARRAY_MAKE, array.levels, 8);
    REFUSED(WIRE_ARRAY_MAKE, array.levels, UINT32_MAX);
    REFUSED(WIRE_ARRAY_MAKE, array.addr, 4096 + 256);
    REFUSED(WIRE_ARRAY_MAKE, array.addr, UINT64_MAX - 4095);
    ACCEPTED(WIRE_ARRAY_MAKE, array.levels, 0);
    ACCEPTED(WIRE_ARRAY_MAKE, array.height, 0);
    ACCEPTED(WIRE_ARRAY_MAKE, array.flags, 0);
    union any r;
    uint32_t bytes = valid(WIRE_ARRAY_MAKE, &r);
    r.array.flags = 0;
    r.array.height = 0;
    cr_expect_eq(check(&r, bytes), ERR_PROTOCOL, "a depth without a height");
    r.array = (struct wire_array){.rec = r.rec,
                                  .addr = 512,
                                  .width = 1u << 17,
                                  .levels = 1,
                                  .height = 1u << 17,
                                  .depth = 1u << 17,
                                  .channels = 1,
                                  .format = CU_AD_FORMAT_UNSIGNED_INT8};
    cr_expect_eq(check(&r, bytes), ERR_PROTOCOL, "more than any device has");
    r.array.width = r.array.height = 64;
    r.array.depth = 12;
    r.array.flags = CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED;
    cr_expect_eq(check(&r, bytes), 0);
    r.array.depth = 13;
    cr_expect_eq(check(&r, bytes), ERR_PROTOCOL);
}

static int check_flat(uint32_t width, uint32_t height, uint64_t pitch, uint16_t flags) {
    union any r;
    uint32_t bytes = valid(WIRE_TEXTURE, &r);
    r.texture.width = width;
    r.texture.height = height;
    r.texture.depth = r.texture.levels = 1;
    r.texture.first_level = r.texture.first_layer = r.texture.layers = 0;
    r.texture.pitch = pitch;
    r.texture.flags = flags;
    return check(&r, bytes);
}

Test(record, textures_of_plain_memory) {
    const uint16_t linear = WIRE_TEXTURE_LINEAR, pitched = WIRE_TEXTURE_PITCHED;
    cr_expect_eq(check_flat(1u << 28, 1, 0, linear), 0);
    cr_expect_eq(check_flat(100, 50, 1600, pitched), 0);
    cr_expect_eq(check_flat((1u << 28) + 1, 1, 0, linear), ERR_PROTOCOL);
    cr_expect_eq(check_flat(100, 2, 0, linear), ERR_PROTOCOL);
    cr_expect_eq(check_flat(100, 1, 1600, linear), ERR_PROTOCOL);
    cr_expect_eq(check_flat(100, 1, 1600, linear | pitched), ERR_PROTOCOL);
    cr_expect_eq(check_flat(100, 50, 1584, pitched), ERR_PROTOCOL);
    cr_expect_eq(check_flat(100, 50, 1608, pitched), ERR_PROTOCOL, "misaligned rows");
    cr_expect_eq(check_flat(100, 50, UINT64_MAX - 15, pitched), ERR_PROTOCOL);
    cr_expect_eq(check_flat(1u << 17, 1u << 17, 0, 0), 0);
}

Test(record, references) {
    union any r;
    uint32_t bytes = valid(WIRE_TEXTURE_REF, &r);
    r.reference.bound = 0;
    r.texture.flags = WIRE_TEXTURE_SURFACE;
    r.texture.width = 0;
    cr_expect_eq(check(&r, bytes), 0, "to nothing");
    bytes = valid(WIRE_TEXTURE_REF, &r);
    memset(r.bytes + sizeof(r.reference), 'a', WIRE_REFERENCE_NAME);
    r.bytes[sizeof(r.reference) + WIRE_REFERENCE_NAME - 1] = 0;
    r.reference.name_bytes = WIRE_REFERENCE_NAME;
    bytes = sizeof(r.reference) + WIRE_REFERENCE_NAME;
    cr_expect_eq(check(&r, bytes), 0);
    memcpy(r.bytes + bytes - 1, "a", 2);
    r.reference.name_bytes++;
    cr_expect_eq(check(&r, bytes + 1), ERR_PROTOCOL, "a name that is too long");
}

Test(record, textures_end_where_their_last_level_does) {
    union any r;
    valid(WIRE_TEXTURE, &r);
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < 6; k++) { /* rows of whole 32 bytes, levels of whole 512 */
        uint64_t level = ((100u >> k) * 16 + 31) / 32 * 32 * (50u >> k) * 3;
        bytes += (level + 511) / 512 * 512;
    }
    cr_expect_eq(record_texture_bytes(&r.texture), bytes);
    r.texture.flags = WIRE_TEXTURE_PITCHED;
    r.texture.pitch = 2048;
    cr_expect_eq(record_texture_bytes(&r.texture), 49 * 2048 + 1600);
    r.texture.flags = WIRE_TEXTURE_LINEAR;
    cr_expect_eq(record_texture_bytes(&r.texture), 1600);
}

Test(record, values) {
    REFUSED(WIRE_VALUE_WAIT, rec.seq, 0);
    REFUSED(WIRE_VALUE_WRITE, rec.ticket, 1);
    REFUSED(WIRE_VALUE_WAIT, value.bytes, 2);
    REFUSED(WIRE_VALUE_WRITE, value.bytes, 16);
    REFUSED(WIRE_VALUE_WRITE, value.addr, 4098);
    REFUSED(WIRE_VALUE_WAIT, value.addr, UINT64_MAX - 3);
    REFUSED(WIRE_VALUE_WAIT, value.value, 1ull << 32);
    REFUSED(WIRE_VALUE_WAIT, value.compare, 4);
    ACCEPTED(WIRE_VALUE_WAIT, value.compare, WIRE_VALUE_NOR);
    REFUSED(WIRE_VALUE_WRITE, value.compare, 1);
    union any r;
    uint32_t bytes = valid(WIRE_VALUE_WRITE, &r);
    r.value.bytes = 8;
    r.value.value = UINT64_MAX;
    cr_expect_eq(check(&r, bytes), 0);
    r.value.addr = 4100;
    cr_expect_neq(check(&r, bytes), 0, "of eight bytes");
}

Test(record, the_others) {
    REFUSED(WIRE_EVENT_RECORD, event.event, WIRE_EVENTS);
    REFUSED(WIRE_EVENT_RECORD, event.event, WIRE_EVENTS | WIRE_EVENT_BEGAN);
    REFUSED(WIRE_EVENT_RECORD, event.event, WIRE_EVENT_MARKS);
    ACCEPTED(WIRE_EVENT_RECORD, event.event, (WIRE_EVENTS - 1) | WIRE_EVENT_ENDED);
    REFUSED(WIRE_STREAM_WAIT, wait.on, WIRE_STREAMS);
    REFUSED(WIRE_STREAM_CREATE, rec.stream, 0);
    REFUSED(WIRE_STREAM_CREATE, create.flags, 2);
    REFUSED(WIRE_STREAM_CREATE, create.first_seq, 0);
    REFUSED(WIRE_STREAM_DESTROY, rec.stream, 0);
    REFUSED(WIRE_STREAM_SHARE, rec.stream, 0);
    REFUSED(WIRE_MEM_BACK, mem.bytes, 0);
    REFUSED(WIRE_MEM_UNBACK, mem.addr, UINT64_MAX - 4096);
    REFUSED(WIRE_MEM_MAKE, segment.segment, WIRE_SEGMENTS);
    REFUSED(WIRE_MEM_MAKE, segment.bytes, 0);
    REFUSED(WIRE_MEM_MAKE, rec.ticket, 0);
    REFUSED(WIRE_MEM_OPEN, segment.bytes, 1);
    REFUSED(WIRE_MEM_SHOW, segment.addr, UINT64_MAX - 4096);
    ACCEPTED(WIRE_MEM_SHOW, rec.ticket, 0);
    ACCEPTED(WIRE_MEM_CLOSE, rec.ticket, 0);
    REFUSED(WIRE_EVENT_RECORD, event.signal, WIRE_SIGNALS + 1);
    ACCEPTED(WIRE_EVENT_RECORD, event.signal, WIRE_SIGNALS);
    REFUSED(WIRE_STREAM_WAIT, wait.on, WIRE_ON_SIGNAL | WIRE_SIGNALS);
    ACCEPTED(WIRE_STREAM_WAIT, wait.on, WIRE_ON_SIGNAL | (WIRE_SIGNALS - 1));
    REFUSED(WIRE_FILE_MAP, file.file, WIRE_FILES);
    REFUSED(WIRE_FILE_MAP, rec.ticket, 0);
    REFUSED(WIRE_FILE_MAP, file.addr, 0x10100);
    REFUSED(WIRE_FILE_MAP, file.bytes, 100);
    REFUSED(WIRE_FILE_MAP, file.bytes, 0);
    REFUSED(WIRE_FILE_MAP, file.bytes, 0 - (uint64_t)WIRE_FILE_PAGE);
    REFUSED(WIRE_FILE_MAP, file.offset, 1);
    REFUSED(WIRE_FILE_MAP, file.offset, 0 - (uint64_t)WIRE_FILE_PAGE);
    REFUSED(WIRE_FILE_UNMAP, file.bytes, 0);
    ACCEPTED(WIRE_FILE_UNMAP, rec.ticket, 0);
    REFUSED(WIRE_FILE_DROP, file.bytes, WIRE_FILE_PAGE);
    REFUSED(WIRE_FILE_DROP, rec.ticket, 0);
    REFUSED(WIRE_SIGNAL_MAKE, signal.signal, WIRE_SIGNALS);
    REFUSED(WIRE_SIGNAL_ASK, rec.ticket, 0);
    ACCEPTED(WIRE_SIGNAL_CLOSE, rec.ticket, 0);
    REFUSED(WIRE_MODULE_LOAD, load.module, WIRE_MODULES);
    REFUSED(WIRE_MODULE_LOAD, load.capability, 91);
    REFUSED(WIRE_MODULE_LOAD, load.image_bytes, 0);
    REFUSED(WIRE_MODULE_LOAD, load.image_bytes, RECORD_IMAGE_MAX + 1);
    REFUSED(WIRE_MODULE_LOAD, load.image, UINT64_MAX - 10);
    REFUSED(WIRE_MODULE_LOAD, load.why_bytes, RECORD_WHY_MAX + 1);
    REFUSED(WIRE_MODULE_UNLOAD, unload.module, WIRE_MODULES);
    REFUSED(WIRE_FUNC_GET, func.module, WIRE_MODULES);
    REFUSED(WIRE_FUNC_GET, func.func, WIRE_FUNCS);
    REFUSED(WIRE_FUNC_GET, func.params_cap, RECORD_PARAMS_MAX + 1);
    REFUSED(WIRE_FUNC_GET, func.name_bytes, 4);
    REFUSED(WIRE_FUNC_GET, bytes[sizeof(struct wire_func_get) + 4], 'x');
    REFUSED(WIRE_FUNC_GET, bytes[sizeof(struct wire_func_get) + 1], 0);
    REFUSED(WIRE_GLOBAL_GET, global.module, WIRE_MODULES);
    REFUSED(WIRE_GLOBAL_GET, bytes[sizeof(struct wire_global_get)], 0);
    REFUSED(WIRE_GRAPH_DATA, data.graph, WIRE_GRAPHS);
    REFUSED(WIRE_GRAPH_DATA, data.piece_bytes, 15);
    REFUSED(WIRE_GRAPH_DATA, data.offset, 33);
    REFUSED(WIRE_GRAPH_DATA, data.offset, UINT64_MAX - 7);
    REFUSED(WIRE_GRAPH_DATA, data.total_bytes, 47);
    REFUSED(WIRE_GRAPH_DATA, data.total_bytes, WIRE_GRAPH_BYTES + 8);
    ACCEPTED(WIRE_GRAPH_DATA, data.offset, 32);
    REFUSED(WIRE_GRAPH_LAUNCH, graph.graph, WIRE_GRAPHS);
    REFUSED(WIRE_GRAPH_LAUNCH, graph.lanes, 0);
    REFUSED(WIRE_GRAPH_LAUNCH, graph.waits, 3);
    REFUSED(WIRE_GRAPH_LAUNCH, bytes[sizeof(struct wire_graph_launch) + 2], WIRE_STREAMS >> 16);
    REFUSED(WIRE_GRAPH_LAUNCH, bytes[sizeof(struct wire_graph_launch) + 34], WIRE_STREAMS >> 16);
    REFUSED(WIRE_GRAPH_DROP, graph.graph, WIRE_GRAPHS);
    REFUSED(WIRE_GRAPH_OFFER, offer.graph, WIRE_GRAPHS);
    ACCEPTED(WIRE_GRAPH_OFFER, offer.graph, WIRE_GRAPH_NONE);
    ACCEPTED(WIRE_GRAPH_OFFER, offer.handle, UINT64_MAX);
    REFUSED(WIRE_GRAPH_CHOICE, choice.kind, WIRE_CHOICE_LAUNCH + 1);
    REFUSED(WIRE_GRAPH_CHOICE, choice.kind, WIRE_CHOICE_LAUNCH); /* with two bodies */
    REFUSED(WIRE_GRAPH_CHOICE, choice.kind, WIRE_CHOICE_WHILE);
    REFUSED(WIRE_GRAPH_CHOICE, choice.count, 0);
    REFUSED(WIRE_GRAPH_CHOICE, choice.count, 1);
    REFUSED(WIRE_GRAPH_CHOICE, choice.count, 3);
    REFUSED(WIRE_GRAPH_CHOICE, choice.value, 2);
    REFUSED(WIRE_GRAPH_CHOICE, bytes[sizeof(struct wire_choice) + 6], WIRE_GRAPHS >> 16);
    ACCEPTED(WIRE_GRAPH_CHOICE, choice.kind, WIRE_CHOICE_SWITCH);
    REFUSED(WIRE_FUNC_NAME, name.module, WIRE_MODULES);
    {
        union any r;
        uint32_t bytes = valid(WIRE_FUNC_NAME, &r);
        r.name.buf = UINT64_MAX;
        r.name.cap = 2;
        cr_expect_eq(check(&r, bytes), ERR_PROTOCOL);
    }
}

Test(record, a_reason_fits_the_room_it_gets) {
    union any r;
    char why[8] = "1234567";
    uint32_t bytes = valid(WIRE_LAUNCH, &r);
    r.launch.func = WIRE_FUNCS;
    cr_expect_eq(record_check(&r, bytes, NULL, 0), ERR_PROTOCOL);
    cr_expect_eq(record_check(&r, bytes, why, 4), ERR_PROTOCOL);
    cr_expect_str_eq(why, "fun");
    cr_expect_eq(why[4], '5');
}
