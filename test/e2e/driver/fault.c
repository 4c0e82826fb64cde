/* SPDX-License-Identifier: Apache-2.0
 * An illegal access. From then on every call about the context returns the error, on every
 * thread, at once; and the process can end in any way. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "common/atomics.h"
#include "test/e2e/driver/driver.h"
#include "test/e2e/driver/driver_code.h"

#define THREADS 3
#define DEAD CUDA_ERROR_ILLEGAL_ADDRESS

static CUdeviceptr memory;
static CUstream stream;
static CUevent event;
static CUmodule module;

/* Calls until one returns the error; none of the calls hangs. */
static void *work(void *arg) {
    CUstream s;
    CUresult r = cu.CtxSetCurrent(driver_context);
    unsigned n = 1024, v = 1;
    void *params[] = {&memory, &n, &v};
    (void)arg;
    if (!r) r = cu.StreamCreate(&s, CU_STREAM_NON_BLOCKING);
    while (!r) {
        r = cu.LaunchKernel(driver_fill, 8, 1, 1, 128, 1, 1, 0, s, params, NULL);
        if (!r) r = cu.StreamSynchronize(s);
    }
    REQUIRE(r == DEAD);
    GIVES(DEAD, cu.CtxSynchronize());
    return NULL;
}

static void *wait_for_event(void *arg) {
    CUresult r;
    (void)arg;
    WORKS(cu.CtxSetCurrent(driver_context));
    do
        r = cu.EventQuery(event);
    while (r == CUDA_ERROR_NOT_READY && !sched_yield());
    REQUIRE(r == DEAD);
    return NULL;
}

static void launch_wild(void) {
    CUdeviceptr nowhere = 0xdead0000;
    void *params[] = {&nowhere};
    WORKS(cu.LaunchKernel(driver_wild, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    WORKS(cu.EventRecord(event, stream));
}

/* Checks the results of the driver's calls for a context with a sticky error. */
static void everything_says_so(void) {
    unsigned n = 1024, v = 1;
    void *params[] = {&memory, &n, &v};
    CUstream s;
    CUevent e;
    CUmodule m;
    CUdeviceptr p;
    CUfunction f;
    CUmemGenericAllocationHandle h;
    size_t bytes, free_bytes;
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    void *host;
    GIVES(DEAD, cu.StreamSynchronize(stream));
    GIVES(DEAD, cu.StreamQuery(stream));
    GIVES(DEAD, cu.EventQuery(event));
    GIVES(DEAD, cu.EventSynchronize(event));
    GIVES(DEAD, cu.LaunchKernel(driver_fill, 8, 1, 1, 128, 1, 1, 0, stream, params, NULL));
    GIVES(DEAD, cu.MemcpyDtoHAsync(&n, memory, 4, stream));
    GIVES(DEAD, cu.MemsetD8Async(memory, 0, 4, stream));
    GIVES(DEAD, cu.MemAlloc(&p, 4096));
    GIVES(DEAD, cu.MemCreate(&h, 2 << 20, &prop, 0));
    GIVES(DEAD, cu.MemHostAlloc(&host, 4096, 0));
    GIVES(DEAD, cu.MemGetInfo(&free_bytes, &bytes));
    GIVES(DEAD, cu.StreamCreate(&s, 0));
    GIVES(DEAD, cu.EventCreate(&e, 0));
    GIVES(DEAD, cu.EventRecord(event, stream));
    GIVES(DEAD, cu.StreamWriteValue64(stream, memory, 1, 0));
    GIVES(DEAD, cu.ModuleLoadData(&m, DRIVER_CODE));
    GIVES(DEAD, cu.ModuleGetFunction(&f, module, "fill"));
    GIVES(DEAD, cu.MemFree(memory));
    GIVES(DEAD, cu.CtxSynchronize());
}

static void begin(void) {
    WORKS(cu.MemAlloc(&memory, 4096));
    WORKS(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    WORKS(cu.EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    WORKS(cu.ModuleLoadData(&module, DRIVER_CODE));
}

void topic_fault(void) {
    pthread_t t[THREADS];
    begin();
    for (int i = 0; i < THREADS - 1; i++)
        REQUIRE(pthread_create(&t[i], NULL, work, NULL) == 0);
    launch_wild();
    REQUIRE(pthread_create(&t[THREADS - 1], NULL, wait_for_event, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    everything_says_so();
    (void)cu.DevicePrimaryCtxReset(0);
    (void)cu.DevicePrimaryCtxRelease(0);
}

/* The same, and then exit() at once, with queued work and other threads in the middle of calls. */
void topic_exit(void) {
    pthread_t t;
    begin();
    REQUIRE(pthread_create(&t, NULL, work, NULL) == 0);
    launch_wild();
    while (cu.StreamQuery(stream) == CUDA_ERROR_NOT_READY)
        sched_yield();
}

/* ---- runs until it is killed ----------------------------------------------------------------- */

static void *keep_busy(void *arg) {
    unsigned n = 100000, v = (unsigned)(intptr_t)arg;
    CUdeviceptr p;
    CUstream s;
    CUmodule m;
    void *params[] = {&p, &n, &v};
    WORKS(cu.CtxSetCurrent(driver_context));
    WORKS(cu.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (;;) {
        WORKS(cu.MemAlloc(&p, n * 4));
        WORKS(cu.ModuleLoadData(&m, DRIVER_CODE));
        driver_launch(driver_fill, s, n, params);
        driver_launch(driver_add, s, n, params);
        WORKS(cu.StreamSynchronize(s));
        WORKS(cu.ModuleUnload(m));
        WORKS(cu.MemFree(p));
    }
    return NULL;
}

void topic_busy(void) {
    pthread_t t[THREADS];
    printf("busy\n");
    fflush(stdout);
    for (intptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&t[i], NULL, keep_busy, (void *)i) == 0);
    for (;;)
        topic_memory();
}
