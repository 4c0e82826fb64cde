/* SPDX-License-Identifier: Apache-2.0
 *
 * What salus-serve and the program of a model say to each other, over a pair of SOCK_SEQPACKET
 * sockets of which the program finds its end's number in SALUS_SERVE_FD: one struct is one message,
 * and behind it there is nothing, or a memory.
 *   both ways, first: HELLO
 *   to the program: BATCH with its memory; then STOP, or the end of the socket
 *   from it: for each BATCH one DONE with its memory, or FAILED
 * The memory of BATCH and DONE is all that stands behind the struct, at most
 * SERVE_WIRE_BEHIND_BYTES; or, with nothing behind the struct, a memfd that can neither change its
 * size nor be written any more (F_SEAL_SHRINK, GROW and WRITE). Either way it is
 *   the head, the table of tensors, their names, and their data from `data_at` on.
 * The tensors are in order: all of one name together, by request; each begins at a multiple of 64
 * bytes behind the one before it, at the first there is. So those of consecutive requests are one
 * array where the bytes of each are a multiple of 64. What lies between is zero, and nobody looks.
 *
 * Little-endian, fixed width. Plain values; any thread.
 */
#ifndef PROTO_SERVE_SERVE_WIRE_H
#define PROTO_SERVE_SERVE_WIRE_H

#include <stdint.h>

#define SERVE_WIRE_VERSION 2
#define SERVE_WIRE_ENVIRONMENT "SALUS_SERVE_FD"
#define SERVE_WIRE_TEXT_BYTES 224 /* so that what is behind the struct lies at a multiple of 64 */
/* Half of what a memfd costs up to twice this (measured); beyond some 80 KiB the kernel needs more
 * than 16 KiB in one piece for a message. */
#define SERVE_WIRE_BEHIND_BYTES (64u << 10)

/* ---- messages -------------------------------------------------------------------------------- */

#define SERVE_WIRE_MAGIC 0x4d564453u /* "SDVM" */
#define SERVE_WIRE_TICK_NS 32u       /* of device_ticks, which reach 137 s, and stay there */

enum serve_wire_kind {
    SERVE_WIRE_HELLO = 1,
    SERVE_WIRE_BATCH,
    SERVE_WIRE_DONE,
    SERVE_WIRE_FAILED,
    SERVE_WIRE_STOP
};

/* What a kind does not need is zero. */
struct serve_wire_msg {
    uint32_t magic;
    uint16_t version, kind;
    uint64_t number;                  /* of the batch: BATCH, DONE, FAILED; never 0 */
    uint64_t bytes;                   /* of the memory that goes with it: BATCH, DONE */
    uint32_t requests;                /* BATCH, DONE */
    uint32_t device_ticks;            /* DONE: what the device worked for it; 0: not known */
    char text[SERVE_WIRE_TEXT_BYTES]; /* FAILED: why, NUL-terminated */
};

/* ---- memory ---------------------------------------------------------------------------------- */

#define SERVE_WIRE_MEMORY_MAGIC 0x54564453u /* "SDVT" */
#define SERVE_WIRE_ALIGN 64u                /* bytes */
#define SERVE_WIRE_MAX_RANK 16u
#define SERVE_WIRE_MAX_NAME_BYTES 255u
#define SERVE_WIRE_MAX_NAMES 64u      /* that differ */
#define SERVE_WIRE_MAX_REQUESTS 4096u /* of a batch */

struct serve_wire_head {
    uint32_t magic;
    uint16_t version, pad; /* pad: 0 */
    uint32_t requests;
    uint32_t tensors; /* at least one */
    uint64_t data_at; /* the end of the names, at a multiple of SERVE_WIRE_ALIGN */
    uint64_t bytes;   /* of it all; the file is no shorter */
};

struct serve_wire_tensor {
    uint32_t request;                   /* from 0 */
    uint32_t type;                      /* enum datatype */
    uint32_t rank;                      /* dimensions; 0: one element */
    uint32_t name_bytes;                /* without the NUL that stands behind it */
    uint64_t name_at;                   /* from the memory's begin, as `at` */
    uint64_t at, bytes;                 /* its data */
    int64_t shape[SERVE_WIRE_MAX_RANK]; /* 0 beyond the rank */
};

#endif
