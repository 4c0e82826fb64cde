/* SPDX-License-Identifier: Apache-2.0
 *
 * How the device is found. Its handle is an address that stands for it: forked children have it
 * too.
 */
#include "shim/nvml/device.h"

#include <errno.h>
#include <string.h>

#include "proto/uuid.h"
#include "shim/nvml/library.h"
#include "shim/pci.h"

struct nvml_device {
    char unused;
};

static struct nvml_device the_device;

nvml_result device_enter(nvml_handle device, bool arguments_given) {
    return library_enter(arguments_given && device == &the_device);
}

nvml_result device_look(nvml_handle device, bool arguments_given, struct wire_view *out) {
    nvml_result r = device_enter(device, arguments_given);
    return r ? r : view_ask(out);
}

nvml_result nvmlDeviceGetCount_v2(unsigned int *count) {
    nvml_result r = library_enter(count);
    if (!r) *count = 1;
    return r;
}

nvml_result nvmlDeviceGetCount(unsigned int *count) {
    return nvmlDeviceGetCount_v2(count);
}

nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_handle *device) {
    nvml_result r = library_enter(device && index == 0);
    if (!r) *device = &the_device;
    return r;
}

nvml_result nvmlDeviceGetHandleByIndex(unsigned int index, nvml_handle *device) {
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvml_result nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvml_handle *device) {
    struct wire_view v;
    nvml_result r = device_look(&the_device, bus_id && device, &v);
    if (r) return r;
    const struct pci_place place = {v.device.pci_domain, v.device.pci_bus, v.device.pci_slot};
    int err = pci_check(bus_id, &place);
    if (err) return err == -EINVAL ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_FOUND;
    *device = &the_device;
    return NVML_SUCCESS;
}

nvml_result nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvml_handle *device) {
    return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, nvml_handle *device) {
    char own[UUID_TEXT_BYTES];
    struct wire_view v;
    nvml_result r = device_look(&the_device, uuid && device, &v);

    if (r) return r;
    uuid_print(v.device.uuid, own);
    if (strcmp(uuid, own) != 0 && strcmp(uuid, own + strlen("GPU-")) != 0)
        return NVML_ERROR_NOT_FOUND;
    *device = &the_device;
    return NVML_SUCCESS;
}

nvml_result nvmlDeviceGetIndex(nvml_handle device, unsigned int *index) {
    nvml_result r = device_enter(device, index);
    if (!r) *index = 0;
    return r;
}
