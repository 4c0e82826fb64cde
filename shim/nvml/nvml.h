/* SPDX-License-Identifier: Apache-2.0
 *
 * NVML's interface, as far as libnvidia-ml.so.1 implements it: functions, layouts and numbers are
 * NVML's own, from its header of version 13.5. 64-bit only.
 *
 * No function creates a CUDA context or a job: programs use NVML so that they can fork afterwards.
 * The library's only state is a count of initialisations: no connection, no lock.
 */
#ifndef SHIM_NVML_NVML_H
#define SHIM_NVML_NVML_H

/* Results; X(name, number, text) */
#define NVML_RESULTS(X)                                                                           \
    X(NVML_SUCCESS, 0, "Success")                                                                 \
    X(NVML_ERROR_UNINITIALIZED, 1, "Uninitialized")                                               \
    X(NVML_ERROR_INVALID_ARGUMENT, 2, "Invalid Argument")                                         \
    X(NVML_ERROR_NOT_SUPPORTED, 3, "Not Supported")                                               \
    X(NVML_ERROR_NO_PERMISSION, 4, "Insufficient Permissions")                                    \
    X(NVML_ERROR_ALREADY_INITIALIZED, 5, "Already Initialized")                                   \
    X(NVML_ERROR_NOT_FOUND, 6, "Not Found")                                                       \
    X(NVML_ERROR_INSUFFICIENT_SIZE, 7, "Insufficient Size")                                       \
    X(NVML_ERROR_INSUFFICIENT_POWER, 8, "Insufficient External Power")                            \
    X(NVML_ERROR_DRIVER_NOT_LOADED, 9, "No salusd answers: start the daemon")                     \
    X(NVML_ERROR_TIMEOUT, 10, "Timeout")                                                          \
    X(NVML_ERROR_IRQ_ISSUE, 11, "Interrupt Request Issue")                                        \
    X(NVML_ERROR_LIBRARY_NOT_FOUND, 12, "NVML Shared Library Not Found")                          \
    X(NVML_ERROR_FUNCTION_NOT_FOUND, 13, "Function Not Found")                                    \
    X(NVML_ERROR_CORRUPTED_INFOROM, 14, "Corrupted infoROM")                                      \
    X(NVML_ERROR_GPU_IS_LOST, 15, "GPU is lost")                                                  \
    X(NVML_ERROR_RESET_REQUIRED, 16, "GPU requires reset")                                        \
    X(NVML_ERROR_OPERATING_SYSTEM, 17, "Blocked by the Operating System")                         \
    X(NVML_ERROR_LIB_RM_VERSION_MISMATCH, 18, "The library and salusd are of different releases") \
    X(NVML_ERROR_IN_USE, 19, "In use by another client")                                          \
    X(NVML_ERROR_MEMORY, 20, "Insufficient Memory")                                               \
    X(NVML_ERROR_NO_DATA, 21, "No data")                                                          \
    X(NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, 22, "vGPU operation not supported with ECC")             \
    X(NVML_ERROR_INSUFFICIENT_RESOURCES, 23, "Insufficient resources")                            \
    X(NVML_ERROR_FREQ_NOT_SUPPORTED, 24, "Frequency not supported")                               \
    X(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, 25, "The argument's version is not supported")        \
    X(NVML_ERROR_DEPRECATED, 26, "Deprecated")                                                    \
    X(NVML_ERROR_NOT_READY, 27, "Not ready")                                                      \
    X(NVML_ERROR_GPU_NOT_FOUND, 28, "No GPU was found")                                           \
    X(NVML_ERROR_INVALID_STATE, 29, "Invalid state")                                              \
    X(NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, 30, "Reset type not supported")                        \
    X(NVML_ERROR_UNKNOWN, 999, "Unknown Error")

typedef enum {
#define X(name, number, text) name = number,
    NVML_RESULTS(X)
#undef X
} nvml_result;

#define NVML_API __attribute__((visibility("default")))

typedef struct nvml_device *nvml_handle;

/* ---- structs --------------------------------------------------------------------------------- */

#define NVML_BUS_ID_BYTES 32
#define NVML_BUS_ID_OLD_BYTES 16

/* The value of a caller's `version`: the size of the struct in the low 24 bits, above them the
 * number of the struct's version. */
#define NVML_VERSION(type, number) ((unsigned int)(sizeof(type) | (number##u << 24)))

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_memory_v2 {
    unsigned int version;
    unsigned long long total, reserved, free, used;
};

struct nvml_utilization {
    unsigned int gpu, memory; /* percent */
};

struct nvml_pci {
    char old_bus_id[NVML_BUS_ID_OLD_BYTES];
    unsigned int domain, bus, device, device_id, subsystem_id;
    char bus_id[NVML_BUS_ID_BYTES];
};

struct nvml_pci_ext {
    unsigned int version;
    unsigned int domain, bus, device, device_id, subsystem_id, base_class, sub_class;
    char bus_id[NVML_BUS_ID_BYTES];
};

#define NVML_NO_INSTANCE 0xffffffffu

struct nvml_process_v1 {
    unsigned int pid;
    unsigned long long used_memory;
};

struct nvml_process_v2 {
    unsigned int pid;
    unsigned long long used_memory;
    unsigned int gpu_instance, compute_instance; /* NVML_NO_INSTANCE */
};

struct nvml_process_sample {
    unsigned int pid;
    unsigned long long timestamp; /* us */
    unsigned int sm_percent, memory_percent, encoder_percent, decoder_percent;
};

_Static_assert(sizeof(struct nvml_memory_v2) == 40 && sizeof(struct nvml_pci) == 68 &&
                   sizeof(struct nvml_pci_ext) == 64 && sizeof(struct nvml_process_v1) == 16 &&
                   sizeof(struct nvml_process_v2) == 24 && sizeof(struct nvml_process_sample) == 32,
               "NVML's sizes");

enum nvml_clock { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_CLOCK_VIDEO };

#define NVML_ARCH_TURING 6u
#define NVML_ARCH_AMPERE 7u
#define NVML_ARCH_ADA 8u
#define NVML_ARCH_HOPPER 9u
#define NVML_ARCH_BLACKWELL 10u
#define NVML_ARCH_UNKNOWN 0xffffffffu

/* ---- functions ------------------------------------------------------------------------------- */

NVML_API nvml_result nvmlInit(void);
NVML_API nvml_result nvmlInit_v2(void);
NVML_API nvml_result nvmlInitWithFlags(unsigned int flags);
NVML_API nvml_result nvmlShutdown(void);
NVML_API const char *nvmlErrorString(nvml_result result);

NVML_API nvml_result nvmlSystemGetDriverVersion(char *version, unsigned int length);
NVML_API nvml_result nvmlSystemGetNVMLVersion(char *version, unsigned int length);
NVML_API nvml_result nvmlSystemGetCudaDriverVersion(int *version);
NVML_API nvml_result nvmlSystemGetCudaDriverVersion_v2(int *version);
NVML_API nvml_result nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length);

NVML_API nvml_result nvmlDeviceGetCount(unsigned int *count);
NVML_API nvml_result nvmlDeviceGetCount_v2(unsigned int *count);
NVML_API nvml_result nvmlDeviceGetHandleByIndex(unsigned int index, nvml_handle *device);
NVML_API nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_handle *device);
NVML_API nvml_result nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvml_handle *device);
NVML_API nvml_result nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvml_handle *device);
NVML_API nvml_result nvmlDeviceGetHandleByUUID(const char *uuid, nvml_handle *device);

NVML_API nvml_result nvmlDeviceGetIndex(nvml_handle device, unsigned int *index);
NVML_API nvml_result nvmlDeviceGetName(nvml_handle device, char *name, unsigned int length);
NVML_API nvml_result nvmlDeviceGetUUID(nvml_handle device, char *uuid, unsigned int length);
NVML_API nvml_result nvmlDeviceGetBrand(nvml_handle device, unsigned int *brand);
NVML_API nvml_result nvmlDeviceGetArchitecture(nvml_handle device, unsigned int *architecture);
NVML_API nvml_result nvmlDeviceGetCudaComputeCapability(nvml_handle device, int *major, int *minor);
NVML_API nvml_result nvmlDeviceGetPciInfo_v3(nvml_handle device, struct nvml_pci *pci);
NVML_API nvml_result nvmlDeviceGetPciInfoExt(nvml_handle device, struct nvml_pci_ext *pci);
NVML_API nvml_result nvmlDeviceGetCurrPcieLinkGeneration(nvml_handle device, unsigned int *out);
NVML_API nvml_result nvmlDeviceGetCurrPcieLinkWidth(nvml_handle device, unsigned int *lanes);
NVML_API nvml_result nvmlDeviceGetMaxPcieLinkGeneration(nvml_handle device, unsigned int *out);
NVML_API nvml_result nvmlDeviceGetMaxPcieLinkWidth(nvml_handle device, unsigned int *lanes);
NVML_API nvml_result nvmlDeviceGetP2PStatus(nvml_handle device, nvml_handle other,
                                            unsigned int capability, unsigned int *status);
NVML_API nvml_result nvmlDeviceGetMemoryBusWidth(nvml_handle device, unsigned int *bits);
NVML_API nvml_result nvmlDeviceGetClockInfo(nvml_handle device, unsigned int type,
                                            unsigned int *mhz);
NVML_API nvml_result nvmlDeviceGetMaxClockInfo(nvml_handle device, unsigned int type,
                                               unsigned int *mhz);
NVML_API nvml_result nvmlDeviceGetComputeMode(nvml_handle device, unsigned int *mode);
NVML_API nvml_result nvmlDeviceGetPersistenceMode(nvml_handle device, unsigned int *mode);
NVML_API nvml_result nvmlDeviceGetDisplayMode(nvml_handle device, unsigned int *mode);
NVML_API nvml_result nvmlDeviceGetDisplayActive(nvml_handle device, unsigned int *active);

NVML_API nvml_result nvmlDeviceGetMemoryInfo(nvml_handle device, struct nvml_memory *memory);
NVML_API nvml_result nvmlDeviceGetMemoryInfo_v2(nvml_handle device, struct nvml_memory_v2 *memory);
NVML_API nvml_result nvmlDeviceGetUtilizationRates(nvml_handle device,
                                                   struct nvml_utilization *rates);

/* *count: capacity of `processes`, then the number of processes; NVML_ERROR_INSUFFICIENT_SIZE:
 * `processes` is too small for them. */
NVML_API nvml_result nvmlDeviceGetComputeRunningProcesses(nvml_handle device, unsigned int *count,
                                                          struct nvml_process_v1 *processes);
NVML_API nvml_result nvmlDeviceGetComputeRunningProcesses_v2(nvml_handle device,
                                                             unsigned int *count,
                                                             struct nvml_process_v2 *processes);
NVML_API nvml_result nvmlDeviceGetComputeRunningProcesses_v3(nvml_handle device,
                                                             unsigned int *count,
                                                             struct nvml_process_v2 *processes);
NVML_API nvml_result nvmlDeviceGetGraphicsRunningProcesses(nvml_handle device, unsigned int *count,
                                                           struct nvml_process_v1 *processes);
NVML_API nvml_result nvmlDeviceGetGraphicsRunningProcesses_v2(nvml_handle device,
                                                              unsigned int *count,
                                                              struct nvml_process_v2 *processes);
NVML_API nvml_result nvmlDeviceGetGraphicsRunningProcesses_v3(nvml_handle device,
                                                              unsigned int *count,
                                                              struct nvml_process_v2 *processes);
NVML_API nvml_result nvmlDeviceGetMPSComputeRunningProcesses(nvml_handle device,
                                                             unsigned int *count,
                                                             struct nvml_process_v1 *processes);
NVML_API nvml_result nvmlDeviceGetMPSComputeRunningProcesses_v2(nvml_handle device,
                                                                unsigned int *count,
                                                                struct nvml_process_v2 *processes);
NVML_API nvml_result nvmlDeviceGetMPSComputeRunningProcesses_v3(nvml_handle device,
                                                                unsigned int *count,
                                                                struct nvml_process_v2 *processes);
/* Samples later than `after_us`; NVML_ERROR_NOT_FOUND: none. */
NVML_API nvml_result nvmlDeviceGetProcessUtilization(nvml_handle device,
                                                     struct nvml_process_sample *samples,
                                                     unsigned int *count,
                                                     unsigned long long after_us);

#endif
