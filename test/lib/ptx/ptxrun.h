/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs PTX text without a device: parse, load, launch on this thread or several. Buffers are ranges
 * of exactly the size asked for, so that the byte behind them is out of bounds. Failures that a
 * test does not ask about print and abort. Launches of which daemon/device/touch knows what they
 * touch may touch nothing else; those that may go in parts leave the same behind so.
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
    struct code_module *cut;           /* its kernels in parts; NULL: there are none */
    uint32_t in_parts;                 /* launches that were done again so */
    struct ranges *ranges, *variables; /* variables: those of the module among them */
    struct heap *heap;                 /* NULL unless the test makes one */
    struct textures *textures;         /* the same */
    struct runtime *runtime;           /* the device runtime; NULL unless ptxrun_runtime made one */
    struct grid_result result;
    char why[256];
    char touches[256]; /* of the latest launch: "harmless" to do again, or why not */
    char text[8192];   /* what kernels printed and asserted */
    size_t text_len;
    uint32_t slice;       /* budget of a step */
    uint32_t threads;     /* that step the grid; 1: the caller's */
    uint32_t shared;      /* dynamic shared memory of launches */
    uint64_t stack_bytes; /* CU_LIMIT_STACK_SIZE */
    uint32_t cluster[3];  /* of launches; zeros: none */
    int cooperative;
    int beside; /* launches are not watched: somebody else writes meanwhile, or time is measured */
    /* Of one thread; then the grid is cancelled, as it is when patience ends. 0: any number. Where
     * threads wait for one another they are no measure: one may have no CPU for so long. */
    uint64_t max_steps;
    uint64_t steps;
    void *blocks[256]; /* memory to free */
    size_t block_bytes[256];
    uint32_t block_count;
};

/* Zeroed; module NULL and `why` set when the text does not load and `may_fail`. */
struct ptxrun *ptxrun_create(const char *text, size_t bytes, int may_fail);
struct ptxrun *ptxrun_file(const char *path);
void ptxrun_destroy(struct ptxrun *r);
/* Calls `fn` with a fresh run of build/data/ptx/<stem>.<variant>.ptx for each variant and each
 * build of the handlers that this processor can use; `ptxrun_what` names the present combination.
 */
void ptxrun_each(const char *stem, void (*fn)(struct ptxrun *r));
extern char ptxrun_what[64];

/* Zeroed memory of the client. */
void *ptxrun_alloc(struct ptxrun *r, size_t bytes);

/* Gives launches a device runtime with so many pending launches. */
void ptxrun_runtime(struct ptxrun *r, uint32_t pending);

/* Launches with 64-bit parameters given one after the other; `count` of them. The kernel's own
 * parameter layout decides how many bytes of each are passed; the last takes all that are left.
 * Returns the result's error. */
int ptxrun_launch(struct ptxrun *r, const char *kernel, uint32_t grid, uint32_t block,
                  uint32_t count, ...);
int ptxrun_launch3(struct ptxrun *r, const char *kernel, const uint32_t grid[3],
                   const uint32_t block[3], const uint64_t *params, uint32_t count);

#endif
