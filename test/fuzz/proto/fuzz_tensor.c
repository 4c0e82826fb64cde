/* SPDX-License-Identifier: Apache-2.0
 *
 * Any tensor map, coordinates and positions, as kernels can write them, in every instruction that
 * copies boxes of tensors: only the client's memory and the block's shared memory may be accessed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/cuda/tensor_map.h"
#include "test/lib/ptx/ptxrun.h"

#define MEMORY 4096 /* bytes of the tensor's memory */

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    struct tensor_map map;
    int32_t at[5], place, barrier;
    uint16_t blocks;
    uint8_t body, as_it_is; /* as_it_is: the input's address is not replaced by the memory's */
};

#define FROM "shared::cluster.global."
#define COME ".mbarrier::complete_tx::bytes"
#define UP FROM "tile" COME
#define DOWN "global.shared::cta"
static const char *const bodies[] = {
    "cp.async.bulk.tensor.1d." UP " [%d],[%m,{%c0}],[%b];",
    "cp.async.bulk.tensor.2d." UP " [%d],[%m,{%c0,%c1}],[%b];",
    "cp.async.bulk.tensor.3d." UP " [%d],[%m,{%c0,%c1,%c2}],[%b];",
    "cp.async.bulk.tensor.4d." UP " [%d],[%m,{%c0,%c1,%c2,%c3}],[%b];",
    "cp.async.bulk.tensor.5d." UP " [%d],[%m,{%c0,%c1,%c2,%c3,%c4}],[%b];",
    "cp.async.bulk.tensor.2d." UP ".multicast::cluster [%d],[%m,{%c0,%c1}],[%b],%h;",
    "cp.async.bulk.tensor.1d." DOWN ".tile.bulk_group [%m,{%c0}],[%d];",
    "cp.async.bulk.tensor.2d." DOWN ".tile.bulk_group [%m,{%c0,%c1}],[%d];",
    "cp.async.bulk.tensor.5d." DOWN ".tile.bulk_group [%m,{%c0,%c1,%c2,%c3,%c4}],[%d];",
    "cp.reduce.async.bulk.tensor.1d." DOWN ".add.tile.bulk_group [%m,{%c0}],[%d];",
    "cp.reduce.async.bulk.tensor.2d." DOWN ".min.tile.bulk_group [%m,{%c0,%c1}],[%d];",
    "cp.reduce.async.bulk.tensor.3d." DOWN ".xor.tile.bulk_group [%m,{%c0,%c1,%c2}],[%d];",
    "cp.async.bulk.tensor.2d." FROM "tile::gather4" COME " [%d],[%m,{%c0,%c1,%c2,%c3,%c4}],[%b];",
    "cp.async.bulk.tensor.2d." DOWN ".tile::scatter4.bulk_group [%m,{%c0,%c1,%c2,%c3,%c4}],[%d];",
    "cp.async.bulk.tensor.3d." FROM "im2col" COME " [%d],[%m,{%c0,%c1,%c2}],[%b],{%h};",
    "cp.async.bulk.tensor.5d." FROM "im2col" COME
    " [%d],[%m,{%c0,%c1,%c2,%c3,%c4}],[%b],{%h,1,%h};",
    "cp.async.bulk.tensor.4d." DOWN ".im2col_no_offs.bulk_group [%m,{%c0,%c1,%c2,%c3}],[%d];",
    "cp.async.bulk.tensor.4d." FROM "im2col" COME
    ".multicast::cluster [%d],[%m,{%c0,%c1,%c2,%c3}],[%b],{%h,%h},%h;",
    "cp.async.bulk.tensor.3d." DOWN ".im2col_no_offs.bulk_group [%m,{%c0,%c1,%c2}],[%d];",
    "cp.async.bulk.tensor.5d." DOWN ".im2col_no_offs.bulk_group [%m,{%c0,%c1,%c2,%c3,%c4}],[%d];",
    "cp.reduce.async.bulk.tensor.4d." DOWN
    ".add.im2col_no_offs.bulk_group [%m,{%c0,%c1,%c2,%c3}],[%d];",
    "cp.async.bulk.tensor.2d." FROM "tile::gather4" COME
    ".multicast::cluster [%d],[%m,{%c0,%c1,%c2,%c3,%c4}],[%b],%h;",
    "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4" COME
    " [%d],[%m,{%c0,%c1,%c2,%c3,%c4}],[%b];",
    "tensormap.replace.tile.global_stride.global.b1024.b64 [%m],0,%w;\n"
    "tensormap.replace.tile.element_stride.global.b1024.b32 [%m],0,%c4;\n"
    "tensormap.replace.tile.element_stride.global.b1024.b32 [%m],1,%c3;\n"
    "tensormap.replace.tile.elemtype.global.b1024.b32 [%m],4;\n"
    "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%m],3;\n"
    "tensormap.replace.tile.fill_mode.global.b1024.b32 [%m],1;\n"
    "cp.async.bulk.tensor.2d." DOWN ".tile::scatter4.bulk_group [%m,{%c0,%c1,%c2,%c3,%c4}],[%d];",
    "tensormap.replace.tile.box_dim.global.b1024.b32 [%m],1,%c2;\n"
    "tensormap.replace.tile.rank.global.b1024.b32 [%m],%c3;\n"
    "cp.async.bulk.tensor.3d." FROM "im2col" COME " [%d],[%m,{%c0,%c1,%c2}],[%b],{%h};",
    "tensormap.replace.tile.global_address.global.b1024.b64 [%m],%m;\n"
    "tensormap.replace.tile.box_dim.global.b1024.b32 [%m],0,%c4;\n"
    "tensormap.replace.tile.rank.global.b1024.b32 [%m],%c3;\n"
    "tensormap.replace.tile.global_dim.global.b1024.b32 [%m],1,%c2;\n"
    "cp.async.bulk.tensor.2d." UP " [%d],[%m,{%c0,%c1}],[%b];",
};
#define BODIES (sizeof(bodies) / sizeof(bodies[0]))

static struct ptxrun *runs[BODIES];
static struct input *inputs[BODIES];
static unsigned char *memories[BODIES];

static void prepare(size_t n) {
    char text[4096];
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 in){.shared .align 128 .b8 sh[2048];\n"
             ".reg .b64 %%m,%%w;.reg .b32 %%d,%%b,%%s,%%c<5>;.reg .b16 %%h;\n"
             "ld.param.u64 %%m,[in];ld.global.v4.b32 {%%c0,%%c1,%%c2,%%c3},[%%m+128];\n"
             "ld.global.b32 %%c4,[%%m+144];ld.global.b32 %%d,[%%m+148];\n"
             "ld.global.b32 %%b,[%%m+152];ld.global.b16 %%h,[%%m+156];\n"
             "mul.wide.u32 %%w,%%c0,16;\n"
             "mov.u32 %%s,sh;mbarrier.init.shared.b64 [%%s+2040],1;\n"
             "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%%s+2040],4096;\n%s ret;}\n",
             bodies[n]);
    runs[n] = ptxrun_create(text, strlen(text), 0);
    inputs[n] = ptxrun_alloc(runs[n], sizeof(struct input));
    memories[n] = ptxrun_alloc(runs[n], MEMORY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in;
    if (size < sizeof(in)) return 0;
    memcpy(&in, data, sizeof(in));
    const size_t n = in.body % BODIES;
    if (!runs[n]) prepare(n);
    if (!in.as_it_is) {
        in.map.magic = TENSOR_MAP_MAGIC;
        in.map.address = (uint64_t)(uintptr_t)memories[n] + in.map.address % (2 * MEMORY);
    }
    memcpy(inputs[n], &in, sizeof(in));
    int err = ptxrun_launch(runs[n], "k", 1, 1, 1, (uint64_t)(uintptr_t)inputs[n]);
    if (err && err != ERR_ILLEGAL_ADDRESS && err != ERR_MISALIGNED &&
        err != ERR_ILLEGAL_INSTRUCTION)
        abort();
    return 0;
}
