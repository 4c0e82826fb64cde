/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol between salus-serve and the program of a model, over a pair of SOCK_SEQPACKET
 * sockets. The program finds the number of its end in SALUS_SERVE_FD. One struct is one message;
 * nothing or a memory follows the struct.
 *   both ways, first: HELLO
 *   to the program: BATCH with its memory; then STOP, or the end of the socket
 *   from it: for each BATCH one DONE with its memory, or FAILED
 * The memory of BATCH and DONE is everything after the struct, at most SERVE_WIRE_BEHIND_BYTES; or,
 * with nothing after the struct, a memfd that can neither change its size nor be written any more
 * (F_SEAL_SHRINK, GROW and WRITE). In both cases it consists of
 *   the head, the table of tensors, their names, and their data from `data_at` on.
 * The tensors are in order: all of one name together, by request. Each begins at the first multiple
 * of 64 bytes after the previous one. So the tensors of consecutive requests are one array if the
 * size of each is a multiple of 64. The bytes between are zero, and no reader uses them.
 *
 * Little-endian, fixed width. Plain values; any thread.
 */
#ifndef PROTO_SERVE_SERVE_WIRE_H
#define PROTO_SERVE_SERVE_WIRE_H

#include <stdint.h>

#define SERVE_WIRE_VERSION 2
#define SERVE_WIRE_ENVIRONMENT "SALUS_SERVE_FD"
#define SERVE_WIRE_TEXT_BYTES 224 /* aligns the data after the struct to 64 */
/* Up to twice this size it costs half as much as a memfd (measured). Beyond about 80 KiB the kernel
 * needs more than 16 KiB of contiguous memory for a message. */
#define SERVE_WIRE_BEHIND_BYTES (64u << 10)

/* ---- messages -------------------------------------------------------------------------------- */

#define SERVE_WIRE_MAGIC 0x4d564453u /* "SDVM" */
#define SERVE_WIRE_TICK_NS 32u       /* unit of device_ticks, which saturate at 137 s */

enum serve_wire_kind {
    SERVE_WIRE_HELLO = 1,
    SERVE_WIRE_BATCH,
    SERVE_WIRE_DONE,
    SERVE_WIRE_FAILED,
    SERVE_WIRE_STOP
};

/* Fields that a kind does not need are zero. */
struct serve_wire_msg {
    uint32_t magic;
    uint16_t version, kind;
    uint64_t number;                  /* number of the batch: BATCH, DONE, FAILED; never 0 */
    uint64_t bytes;                   /* size of the message's memory: BATCH, DONE */
    uint32_t requests;                /* BATCH, DONE */
    uint32_t device_ticks;            /* DONE: device time used for the batch; 0: unknown */
    char text[SERVE_WIRE_TEXT_BYTES]; /* FAILED: the reason, NUL-terminated */
};

/* ---- memory ---------------------------------------------------------------------------------- */

#define SERVE_WIRE_MEMORY_MAGIC 0x54564453u /* "SDVT" */
#define SERVE_WIRE_ALIGN 64u                /* bytes */
#define SERVE_WIRE_MAX_RANK 16u
#define SERVE_WIRE_MAX_NAME_BYTES 255u
#define SERVE_WIRE_MAX_NAMES 64u      /* different names */
#define SERVE_WIRE_MAX_REQUESTS 4096u /* requests of a batch */

struct serve_wire_head {
    uint32_t magic;
    uint16_t version, pad; /* pad: 0 */
    uint32_t requests;
    uint32_t tensors; /* at least one */
    uint64_t data_at; /* the end of the names, at a multiple of SERVE_WIRE_ALIGN */
    uint64_t bytes;   /* size of the whole memory; the file is no shorter */
};

struct serve_wire_tensor {
    uint32_t request;                   /* from 0 */
    uint32_t type;                      /* enum datatype */
    uint32_t rank;                      /* dimensions; 0: one element */
    uint32_t name_bytes;                /* without the NUL that follows */
    uint64_t name_at;                   /* from the memory's beginning, like `at` */
    uint64_t at, bytes;                 /* position and size of the data */
    int64_t shape[SERVE_WIRE_MAX_RANK]; /* 0 beyond the rank */
};

#endif
