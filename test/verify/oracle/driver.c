/* SPDX-License-Identifier: Apache-2.0 */
#include "test/verify/oracle/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *driver_symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "oracle: no %s\n", name);
        exit(2);
    }
    return found;
}

static void driver_find(struct driver *cu) {
    void *l = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!l) {
        fprintf(stderr, "oracle: %s\n", dlerror());
        exit(2);
    }
    cu->init = driver_symbol(l, "cuInit");
    cu->device_get = driver_symbol(l, "cuDeviceGet");
    cu->retain = driver_symbol(l, "cuDevicePrimaryCtxRetain");
    cu->set_current = driver_symbol(l, "cuCtxSetCurrent");
    cu->synchronize = driver_symbol(l, "cuCtxSynchronize");
    cu->load = driver_symbol(l, "cuModuleLoadDataEx");
    cu->unload = driver_symbol(l, "cuModuleUnload");
    cu->function = driver_symbol(l, "cuModuleGetFunction");
    cu->alloc = driver_symbol(l, "cuMemAlloc_v2");
    cu->in = driver_symbol(l, "cuMemcpyHtoD_v2");
    cu->out = driver_symbol(l, "cuMemcpyDtoH_v2");
    cu->set = driver_symbol(l, "cuMemsetD8_v2");
    cu->launch = driver_symbol(l, "cuLaunchKernel");
}

void driver_need(CUresult result, const char *what) {
    if (!result) return;
    fprintf(stderr, "oracle: %s: CUDA error %d\n", what, (int)result);
    exit(4);
}

void driver_open(struct driver *cu) {
    CUdevice device;
    CUcontext context;
    driver_find(cu);
    driver_need(cu->init(0), "cuInit");
    driver_need(cu->device_get(&device, 0), "cuDeviceGet");
    driver_need(cu->retain(&context, device), "cuDevicePrimaryCtxRetain");
    driver_need(cu->set_current(context), "cuCtxSetCurrent");
}
