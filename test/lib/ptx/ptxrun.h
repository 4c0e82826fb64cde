/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs PTX text without a device: parses it, loads it, and launches on this thread or on several.
 * Buffers have exactly the size asked for, so that the byte after them is out of bounds. Failures
 * that a test does not expect print a message and abort. The first launches (watched_wanted) whose
 * accesses daemon/device/touch knows may access nothing else, and are repeated if they can be.
 * Launches that may be split into parts are repeated in parts. Repeated launches must leave the
 * same memory.
 */
#ifndef TEST_LIB_PTXRUN_H
#define TEST_LIB_PTXRUN_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/decode/code_kernel.h"
#include "daemon/device/soft/module/code_module.h"
#include "daemon/device/soft/runtime/family.h"
#include "daemon/device/soft/runtime/heap.h"
#include "daemon/device/soft/runtime/runtime.h"
#include "daemon/device/soft/texture/textures.h"

struct ptxrun {
    struct code_module *module;
    struct code_module *cut;           /* kernels of the module in parts; NULL: there are none */
    uint32_t in_parts;                 /* launches that were repeated in parts */
    struct ranges *ranges, *variables; /* variables: those of the module included */
    struct heap *heap;                 /* NULL unless the test creates one */
    struct textures *textures;         /* NULL unless the test creates them */
    struct runtime *runtime;           /* the device runtime; NULL unless ptxrun_runtime made one */
    struct grid_result result;
    char why[256];
    /* latest launch: "harmless" if it can be repeated, or the reason why not */
    char touches[256];
    char text[8192]; /* output of printf and assert in kernels */
    size_t text_len;
    uint32_t slice;       /* instruction budget of a step */
    uint32_t threads;     /* threads that step the grid, at most 16; 1: the caller's only */
    uint32_t shared;      /* dynamic shared memory of launches */
    uint64_t stack_bytes; /* CU_LIMIT_STACK_SIZE */
    uint32_t cluster[3];  /* cluster shape of launches; zeros: none */
    int cooperative;
    /* launches are not watched: another thread writes meanwhile, or the test measures time */
    int beside;
    /* Limit of one thread's steps; beyond it the grid is cancelled, as it is when the time limit
     * passes. 0: no limit. The limit is useless where threads wait for one another: a thread may
     * have no CPU for long. */
    uint64_t max_steps;
    uint64_t steps;
    void *blocks[256]; /* memory to free at the end */
    size_t block_bytes[256];
    uint32_t block_count;
};

/* Returns a zeroed run. If the text does not load and `may_fail` is set, module is NULL and
 * `why` is set. */
struct ptxrun *ptxrun_create(const char *text, size_t bytes, int may_fail);
struct ptxrun *ptxrun_file(const char *path);
void ptxrun_destroy(struct ptxrun *r);
/* Calls `fn` with a new run of build/data/ptx/<stem>.<variant>.ptx for each variant and each
 * build of the handlers that this processor supports; `ptxrun_what` names the current
 * combination. */
void ptxrun_each(const char *stem, void (*fn)(struct ptxrun *r));
extern char ptxrun_what[64];

/* Returns zeroed client memory. */
void *ptxrun_alloc(struct ptxrun *r, size_t bytes);

/* Gives launches a device runtime with this limit of pending launches. */
void ptxrun_runtime(struct ptxrun *r, uint32_t pending);

/* Launches with `count` 64-bit parameters, at most 16, given as variadic arguments. The kernel's
 * parameter layout decides how many bytes of each are passed; the last parameter gets all
 * remaining values. Returns the result's error. */
int ptxrun_launch(struct ptxrun *r, const char *kernel, uint32_t grid, uint32_t block,
                  uint32_t count, ...);
int ptxrun_launch3(struct ptxrun *r, const char *kernel, const uint32_t grid[3],
                   const uint32_t block[3], const uint64_t *params, uint32_t count);

#endif
