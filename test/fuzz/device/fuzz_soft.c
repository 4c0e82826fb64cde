/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile PTX through the whole software GPU: parsed, loaded, decoded and run for a few slices,
 * with parameters that point into a small buffer. A kernel may fault, the process must not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/decode/code_kernel.h"
#include "daemon/device/soft/module/code_kernel_info.h"
#include "daemon/device/soft/module/code_module.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/device/soft/runtime/family.h"
#include "daemon/device/soft/runtime/heap.h"
#include "daemon/device/soft/runtime/runtime.h"

#define ROOM (1 << 20)   /* bytes for variables */
#define BUFFER (1 << 12) /* bytes behind each pointer parameter */
#define PENDING 16       /* pending launches */

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char *room;
static uint64_t room_used;

/* Memory from ASan's allocator, so that accesses beyond an allocation are detected. */
static uint64_t alloc_var(void *arg, uint64_t bytes, uint64_t align) {
    (void)arg;
    uint64_t at = (room_used + align - 1) & ~(align - 1);
    if (bytes > ROOM || at > ROOM - bytes) return 0;
    room_used = at + bytes;
    return (uint64_t)(uintptr_t)room + at;
}

static void drop_text(void *arg, int to_stderr, const char *text, size_t bytes) {
    (void)to_stderr;
    for (size_t i = 0; i < bytes; i++)
        *(uint32_t *)arg += (unsigned char)text[i];
}

static void fuzz_launch(const struct launch_config *config) {
    struct family f = {0};
    if (family_begin(&f, config)) return;
    int steps = 0;
    while (family_step(&f, 2000) != GRID_DONE)
        if (++steps == 4) family_cancel(&f, ERR_CANCELLED);
    struct grid_result result;
    family_result(&f, &result);
    if (strlen(result.text) >= sizeof(result.text)) abort();
    family_finish(&f);
    if (config->runtime->pending) abort();
}

static void run_kernel(struct code_kernel *k, struct ranges *ranges, struct heap *heap,
                       struct runtime *runtime, unsigned char *buffer, uint32_t threads,
                       int cooperative) {
    struct code_kernel_info info;
    uint64_t params[512];
    uint32_t sum = 0;
    code_kernel_info(k, &info);
    if (info.func->param_bytes > 65536) return; /* above the limit of any launch */
    for (size_t i = 0; i < 512; i++)
        params[i] = i % 3 == 2 ? 1000 + i : (uint64_t)(uintptr_t)buffer;
    uint32_t bytes =
        info.func->param_bytes < sizeof(params) ? info.func->param_bytes : sizeof(params);
    void *block = calloc(1, launch_param_room(k, bytes));
    struct launch_config config = {.kernel = k,
                                   .grid = {2, 1, 1},
                                   .block = {threads, 1, 1},
                                   .shared_bytes = 256,
                                   .cluster = {cooperative ? 0 : 2},
                                   .cooperative = cooperative,
                                   .params = memcpy(launch_param_place(k, block), params, bytes),
                                   .param_bytes = bytes,
                                   .ranges = ranges,
                                   .text = drop_text,
                                   .text_arg = &sum,
                                   .heap = heap,
                                   .runtime = runtime};
    fuzz_launch(&config);
    free(block);
}

/* Code that was accepted as PTX either decodes or is unsupported; it may not be malformed. */
static void not_malformed(int err, const char *why) {
    static const char *const words[] = {"the wrong width",    "operands are missing",
                                        "must be a register", "is too narrow",
                                        "names no type",      "needs a label"};
    if (!strncmp(why, "call", 4)) return; /* call by a 32-bit address, which ptxas accepts */
    for (size_t i = 0; err == ERR_INVALID_PTX && i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(why, words[i])) {
            fprintf(stderr, "accepted, but %s\n", why);
            abort();
        }
}

/* Mostly the best build of the handlers, but each build has code of its own. */
static void choose_handlers(size_t size) {
    static const char *const builds[] = {"v4", "v4", "v3", "base"};
    setenv("SALUS_SOFT_ISA", builds[size % 4], 1);
}

/* Mostly two warps, sometimes one of them with few lanes; or the four warps of wgmma. */
static uint32_t choose_threads(size_t size) {
    return size & 4 ? 40 : size & 8 ? 128 : 64;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ptx_module *ptx;
    struct code_module *m;
    char why[256];
    if (!room) room = aligned_alloc(4096, ROOM);
    memset(room, 0, ROOM);
    room_used = 0;
    choose_handlers(size);
    if (ptx_parse((const char *)data, size, &ptx, why, sizeof(why))) return 0;
    struct code_env env = {.alloc = alloc_var};
    if (code_module_create(&m, ptx)) {
        ptx_module_free(ptx);
        return 0;
    }
    if (code_module_place(m, &env, why, sizeof(why))) {
        code_module_destroy(m);
        return 0;
    }
    const uint64_t behind = BUFFER + runtime_room(PENDING);
    unsigned char *buffer = calloc(1, behind);
    uint64_t lo = (uint64_t)(uintptr_t)room, at = (uint64_t)(uintptr_t)buffer;
    struct ranges *variables = ranges_with(NULL, lo, lo + room_used);
    struct ranges *all = ranges_with(variables, at, at + behind);
    struct heap *heap = heap_create(at + BUFFER / 2, at + BUFFER);
    struct runtime runtime = {
        .pending_limit = PENDING,
        .facts.sm = {.shared_optin_bytes = 227 << 10, .shared_unit = occupancy_shared_unit(9)}};
    if (runtime_init(&runtime, at + BUFFER, at + behind)) abort();
    for (uint32_t f = 0, run = 0; f < ptx->func_count && run < 4; f++) {
        struct code_kernel *k;
        if (!ptx->funcs[f]->entry) continue;
        int err = code_kernel_get(m, ptx->funcs[f]->name, &k, why, sizeof(why));
        not_malformed(err, why);
        if (err) continue;
        run_kernel(k, all, heap, &runtime, buffer, choose_threads(size), (int)(run++ & 1));
    }
    runtime_finish(&runtime);
    heap_destroy(heap);
    ranges_unref(all);
    ranges_unref(variables);
    code_module_destroy(m);
    free(buffer);
    return 0;
}
