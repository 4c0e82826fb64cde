/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of a launch: the parameters by the kernel's layout, ids and order. A launch that CUDA
 * refuses sends nothing.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/code/function.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/device/caller.h"
#include "test/lib/shim/rig.h"

#define BAD_SHAPE CUDA_ERROR_INVALID_VALUE /* the CUDA runtime gets another error */
#define LARGE_BYTES 20000u

/* A byte, a pointer, a word and a struct of 12 bytes, as a compiler lays them out. */
static const struct wire_param mixed_params[] = {{0, 1}, {8, 8}, {16, 4}, {20, 12}};
static const struct wire_param large_params[] = {{0, 8}, {8, LARGE_BYTES - 8}};

/* The first eight fill a slot of the ring exactly; the ninth is one byte more. */
static const struct wire_param eight_params[] = {{0, 8},  {8, 8},  {16, 8}, {24, 8}, {32, 8},
                                                 {40, 8}, {48, 8}, {56, 8}, {64, 1}};

static const struct rig_kernel kernels[] = {
    {"mixed", mixed_params, {.param_count = 4, .param_bytes = 32, .max_threads = 256}},
    {"plain", NULL, {.max_threads = 1024, .shared_bytes = 1024}},
    {"large", large_params, {.param_count = 2, .param_bytes = LARGE_BYTES, .max_threads = 1024}},
    {"fixed", NULL, {.max_threads = 1024, .req_block = {8, 4, 2}}},
    {"eight", eight_params, {.param_count = 8, .param_bytes = 64, .max_threads = 1024}},
    {"nine", eight_params, {.param_count = 9, .param_bytes = 65, .max_threads = 1024}},
    {"grouped",
     NULL,
     {.max_threads = 1024, .cluster = WIRE_LAUNCH_CLUSTER | 1 << 4 | 1 << 8, .cluster_must = 1}},
    {"undecided", NULL, {.max_threads = 1024, .cluster_must = 1, .max_cluster = 4}},
};

static CUmodule module;
static CUfunction mixed, plain;

static CUfunction find(const char *name) {
    CUfunction f;
    cr_assert_eq(cuModuleGetFunction(&f, module, name), CUDA_SUCCESS);
    return f;
}

static void begin(void) {
    rig_begin();
    rig_kernels(kernels, sizeof(kernels) / sizeof(kernels[0]));
    cr_assert_eq(cuModuleLoadData(&module, rig_ptx), CUDA_SUCCESS);
    mixed = find("mixed");
    plain = find("plain");
    rig_forget();
}

TestSuite(shim_launch, .init = begin, .timeout = 60);

static CUresult launch(CUfunction f, CUstream s, void **params, void **extra) {
    return cuLaunchKernel(f, 3, 2, 1, 32, 4, 2, 256, s, params, extra);
}

static CUresult shaped(CUfunction f, unsigned int grid[3], unsigned int block[3],
                       unsigned int shared) {
    return cuLaunchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, NULL,
                          NULL, NULL);
}

/* Some devices have smaller limits. */
Test(shim_launch, a_shape_is_what_the_device_takes) {
    struct description *d = &state.conn.description;
    unsigned int grid[3] = {1, 1, 1}, block[3] = {8, 1, 32};
    description_set(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 31);
    cr_expect_eq(shaped(plain, grid, block, 0), BAD_SHAPE);
    block[2] = 31;
    cr_expect_eq(shaped(plain, grid, block, 0), CUDA_SUCCESS);
    description_set(d, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 247);
    cr_expect_eq(shaped(plain, grid, block, 0), BAD_SHAPE);
    block[2] = 1;
    description_set(d, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 5);
    grid[1] = 6;
    cr_expect_eq(shaped(plain, grid, block, 0), BAD_SHAPE);
    grid[1] = 5;
    cr_expect_eq(shaped(plain, grid, block, 0), CUDA_SUCCESS);
}

/* A multiprocessor has 228 KiB of shared memory. The kernel's block needs 13,696 bytes, reserved
 * bytes included. 17 such blocks fit if sizes are rounded up to 128 bytes, and 16 if to 256. */
Test(shim_launch, occupancy_goes_by_the_devices_capability) {
    size_t bytes = 0;
    int blocks = 0;
    cr_assert_eq(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 32, 11648),
                 CUDA_SUCCESS);
    cr_expect_eq(blocks, 17);
    description_set(&state.conn.description, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 7);
    cr_assert_eq(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 32, 11648),
                 CUDA_SUCCESS);
    cr_expect_eq(blocks, 16);
    cr_assert_eq(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, plain, 17, 32), CUDA_SUCCESS);
    cr_expect_eq((bytes + 2048) % 256, 0);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static uint8_t byte = 0xab;
static uint64_t pointer = 0x1122334455667788;
static uint32_t word = 0xdeadbeef;
static const char text[12] = "eleven chars";
static void *arguments[] = {&byte, &pointer, &word, (void *)text};

static void check_mixed(const unsigned char *params) {
    cr_assert_eq(params[0], byte);
    cr_assert_arr_eq(params + 8, &pointer, 8);
    cr_assert_arr_eq(params + 16, &word, 4);
    cr_assert_arr_eq(params + 20, text, 12);
}

Test(shim_launch, parameters_lie_where_the_kernel_has_them) {
    uint32_t bytes;
    cr_assert_eq(launch(mixed, NULL, arguments, NULL), CUDA_SUCCESS);
    const struct wire_launch *l = rig_only(WIRE_LAUNCH);
    rig_record(0, &bytes);
    cr_assert_eq(bytes, sizeof(*l) + 32);
    cr_assert_eq(l->func, function_find(mixed)->id);
    cr_assert(l->grid[0] == 3 && l->grid[1] == 2 && l->grid[2] == 1);
    cr_assert(l->block[0] == 32 && l->block[1] == 4 && l->block[2] == 2);
    cr_assert(l->shared_bytes == 256 && l->flags == 0 && l->param_bytes == 32);
    cr_assert(l->rec.stream == 0 && l->rec.seq == 1 && l->rec.ticket == 0);
    check_mixed((const unsigned char *)(l + 1));
}

Test(shim_launch, parameters_are_counted) {
    size_t count = 77;
    cr_expect_eq(cuFuncGetParamCount(mixed, &count), CUDA_SUCCESS);
    cr_expect_eq(count, 4);
    cr_expect_eq(cuKernelGetParamCount((CUkernel)plain, &count), CUDA_SUCCESS);
    cr_expect_eq(count, 0);
    cr_expect_eq(cuFuncGetParamCount(mixed, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuFuncGetParamCount((CUfunction)&count, &count), CUDA_ERROR_INVALID_HANDLE);
}

Test(shim_launch, parameters_are_those_of_the_call) {
    uint64_t kept = pointer;
    rig_stand(true);
    cr_assert_eq(launch(mixed, NULL, arguments, NULL), CUDA_SUCCESS);
    pointer = 0;
    rig_stand(false);
    const struct wire_launch *l = rig_only(WIRE_LAUNCH);
    pointer = kept;
    check_mixed((const unsigned char *)(l + 1));
}

/* Fills the stack, so that uninitialised memory is not zero by chance. */
static __attribute__((noinline)) void soil_the_stack(void) {
    volatile unsigned char dirt[16384];
    for (size_t i = 0; i < sizeof(dirt); i++)
        dirt[i] = 0xa5;
}

Test(shim_launch, a_buffer_is_taken_as_it_is) {
    unsigned char buffer[40];
    size_t bytes = 32;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    for (size_t i = 0; i < sizeof(buffer); i++)
        buffer[i] = (unsigned char)(i + 1);
    cr_assert_eq(launch(mixed, NULL, NULL, extra), CUDA_SUCCESS);
    const struct wire_launch *l = rig_only(WIRE_LAUNCH);
    cr_assert_arr_eq(l + 1, buffer, 32);
    rig_forget();
    bytes = 20;
    soil_the_stack();
    cr_assert_eq(launch(mixed, NULL, NULL, extra), CUDA_SUCCESS);
    l = rig_only(WIRE_LAUNCH);
    const unsigned char *params = (const unsigned char *)(l + 1);
    cr_assert_arr_eq(params, buffer, 20);
    for (int i = 20; i < 32; i++)
        cr_assert_eq(params[i], 0, "what is not passed is zero, not what lay there");
    rig_forget();
    bytes = sizeof(buffer);
    cr_assert_eq(launch(mixed, NULL, NULL, extra), CUDA_SUCCESS);
    l = rig_only(WIRE_LAUNCH);
    cr_assert_eq(l->param_bytes, 32, "no more than the kernel has");
}

Test(shim_launch, parameters_that_are_missing) {
    size_t bytes = 32;
    void *holes[] = {&byte, NULL, &word, (void *)text};
    void *no_buffer[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    void *no_key[] = {(void *)77, &bytes, CU_LAUNCH_PARAM_END};
    cr_assert_eq(launch(mixed, NULL, holes, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(launch(mixed, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(launch(mixed, NULL, NULL, no_buffer), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(launch(mixed, NULL, NULL, no_key), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(rig_count(), 0);
    cr_assert_eq(launch(mixed, NULL, arguments, NULL), CUDA_SUCCESS);
    const struct wire_launch *l = rig_only(WIRE_LAUNCH);
    cr_assert_eq(l->rec.seq, 1, "they took no place in the stream");
}

Test(shim_launch, many_parameters_arrive_whole) {
    CUfunction large = find("large");
    unsigned char *block = malloc(LARGE_BYTES);
    void *params[] = {&pointer, block};
    uint32_t bytes;
    for (uint32_t i = 0; i < LARGE_BYTES; i++)
        block[i] = (unsigned char)(i * 7 + i / 251);
    rig_forget();
    cr_assert_eq(launch(large, NULL, params, NULL), CUDA_SUCCESS);
    const struct wire_launch *l = rig_only(WIRE_LAUNCH);
    rig_record(0, &bytes);
    cr_assert_eq(bytes, sizeof(*l) + LARGE_BYTES);
    cr_assert_arr_eq((const unsigned char *)(l + 1), &pointer, 8);
    cr_assert_arr_eq((const unsigned char *)(l + 1) + 8, block, LARGE_BYTES - 8);
    free(block);
}

Test(shim_launch, as_many_as_a_slot_holds_and_one_more) {
    uint64_t values[8];
    void *params[9];
    for (uint64_t i = 0; i < 8; i++) {
        values[i] = (i + 1) * 0x0101010101010101;
        params[i] = &values[i];
    }
    params[8] = &byte;
    CUfunction eight = find("eight"), nine = find("nine");
    rig_forget();
    cr_assert_eq(launch(eight, NULL, params, NULL), CUDA_SUCCESS);
    cr_assert_eq(launch(nine, NULL, params, NULL), CUDA_SUCCESS);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t bytes;
        const struct wire_launch *l = rig_record(i, &bytes);
        cr_assert(l->rec.seq == i + 1 && l->param_bytes == 64 + i);
        cr_assert_eq(bytes, sizeof(*l) + 64 + i);
        cr_assert_arr_eq(l + 1, values, 64);
        if (i) cr_assert_eq(((const unsigned char *)(l + 1))[64], byte);
    }
}

static void *launch_until_sent(void *arg) {
    cuCtxSetCurrent(arg);
    cr_assert_eq(launch(mixed, NULL, arguments, NULL), CUDA_SUCCESS);
    return NULL;
}

Test(shim_launch, a_full_ring_holds_a_launch_up) {
    const struct timespec nap = {.tv_nsec = 100000};
    struct wire_ping ping = {.rec = {.op = WIRE_PING}};
    pthread_t thread;
    CUcontext ctx;
    uint64_t credit;
    rig_stand(true);
    uint32_t before = 0;
    while (submit_try(&ping, sizeof(ping), &credit))
        before++;
    cr_assert_eq(cuCtxGetCurrent(&ctx), CUDA_SUCCESS);
    cr_assert_eq(pthread_create(&thread, NULL, launch_until_sent, ctx), 0);
    while (!atom_load_acquire(&state.conn.submission->client_sleeping))
        nanosleep(&nap, NULL);
    rig_stand(false);
    pthread_join(thread, NULL);
    cr_assert_eq(rig_count(), before + 1);
    const struct wire_launch *l = rig_record(before, NULL);
    cr_assert(l->rec.op == WIRE_LAUNCH && l->rec.seq == 1, "once, and first in its stream");
    check_mixed((const unsigned char *)(l + 1));
}

/* ---- shapes ---------------------------------------------------------------------------------- */

struct shape {
    unsigned int grid[3], block[3], shared;
    int kernel; /* index of the kernel */
    CUresult result;
};

static struct shape shapes[] = {
    {{0, 1, 1}, {1, 1, 1}, 0, 1, BAD_SHAPE},
    {{1, 0, 1}, {1, 1, 1}, 0, 1, BAD_SHAPE},
    {{0x7fffffff, 65535, 65535}, {1, 1, 1}, 0, 1, CUDA_SUCCESS},
    {{0x80000000, 1, 1}, {1, 1, 1}, 0, 1, BAD_SHAPE},
    {{1, 65536, 1}, {1, 1, 1}, 0, 1, BAD_SHAPE},
    {{1, 1, 65536}, {1, 1, 1}, 0, 1, BAD_SHAPE},
    {{1, 1, 1}, {0, 1, 1}, 0, 1, BAD_SHAPE},
    {{1, 1, 1}, {1024, 1, 1}, 0, 1, CUDA_SUCCESS},
    {{1, 1, 1}, {1025, 1, 1}, 0, 1, BAD_SHAPE},
    {{1, 1, 1}, {1, 1025, 1}, 0, 1, BAD_SHAPE},
    {{1, 1, 1}, {1, 1, 64}, 0, 1, CUDA_SUCCESS},
    {{1, 1, 1}, {1, 1, 65}, 0, 1, BAD_SHAPE},
    {{1, 1, 1}, {32, 32, 2}, 0, 1, BAD_SHAPE},
    {{1, 1, 1}, {65537, 1, 1}, 0, 1, BAD_SHAPE}, /* does not fit 16 bits */
    {{1, 1, 1}, {1, 65536, 1}, 0, 1, BAD_SHAPE},
    {{1, 1, 1}, {257, 1, 1}, 0, 0, BAD_SHAPE},
    {{1, 1, 1}, {8, 4, 2}, 0, 3, CUDA_SUCCESS},
    {{1, 1, 1}, {4, 8, 2}, 0, 3, CUDA_ERROR_INVALID_VALUE},
    {{1, 1, 1}, {1, 1, 1}, 47 << 10, 1, CUDA_SUCCESS},
    {{1, 1, 1}, {1, 1, 1}, (47 << 10) + 1, 1, CUDA_ERROR_INVALID_VALUE},
};

Test(shim_launch, each_shape_has_its_answer) {
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct shape *s = &shapes[i];
        CUfunction f = find(kernels[s->kernel].name);
        rig_forget();
        cr_assert_eq(shaped(f, s->grid, s->block, s->shared), s->result, "shape %zu", i);
        cr_assert_eq(rig_count(), s->result == CUDA_SUCCESS, "shape %zu", i);
    }
}

Test(shim_launch, a_runtime_is_told_the_number_that_it_shows) {
    const CUresult invalid_configuration = (CUresult)9;
    unsigned int one[3] = {1, 1, 1}, many[3] = {1025, 1, 1};
    caller_note_runtime((const void *)strlen);
    cr_expect_eq(shaped(plain, one, many, 0), CUDA_ERROR_INVALID_VALUE, "it is elsewhere");
    caller_note_runtime((const void *)begin);
    caller_note_runtime((const void *)begin);
    cr_expect_eq(shaped(plain, one, many, 0), invalid_configuration);
    many[0] = 257;
    cr_expect_eq(shaped(mixed, one, many, 0), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    cr_expect_eq(shaped(plain, one, one, 1 << 20), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_launch, more_shared_memory_once_it_was_asked_for) {
    unsigned int one[3] = {1, 1, 1};
    CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    cr_assert_eq(cuFuncSetAttribute(plain, most, 227 << 10), CUDA_ERROR_INVALID_VALUE,
                 "with its own 1024 bytes it is too much");
    cr_assert_eq(cuFuncSetAttribute(plain, most, 226 << 10), CUDA_SUCCESS);
    cr_assert_eq(shaped(plain, one, one, 226 << 10), CUDA_SUCCESS);
    const struct wire_launch *l = rig_only(WIRE_LAUNCH);
    cr_assert_eq(l->shared_bytes, 226 << 10);
    cr_assert_eq(shaped(plain, one, one, (226 << 10) + 1), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_launch, a_cooperative_grid_fits_the_device) {
    cr_assert_eq(cuLaunchCooperativeKernel(plain, 8, 1, 1, 1024, 1, 1, 0, NULL, NULL),
                 CUDA_SUCCESS);
    const struct wire_launch *l = rig_only(WIRE_LAUNCH);
    cr_assert_eq(l->flags, WIRE_LAUNCH_COOPERATIVE);
    cr_assert_eq(cuLaunchCooperativeKernel(plain, 9, 1, 1, 1024, 1, 1, 0, NULL, NULL),
                 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "4 SMs hold 2 blocks each");
    cr_assert_eq(cuLaunchCooperativeKernel(plain, 65536, 65535, 65535, 1, 1, 1, 0, NULL, NULL),
                 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "a product of 48 bits");
    cr_assert_eq(rig_count(), 1);
}

/* Enters a green context of half of 4 multiprocessors. *in: the context, which is then current. */
static CUstream enter_green(CUcontext *in) {
    CUdevResource all, part;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUstream s;
    unsigned int one = 1;
    cr_assert_eq(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    cr_assert_eq(cuDevSmResourceSplitByCount(&part, &one, &all, NULL,
                                             CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 2),
                 CUDA_SUCCESS);
    cr_assert_eq(cuDevResourceGenerateDesc(&desc, &part, 1), CUDA_SUCCESS);
    cr_assert_eq(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
    cr_assert_eq(cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    cr_assert_eq(cuCtxFromGreenCtx(in, green), CUDA_SUCCESS);
    cr_assert_eq(cuCtxPushCurrent_v2(*in), CUDA_SUCCESS);
    return s;
}

static CUresult launch_together(unsigned int blocks, CUstream s) {
    return cuLaunchCooperativeKernel(plain, blocks, 1, 1, 1024, 1, 1, 0, s, NULL);
}

Test(shim_launch, a_cooperative_grid_fits_its_green_context) {
    CUcontext context;
    CUstream whole, s;
    int grid, block, clusters;
    cr_assert_eq(cuStreamCreate(&whole, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    s = enter_green(&context);
    cr_expect_eq(launch_together(4, s), CUDA_SUCCESS);
    cr_expect_eq(launch_together(5, s), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    cr_expect_eq(launch_together(5, NULL), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    cr_expect_eq(launch_together(8, whole), CUDA_SUCCESS, "a stream of the whole device");
    cr_assert_eq(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    cr_expect_eq(launch_together(5, s), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    cr_assert_eq(cuOccupancyMaxPotentialBlockSize(&grid, &block, plain, NULL, 0, 1024),
                 CUDA_SUCCESS);
    cr_expect(grid == 4 && block == 1024, "%d blocks of %d", grid, block);
    CUlaunchAttribute of_two = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                .value = {.clusterDim = {2, 1, 1}}};
    CUlaunchConfig config = {8, 1, 1, 1024, 1, 1, 0, NULL, &of_two, 1};
    cr_assert_eq(cuOccupancyMaxActiveClusters(&clusters, plain, &config), CUDA_SUCCESS);
    cr_expect_eq(clusters, 2);
    config.hStream = whole;
    cr_assert_eq(cuOccupancyMaxActiveClusters(&clusters, plain, &config), CUDA_SUCCESS);
    cr_expect_eq(clusters, 4);
    cr_assert_eq(cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
    cr_expect_eq(launch_together(8, NULL), CUDA_SUCCESS);
    cr_expect_eq(launch_together(5, s), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    cr_assert_eq(cuOccupancyMaxPotentialBlockSize(&grid, &block, plain, NULL, 0, 1024),
                 CUDA_SUCCESS);
    cr_expect_eq(grid, 8);
}

Test(shim_launch, attributes_that_change_results) {
    CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
    CUlaunchAttribute updated = {.id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE};
    updated.value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    CUlaunchConfig config = {.gridDimX = 2,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &cooperative,
                             .numAttrs = 1};
    cooperative.value.cooperative = 1;
    cr_assert_eq(cuLaunchKernelEx(&config, plain, NULL, NULL), CUDA_SUCCESS);
    const struct wire_launch *l = rig_only(WIRE_LAUNCH);
    cr_assert_eq(l->flags, WIRE_LAUNCH_COOPERATIVE);
    config.attrs = &updated;
    cr_assert_eq(cuLaunchKernelEx(&config, plain, NULL, NULL), CUDA_ERROR_INVALID_VALUE,
                 "it is no node");
    config.attrs = NULL;
    cr_assert_eq(cuLaunchKernelEx(&config, plain, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuLaunchKernelEx(NULL, plain, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(rig_count(), 1);
}

/* ---- clusters -------------------------------------------------------------------------------- */

static CUlaunchAttribute cluster;

static CUlaunchConfig clustered(unsigned int grid, unsigned int x, unsigned int y, unsigned int z) {
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = x;
    cluster.value.clusterDim.y = y;
    cluster.value.clusterDim.z = z;
    return (CUlaunchConfig){.gridDimX = grid,
                            .gridDimY = grid,
                            .gridDimZ = grid,
                            .blockDimX = 32,
                            .blockDimY = 1,
                            .blockDimZ = 1,
                            .attrs = &cluster,
                            .numAttrs = 1};
}

static CUresult launch_clustered(CUfunction f, unsigned int grid, unsigned int x, unsigned int y,
                                 unsigned int z) {
    CUlaunchConfig config = clustered(grid, x, y, z);
    return cuLaunchKernelEx(&config, f, NULL, NULL);
}

static int active(const CUlaunchConfig *config) {
    int count = -1;
    cr_assert_eq(cuOccupancyMaxActiveClusters(&count, plain, config), CUDA_SUCCESS);
    return count;
}

static int largest(const CUlaunchConfig *config) {
    int blocks = -1;
    cr_assert_eq(cuOccupancyMaxPotentialClusterSize(&blocks, plain, config), CUDA_SUCCESS);
    return blocks;
}

Test(shim_launch, the_device_counts_clusters) {
    CUlaunchConfig config = clustered(8, 2, 1, 1);
    const int own = active(&config);
    cr_expect_gt(own, RIG_CLUSTERS);
    cr_expect_eq(largest(&config), 8);
    cr_expect_eq(rig_count(), 0, "by what it says of itself");
    state.conn.device.flags |= WIRE_DEVICE_CLUSTERS;
    config.blockDimX = 16;
    config.blockDimY = config.blockDimZ = 2;
    config.sharedMemBytes = 1000;
    cr_expect_eq(active(&config), RIG_CLUSTERS);
    const struct wire_clusters *k = rig_only(WIRE_CLUSTERS);
    cr_expect(k->threads == 64 && k->shared_bytes == 1000 && !k->largest);
    cr_expect_eq(k->flags, wire_cluster_flags(2, 1, 1));
    cr_expect_eq(largest(&config), 4);
    k = rig_record(1, NULL);
    cr_expect(k->rec.op == WIRE_CLUSTERS && k->largest && k->threads == 64);
    rig_forget();
    config.numAttrs = 0;
    cr_expect_eq(active(&config), 0, "blocks by themselves are no clusters");
    config.blockDimX = 2000;
    cr_expect_eq(largest(&config), 0);
    cr_expect_eq(rig_count(), 0, "which would end the job");
    config = clustered(8, 2, 1, 1);
    rig_refuse(WIRE_CLUSTERS, -EINVAL, NULL);
    int count = 77;
    cr_expect_eq(cuOccupancyMaxActiveClusters(&count, plain, &config), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(count, 77);
}

Test(shim_launch, a_part_of_the_device_holds_no_more_than_fit) {
    CUcontext context;
    CUlaunchConfig config = clustered(8, 2, 1, 1);
    CUstream s = enter_green(&context);
    config.blockDimX = 1024;
    config.hStream = s;
    cr_expect_eq(active(&config), 2);
    state.conn.device.flags |= WIRE_DEVICE_CLUSTERS;
    cr_expect_eq(active(&config), 2, "the device was asked about all of it");
}

/* ---- modes of a launch ----------------------------------------------------------------------- */

/* Launches with attribute `id` set to `mode`, and with `shared` bytes of shared memory; if that is
 * 0, with clusters of 16 blocks. */
static CUresult launch_as(CUlaunchAttributeID id, unsigned int mode, unsigned int shared) {
    CUlaunchAttribute a[2] = {{.id = id}, {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION}};
    CUlaunchConfig config = {16, 1, 1, 32, 1, 1, shared, NULL, a, shared ? 1 : 2};
    memcpy(&a[0].value, &mode, sizeof(mode));
    a[1].value.clusterDim.x = 16;
    a[1].value.clusterDim.y = a[1].value.clusterDim.z = 1;
    return cuLaunchKernelEx(&config, plain, NULL, NULL);
}

Test(shim_launch, a_launch_says_whether_its_clusters_are_portable) {
    const CUlaunchAttributeID id = CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE;
    cr_expect_eq(launch_as(id, 0, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    cr_expect_eq(launch_as(id, 1, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    cr_expect_eq(launch_as(id, 2, 0), CUDA_SUCCESS);
    cr_expect_eq(launch_as(id, 3, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuFuncSetAttribute(plain, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                 CUDA_SUCCESS);
    cr_expect_eq(launch_as(id, 0, 0), CUDA_SUCCESS);
    cr_expect_eq(launch_as(id, 1, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

Test(shim_launch, a_launch_says_whether_its_shared_memory_is_portable) {
    const CUlaunchAttributeID id = CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE;
    const unsigned int most = 226 << 10, portable = 47 << 10;
    cr_expect_eq(launch_as(id, 0, portable + 1), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(launch_as(id, 1, portable), CUDA_SUCCESS);
    for (unsigned int mode = 2; mode <= 4; mode++) {
        cr_expect_eq(launch_as(id, mode, most), CUDA_SUCCESS, "%u", mode);
        cr_expect_eq(launch_as(id, mode, most + 1), CUDA_ERROR_INVALID_VALUE, "%u", mode);
    }
    cr_expect_eq(launch_as(id, 5, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(
        cuFuncSetAttribute(plain, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)most),
        CUDA_SUCCESS);
    cr_expect_eq(launch_as(id, 0, most), CUDA_SUCCESS);
    cr_expect_eq(launch_as(id, 1, portable + 1), CUDA_ERROR_INVALID_VALUE);
}

Test(shim_launch, a_node_says_whether_its_clusters_are_portable) {
    CUgraph g;
    CUgraphNode n;
    CUDA_KERNEL_NODE_PARAMS_v2 p = {.func = plain,
                                    .gridDimX = 16,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = 32,
                                    .blockDimY = 1,
                                    .blockDimZ = 1};
    CUlaunchAttributeValue sides = {.clusterDim = {16, 1, 1}};
    CUlaunchAttributeValue mode = {.portableClusterSizeMode =
                                       CU_LAUNCH_PORTABLE_CLUSTER_MODE_ALLOW_NON_PORTABLE};
    cr_assert_eq(cuGraphCreate(&g, 0), CUDA_SUCCESS);
    cr_assert_eq(cuGraphAddKernelNode_v2(&n, g, NULL, 0, &p), CUDA_SUCCESS);
    cr_expect_eq(cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &sides),
                 CUDA_ERROR_INVALID_CLUSTER_SIZE);
    cr_expect_eq(
        cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE, &mode),
        CUDA_SUCCESS);
    cr_expect_eq(cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &sides),
                 CUDA_SUCCESS);
}

Test(shim_launch, clusters_are_of_what_the_grid_has) {
    cr_assert_eq(launch_clustered(plain, 12, 2, 3, 1), CUDA_SUCCESS);
    const struct wire_launch *l = rig_only(WIRE_LAUNCH);
    cr_assert_eq(l->flags, wire_cluster_flags(2, 3, 1));
    cr_assert_eq(launch_clustered(plain, 12, 1, 1, 1), CUDA_SUCCESS);
    const unsigned int bad[][4] = {{12, 5, 1, 1},  {12, 1, 5, 1}, {12, 1, 1, 5},
                                   {12, 4, 3, 1},  {12, 0, 1, 1}, {12, 1, 1, 0},
                                   {34, 17, 1, 1}, {1, 2, 1, 1},  {1 << 13, 1 << 13, 1, 1}};
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
        cr_assert_eq(launch_clustered(plain, bad[k][0], bad[k][1], bad[k][2], bad[k][3]),
                     CUDA_ERROR_INVALID_CLUSTER_SIZE, "%zu", k);
    cr_assert_eq(rig_count(), 2);
}

Test(shim_launch, more_than_8_blocks_have_to_be_allowed) {
    int value = -1;
    const CUfunction_attribute allowed = CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    cr_assert_eq(launch_clustered(plain, 4, 4, 2, 1), CUDA_SUCCESS);
    cr_assert_eq(launch_clustered(plain, 4, 4, 4, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    cr_assert_eq(cuFuncSetAttribute(plain, allowed, 2), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuFuncSetAttribute(plain, allowed, 1), CUDA_SUCCESS);
    cr_assert_eq(cuFuncGetAttribute(&value, allowed, plain), CUDA_SUCCESS);
    cr_assert_eq(value, 1);
    cr_assert_eq(launch_clustered(plain, 4, 4, 4, 1), CUDA_SUCCESS);
    cr_assert_eq(launch_clustered(plain, 4, 4, 4, 2), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    cr_assert_eq(rig_count(), 2);
}

static int attribute_of(CUfunction f, CUfunction_attribute attribute) {
    int value = -1;
    cr_assert_eq(cuFuncGetAttribute(&value, attribute, f), CUDA_SUCCESS);
    return value;
}

Test(shim_launch, a_kernel_may_say_its_cluster) {
    CUfunction f = find("grouped");
    rig_forget();
    cr_assert_eq(launch_clustered(f, 4, 2, 2, 1), CUDA_SUCCESS);
    cr_assert_eq(launch_clustered(f, 4, 2, 1, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    cr_assert_eq(cuLaunchKernel(f, 4, 2, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS);
    cr_assert_eq(((const struct wire_launch *)rig_record(1, NULL))->flags,
                 wire_cluster_flags(2, 2, 1));
    cr_assert_eq(cuLaunchKernel(f, 4, 3, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_CLUSTER_SIZE);
    cr_assert_eq(attribute_of(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 2);
    cr_assert_eq(attribute_of(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH), 1);
    cr_assert_eq(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2),
                 CUDA_ERROR_NOT_PERMITTED);
    cr_assert_eq(rig_count(), 2);
}

Test(shim_launch, a_kernel_may_ask_for_a_cluster) {
    CUfunction f = find("undecided");
    rig_forget();
    cr_assert_eq(attribute_of(f, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 1);
    cr_assert_eq(cuLaunchKernel(f, 8, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_CLUSTER_SIZE);
    cr_assert_eq(launch_clustered(f, 8, 4, 1, 1), CUDA_SUCCESS);
    cr_assert_eq(launch_clustered(f, 8, 8, 1, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    for (int axis = 0; axis < 3; axis++) {
        cr_assert_eq(cuLaunchKernel(f, 8, 2, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_CLUSTER_SIZE, "%d", axis);
        CUfunction_attribute a = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + (unsigned)axis;
        cr_assert_eq(cuFuncSetAttribute(f, a, -1), CUDA_ERROR_INVALID_VALUE);
        cr_assert_eq(cuFuncSetAttribute(f, a, axis < 2 ? 2 : 1), CUDA_SUCCESS);
        cr_assert_eq(attribute_of(f, a), axis < 2 ? 2 : 1);
    }
    cr_assert_eq(cuLaunchKernel(f, 8, 2, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS);
    cr_assert_eq(((const struct wire_launch *)rig_record(1, NULL))->flags,
                 wire_cluster_flags(2, 2, 1));
}

/* The device has four multiprocessors of 2048 threads. */
Test(shim_launch, how_many_clusters_fit) {
    CUlaunchConfig config = clustered(8, 4, 1, 1);
    int n = -1;
    config.blockDimX = 1024;
    cr_assert_eq(cuOccupancyMaxPotentialClusterSize(&n, plain, &config), CUDA_SUCCESS);
    cr_assert_eq(n, 8);
    cr_assert_eq(cuOccupancyMaxActiveClusters(&n, plain, &config), CUDA_SUCCESS);
    cr_assert_eq(n, 2);
    cluster.value.clusterDim.x = 16;
    cr_assert_eq(cuOccupancyMaxActiveClusters(&n, plain, &config), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    cr_assert_eq(cuOccupancyMaxPotentialClusterSize(&n, plain, &config),
                 CUDA_ERROR_INVALID_CLUSTER_SIZE);
    cr_assert_eq(cuFuncSetAttribute(plain, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                 CUDA_SUCCESS);
    cr_assert_eq(cuOccupancyMaxActiveClusters(&n, plain, &config), CUDA_SUCCESS);
    cr_assert_eq(n, 0, "eight blocks are resident");
    config.blockDimX = 256;
    cr_assert_eq(cuOccupancyMaxActiveClusters(&n, plain, &config), CUDA_SUCCESS);
    cr_assert_eq(n, 2);
    cluster.value.clusterDim.y = 2;
    cr_assert_eq(cuOccupancyMaxActiveClusters(&n, plain, &config), CUDA_SUCCESS);
    cr_assert_eq(n, 0, "no device takes such");
    config.attrs = NULL;
    cr_assert_eq(cuOccupancyMaxActiveClusters(&n, plain, &config), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuOccupancyMaxPotentialClusterSize(NULL, plain, &config),
                 CUDA_ERROR_INVALID_VALUE);
}

/* An event of a part of a kernel is recorded after the whole kernel. */
Test(shim_launch, events_of_a_launch) {
    CUlaunchConfig config = clustered(1, 1, 1, 1);
    CUevent event;
    cr_assert_eq(cuEventCreate(&event, 0), CUDA_SUCCESS);
    rig_forget();
    cluster.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
    cluster.value.programmaticEvent.event = event;
    cluster.value.programmaticEvent.flags = 0;
    cr_assert_eq(cuLaunchKernelEx(&config, plain, NULL, NULL), CUDA_SUCCESS);
    cluster.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    cr_assert_eq(cuLaunchKernelEx(&config, plain, NULL, NULL), CUDA_SUCCESS);
    cluster.value.launchCompletionEvent.event = NULL;
    cr_assert_neq(cuLaunchKernelEx(&config, plain, NULL, NULL), CUDA_SUCCESS);
    const uint16_t ops[] = {WIRE_LAUNCH, WIRE_EVENT_RECORD, WIRE_LAUNCH, WIRE_EVENT_RECORD,
                            WIRE_LAUNCH};
    cr_assert_eq(rig_count(), 5);
    for (uint32_t k = 0; k < 5; k++)
        cr_assert_eq(((const struct wire_record *)rig_record(k, NULL))->op, ops[k], "%u", k);
}

/* ---- order, and context end ------------------------------------------------------------------ */

Test(shim_launch, each_stream_counts_its_own) {
    CUstream a, b;
    cr_assert_eq(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    cr_assert_eq(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    rig_forget();
    CUstream order[] = {a, b, a, a, b};
    uint32_t seq[] = {1, 1, 2, 3, 2};
    for (int i = 0; i < 5; i++)
        cr_assert_eq(launch(plain, order[i], NULL, NULL), CUDA_SUCCESS);
    cr_assert_eq(rig_count(), 5);
    const struct wire_launch *first = rig_record(0, NULL), *second = rig_record(1, NULL);
    cr_assert(first->rec.stream && second->rec.stream);
    cr_assert_neq(first->rec.stream, second->rec.stream);
    for (uint32_t i = 0; i < 5; i++) {
        const struct wire_launch *l = rig_record(i, NULL);
        cr_assert_eq(l->rec.seq, seq[i]);
        cr_assert_eq(l->rec.stream, order[i] == a ? first->rec.stream : second->rec.stream);
    }
}

Test(shim_launch, what_is_no_handle) {
    int something;
    CUstream gone;
    cr_assert_eq(cuStreamCreate(&gone, 0), CUDA_SUCCESS);
    cr_assert_eq(cuStreamDestroy_v2(gone), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(launch((CUfunction)&something, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(launch(NULL, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(launch(plain, gone, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(launch(plain, (CUstream)&something, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuModuleUnload(module), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(launch(plain, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(rig_count(), 0);
}

Test(shim_launch, a_blocking_launch_is_complete_when_it_returns) {
    state.launch_blocking = true;
    cr_assert_eq(launch(plain, NULL, NULL, NULL), CUDA_SUCCESS);
    cr_assert_eq(atom_load_acquire(&state.conn.completion->stream_done[0]), 1);
}

Test(shim_launch, after_the_end_nothing_is_sent) {
    rig_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_eq(launch(plain, NULL, NULL, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_eq(rig_count(), 0);
}

Test(shim_launch, without_a_context_nothing_is_sent) {
    cr_assert_eq(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    cr_assert_eq(launch(plain, NULL, NULL, NULL), CUDA_ERROR_INVALID_CONTEXT);
    cr_assert_eq(rig_count(), 0);
}

/* ---- launch calls from before CUDA 4.0 ------------------------------------------------------- */

static void set_mixed(void) {
    cr_assert_eq(cuFuncSetBlockShape(mixed, 32, 4, 2), CUDA_SUCCESS);
    cr_assert_eq(cuFuncSetSharedSize(mixed, 256), CUDA_SUCCESS);
    cr_assert_eq(cuParamSetv(mixed, 0, &byte, 1), CUDA_SUCCESS);
    cr_assert_eq(cuParamSetv(mixed, 8, &pointer, 8), CUDA_SUCCESS);
    cr_assert_eq(cuParamSeti(mixed, 16, word), CUDA_SUCCESS);
    cr_assert_eq(cuParamSetv(mixed, 20, (void *)text, 12), CUDA_SUCCESS);
    cr_assert_eq(cuParamSetSize(mixed, 32), CUDA_SUCCESS);
}

Test(shim_launch, what_is_set_on_a_kernel_is_launched) {
    CUstream stream;
    float value = 0;
    cr_assert_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    set_mixed();
    rig_forget();
    cr_assert_eq(cuLaunchGridAsync(mixed, 3, 2, stream), CUDA_SUCCESS);
    const struct wire_launch *l = rig_only(WIRE_LAUNCH);
    cr_assert(l->grid[0] == 3 && l->grid[1] == 2 && l->grid[2] == 1);
    cr_assert(l->block[0] == 32 && l->block[1] == 4 && l->block[2] == 2);
    cr_assert(l->shared_bytes == 256 && l->flags == 0 && l->param_bytes == 32);
    cr_assert_neq(l->rec.stream, 0);
    check_mixed((const unsigned char *)(l + 1));
    cr_assert_eq(cuParamSetf(mixed, 16, 1.5f), CUDA_SUCCESS);
    rig_forget();
    cr_assert_eq(cuLaunch(mixed), CUDA_SUCCESS);
    l = rig_only(WIRE_LAUNCH);
    cr_assert(l->grid[0] == 1 && l->grid[1] == 1 && l->rec.stream == 0);
    memcpy(&value, (const unsigned char *)(l + 1) + 16, sizeof(value));
    cr_assert_eq(value, 1.5f);
}

Test(shim_launch, what_is_not_set_is_not_launched) {
    cr_assert_eq(cuLaunchGrid(plain, 1, 1), BAD_SHAPE);
    set_mixed();
    cr_assert_eq(cuLaunchGrid(mixed, 0, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuLaunchGrid(mixed, 1, -1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuFuncSetBlockShape(mixed, 32, 0, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuLaunch((CUfunction)arguments), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuFuncSetSharedSize((CUfunction)arguments, 0), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuParamSetTexRef(mixed, -1, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(rig_count(), 0);
}

Test(shim_launch, what_is_set_stays_within_its_room) {
    static char much[FUNCTION_SET_MAX];
    cr_assert_eq(cuParamSetv(mixed, 0, much, sizeof(much)), CUDA_SUCCESS);
    cr_assert_eq(cuParamSetv(mixed, 1, much, sizeof(much)), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuParamSetv(mixed, 8, much, UINT32_MAX), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuParamSetv(mixed, -1, much, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuParamSetv(mixed, 0, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuParamSeti(mixed, sizeof(much) - 3, 0), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuParamSetSize(mixed, sizeof(much)), CUDA_SUCCESS);
    cr_assert_eq(cuParamSetSize(mixed, sizeof(much) + 1), CUDA_ERROR_INVALID_VALUE);
}
