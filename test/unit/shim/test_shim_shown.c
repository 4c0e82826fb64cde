/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of a device other than the software GPU: the device's attributes are reported as
 * they are, those that Salus decides never change, and launches and occupancy use the device's.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/connection/state.h"
#include "shim/context/stream.h"
#include "shim/device/device_view.h"
#include "test/lib/shim/rig.h"

static struct description *said; /* as the worker wrote it */

static void begin(void) {
    rig_begin();
    rig_forget();
    said = &state.conn.description;
}

TestSuite(shim_shown, .init = begin, .timeout = 60);

static int ask(CUdevice_attribute attribute) {
    int value = -77;
    cr_assert_eq(cuDeviceGetAttribute(&value, attribute, 0), CUDA_SUCCESS, "%d", (int)attribute);
    return value;
}

Test(shim_shown, the_devices_own_are_as_it_says) {
    int value = 5;
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), 0x3b);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE), 655360);
    description_set(said, CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1);
    description_set(said, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 12345);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_ECC_ENABLED), 1);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE), 12345);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_INTEGRATED), 0, "its driver does not know it");
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED), 0, "nor what is newer");
    for (int wrong = 250; wrong < 270; wrong++)
        cr_expect_eq(cuDeviceGetAttribute(&value, (CUdevice_attribute)wrong, 0),
                     CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuDeviceGetAttribute(&value, (CUdevice_attribute)-1, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(value, 5);
    description_set(said, 200, 42); /* an attribute newer than this library */
    cr_expect_eq(ask((CUdevice_attribute)200), 42);
}

/* The example device has the opposite value of each of these. */
Test(shim_shown, what_salus_decides_is_not_the_devices) {
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE), CU_COMPUTEMODE_DEFAULT);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS), 0);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED), 0);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM), 0);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED), 1);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_NUMA_ID), -1);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY), 1, "though the driver does not say");
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT), 4);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK), 227 << 10);
}

Test(shim_shown, a_job_that_asked_for_less_finds_nothing_of_hopper) {
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH), 1);
    state.conn.device.cc_major = 8;
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH), 0);
    cr_expect_eq(ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 8);
}

Test(shim_shown, where_it_is) {
    char text[32];
    CUdevice dev = 9;
    description_set(said, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0x10);
    cr_assert_eq(cuDeviceGetPCIBusId(text, sizeof(text), 0), CUDA_SUCCESS);
    cr_expect_str_eq(text, "0010:3B:04.0");
    cr_expect_eq(cuDeviceGetByPCIBusId(&dev, text), CUDA_SUCCESS);
    cr_expect_eq(dev, 0);
    cr_expect_eq(cuDeviceGetByPCIBusId(&dev, "0010:3B:04"), CUDA_SUCCESS);
    cr_expect_eq(cuDeviceGetByPCIBusId(&dev, "3b:04.0"), CUDA_ERROR_INVALID_DEVICE,
                 "another domain");
    cr_expect_eq(cuDeviceGetByPCIBusId(&dev, "0000:01:00.0"), CUDA_ERROR_INVALID_DEVICE);
}

Test(shim_shown, properties_are_the_attributes) {
    CUdevprop p;
    description_set(said, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 32);
    description_set(said, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 777);
    cr_assert_eq(cuDeviceGetProperties(&p, 0), CUDA_SUCCESS);
    cr_expect(p.maxThreadsDim[2] == 32 && p.totalConstantMemory == 777 && p.SIMDWidth == 32);
    cr_expect(p.maxGridSize[1] == 65535 && p.sharedMemPerBlock == 48 << 10);
}

Test(shim_shown, priorities_limits_and_widths) {
    int least = 9, greatest = 9, priority = 9;
    size_t value = 0;
    CUstream s;
    cr_assert_eq(cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS);
    cr_expect(least == 0 && greatest == -4);
    cr_assert_eq(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -5), CUDA_SUCCESS);
    cr_assert_eq(cuStreamGetPriority(s, &priority), CUDA_SUCCESS);
    cr_expect_eq(priority, -4);
    cr_assert_eq(cuCtxGetLimit(&value, CU_LIMIT_MAX_L2_FETCH_GRANULARITY), CUDA_SUCCESS);
    cr_expect_eq(value, 64);
    cr_assert_eq(cuCtxGetLimit(&value, CU_LIMIT_PRINTF_FIFO_SIZE), CUDA_SUCCESS);
    cr_expect_eq(value, WIRE_TEXT_BYTES, "whatever the device has");
    said->texture1d_linear[4] = 1u << 24;
    cr_assert_eq(cuDeviceGetTexture1DLinearMaxWidth(&value, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0),
                 CUDA_SUCCESS);
    cr_expect_eq(value, 1u << 28);
    cr_assert_eq(cuDeviceGetTexture1DLinearMaxWidth(&value, CU_AD_FORMAT_FLOAT, 4, 0),
                 CUDA_SUCCESS);
    cr_expect_eq(value, 1u << 24);
    said->texture1d_linear[4] = UINT64_MAX; /* more than a record can express */
    cr_assert_eq(cuDeviceGetTexture1DLinearMaxWidth(&value, CU_AD_FORMAT_FLOAT, 4, 0),
                 CUDA_SUCCESS);
    cr_expect_eq(value, 1u << 28);
}

Test(shim_shown, parts_of_the_device) {
    CUdevResource r;
    cr_assert_eq(cuDeviceGetDevResource(0, &r, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    cr_expect(r.sm.minSmPartitionSize == 8 && r.sm.smCoscheduledAlignment == 8, "by the guideline");
    said->sm_partition_least = 4;
    said->sm_partition_unit = 2;
    cr_assert_eq(cuDeviceGetDevResource(0, &r, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    cr_expect(r.sm.minSmPartitionSize == 4 && r.sm.smCoscheduledAlignment == 2, "as it says");
}

Test(shim_shown, arrays_are_as_large_as_the_device_takes) {
    CUarray a;
    CUDA_ARRAY_DESCRIPTOR d = {
        .Width = 4096, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    cr_assert_eq(cuArrayCreate_v2(&a, &d), CUDA_SUCCESS);
    description_set(said, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 4095);
    cr_expect_eq(cuArrayCreate_v2(&a, &d), CUDA_ERROR_INVALID_VALUE);
    description_set(said, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 1 << 20);
    d.Width = (1 << 17) + 1; /* more than a record can express */
    cr_expect_eq(cuArrayCreate_v2(&a, &d), CUDA_ERROR_INVALID_VALUE);
}
