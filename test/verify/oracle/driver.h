/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver API of the libcuda.so.1 that the loader finds, so that a program needs nothing but a
 * driver. Owner: the program. Thread: one.
 */
#ifndef TEST_VERIFY_ORACLE_DRIVER_H
#define TEST_VERIFY_ORACLE_DRIVER_H

#include "proto/cuda/cuda_abi.h"
#include "proto/gen/prototypes.h"

struct driver {
    __typeof__(&cuInit) init;
    __typeof__(&cuDeviceGet) device_get;
    __typeof__(&cuDevicePrimaryCtxRetain) retain;
    __typeof__(&cuCtxSetCurrent) set_current;
    __typeof__(&cuCtxSynchronize) synchronize;
    __typeof__(&cuModuleLoadDataEx) load;
    __typeof__(&cuModuleUnload) unload;
    __typeof__(&cuModuleGetFunction) function;
    __typeof__(&cuMemAlloc_v2) alloc;
    __typeof__(&cuMemcpyHtoD_v2) in;
    __typeof__(&cuMemcpyDtoH_v2) out;
    __typeof__(&cuMemsetD8_v2) set;
    __typeof__(&cuLaunchKernel) launch;
};

/* Finds the functions and makes the first device's context current, or ends the program with status
 * 2 or 4. */
void driver_open(struct driver *cu);
/* Ends the program with status 4 if there was an error. */
void driver_need(CUresult result, const char *what);

#endif
