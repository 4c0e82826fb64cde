/* SPDX-License-Identifier: Apache-2.0
 * The driver's private tables that CUDA's libraries ask for: which exist, their sizes, and the
 * answers of those entries that the project had to guess. Each call runs in a process of its
 * own, which may crash. Only for interoperability: the probe reads a table's size and a call's
 * results, as the libraries do. */
#include "scripts/device-probes/probe.h"

enum { UUIDS = 11 };
static const struct {
    const char *name;
    unsigned char uuid[16];
} tables[UUIDS] = {{"cudart",
                    {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12,
                     0xfd, 0x9d, 0xf9}},
                   {"hooks",
                    {0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20,
                     0x0c, 0x0a, 0x66}},
                   {"tls",
                    {0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a,
                     0x3a, 0xec, 0xdc}},
                   {"cls",
                    {0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55,
                     0xd8, 0x95, 0x93}},
                   {"checks",
                    {0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00,
                     0x6d, 0xfa, 0x7e}},
                   {"validity",
                    {0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c,
                     0x66, 0xe1, 0xf2}},
                   {"tools_context",
                    {0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73,
                     0x24, 0xc8, 0xf2}},
                   {"cublaslt",
                    {0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45, 0x87, 0x26, 0xc0, 0xf1, 0xe7,
                     0xdd, 0x8b, 0xca}},
                   {"tools_module",
                    {0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf,
                     0xf1, 0x99, 0x1e}},
                   {"nvrtc_1",
                    {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e,
                     0x7c, 0x0d, 0xd9}},
                   {"nvrtc_2",
                    {0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5,
                     0x33, 0xe3, 0x28}}};
enum { TLS = 2, CHECKS = 4, TOOLS_CONTEXT = 6, CUBLASLT = 7, TOOLS_MODULE = 8 };

static void *const *table_of(int i) {
    CUuuid uuid;
    const void *table = NULL;
    memcpy(&uuid, tables[i].uuid, sizeof(uuid));
    return cu.cuGetExportTable(&table, &uuid) == CUDA_SUCCESS ? table : NULL;
}

/* Tells the first word of each table, or 0 where the driver has none. */
static void sizes(int peer, void *arg) {
    probe_driver_open();
    for (int i = 0; i < UUIDS; i++) {
        void *const *t = table_of(i);
        probe_tell(peer, t ? (uint64_t)(uintptr_t)t[0] : 0);
    }
}

enum question { CURRENT, CHECKS_2, CHECKS_3, CONTEXT_NUMBER, LT_4, FUNCTIONS, QUESTIONS };
static const char *const questions[QUESTIONS] = {
    "tls[2]", "checks[2]", "checks[3]", "tools_context[4]", "cublaslt[4]", "tools_module[7]"};
static int functions_told;

static int function_told(CUfunction f, void *a, void *b, void *c) {
    functions_told++;
    return 0;
}

/* Tells the return value and one value that the call wrote. */
static void ask(int peer, void *arg) {
    enum question q = *(enum question *)arg;
    static const int of[QUESTIONS] = {TLS, CHECKS, CHECKS, TOOLS_CONTEXT, CUBLASLT, TOOLS_MODULE};
    uint64_t out[32] = {0}, r = 0;
    CUcontext ctx;
    probe_driver_open();
    TRY(cu.cuCtxGetCurrent(&ctx));
    void *const *t = table_of(of[q]);
    if (!t) _exit(9);
    switch (q) {
    case CURRENT:
        r = ((int (*)(CUcontext *))t[2])((CUcontext *)out);
        out[0] = out[0] == (uint64_t)(uintptr_t)ctx;
        break;
    case CHECKS_2:
        r = ((int (*)(CUcontext, uint32_t *, void **))t[2])(ctx, (uint32_t *)out,
                                                            (void **)(out + 1));
        break;
    case CHECKS_3: r = ((int (*)(void))t[3])(); break;
    case CONTEXT_NUMBER: r = ((int (*)(CUcontext, uint64_t *))t[4])(ctx, out); break;
    case LT_4:
        r = ((int (*)(uint64_t *, uint64_t *, uint64_t *))t[4])(out, out + 8, out + 16);
        break;
    default:
        r = ((int (*)(CUcontext, CUmodule, void *, void *))t[7])(ctx, probe_module(),
                                                                 (void *)function_told, NULL);
        out[0] = functions_told;
    }
    probe_tell(peer, (uint32_t)r);
    probe_tell(peer, out[0]);
}

int main(void) {
    int there = 0, answered = 0;
    char name[40];
    probe_begin(
        "private_tables",
        "Which private tables has the driver, how large are they, and what do they answer?");
    struct probe_child c = probe_fork(sizes, NULL);
    for (int i = 0; i < UUIDS; i++) {
        uint64_t bytes = 0;
        if (!probe_hear_within(c.peer, &bytes, 30)) break;
        there += bytes != 0;
        snprintf(name, sizeof(name), "%s", tables[i].name);
        if (bytes == 0)
            probe_fact(name, "none");
        else if (bytes < 65536)
            probe_figure(bytes, "bytes", "%s", name);
        else
            probe_fact(name, "begins with a pointer");
    }
    probe_join(&c, 10);
    for (enum question q = 0; q < QUESTIONS; q++) {
        uint64_t r, out;
        struct probe_child one = probe_fork(ask, &q);
        if (probe_hear_within(one.peer, &r, 10) && probe_hear_within(one.peer, &out, 1)) {
            probe_fact(questions[q], "returns %d, and %#llx", (int)r, (unsigned long long)out);
            answered++;
            probe_join(&one, 10);
        } else {
            probe_fact(questions[q], "no answer, status %d", probe_join(&one, 1));
        }
    }
    return probe_end(there > 0, "%d of %d tables, %d of %d questions answered", there, (int)UUIDS,
                     answered, (int)QUESTIONS);
}
