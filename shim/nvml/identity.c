/* SPDX-License-Identifier: Apache-2.0
 *
 * The identity of a device, as CUDA reports it to a job with this environment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cuda/capability.h"
#include "proto/cuda/uuid.h"
#include "shim/nvml/device.h"
#include "shim/nvml/library.h"

nvml_result nvmlDeviceGetName(nvml_handle device, char *name, unsigned int length) {
    struct wire_view v;
    nvml_result r = device_look(device, name, &v);
    return r ? r : library_give(v.device.name, name, length);
}

nvml_result nvmlDeviceGetUUID(nvml_handle device, char *uuid, unsigned int length) {
    char text[UUID_TEXT_BYTES];
    struct wire_view v;
    nvml_result r = device_look(device, uuid, &v);

    if (r) return r;
    uuid_print(v.device.uuid, text);
    return library_give(text, uuid, length);
}

/* ---- capability ------------------------------------------------------------------------------ */

/* Returns 90 for 9.0: the capability that a job of this process asks for, else the device's. */
static nvml_result find_capability(nvml_handle device, bool arguments_given, unsigned int *out) {
    const char *asked = getenv("SALUS_CAPABILITY");
    struct wire_view v;
    nvml_result r = device_look(device, arguments_given, &v);

    if (r) return r;
    *out = asked ? capability_parse(asked) : 0;
    if (!*out) *out = v.device.cc_major * 10 + v.device.cc_minor;
    return NVML_SUCCESS;
}

nvml_result nvmlDeviceGetCudaComputeCapability(nvml_handle device, int *major, int *minor) {
    unsigned int capability;
    nvml_result r = find_capability(device, major && minor, &capability);

    if (r) return r;
    *major = (int)(capability / 10);
    *minor = (int)(capability % 10);
    return NVML_SUCCESS;
}

/* The first capability of each architecture. */
static const struct {
    unsigned int capability, architecture;
} architectures[] = {
    {130, NVML_ARCH_UNKNOWN}, {100, NVML_ARCH_BLACKWELL}, {90, NVML_ARCH_HOPPER},
    {89, NVML_ARCH_ADA},      {80, NVML_ARCH_AMPERE},     {75, NVML_ARCH_TURING},
    {0, NVML_ARCH_UNKNOWN},
};

nvml_result nvmlDeviceGetArchitecture(nvml_handle device, unsigned int *architecture) {
    unsigned int capability, i = 0;
    nvml_result r = find_capability(device, architecture, &capability);

    if (r) return r;
    while (capability < architectures[i].capability)
        i++;
    *architecture = architectures[i].architecture;
    return NVML_SUCCESS;
}

/* ---- PCI bus --------------------------------------------------------------------------------- */

static void print_bus_id(const struct wire_device *d, char out[NVML_BUS_ID_BYTES]) {
    memset(out, 0, NVML_BUS_ID_BYTES);
    snprintf(out, NVML_BUS_ID_BYTES, "%08X:%02X:%02X.0", d->pci_domain, d->pci_bus, d->pci_slot);
}

nvml_result nvmlDeviceGetPciInfo_v3(nvml_handle device, struct nvml_pci *pci) {
    struct wire_view v;
    nvml_result r = device_look(device, pci, &v);

    if (r) return r;
    const struct wire_device *d = &v.device;
    *pci = (struct nvml_pci){.domain = d->pci_domain, .bus = d->pci_bus, .device = d->pci_slot};
    print_bus_id(d, pci->bus_id);
    snprintf(pci->old_bus_id, sizeof(pci->old_bus_id), "%04X:%02X:%02X.0", d->pci_domain & 0xffffu,
             d->pci_bus & 0xffu, d->pci_slot & 0xffu);
    return NVML_SUCCESS;
}

#define CLASS_DISPLAY 3u
#define SUBCLASS_3D 2u

nvml_result nvmlDeviceGetPciInfoExt(nvml_handle device, struct nvml_pci_ext *pci) {
    struct wire_view v;
    nvml_result r = device_look(device, pci, &v);

    if (r) return r;
    if (pci->version != NVML_VERSION(*pci, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *pci = (struct nvml_pci_ext){.version = pci->version,
                                 .domain = v.device.pci_domain,
                                 .bus = v.device.pci_bus,
                                 .device = v.device.pci_slot,
                                 .base_class = CLASS_DISPLAY,
                                 .sub_class = SUBCLASS_3D};
    print_bus_id(&v.device, pci->bus_id);
    return NVML_SUCCESS;
}

/* Invented values, the ones that XLA assumes when it gets none; without them XLA logs an error each
 * time. */
#define LINK_GENERATION 3u
#define LINK_LANES 16u

static nvml_result give(nvml_handle device, unsigned int value, unsigned int *out) {
    nvml_result r = device_enter(device, out);
    if (!r) *out = value;
    return r;
}

nvml_result nvmlDeviceGetCurrPcieLinkGeneration(nvml_handle device, unsigned int *out) {
    return give(device, LINK_GENERATION, out);
}

nvml_result nvmlDeviceGetMaxPcieLinkGeneration(nvml_handle device, unsigned int *out) {
    return give(device, LINK_GENERATION, out);
}

nvml_result nvmlDeviceGetCurrPcieLinkWidth(nvml_handle device, unsigned int *lanes) {
    return give(device, LINK_LANES, lanes);
}

nvml_result nvmlDeviceGetMaxPcieLinkWidth(nvml_handle device, unsigned int *lanes) {
    return give(device, LINK_LANES, lanes);
}

/* NCCL also queries the device's status with itself: 0, supported. */
nvml_result nvmlDeviceGetP2PStatus(nvml_handle device, nvml_handle other, unsigned int capability,
                                   unsigned int *status) {
    nvml_result r = device_enter(other, status);
    return r ? r : give(device, 0, status);
}

/* ---- numbers --------------------------------------------------------------------------------- */

nvml_result nvmlDeviceGetMemoryBusWidth(nvml_handle device, unsigned int *bits) {
    struct wire_view v;
    nvml_result r = device_look(device, bits, &v);
    if (!r) *bits = v.device.mem_bus_bits;
    return r;
}

nvml_result nvmlDeviceGetClockInfo(nvml_handle device, unsigned int type, unsigned int *mhz) {
    struct wire_view v;
    nvml_result r = device_look(device, mhz && type <= NVML_CLOCK_VIDEO, &v);

    if (r) return r;
    if (type == NVML_CLOCK_VIDEO) return NVML_ERROR_NOT_SUPPORTED;
    *mhz = (type == NVML_CLOCK_MEM ? v.device.mem_clock_khz : v.device.clock_khz) / 1000;
    return NVML_SUCCESS;
}

nvml_result nvmlDeviceGetMaxClockInfo(nvml_handle device, unsigned int type, unsigned int *mhz) {
    return nvmlDeviceGetClockInfo(device, type, mhz);
}

/* ---- modes: 0 means unknown, default, or off ------------------------------------------------- */

nvml_result nvmlDeviceGetBrand(nvml_handle device, unsigned int *brand) {
    return give(device, 0, brand);
}

nvml_result nvmlDeviceGetComputeMode(nvml_handle device, unsigned int *mode) {
    return give(device, 0, mode);
}

nvml_result nvmlDeviceGetPersistenceMode(nvml_handle device, unsigned int *mode) {
    return give(device, 0, mode);
}

nvml_result nvmlDeviceGetDisplayMode(nvml_handle device, unsigned int *mode) {
    return give(device, 0, mode);
}

nvml_result nvmlDeviceGetDisplayActive(nvml_handle device, unsigned int *active) {
    return give(device, 0, active);
}
