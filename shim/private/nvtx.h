/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface of NVTX 3 for tools: the part of its binary interface that an injection library
 * needs, which its headers document as public (nvtxDetail/nvtxTypes.h and nvToolsExt.h of
 * github.com/NVIDIA/NVTX). NVTX loads the library that NVTX_INJECTION64_PATH names and calls
 * InitializeInjectionNvtx2, once for each copy of NVTX in the program.
 */
#ifndef SHIM_PRIVATE_NVTX_H
#define SHIM_PRIVATE_NVTX_H

#include <stddef.h>
#include <stdint.h>

#define NVTX_TABLE_CALLBACKS 1u

/* Modules, and the numbers of their functions. */
#define NVTX_CORE 1
#define NVTX_CORE_MARK_EX 1
#define NVTX_CORE_MARK_A 2
#define NVTX_CORE_RANGE_START_EX 4
#define NVTX_CORE_RANGE_START_A 5
#define NVTX_CORE_RANGE_PUSH_EX 8
#define NVTX_CORE_RANGE_PUSH_A 9
#define NVTX_CORE2 5
#define NVTX_CORE2_MARK_EX 1
#define NVTX_CORE2_RANGE_START_EX 2
#define NVTX_CORE2_RANGE_PUSH_EX 4
#define NVTX_CORE2_REGISTER_STRING_A 10

/* The result of a push when the depth is not tracked. */
#define NVTX_NOT_TRACKED (-2)

#define NVTX_MESSAGE_ASCII 1
#define NVTX_MESSAGE_REGISTERED 3

struct nvtx_event {
    uint16_t version, size; /* bytes of the structure in the program's version of NVTX */
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message; /* text, or the result of its registration */
};

typedef void (*nvtx_function)(void);

/* NVTX stores the function at `table[number]`; NULL where it has none. */
struct nvtx_callbacks {
    size_t bytes;
    int (*functions)(int module, nvtx_function ***table, unsigned int *count);
};

typedef const void *(*nvtx_tables)(uint32_t id);

/* Returns 1: NVTX calls this library from now on; 0: it does not. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_tables tables);

#endif
