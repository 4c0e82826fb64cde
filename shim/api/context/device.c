/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes and identity of the device, as device_view.h presents them to the program.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"
#include "shim/device/caller.h"
#include "shim/device/device_view.h"
#include "shim/pci.h"

/* Answers the attributes of the compute capability, which depends on the caller; false for any
 * other attribute. */
static bool of_capability(CUdevice_attribute attribute, const void *caller, int *value) {
    bool major = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    if (!major && attribute != CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) return false;
    uint32_t capability = caller_capability(caller);
    *value = (int)(major ? capability / 10 : capability % 10);
    return true;
}

/* Every call about a device enters here. */
static CUresult enter(CUdevice dev) {
    CUresult r = state_ready();
    if (r) return r;
    return dev == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev) {
    CUresult r = enter(dev);
    if (r) return r;
    if (!pi) return CUDA_ERROR_INVALID_VALUE;
    if (of_capability(attrib, __builtin_return_address(0), pi)) return CUDA_SUCCESS;
    return device_view_attribute(attrib, pi) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The device belongs to no fabric. */
CUresult cuDeviceGetCliqueCount(size_t *count, CUdevice dev) {
    CUresult r = enter(dev);
    if (r) return r;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCliqueInfo(CUcliqueInfo *cliqueInfo, size_t *count, CUdevice dev) {
    return cliqueInfo ? cuDeviceGetCliqueCount(count, dev) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDriverGetVersion(int *driverVersion) {
    if (!driverVersion) return CUDA_ERROR_INVALID_VALUE;
    *driverVersion = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    CUresult r = enter(ordinal);
    if (r) return r;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
    CUresult r = state_ready();
    if (r) return r;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev) {
    CUresult r = enter(dev);
    if (r) return r;
    if (!name || len <= 0) return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)len, "%s", state.conn.device.name);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev) {
    CUresult r = enter(dev);
    if (r) return r;
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    memcpy(uuid->bytes, state.conn.device.uuid, sizeof(uuid->bytes));
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev) {
    CUresult r = enter(dev);
    if (r) return r;
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    *bytes = state.conn.device.memory_bytes;
    return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev) {
    CUresult r = enter(dev);
    if (r) return r;
    if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
    uint32_t capability = caller_capability(__builtin_return_address(0));
    *major = (int)(capability / 10);
    *minor = (int)(capability % 10);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev) {
    CUresult r = enter(dev);
    if (r) return r;
    if (!prop) return CUDA_ERROR_INVALID_VALUE;
    *prop = (CUdevprop){
        .maxThreadsPerBlock = device_view(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsDim = {device_view(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                          device_view(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                          device_view(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
        .maxGridSize = {device_view(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                        device_view(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                        device_view(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
        .sharedMemPerBlock = device_view(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .totalConstantMemory = device_view(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        .SIMDWidth = device_view(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .memPitch = device_view(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        .regsPerBlock = device_view(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .clockRate = device_view(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        .textureAlign = device_view(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    };
    return CUDA_SUCCESS;
}

static struct pci_place place(void) {
    return (struct pci_place){(uint32_t)device_view(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
                              (uint32_t)device_view(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
                              (uint32_t)device_view(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)};
}

CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev) {
    CUresult r = enter(dev);
    if (r) return r;
    if (!pciBusId || len <= 0) return CUDA_ERROR_INVALID_VALUE;
    const struct pci_place p = place();
    snprintf(pciBusId, (size_t)len, "%04X:%02X:%02X.0", p.domain, p.bus, p.slot);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId) {
    CUresult r = state_ready();
    if (r) return r;
    if (!dev || !pciBusId) return CUDA_ERROR_INVALID_VALUE;
    const struct pci_place p = place();
    int err = pci_check(pciBusId, &p);
    if (err) return err == -EINVAL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
    *dev = 0;
    return CUDA_SUCCESS;
}

/* Always 0: a context covers the whole device (cuCtxCreate_v3 refuses a part of it). */
CUresult cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev) {
    CUresult r = enter(dev);

    if (r) return r;
    if (!pi || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
    *pi = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev) {
    CUresult r = enter(dev);
    if (!r) r = enter(peerDev);
    if (r) return r;
    if (!canAccessPeer) return CUDA_ERROR_INVALID_VALUE;
    *canAccessPeer = 0;
    return CUDA_SUCCESS;
}

/* No atomic operation reaches host memory: HOST_NATIVE_ATOMIC_SUPPORTED is 0. */
CUresult cuDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
                                           const CUatomicOperation *operations, unsigned int count,
                                           CUdevice dev) {
    CUresult r = enter(dev);
    if (r) return r;
    if (!capabilities || !operations || !count) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < count; i++) {
        if ((unsigned int)operations[i] > CU_ATOMIC_OPERATION_FLOAT_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        capabilities[i] = 0;
    }
    return CUDA_SUCCESS;
}

/* Always an error: a link needs two devices. */
CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
                                          const CUatomicOperation *operations, unsigned int count,
                                          CUdevice srcDevice, CUdevice dstDevice) {
    CUresult r = state_ready();
    if (r) return r;
    bool asked = capabilities && operations && count;
    return asked ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
}

/* Always an error: a link needs two devices. */
CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                 CUdevice dstDevice) {
    CUresult r = state_ready();
    if (r) return r;
    return value ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
}
