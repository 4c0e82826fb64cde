/* SPDX-License-Identifier: Apache-2.0
 * Damaged modules through the driver API: each must be refused with CUDA's error, and the
 * process must continue unharmed. */
#include <cuda.h>
#include <string.h>

#include "common.h"

__global__ void alive(int *p) {
    *p = 42;
}

static const char good[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n"
                           "ld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 7;\nret;\n}\n";

static void expect(CUresult got, CUresult want, const char *what) {
    REQUIRE(got == want, "%s gave %d, expected %d", what, (int)got, (int)want);
}

static void still_alive(void) {
    int *p, v = 0;
    CHECK(cudaMalloc(&p, 4));
    alive<<<1, 1>>>(p);
    CHECK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    REQUIRE(v == 42, "the process lost its context: %d", v);
    CHECK(cudaFree(p));
}

/* Lines that are not PTX, and the JIT's log about each. */
static const struct {
    const char *line, *why;
} invalid[] = {
    {"nonsense.u32 %rd1;", "line 8: unknown instruction 'nonsense'"},
    {"add.u64 %rd1, %rd2;", "line 8: add.u64: too few operands, 2 of 3"},
    {"add.u32 %rd1, %rd1, 1;",
     "line 8: add.u32: operand 1 cannot be %rd1, a register of type .b64"},
    {"add.u64 %rd1, %rd1, %rd7;", "line 8: unknown name '%rd7'"},
    {".reg .u32 %u<3>; add.f32 %u1, %u1, %u2;", "line 8: add.f32: operand 1 cannot be %u1"},
    {".reg .pred %p<3>; mov.u32 %p1, 3;", "line 8: mov.u32: operand 1 cannot be %p1"},
    {"bra nowhere;", "line 8: unknown name 'nowhere'"},
};

static void refuse_at_load(const char *line, const char *why) {
    char text[sizeof good + 200], log[256] = "untouched";
    CUmodule m;
    const char *at = strstr(good, "st.global");
    snprintf(text, sizeof text, "%.*s%s\n%s", (int)(at - good), good, line, at);
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    expect(cuModuleLoadData(&m, text), CUDA_ERROR_INVALID_PTX, line);
    expect(cuModuleLoadDataEx(&m, text, 2, options, values), CUDA_ERROR_INVALID_PTX, line);
    REQUIRE(strstr(log, why), "%s: the log says \"%s\"", line, log);
    REQUIRE((size_t)values[1] == strlen(log), "the log has %zu bytes, not %zu", strlen(log),
            (size_t)values[1]);
}

int main(void) {
    CUmodule m;
    CUfunction f;
    char text[sizeof good + 200];
    CHECK(cudaFree(0));
    expect(cuModuleLoadData(&m, good), CUDA_SUCCESS, "good PTX");
    expect(cuModuleGetFunction(&f, m, "k"), CUDA_SUCCESS, "its kernel");
    expect(cuModuleGetFunction(&f, m, "missing"), CUDA_ERROR_NOT_FOUND,
           "a kernel that is not there");
    expect(cuModuleUnload(m), CUDA_SUCCESS, "unload");

    strcpy(text, good);
    *strstr(text, "st.global") = '?';
    expect(cuModuleLoadData(&m, text), CUDA_ERROR_INVALID_PTX, "PTX with a syntax error");

    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++)
        refuse_at_load(invalid[i].line, invalid[i].why);

    for (size_t cut = sizeof good - 4; cut > 80; cut -= 9) { /* truncated: refused, never a crash */
        memcpy(text, good, cut);
        text[cut] = 0;
        CUresult r = cuModuleLoadData(&m, text);
        REQUIRE(r != CUDA_SUCCESS, "PTX cut at %zu was accepted", cut);
    }

    char *unknown = text;
    strcpy(unknown, good);
    strcpy(strstr(unknown, "st.global"), "tcgen05.wait::ld.sync.aligned;\nret;\n}\n");
    expect(cuModuleLoadData(&m, unknown), CUDA_SUCCESS, "PTX with an unsupported instruction");
    expect(cuModuleGetFunction(&f, m, "k"), CUDA_ERROR_INVALID_PTX, "a kernel that has it");
    expect(cuModuleUnload(m), CUDA_SUCCESS, "unload");

    unsigned char fatbin[64] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 48};
    expect(cuModuleLoadData(&m, fatbin), CUDA_ERROR_INVALID_IMAGE, "a fatbin of zeros");
    still_alive();
    printf("all refused\n");
    return 0;
}
