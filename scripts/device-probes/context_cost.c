/* SPDX-License-Identifier: Apache-2.0
 * Measures the start-up cost of a new worker: loading the driver, creating a context, loading
 * modules. */
#include "scripts/device-probes/probe.h"

static double since_ms(uint64_t begin) {
    return (probe_now_ns() - begin) / 1e6;
}

/* Returns PTX with `kernels` entries of some length. The caller frees it. */
static char *many_kernels(int kernels) {
    size_t room = 256 + (size_t)kernels * 900, used;
    char *text = malloc(room);
    used = snprintf(text, room, ".version 7.0\n.target sm_75\n.address_size 64\n");
    for (int k = 0; k < kernels; k++) {
        used += snprintf(text + used, room - used,
                         ".visible .entry k%d(.param .u64 pp) {\n.reg .u64 p; .reg .f32 f;\n"
                         "ld.param.u64 p, [pp]; ld.global.f32 f, [p];\n",
                         k);
        for (int i = 0; i < 12; i++)
            used += snprintf(text + used, room - used, "fma.rn.f32 f, f, f, 0f%08x;\n",
                             0x3f000000u + (unsigned)(k * 16 + i));
        used += snprintf(text + used, room - used, "st.global.f32 [p], f; ret; }\n");
    }
    return text;
}

/* Returns the milliseconds of loading the image; 0: it cannot be loaded. */
static double load(const void *image, const char *last) {
    CUmodule m;
    CUfunction f;
    uint64_t begin = probe_now_ns();
    CUresult r = cu.cuModuleLoadData(&m, image);
    double took = since_ms(begin);
    if (r != CUDA_SUCCESS) {
        probe_fact("not_loaded", "%s", probe_error(r));
        return 0;
    }
    TRY(cu.cuModuleGetFunction(&f, m, last));
    TRY(cu.cuModuleUnload(m));
    return took;
}

/* Loads PTX that the driver compiles, then the machine code made from it, which is what a new
 * worker has. */
static void modules(int kernels) {
    char *text = many_kernels(kernels), last[16];
    CUlinkState link;
    void *cubin;
    size_t bytes;
    snprintf(last, sizeof(last), "k%d", kernels - 1);
    probe_figure(load(text, last), "ms", "ptx_of_%d_kernels", kernels);
    probe_figure(load(text, last), "ms", "ptx_of_%d_kernels_again",
                 kernels); /* the driver may keep it */
    if (cu.cuLinkCreate_v2(0, NULL, NULL, &link) == CUDA_SUCCESS) {
        if (cu.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, text, strlen(text) + 1, "k", 0, NULL,
                                NULL) == CUDA_SUCCESS &&
            cu.cuLinkComplete(link, &cubin, &bytes) == CUDA_SUCCESS) {
            probe_figure(bytes / 1024.0, "KiB", "cubin_of_%d_kernels", kernels);
            probe_figure(load(cubin, last), "ms", "loading_cubin_of_%d_kernels", kernels);
        }
        cu.cuLinkDestroy(link);
    }
    free(text);
}

/* Makes, uses and destroys a context in a process that has one already. */
static void contexts(CUdevice dev) {
    double made[5], destroyed[5];
    for (int i = 0; i < 5; i++) {
        CUcontext ctx;
        uint64_t begin = probe_now_ns();
        if (cu.cuCtxCreate_v2(&ctx, 0, dev) != CUDA_SUCCESS) return;
        made[i] = since_ms(begin);
        begin = probe_now_ns();
        TRY(cu.cuCtxDestroy_v2(ctx));
        destroyed[i] = since_ms(begin);
    }
    probe_spread(made, 5, "ms", "another_context");
    probe_spread(destroyed, 5, "ms", "destroying_it");
}

int main(void) {
    CUdevice dev;
    CUcontext ctx;
    probe_begin("context_cost", "How long until a new process has a context and its modules?");
    uint64_t begin = probe_now_ns(), all = begin;
    probe_driver_load();
    probe_figure(since_ms(begin), "ms", "dlopen");
    begin = probe_now_ns();
    TRY(cu.cuInit(0));
    probe_figure(since_ms(begin), "ms", "cuInit");
    TRY(cu.cuDeviceGet(&dev, 0));
    begin = probe_now_ns();
    TRY(cu.cuDevicePrimaryCtxRetain(&ctx, dev));
    TRY(cu.cuCtxSetCurrent(ctx));
    probe_figure(since_ms(begin), "ms", "primary_context");
    CUmodule m = probe_module();
    LAUNCH(probe_function(m, "nothing"), 1, 1, NULL);
    TRY(cu.cuCtxSynchronize());
    double first = since_ms(all);
    probe_figure(first, "ms", "first_kernel_done");
    modules(1);
    modules(probe_small() ? 8 : 100);
    if (!probe_small()) modules(1000);
    TRY(cu.cuCtxSetCurrent(ctx));
    contexts(dev);
    return probe_end(true, "%.0f ms from dlopen to the end of the first kernel", first);
}
