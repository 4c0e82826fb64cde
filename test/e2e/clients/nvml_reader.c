/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of NVML that finds the library as others do, by name. Prints one line of NVML's answers
 * and, with the word `fork`, another from a forked child that uses its parent's initialised
 * library. Exit status: the result of the call that failed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/nvml/nvml.h"

#define PROCESSES 64

static void *library;

static void *find(const char *name) {
    void *f = dlsym(library, name);
    if (!f) {
        fprintf(stderr, "%s\n", dlerror());
        exit(120);
    }
    return f;
}

static void must(nvml_result r, const char *what) {
    const char *(*text)(nvml_result) = find("nvmlErrorString");
    if (r == NVML_SUCCESS) return;
    printf("%s: %s\n", what, text(r));
    fflush(stdout);
    _exit((int)r);
}

#define CALL(name, ...)                             \
    do {                                            \
        __typeof__(&(name)) name##_f = find(#name); \
        must(name##_f(__VA_ARGS__), #name);         \
    } while (0)

static void print_all(nvml_handle device) {
    struct nvml_process_v2 processes[PROCESSES];
    struct nvml_utilization use;
    struct nvml_memory memory;
    unsigned int n = PROCESSES;
    char name[96];
    CALL(nvmlDeviceGetName, device, name, sizeof(name));
    CALL(nvmlDeviceGetMemoryInfo, device, &memory);
    CALL(nvmlDeviceGetUtilizationRates, device, &use);
    CALL(nvmlDeviceGetComputeRunningProcesses_v3, device, &n, processes);
    printf("name=%s total=%llu used=%llu busy=%u processes=", name, memory.total, memory.used,
           use.gpu);
    for (unsigned int i = 0; i < n; i++)
        printf("%s%u:%llu", i ? "," : "", processes[i].pid, processes[i].used_memory);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    struct nvml_pci pci;
    nvml_handle device;
    unsigned int count;
    int status = 0;
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return 121;
    CALL(nvmlInit_v2);
    CALL(nvmlDeviceGetCount_v2, &count);
    if (count != 1) return 122;
    CALL(nvmlDeviceGetHandleByIndex_v2, 0, &device);
    CALL(nvmlDeviceGetPciInfo_v3, device, &pci);
    CALL(nvmlDeviceGetHandleByPciBusId_v2, pci.bus_id, &device);
    print_all(device);
    if (strcmp(word, "fork") == 0 && fork() == 0) {
        print_all(device);
        _exit(0);
    }
    if (strcmp(word, "fork") == 0) wait(&status);
    CALL(nvmlShutdown);
    return WEXITSTATUS(status);
}
