/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program's kernels through the driver API, as a job does: whatever libcuda.so.1 is loaded.
 *
 *   job EXPECTED IMAGE [ROUNDS]
 *
 * Exits 1 if a kernel gives anything but what the host's reference says, 2 if something cannot be
 * read.
 */
#include <stdio.h>
#include <stdlib.h>

#include "proto/cuda_abi.h"
#include "proto/gen/prototypes.h"
#include "test/random/cases.h"
#include "test/random/inputs.h"

static uint32_t job_failures;

static int is_ok(CUresult result, const char *what) {
    if (result) {
        printf("differs: %s gives CUDA error %d\n", what, (int)result);
        job_failures++;
    }
    return !result;
}

static CUdeviceptr copy_in(const void *host, size_t bytes) {
    CUdeviceptr device = 0;
    if (!is_ok(cuMemAlloc_v2(&device, bytes), "cuMemAlloc")) exit(1);
    is_ok(cuMemcpyHtoD_v2(device, host, bytes), "cuMemcpyHtoD");
    return device;
}

static void copy_back(void *host, CUdeviceptr device, size_t bytes) {
    is_ok(cuMemcpyDtoH_v2(host, device, bytes), "cuMemcpyDtoH");
    is_ok(cuMemFree_v2(device), "cuMemFree");
}

static void launch_kernel(const struct cases_kernel *k, CUfunction f, const CUdeviceptr memory[3],
                          uint64_t scalars[4]) {
    void *params[] = {(void *)&memory[0], (void *)&memory[1], (void *)&memory[2], &scalars[0],
                      &scalars[1],        &scalars[2],        &scalars[3]};
    is_ok(cuLaunchKernel(f, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1],
                         k->block[2], k->shared_bytes, NULL, params, NULL),
          k->name);
}

static void run_kernel(const struct cases *c, const struct cases_kernel *k, CUmodule module) {
    static uint32_t in[INPUTS_WORDS];
    const size_t out_bytes = (size_t)k->out_words * 8, acc_bytes = (size_t)k->acc_words * 8;
    uint64_t *out = malloc(out_bytes), *acc = malloc(acc_bytes), scalars[4];
    CUfunction f;
    if (!out || !acc) exit(2);
    cases_prepare(c, k, in, out, acc, scalars);
    const CUdeviceptr memory[3] = {copy_in(in, sizeof(in)), copy_in(out, out_bytes),
                                   copy_in(acc, acc_bytes)};
    if (is_ok(cuModuleGetFunction(&f, module, k->name), k->name))
        launch_kernel(k, f, memory, scalars);
    copy_back(in, memory[0], sizeof(in));
    copy_back(out, memory[1], out_bytes);
    copy_back(acc, memory[2], acc_bytes);
    if (!cases_check(k, out, acc, NULL)) {
        printf("differs: seed %llu kernel %s\n", (unsigned long long)c->seed, k->name);
        job_failures++;
    }
    free(out);
    free(acc);
}

static CUmodule load_module(const char *path) {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    size_t bytes;
    char *image = cases_file(path, &bytes);
    if (!is_ok(cuInit(0), "cuInit") || !is_ok(cuDeviceGet(&device, 0), "cuDeviceGet") ||
        !is_ok(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain") ||
        !is_ok(cuCtxSetCurrent(context), "cuCtxSetCurrent") ||
        !is_ok(cuModuleLoadData(&module, image), "cuModuleLoadData"))
        exit(1);
    free(image);
    return module;
}

int main(int argc, char **argv) {
    static struct cases c;
    if (argc < 3) {
        fprintf(stderr, "usage: job EXPECTED IMAGE [ROUNDS]\n");
        return 2;
    }
    cases_read(&c, argv[1]);
    CUmodule module = load_module(argv[2]);
    const int rounds = argc > 3 ? atoi(argv[3]) : 1;
    for (int round = 0; round < rounds; round++)
        for (uint32_t k = 0; k < c.count; k++)
            run_kernel(&c, &c.kernels[k], module);
    printf("%s: %u kernels, %u differ\n", argv[2], c.count * (uint32_t)rounds, job_failures);
    return job_failures != 0;
}
