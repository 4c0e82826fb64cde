/* SPDX-License-Identifier: Apache-2.0
 * Prints every attribute of the device by number, so that the software GPU can be given the same
 * values. */
#include "scripts/device-probes/probe.h"

int main(void) {
    CUdevice dev;
    char name[128] = "";
    size_t bytes;
    int version, attributes = 0;
    probe_begin("device_facts", "What are the device's attributes?");
    probe_driver_open();
    TRY(cu.cuDeviceGet(&dev, 0));
    TRY(cu.cuDeviceGetName(name, sizeof(name), dev));
    TRY(cu.cuDeviceTotalMem_v2(&bytes, dev));
    TRY(cu.cuDriverGetVersion(&version));
    probe_fact("name", "%s", name);
    probe_figure(bytes / 1073741824.0, "GiB", "memory");
    probe_figure(version, "version", "driver");
    for (int a = 1; a < 160; a++) {
        int value;
        if (cu.cuDeviceGetAttribute(&value, (CUdevice_attribute)a, dev) != CUDA_SUCCESS) continue;
        probe_figure(value, "value", "attribute_%d", a);
        attributes++;
    }
    return probe_end(attributes > 100, "%s, %.0f GiB, driver %d, %d attributes", name,
                     bytes / 1073741824.0, version, attributes);
}
