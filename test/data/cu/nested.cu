// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels. Compiled with -rdc=true; test_nest.c runs them.
typedef unsigned long long u64;

extern "C" __global__ void add(u64 *p, u64 v) {
    atomicAdd(p, v);
}

// p[0] counts grids; p[1 + depth] counts threads of that depth.
extern "C" __global__ void tree(u64 *p, int depth) {
    if (threadIdx.x == 0 && blockIdx.x == 0) atomicAdd(p, 1ull);
    atomicAdd(p + 1 + depth, 1ull);
    if (depth) tree<<<2, 3>>>(p, depth - 1);
}

// Notes the number and its place in the order.
extern "C" __global__ void note(u64 *p, u64 v) {
    if (threadIdx.x) return;
    for (volatile int i = 0; i < 50 + (int)(v % 3) * 400; i++)
        continue;
    p[1 + atomicAdd(p, 1ull)] = v;
}

extern "C" __global__ void in_order(u64 *p, int count) {
    for (int i = 0; i < count; i++)
        note<<<2, 32>>>(p, i);
}

extern "C" __global__ void tails(u64 *p, int count) {
    for (int i = 0; i < count; i++)
        in_order<<<1, 1, 0, cudaStreamTailLaunch>>>(p, 2);
    note<<<1, 1, 0, cudaStreamFireAndForget>>>(p, 100);
    note<<<1, 1>>>(p, 101);
}

// Grids one after the other, each as tail launch of the one before.
extern "C" __global__ void countdown(u64 *p, int left) {
    atomicAdd(p, 1ull);
    if (left) countdown<<<1, 1, 0, cudaStreamTailLaunch>>>(p, left - 1);
}

// Two streams alternate by events. Each stream has every second note, and the notes must be in
// order.
extern "C" __global__ void turns(u64 *p, int count) {
    cudaStream_t s[2];
    cudaEvent_t e;
    cudaStreamCreateWithFlags(&s[0], cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&s[1], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    for (int i = 0; i < count; i++) {
        cudaStreamWaitEvent(s[i & 1], e, 0);
        note<<<1, 32, 0, s[i & 1]>>>(p, i);
        cudaEventRecord(e, s[i & 1]);
    }
    for (int i = 0; i < 2; i++)
        cudaStreamDestroy(s[i]);
    cudaEventDestroy(e);
}

extern "C" __global__ void spread(u64 *p, int count) {
    for (int i = 0; i < count; i++)
        add<<<1, 32, 0, cudaStreamFireAndForget>>>(p, 1);
}

extern "C" __global__ void wait_for(volatile u64 *p) {
    while (!*p)
        continue;
}

// A launch that cannot end, and as many launches after it as fit: p[1] counts them, p[2] has the
// error of the next.
extern "C" __global__ void pending(u64 *p, int count) {
    wait_for<<<1, 1>>>(p);
    for (int i = 0; i < count; i++) {
        add<<<1, 1>>>(p + 3, 1);
        cudaError_t r = cudaGetLastError();
        if (r)
            p[2] = r;
        else
            p[1]++;
    }
    *(volatile u64 *)p = 1;
}

extern "C" __global__ void names(u64 *p) {
    cudaStream_t s;
    cudaEvent_t e;
    u64 count = 0;
    cudaError_t r = cudaSuccess;
    while (!r && count < 100000) {
        r = count & 1 ? cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)
                      : cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
        count += !r;
    }
    p[0] = count;
    p[1] = r;
    p[2] = cudaStreamDestroy(s);
    p[3] = cudaStreamDestroy(s);
    p[4] = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    p[5] = cudaEventRecord(e, cudaStreamTailLaunch);
    p[6] = cudaStreamWaitEvent(cudaStreamFireAndForget, e, 0);
    p[7] = cudaEventDestroy((cudaEvent_t)s);
    p[8] = (u64)s;
}

// Uses a stream of another grid.
extern "C" __global__ void use_stream(u64 *p, cudaStream_t s) {
    note<<<1, 1, 0, s>>>(p, 7);
    p[10] = cudaGetLastError();
}

extern "C" __global__ void lend_stream(u64 *p) {
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    use_stream<<<1, 1>>>(p, s);
}

extern "C" __global__ void deep(u64 *p) {
    atomicAdd(p, 1ull);
    deep<<<1, 1, 0, cudaStreamFireAndForget>>>(p);
    cudaError_t r = cudaGetLastError();
    if (r) p[1] = r;
}

extern "C" __global__ void strays(u64 *p) {
    add<<<1, 32>>>((u64 *)p[0], 1);
    for (int i = 0; i < 10; i++)
        wait_for<<<2, 64, 0, cudaStreamFireAndForget>>>(p + 1);
}

extern "C" __global__ void endless(u64 *p) {
    atomicAdd(p, 1ull);
    wait_for<<<3, 32, 0, cudaStreamFireAndForget>>>(p + 1);
    wait_for<<<3, 32>>>(p + 1);
    add<<<1, 1>>>(p + 2, 1);
}

extern "C" __global__ void for_ever(u64 *p) {
    atomicAdd(p, 1ull);
    for_ever<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
}

extern "C" __global__ void copies(u64 *p, int count) {
    cudaMemsetAsync(p, 0x11, count * 8, 0);
    cudaMemcpyAsync(p + count, p, count * 8, cudaMemcpyDeviceToDevice, 0);
    add<<<1, 32>>>(p + count - 1, 1);
    cudaMemcpyAsync(p + 2 * count, p, count * 8, cudaMemcpyDeviceToDevice, 0);
}

// Each lane gets its own error.
extern "C" __global__ void errors(u64 *p) {
    if (threadIdx.x & 1) add<<<1, 1 + 1024 * threadIdx.x>>>(p, 1);
    if (threadIdx.x == 2) cudaStreamDestroy((cudaStream_t)5);
    p[threadIdx.x] = cudaPeekAtLastError() * 1000 + cudaGetLastError() + cudaGetLastError() * 7;
}
