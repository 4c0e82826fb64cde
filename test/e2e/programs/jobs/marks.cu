/* SPDX-License-Identifier: Apache-2.0
 * Marks the begin of iterations in every possible way: NVTX's own header, and the library's
 * call. Prints how many marks the library should have seen. */
#include <nvtx3/nvToolsExt.h>
#include <string.h>

#include "../../../../shim/salus.h"
#include "common.h"

__global__ void add(int *sum) {
    atomicAdd(sum, 1);
}

static nvtxEventAttributes_t event(const char *text) {
    nvtxEventAttributes_t e;
    memset(&e, 0, sizeof(e));
    e.version = NVTX_VERSION;
    e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    e.messageType = NVTX_MESSAGE_TYPE_ASCII;
    e.message.ascii = text;
    return e;
}

/* Makes each kind of mark once, nine in all. */
static int say(nvtxDomainHandle_t domain, const char *text) {
    nvtxEventAttributes_t e = event(text);
    nvtxMarkA(text);
    nvtxMarkEx(&e);
    nvtxRangePushA(text);
    nvtxRangePushEx(&e);
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangeEnd(nvtxRangeStartA(text));
    nvtxRangeEnd(nvtxRangeStartEx(&e));
    nvtxDomainMarkEx(domain, &e);
    nvtxDomainRangePushEx(domain, &e);
    nvtxDomainRangePop(domain);
    nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &e));
    return 9;
}

static int say_registered(nvtxDomainHandle_t domain, const char *text) {
    nvtxEventAttributes_t e = event(NULL);
    e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    e.message.registered = nvtxDomainRegisterStringA(domain, text);
    nvtxDomainMarkEx(domain, &e);
    return 1;
}

int main(void) {
    int *sum, result, marks = 0;
    nvtxDomainHandle_t domain = nvtxDomainCreateA("marks");
    say(domain, "iteration"); /* no library is connected yet */
    if (salus_iteration) salus_iteration();
    CHECK(cudaMalloc(&sum, sizeof(*sum)));
    CHECK(cudaMemset(sum, 0, sizeof(*sum)));
    for (int i = 0; i < 5; i++) {
        if (salus_iteration) {
            salus_iteration();
            printf("called\n");
        }
        marks += say(domain, "iteration");
        marks += say(domain, "step");
        marks += say_registered(domain, "step");
        say(domain, "forward");
        say_registered(domain, "backward");
        add<<<1, 32>>>(sum);
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaMemcpy(&result, sum, sizeof(result), cudaMemcpyDeviceToHost));
    REQUIRE(result == 160, "%d threads", result);
    printf("marked %d\n", marks);
    return 0;
}
