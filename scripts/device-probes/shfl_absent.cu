// SPDX-License-Identifier: Apache-2.0
// Finds the value that shfl.sync reads from an inactive lane. PTX leaves it undefined; the software
// GPU gives 0. Every lane has its number + 100 in the shuffled register, 7000 + its number in
// another live register, and 0x5a5a0000 + its number as old value of the result register. So each
// possible answer differs from the others.
#include <cstdio>
#include <cstdlib>

#include "scripts/device-probes/report.h"

enum { OUTSIDE, ELSEWHERE, GONE, EARLIER, CASES };
static const char *const names[CASES] = {"outside the mask, and gone",
                                         "outside the mask, elsewhere", "in the mask, and gone",
                                         "the second half of a reduction"};

__device__ unsigned shuffle(unsigned mask, unsigned v, unsigned by, unsigned before, unsigned *in) {
    unsigned d = before, p;
    asm volatile("{ .reg .pred q; shfl.sync.down.b32 %0|q, %2, %3, 31, %4; selp.u32 %1, 1, 0, q; }"
                 : "+r"(d), "=r"(p)
                 : "r"(v), "r"(by), "r"(mask));
    *in = p;
    return d;
}

__global__ void probe(unsigned *out, unsigned *in, int which) {
    unsigned lane = threadIdx.x, v = lane + 100, beside = 7000 + lane, before = 0x5a5a0000 + lane;
    unsigned d = 0, p = 0;
    switch (which) {
    case OUTSIDE:
        if (lane >= 8) return;
        d = shuffle(0xff, v, 4, before, &p);
        break;
    case ELSEWHERE:
        if (lane < 8)
            d = shuffle(0xff, v, 4, before, &p);
        else
            atomicAdd(&out[64], v); // keeps the other register live
        break;
    case GONE:
        if (lane >= 8) return;
        d = shuffle(0xffffffff, v, 4, before, &p);
        break;
    default: // NVIDIA's `reduction` sample: lanes 8 to 31 took part earlier and hold their sums
        for (unsigned by = 16; by; by /= 2)
            v += shuffle(0xffffffff, v, by, before, &p);
        if (lane < 8) {
            v = lane + 100;
            d = shuffle(0xff, v, 4, before, &p);
        }
        break;
    }
    if (lane < 8) {
        out[lane] = d;
        in[lane] = p;
    }
    out[32 + lane] = beside + v;
}

static const char *meaning(unsigned d, unsigned lane) {
    unsigned from = lane + 4;
    return d == 0              ? "0"
           : d == lane + 100   ? "its own value"
           : d == from + 100   ? "the other lane's present value"
           : d == from + 7000  ? "another register of the other lane"
           : d >> 16 == 0x5a5a ? "what the destination held"
                               : "something else";
}

static void say(int which, unsigned lane, unsigned got, unsigned predicate) {
    char name[80];
    snprintf(name, sizeof name, "%s: lane %u of lane %u", names[which], lane, lane + 4);
    probe_fact(name, "%u (%s), predicate %u", got, meaning(got, lane), predicate);
}

int main() {
    unsigned *out, *in, host[128], hin[32];
    int differs = 0;
    probe_begin("shfl_absent", "What does shfl.sync get of a lane that takes no part?");
    if (cudaMalloc(&out, sizeof host) || cudaMalloc(&in, sizeof hin))
        return probe_end(false, "cannot be asked: %s", cudaGetErrorString(cudaGetLastError()));
    for (int which = 0; which < CASES; which++) {
        cudaMemset(out, 0, sizeof host);
        probe<<<1, 32>>>(out, in, which);
        cudaError_t err = cudaGetLastError();
        if (!err) err = cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
        if (!err) err = cudaMemcpy(hin, in, sizeof hin, cudaMemcpyDeviceToHost);
        if (err) return probe_end(false, "failed: %s: %s", names[which], cudaGetErrorString(err));
        for (unsigned lane = 0; lane < 8; lane++) {
            unsigned want = lane < 4 ? lane + 104 : 0;
            bool same = host[lane] == want && hin[lane];
            differs += !same;
            if (lane == 0 || lane >= 4) say(which, lane, host[lane], hin[lane]);
        }
    }
    return probe_end(
        true, differs ? "%d of 32 lanes differ from the software GPU" : "as on the software GPU: 0",
        differs);
}
