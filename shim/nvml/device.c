/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds devices. A handle is an address in `devices`, whose offset is the index, so handles stay
 * valid in forked children.
 */
#include "shim/nvml/device.h"

#include <errno.h>
#include <string.h>

#include "proto/cuda/uuid.h"
#include "shim/nvml/library.h"
#include "shim/pci.h"
#include "shim/process/visible.h"

struct nvml_device {
    char unused;
};

static struct nvml_device devices[VISIBLE_MAX];

static unsigned int index_of(nvml_handle device) {
    return (unsigned int)(device - devices);
}

nvml_result device_enter(nvml_handle device, bool arguments_given) {
    bool ours = device >= devices && device < devices + VISIBLE_MAX;
    return library_enter(arguments_given && ours);
}

nvml_result device_look(nvml_handle device, bool arguments_given, struct wire_view *out) {
    nvml_result r = device_enter(device, arguments_given);
    return r ? r : view_ask(index_of(device), out);
}

nvml_result nvmlDeviceGetCount_v2(unsigned int *count) {
    nvml_result r = library_enter(count);
    if (!r) *count = view_count();
    return r;
}

nvml_result nvmlDeviceGetCount(unsigned int *count) {
    return nvmlDeviceGetCount_v2(count);
}

nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_handle *device) {
    nvml_result r = library_enter(device);
    if (r) return r;
    if (index >= view_count()) return NVML_ERROR_INVALID_ARGUMENT;
    *device = &devices[index];
    return NVML_SUCCESS;
}

nvml_result nvmlDeviceGetHandleByIndex(unsigned int index, nvml_handle *device) {
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

/* Compares a name with a device: 0 if it names this device, -ENODEV another one, -EINVAL if it is
 * no name. */
typedef int name_check(const char *name, const struct wire_device *device);

/* Finds the first device of that name. A device that does not answer is skipped. */
static nvml_result find(const char *name, name_check *check, nvml_handle *device) {
    nvml_result r = library_enter(name && device);
    unsigned int count = r ? 0 : view_count();
    struct wire_view v;

    for (unsigned int i = 0; i < count; i++) {
        nvml_result answer = view_ask(i, &v);
        int err = answer ? 0 : check(name, &v.device);

        if (err == -EINVAL) return NVML_ERROR_INVALID_ARGUMENT;
        if (answer) r = answer;
        if (answer || err) continue;
        *device = &devices[i];
        return NVML_SUCCESS;
    }
    return r ? r : NVML_ERROR_NOT_FOUND;
}

static int check_place(const char *bus_id, const struct wire_device *d) {
    const struct pci_place place = {d->pci_domain, d->pci_bus, d->pci_slot};
    return pci_check(bus_id, &place);
}

nvml_result nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvml_handle *device) {
    return find(bus_id, check_place, device);
}

nvml_result nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvml_handle *device) {
    return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

static int check_uuid(const char *uuid, const struct wire_device *d) {
    char own[UUID_TEXT_BYTES];

    uuid_print(d->uuid, own);
    bool same = strcmp(uuid, own) == 0 || strcmp(uuid, own + strlen("GPU-")) == 0;
    return same ? 0 : -ENODEV;
}

nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, nvml_handle *device) {
    return find(uuid, check_uuid, device);
}

nvml_result nvmlDeviceGetIndex(nvml_handle device, unsigned int *index) {
    nvml_result r = device_enter(device, index);
    if (!r) *index = index_of(device);
    return r;
}
