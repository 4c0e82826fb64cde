/* SPDX-License-Identifier: Apache-2.0
 * Examines green contexts, which give a stream a share of the device's multiprocessors: the step
 * of the share, whether functions and variables of the primary context work there, and the cost
 * of a switch. */
#include "scripts/device-probes/probe.h"

enum { SHARES = 4, MAX_SMS = 1024 };

struct functions {
    CUfunction where, burn, count, nothing;
};

struct share {
    CUgreenCtx green;
    CUstream stream;
    unsigned sms;
    struct functions f; /* functions that can be launched in its stream */
};

static CUdevResource whole;

static bool make(struct share *s, unsigned sms, double *ms) {
    CUdevResource part, rest;
    CUdevResourceDesc desc;
    unsigned groups = 1;
    uint64_t begin = probe_now_ns();
    if (cu.cuDevSmResourceSplitByCount(&part, &groups, &whole, &rest, 0, sms) != CUDA_SUCCESS ||
        groups != 1)
        return false;
    TRY(cu.cuDevResourceGenerateDesc(&desc, &part, 1));
    TRY(cu.cuGreenCtxCreate(&s->green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    TRY(cu.cuGreenCtxStreamCreate(&s->stream, s->green, CU_STREAM_NON_BLOCKING, 0));
    *ms = (probe_now_ns() - begin) / 1e6;
    s->sms = part.sm.smCount;
    return true;
}

/* Asks for 1, 2, 3 ... multiprocessors; the numbers granted show the step. */
static void granularity(void) {
    CUdevResource part, rest;
    unsigned least = 0, step = 0;
    for (unsigned ask = 1; ask <= whole.sm.smCount; ask++) {
        unsigned groups = 1;
        if (cu.cuDevSmResourceSplitByCount(&part, &groups, &whole, &rest, 0, ask) != CUDA_SUCCESS ||
            groups != 1)
            break;
        if (!least) least = part.sm.smCount;
        if (least && !step && part.sm.smCount > least) step = part.sm.smCount - least;
    }
    probe_figure(whole.sm.smCount, "SMs", "whole");
    probe_figure(least, "SMs", "least");
    probe_figure(step, "SMs", "step");
}

/* Returns on how many multiprocessors the blocks of a long grid ran. */
static int used(CUfunction where, CUstream s, CUdeviceptr marks) {
    static uint32_t host[MAX_SMS];
    int n = 0;
    TRY(cu.cuMemsetD32_v2(marks, 0, MAX_SMS));
    TRY(cu.cuCtxSynchronize());
    LAUNCH(where, 16 * whole.sm.smCount, 256, s, marks);
    TRY(cu.cuStreamSynchronize(s));
    TRY(cu.cuMemcpyDtoH_v2(host, marks, sizeof(host)));
    for (int i = 0; i < MAX_SMS; i++)
        n += host[i] != 0;
    return n;
}

static double burn_ms(CUfunction burn, CUstream s, CUdeviceptr out) {
    double best = 1e30;
    for (int i = 0; i < 3; i++) {
        uint64_t begin = probe_now_ns();
        LAUNCH(burn, 8 * whole.sm.smCount, 256, s, out, probe_small() ? 50 : 20000);
        TRY(cu.cuStreamSynchronize(s));
        double ms = (probe_now_ns() - begin) / 1e6;
        if (ms < best) best = ms;
    }
    return best;
}

static struct functions functions_of(CUmodule m) {
    return (struct functions){probe_function(m, "where"), probe_function(m, "burn"),
                              probe_function(m, "count"), probe_function(m, "nothing")};
}

/* Launches the primary context's function in the green stream. */
static bool goes_in(CUfunction nothing, CUstream green) {
    CUresult r = probe_launch_values(nothing, 1, 1, green, (uint64_t[PROBE_PARAMS]){0});
    if (r == CUDA_SUCCESS) r = cu.cuStreamSynchronize(green);
    probe_fact("the_primary_contexts_function_in_a_green_stream", "%s",
               r ? probe_error(r) : "works");
    return r == CUDA_SUCCESS;
}

/* Returns the functions of a module that is loaded in the green context. */
static struct functions own_functions(CUgreenCtx green) {
    CUcontext before, ctx;
    TRY(cu.cuCtxGetCurrent(&before));
    TRY(cu.cuCtxFromGreenCtx(&ctx, green));
    TRY(cu.cuCtxSetCurrent(ctx));
    struct functions f = functions_of(probe_module());
    TRY(cu.cuCtxSetCurrent(before));
    return f;
}

/* Returns true when a function in the green stream increments the primary context's variable. */
static bool same_variable(CUfunction count, CUstream plain, CUfunction green_count, CUstream green,
                          CUdeviceptr p) {
    uint64_t a = 0, b = 0;
    LAUNCH(count, 1, 1, plain, p);
    TRY(cu.cuStreamSynchronize(plain));
    TRY(cu.cuMemcpyDtoH_v2(&a, p, 8));
    LAUNCH(green_count, 1, 1, green, p);
    TRY(cu.cuStreamSynchronize(green));
    TRY(cu.cuMemcpyDtoH_v2(&b, p, 8));
    return b == a + 1;
}

/* Measures the cost of a switch. Reports the time of an empty kernel, waited for, in one stream,
 * and in two streams by turns; the cost is the difference. */
static void change(CUfunction in_a, CUstream a, CUfunction in_b, CUstream b) {
    enum { N = 200 };
    double stay[N], change_us[N];
    for (int i = 0; i < N; i++) {
        uint64_t begin = probe_now_ns();
        LAUNCH(in_a, 1, 32, a);
        TRY(cu.cuStreamSynchronize(a));
        stay[i] = (probe_now_ns() - begin) / 1e3;
    }
    for (int i = 0; i < N; i++) {
        CUstream s = i % 2 ? a : b;
        uint64_t begin = probe_now_ns();
        LAUNCH(i % 2 ? in_a : in_b, 1, 32, s);
        TRY(cu.cuStreamSynchronize(s));
        change_us[i] = (probe_now_ns() - begin) / 1e3;
    }
    probe_spread(stay, N, "us", "kernel_in_one_share");
    probe_spread(change_us, N, "us", "kernel_in_another_share_each_time");
}

int main(void) {
    struct share shares[SHARES];
    CUdevice dev;
    CUstream plain;
    CUdeviceptr out;
    int n = 0, limited = 0;
    bool same_functions = false;
    probe_begin("green_contexts",
                "Can a stream be held to a share of the multiprocessors, and at what cost?");
    probe_driver_open();
    TRY(cu.cuDeviceGet(&dev, 0));
    TRY(cu.cuDeviceGetDevResource(dev, &whole, CU_DEV_RESOURCE_TYPE_SM));
    granularity();
    struct functions own = functions_of(probe_module());
    TRY(cu.cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
    TRY(cu.cuMemAlloc_v2(&out, (size_t)whole.sm.smCount * 8 * 256 * 4 + 4 * MAX_SMS));
    probe_figure(burn_ms(own.burn, plain, out), "ms", "work_on_the_whole");
    for (int i = 0; i < SHARES; i++) {
        unsigned ask = whole.sm.smCount * (i + 1) / (SHARES + 1);
        double ms;
        if (!make(&shares[n], ask ? ask : 1, &ms)) continue;
        struct share *s = &shares[n];
        if (n && s->sms == s[-1].sms) continue; /* the driver granted the same number as before */
        if (n++ == 0) same_functions = goes_in(own.nothing, s->stream);
        struct functions f = s->f = same_functions ? own : own_functions(s->green);
        int on = used(f.where, s->stream, out);
        limited += on <= (int)s->sms;
        probe_figure(ms, "ms", "making_a_share_of_%u", s->sms);
        probe_figure(on, "SMs", "used_with_a_share_of_%u", s->sms);
        probe_figure(burn_ms(f.burn, s->stream, out), "ms", "work_on_a_share_of_%u", s->sms);
    }
    if (n == 0) return probe_end(false, "no share could be made");
    bool same = same_variable(own.count, plain, shares[0].f.count, shares[0].stream, out);
    probe_fact("variables_of_the_primary_context", "%s", same ? "the same" : "not the same");
    change(shares[0].f.nothing, shares[0].stream, shares[n - 1].f.nothing, shares[n - 1].stream);
    return probe_end(
        true, "%d shares made, %d held to; functions and variables of the primary context are %s",
        n, limited, same ? "the same" : "not the same");
}
