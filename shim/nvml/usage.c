/* SPDX-License-Identifier: Apache-2.0
 *
 * The use of the device, as far as the caller may know it: its own share, and the processes of its
 * user (docs/isolation.md).
 */
#include "shim/nvml/device.h"

/* ---- memory and time ------------------------------------------------------------------------- */

nvml_result nvmlDeviceGetMemoryInfo(nvml_handle device, struct nvml_memory *memory) {
    struct wire_view v;
    nvml_result r = device_look(device, memory, &v);

    if (r) return r;
    memory->total = v.device.memory_bytes;
    memory->used = v.used_bytes;
    memory->free = memory->total - memory->used;
    return NVML_SUCCESS;
}

nvml_result nvmlDeviceGetMemoryInfo_v2(nvml_handle device, struct nvml_memory_v2 *memory) {
    struct nvml_memory now;
    nvml_result r = device_enter(device, memory);

    if (r) return r;
    if (memory->version != NVML_VERSION(*memory, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    r = nvmlDeviceGetMemoryInfo(device, &now);
    if (r) return r;
    memory->total = now.total;
    memory->reserved = 0;
    memory->free = now.free;
    memory->used = now.used;
    return NVML_SUCCESS;
}

static unsigned int percent_of(uint32_t permille) {
    return (permille + 5) / 10;
}

/* How often memory is read or written is not measured. */
nvml_result nvmlDeviceGetUtilizationRates(nvml_handle device, struct nvml_utilization *rates) {
    struct wire_view v;
    nvml_result r = device_look(device, rates, &v);

    if (r) return r;
    rates->gpu = percent_of(v.busy_permille);
    rates->memory = 0;
    return NVML_SUCCESS;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Checks that `n` items fit into the caller's array; *count becomes their number either way. */
static nvml_result make_room(unsigned int *count, const void *array, unsigned int n) {
    unsigned int room = *count;

    *count = n;
    if (n == 0 || (array && room >= n)) return NVML_SUCCESS;
    return array || room == 0 ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_ERROR_INVALID_ARGUMENT;
}

nvml_result nvmlDeviceGetComputeRunningProcesses(nvml_handle device, unsigned int *count,
                                                 struct nvml_process_v1 *processes) {
    struct wire_view v;
    nvml_result r = device_look(device, count, &v);

    if (!r) r = make_room(count, processes, v.process_count);
    for (unsigned int i = 0; !r && i < *count; i++)
        processes[i] =
            (struct nvml_process_v1){(unsigned int)v.processes[i].pid, v.processes[i].memory_bytes};
    return r;
}

nvml_result nvmlDeviceGetComputeRunningProcesses_v3(nvml_handle device, unsigned int *count,
                                                    struct nvml_process_v2 *processes) {
    struct wire_view v;
    nvml_result r = device_look(device, count, &v);

    if (!r) r = make_room(count, processes, v.process_count);
    for (unsigned int i = 0; !r && i < *count; i++)
        processes[i] =
            (struct nvml_process_v2){(unsigned int)v.processes[i].pid, v.processes[i].memory_bytes,
                                     NVML_NO_INSTANCE, NVML_NO_INSTANCE};
    return r;
}

nvml_result nvmlDeviceGetComputeRunningProcesses_v2(nvml_handle device, unsigned int *count,
                                                    struct nvml_process_v2 *processes) {
    return nvmlDeviceGetComputeRunningProcesses_v3(device, count, processes);
}

nvml_result nvmlDeviceGetProcessUtilization(nvml_handle device, struct nvml_process_sample *samples,
                                            unsigned int *count, unsigned long long after_us) {
    struct wire_view v;
    nvml_result r = device_look(device, count, &v);

    if (r) return r;
    if (v.process_count == 0 || v.sampled_us <= after_us) {
        *count = 0;
        return NVML_ERROR_NOT_FOUND;
    }
    r = make_room(count, samples, v.process_count);
    for (unsigned int i = 0; !r && i < *count; i++)
        samples[i] =
            (struct nvml_process_sample){.pid = (unsigned int)v.processes[i].pid,
                                         .timestamp = v.sampled_us,
                                         .sm_percent = percent_of(v.processes[i].busy_permille)};
    return r;
}

/* ---- processes of other kinds: there are none ------------------------------------------------ */

static nvml_result no_processes(nvml_handle device, unsigned int *count) {
    nvml_result r = device_enter(device, count);
    if (!r) *count = 0;
    return r;
}

#define NONE(name, type)                                                                \
    nvml_result name(nvml_handle device, unsigned int *count, struct type *processes) { \
        return no_processes(device, count);                                             \
    }

NONE(nvmlDeviceGetGraphicsRunningProcesses, nvml_process_v1)
NONE(nvmlDeviceGetGraphicsRunningProcesses_v2, nvml_process_v2)
NONE(nvmlDeviceGetGraphicsRunningProcesses_v3, nvml_process_v2)
NONE(nvmlDeviceGetMPSComputeRunningProcesses, nvml_process_v1)
NONE(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvml_process_v2)
NONE(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvml_process_v2)
