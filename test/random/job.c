/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program's kernels through the driver API, as a job does, on the loaded libcuda.so.1.
 *
 *   job [OPTIONS] EXPECTED IMAGE [ROUNDS]
 *   -stack BYTES   stack of a thread, for recursive functions: drivers give 1 KiB
 *   -opt LEVEL     optimization level of the driver's compiler, 0 to 4
 *   -only NAME, -after NAME   only this kernel; only the kernels after it
 *   -want FILE     the host's results, word for word: shown beside words that differ
 *   -got PREFIX    writes the results of a kernel that differs to PREFIX.NAME.got
 *
 * Exits 1 if a kernel's results differ from the host's reference, 2 if a file cannot be read, and 3
 * if a kernel ended with an error ("stopped: NAME"), after which no kernel can run.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/gen/prototypes.h"
#include "test/random/cases.h"
#include "test/random/language/inputs.h"

enum { WORDS_SHOWN = 8 };

struct job {
    struct cases cases;
    const char *only, *after, *want_path, *got_prefix;
    char *want; /* results of all kernels, concatenated */
    size_t want_bytes;
    unsigned long stack_bytes;
    int opt; /* below 0: the driver's default */
    uint32_t ran, failures;
};

static int is_ok(struct job *j, CUresult result, const char *what) {
    if (result) {
        printf("differs: %s gives CUDA error %d\n", what, (int)result);
        j->failures++;
    }
    return !result;
}

static void need(struct job *j, CUresult result, const char *what) {
    if (!is_ok(j, result, what)) exit(1);
}

static CUdeviceptr copy_in(struct job *j, const void *host, size_t bytes) {
    CUdeviceptr device = 0;
    need(j, cuMemAlloc_v2(&device, bytes), "cuMemAlloc");
    need(j, cuMemcpyHtoD_v2(device, host, bytes), "cuMemcpyHtoD");
    return device;
}

static void copy_back(struct job *j, void *host, CUdeviceptr device, size_t bytes) {
    need(j, cuMemcpyDtoH_v2(host, device, bytes), "cuMemcpyDtoH");
    need(j, cuMemFree_v2(device), "cuMemFree");
}

static int launch_kernel(struct job *j, const struct cases_kernel *k, CUfunction f,
                         const CUdeviceptr memory[3], uint64_t scalars[4]) {
    void *params[] = {(void *)&memory[0], (void *)&memory[1], (void *)&memory[2], &scalars[0],
                      &scalars[1],        &scalars[2],        &scalars[3]};
    return is_ok(j,
                 cuLaunchKernel(f, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1],
                                k->block[2], k->shared_bytes, NULL, params, NULL),
                 k->name) &&
           is_ok(j, cuCtxSynchronize(), k->name);
}

/* `both`: a kernel's results, its output followed by its words for atomics. */
static void show_words(const struct cases_kernel *k, const uint64_t *want, const uint64_t *both) {
    const uint32_t per = k->out_words / (k->grid[0] * k->grid[1] * k->grid[2] * k->block[0] *
                                         k->block[1] * k->block[2]);
    uint32_t differ = 0;
    for (uint32_t w = 0; w < k->out_words + k->acc_words; w++) {
        if (want[w] == both[w] || differ++ >= WORDS_SHOWN) continue;
        if (w < k->out_words)
            printf("  thread %u result %u", w / per, w % per);
        else
            printf("  acc %u", w - k->out_words);
        printf(": %#llx, on the host %#llx\n", (unsigned long long)both[w],
               (unsigned long long)want[w]);
    }
    printf("  %u words differ\n", differ);
}

static void keep_words(const struct job *j, const struct cases_kernel *k, const uint64_t *both) {
    char path[1024];
    snprintf(path, sizeof(path), "%s.%s.got", j->got_prefix, k->name);
    FILE *f = fopen(path, "wb");
    if (!f) exit(2);
    fwrite(both, 8, (size_t)k->out_words + k->acc_words, f);
    fclose(f);
}

static void judge(struct job *j, const struct cases_kernel *k, const uint64_t *both, size_t at) {
    const uint64_t *acc = both + k->out_words;
    if (cases_check(k, both, acc, NULL)) return;
    /* Checksum by which two devices can be compared that both differ from the host. */
    printf("differs: seed %llu kernel %s gives %016llx\n", (unsigned long long)j->cases.seed,
           k->name,
           (unsigned long long)inputs_hash(inputs_hash(0, both, k->out_words), acc, k->acc_words));
    j->failures++;
    if (j->want && j->want_bytes >= at + ((size_t)k->out_words + k->acc_words) * 8)
        show_words(k, (const uint64_t *)(j->want + at), both);
    if (j->got_prefix) keep_words(j, k, both);
}

static void run_kernel(struct job *j, const struct cases_kernel *k, CUmodule module, size_t at) {
    static uint32_t in[INPUTS_WORDS];
    const size_t out_bytes = (size_t)k->out_words * 8, acc_bytes = (size_t)k->acc_words * 8;
    uint64_t *both = malloc(out_bytes + acc_bytes), scalars[4];
    CUfunction f;
    if (!both) exit(2);
    uint64_t *acc = both + k->out_words;
    cases_prepare(&j->cases, k, in, both, acc, scalars);
    const CUdeviceptr memory[3] = {copy_in(j, in, sizeof(in)), copy_in(j, both, out_bytes),
                                   copy_in(j, acc, acc_bytes)};
    j->ran++;
    if (!is_ok(j, cuModuleGetFunction(&f, module, k->name), k->name) ||
        !launch_kernel(j, k, f, memory, scalars)) {
        printf("stopped: %s\n", k->name);
        exit(3);
    }
    copy_back(j, in, memory[0], sizeof(in));
    copy_back(j, both, memory[1], out_bytes);
    copy_back(j, acc, memory[2], acc_bytes);
    judge(j, k, both, at);
    free(both);
}

static void run_kernels(struct job *j, CUmodule module) {
    size_t at = 0;
    bool begun = !j->after;
    for (uint32_t n = 0; n < j->cases.count; n++) {
        const struct cases_kernel *k = &j->cases.kernels[n];
        if (begun && (!j->only || !strcmp(j->only, k->name))) run_kernel(j, k, module, at);
        if (j->after && !strcmp(j->after, k->name)) begun = true;
        at += ((size_t)k->out_words + k->acc_words) * 8;
    }
}

static CUmodule load_module(struct job *j, const char *path) {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    size_t bytes;
    char *image = cases_file(path, &bytes);
    need(j, cuInit(0), "cuInit");
    need(j, cuDeviceGet(&device, 0), "cuDeviceGet");
    need(j, cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    need(j, cuCtxSetCurrent(context), "cuCtxSetCurrent");
    if (j->stack_bytes)
        need(j, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, j->stack_bytes), "cuCtxSetLimit");
    CUjit_option options[] = {CU_JIT_OPTIMIZATION_LEVEL};
    void *values[] = {(void *)(uintptr_t)j->opt};
    need(j, cuModuleLoadDataEx(&module, image, j->opt >= 0, options, values), "cuModuleLoadDataEx");
    free(image);
    return module;
}

static int read_options(struct job *j, int argc, char **argv) {
    int at = 1;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        const char *name = argv[at], *value = argv[at + 1];
        if (!strcmp(name, "-stack")) j->stack_bytes = strtoul(value, NULL, 0);
        if (!strcmp(name, "-opt")) j->opt = atoi(value);
        if (!strcmp(name, "-only")) j->only = value;
        if (!strcmp(name, "-after")) j->after = value;
        if (!strcmp(name, "-want")) j->want_path = value;
        if (!strcmp(name, "-got")) j->got_prefix = value;
    }
    return at;
}

int main(int argc, char **argv) {
    static struct job j = {.opt = -1};
    const int at = read_options(&j, argc, argv);
    if (argc - at < 2) {
        fprintf(stderr, "usage: job [OPTIONS] EXPECTED IMAGE [ROUNDS]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    cases_read(&j.cases, argv[at]);
    if (j.want_path) j.want = cases_file(j.want_path, &j.want_bytes);
    CUmodule module = load_module(&j, argv[at + 1]);
    const int rounds = argc - at > 2 ? atoi(argv[at + 2]) : 1;
    for (int round = 0; round < rounds; round++)
        run_kernels(&j, module);
    printf("%s: %u kernels, %u differ\n", argv[at + 1], j.ran, j.failures);
    free(j.want);
    return j.failures != 0;
}
