/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions in executable form, and kernels, which consist of them. Shared memory is laid out per
 * kernel; kernels in which the variables that a function names have equal offsets share the
 * function's code (decoded.h). Immutable once a kernel is handed out; many threads run it.
 */
#ifndef DAEMON_DEVICE_SOFT_CODE_FUNC_H
#define DAEMON_DEVICE_SOFT_CODE_FUNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "daemon/device/soft/code/code.h"
#include "daemon/device/soft/code/native.h"
#include "daemon/device/soft/instructions/ptx_matrix.h"
#include "daemon/device/soft/instructions/ptx_texture.h"

/* Bytes after a frame's registers and after a constant pool. A handler that accesses a slot with
 * too large a width (hostile PTX may mix widths) stays inside the client's own frame. */
#define CODE_SLACK 512
#define CODE_FRAME_MAX (8u << 20) /* bytes of registers of one frame */
/* bytes of .local and .param variables of one function, per thread */
#define CODE_LOCAL_MAX (512u << 10)

/* A function's address as kernels see it: never a pointer of this process, always looked up. */
#define CODE_HANDLE_TAG 0x46554e4300000000ull
#define CODE_HANDLE(index) (CODE_HANDLE_TAG + 16ull * ((uint64_t)(index) + 1))
/* Returns the index of a handle, or a number that is out of range. */
static inline uint64_t code_handle_index(uint64_t handle) {
    uint64_t at = handle - CODE_HANDLE(0);
    return at % 16 ? UINT64_MAX : at / 16;
}

/* code_inst.target of memory operations and address moves: flags, and from bit 8 on the index of
 * the warp's window that the instruction uses (an instruction mostly stays in one buffer). */
enum {
    CODE_FRAME_LOCAL = 1, /* the offset counts from the frame's local memory */
    CODE_CONSTANT = 2,    /* reads .const, which lies in global memory but has its own caches */
};
#define CODE_WINDOWS 16
#define CODE_WINDOW(i) ((uint32_t)(i)->target >> 8 & (CODE_WINDOWS - 1))

/* Shared memory reserved for the system, behind the block's own. Only kernels that ask for its
 * address have it (cooperative groups of several warps, in debug builds). */
#define CODE_RESERVED_BYTES 1024
/* Size of each part of the reserved memory that %reserved_smem_offset_0 or _1 names. */
#define CODE_RESERVED_PART 256

/* code_inst.target of barrier.cluster: the barrier after the 16 of the language. */
#define CODE_CLUSTER_BARRIER 16
/* code_inst.target of wgmma.wait_group: the barrier of the warp's group of four. */
#define CODE_GROUP_BARRIER 17

struct code_elem {
    int32_t slot;  /* CODE_NO_SLOT: the sink */
    uint8_t bytes; /* width of the register; 0: a predicate */
};

/* An argument or result of a call: in the caller's local memory, or a register or constant. */
struct code_arg {
    bool in_slot;
    struct code_elem elem;
    uint32_t offset, bytes;
};

/* Uses of a texture or surface instruction, each at a fixed index; CODE_NO_SLOT if the instruction
 * lacks it. The handle is in slot a. */
enum code_texture_use {
    CODE_TEXTURE_LAYER,
    CODE_TEXTURE_AT,                          /* up to three coordinates */
    CODE_TEXTURE_LEVEL = CODE_TEXTURE_AT + 3, /* level; the next two share its index */
    CODE_TEXTURE_GRAD = CODE_TEXTURE_LEVEL,   /* gradients of x, then of y: up to three each */
    CODE_TEXTURE_VALUE = CODE_TEXTURE_LEVEL,  /* value to store: up to four */
    CODE_TEXTURE_OFFSET = CODE_TEXTURE_GRAD + 2 * 3, /* up to three */
    CODE_TEXTURE_USES = CODE_TEXTURE_OFFSET + 3,
};

/* Data to which code_inst.extra points: vector elements, and data of calls, jump tables and
 * others. */
struct code_extra {
    struct code_elem *defs, *uses; /* registers beyond the instruction's own fields */
    uint32_t def_count, use_count;
    int32_t *table; /* brx: targets, as indices into `insts` */
    uint32_t table_count;
    struct code_arg *args, *rets; /* call; in_slot elements repeat those in uses and defs */
    uint32_t arg_count, ret_count;
    int32_t func; /* index in the module; -1: the handle is in slot a */
    enum code_native native;
    const struct ptx_matrix *matrix;  /* the matrix that the lanes hold together, or NULL */
    const struct fragment_tile *tile; /* set for wmma.load and wmma.store */
    code_handler *together; /* runs the instruction when all lanes of the warp are there */
    code_handler *at_once;  /* shfl: runs the instruction when all lanes arrive in one split */
    const struct ptx_texture *texture; /* form of a texture or surface instruction, or NULL */
};

struct code_formal {
    uint32_t offset, bytes; /* position in the callee's local memory */
};

struct code_func {
    const struct ptx_func *ptx;
    struct code_inst *insts; /* count + 1 items: an exit is appended */
    uint32_t count;
    unsigned char *consts; /* 64-byte aligned */
    uint32_t const_bytes;
    uint32_t reg_bytes;   /* size of a frame's registers, without CODE_SLACK */
    uint32_t local_bytes; /* local memory of a lane, a multiple of 16 */
    /* Alignment of the local memory in a lane's stack: a power of two, at least 16. */
    uint32_t local_align;
    struct code_formal *params, *rets;
    uint32_t param_count, ret_count;
    bool stack;        /* the function uses alloca */
    uint32_t pressure; /* 32-bit registers alive at once */
};

struct code_kernel {
    struct code_module *module;
    const char *name;
    struct code_func **funcs; /* indexed by function; NULL: not decoded */
    uint32_t func_count;
    struct code_func *entry;
    uint32_t shared_bytes;   /* static */
    uint32_t dynamic_offset; /* start of dynamic shared memory */
    uint32_t shared_align;   /* alignment of all shared memory: the largest of a variable */
    uint32_t const_bytes;
    /* Local memory of a lane, on the longest path of calls. With recursion it counts only the path
     * until a function repeats; block.c then adds more. */
    uint32_t local_bytes;
    uint32_t local_align; /* alignment of a lane's stack: the largest of a function */
    bool reserved;        /* uses the shared memory reserved for the system */
    /* recursion, calls through pointers or alloca: the stack that a lane needs is unknown */
    bool recursive;
    bool nests; /* calls the device runtime */
    bool launches_graphs;
    /* The kernel, or one that it may launch, calls printf; malloc or free. */
    bool prints, allocates;
    bool *launches; /* kernels whose address the functions take, by index in the module */
    struct arena *arena;
    struct code_kernel *next;
};

#endif
