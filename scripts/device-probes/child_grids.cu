// SPDX-License-Identifier: Apache-2.0
// Measures in which order fire-and-forget grids of a kernel run, and which error tells that too
// many are pending. CUDA promises no order and documents no limit. Needs -rdc=true and -lcudadevrt.
#include <cstdio>
#include <cstdlib>

#include "scripts/device-probes/report.h"

enum { CHILDREN = 64, MANY = 20000 };

__global__ void child(unsigned *order, unsigned *ticket, unsigned n) {
    if (threadIdx.x == 0) order[atomicAdd(ticket, 1)] = n;
}

__global__ void parent(unsigned *order, unsigned *ticket, bool tail) {
    for (unsigned n = 0; n < CHILDREN; n++)
        if (tail)
            child<<<1, 32, 0, cudaStreamTailLaunch>>>(order, ticket, n);
        else
            child<<<1, 32, 0, cudaStreamFireAndForget>>>(order, ticket, n);
    order[2 * CHILDREN] = atomicAdd(ticket, 0); // children that ran before their parent ended
}

// Launches, from one thread, more grids than may be pending. answers: the first error, the launch
// that got it, and the number of launches that failed.
__global__ void too_many(unsigned *sink, unsigned *ticket, int *answers, int launches) {
    answers[0] = answers[1] = answers[2] = 0;
    for (int n = 0; n < launches; n++) {
        child<<<1, 32, 0, cudaStreamTailLaunch>>>(sink, ticket, 0);
        cudaError_t err = cudaGetLastError();
        if (!err) continue;
        if (!answers[2]++) {
            answers[0] = err;
            answers[1] = n;
        }
    }
}

static bool ascending(const unsigned *order) {
    for (unsigned n = 0; n < CHILDREN; n++)
        if (order[n] != n) return false;
    return true;
}

// Returns in how many of 20 rounds all children ran in the order of their launches; below 0: a call
// failed.
static int in_order(unsigned *order, unsigned *ticket, bool tail) {
    static unsigned host[2 * CHILDREN + 1];
    int times = 0;
    unsigned early = 0;
    for (int i = 0; i < 20; i++) {
        cudaMemset(ticket, 0, sizeof *ticket);
        cudaMemset(order, 0xff, sizeof host);
        parent<<<1, 1>>>(order, ticket, tail);
        if (cudaGetLastError() || cudaDeviceSynchronize() ||
            cudaMemcpy(host, order, sizeof host, cudaMemcpyDeviceToHost))
            return -1;
        times += ascending(host);
        if (host[2 * CHILDREN] > early) early = host[2 * CHILDREN];
    }
    probe_figure(times, "of 20", "%s_in_order", tail ? "tail" : "fire_and_forget");
    probe_figure(early, "children", "%s_before_their_parent_ended",
                 tail ? "tail" : "fire_and_forget");
    return times;
}

int main() {
    unsigned *order, *ticket;
    int *answers, told[3] = {0, 0, 0};
    probe_begin("child_grids",
                "In which order do grids of kernels run, and what says that there are too many?");
    size_t bytes = (MANY + 2 * CHILDREN + 1) * sizeof(unsigned);
    if (cudaMalloc(&order, bytes) || cudaMalloc(&ticket, 8) || cudaMalloc(&answers, sizeof told))
        return probe_end(false, "cannot be asked: %s", cudaGetErrorString(cudaGetLastError()));
    int forget = in_order(order, ticket, false), tail = in_order(order, ticket, true);
    if (forget < 0 || tail < 0)
        return probe_end(false, "failed: %s", cudaGetErrorString(cudaGetLastError()));
    size_t limit = 0;
    cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 128);
    cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount);
    probe_figure((double)limit, "launches", "that_may_wait");
    cudaMemset(ticket, 0, sizeof *ticket);
    too_many<<<1, 1>>>(order, ticket, answers, getenv("PROBE_SMALL") ? 400 : MANY);
    if (cudaGetLastError()) return probe_end(false, "failed: it is not launched");
    cudaError_t err = cudaDeviceSynchronize();
    cudaMemcpy(told, answers, sizeof told, cudaMemcpyDeviceToHost);
    probe_figure(told[0], "cudaError", "too_many_in_the_kernel");
    probe_figure(told[1], "launches", "before_the_first_error");
    probe_figure(told[2], "launches", "that_gave_an_error");
    probe_figure(err, "cudaError", "too_many_at_the_host");
    return probe_end(true,
                     "fire and forget in order %d of 20 times, tail %d; too many: %d in the "
                     "kernel, %d at the host",
                     forget, tail, told[0], (int)err);
}
