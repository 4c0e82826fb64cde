/* SPDX-License-Identifier: Apache-2.0
 *
 * A sequence of records in lanes, as the worker is told it (proto/wire/wire.h), while it is written
 * and then: what each launch adds to it. What is put somewhere stands behind all that was put there
 * before. With graph_lock held.
 */
#ifndef SHIM_GRAPH_EXEC_PART_H
#define SHIM_GRAPH_EXEC_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/context/hostfunc.h"
#include "shim/graph/params.h"
#include "shim/graph_exec/lanes.h"
#include "shim/transfer/transfer.h"

struct part_rows;
struct part_buffer;

/* A conditional node in it: the graphs that the record names are numbered by whoever says it. */
struct part_choice {
    struct part_choice *next;
    uint64_t at; /* byte of the record */
    uint32_t count;
    struct part *bodies[];
};

/* An event that it records: `seq` of `lane`. */
struct part_record {
    CUevent event;
    uint32_t id, lane; /* the event's, on the wire */
    uint64_t seq;
};

struct part {
    uint32_t id; /* on the wire */
    struct lanes lanes;
    unsigned char *bytes;
    uint64_t used, cap;
    struct hostfunc *functions;
    uint32_t function_count;
    struct part_record *records;
    uint32_t record_count;
    CUevent *waits; /* behind the first wait, which is for the launch before */
    uint32_t wait_count;
    struct part_rows *rows;
    uint64_t early_bytes; /* of pageable memory that a launch reads at once */
    bool awaited;         /* it writes pageable memory: a launch returns when that is done */
    struct part_buffer *buffers;
    struct part_choice *choices;
    struct part *next; /* of the same program, begun before it */
};

/* One that is launched begins with the wait for the launch before. NULL when there is no memory. */
struct part *part_create(bool launched);
void part_free(struct part *p);

CUresult part_put(struct part *p, uint32_t lane, void *head, uint32_t head_bytes, const void *tail,
                  uint32_t tail_bytes);
/* In no lane. */
CUresult part_put_aside(struct part *p, const void *head, uint32_t head_bytes);
CUresult part_put_function(struct part *p, uint32_t lane, CUhostFn fn, void *arg);
CUresult part_put_record(struct part *p, uint32_t lane, CUevent event);
CUresult part_put_event_wait(struct part *p, uint32_t lane, CUevent event);
/* `bodies` may be empty. */
CUresult part_put_choice(struct part *p, uint32_t lane, const struct params_choice *n,
                         struct part *const *bodies);
/* A launch, the only record of `body`, that kernels change at this address. */
CUresult part_put_changing(struct part *p, uint32_t lane, uint64_t node, struct part *body);
/* Their numbers are known. */
void part_number_choices(struct part *p);
/* For all of these. */
CUresult part_put_waits(struct part *p, uint32_t lane, const struct lanes_place *after);
/* What the worker cannot reach is copied by host functions of this library, into and out of a
 * buffer of the part's, in the order of the lane. What is read of it is what is there when the part
 * is launched, as with CUDA, unless the part has written to such memory before. */
CUresult part_put_copy(struct part *p, uint32_t lane, const struct transfer *asked,
                       unsigned int flags);

/* For one launch: the part's functions, with what they read now; for hostfunc_expect and free. NULL
 * when there is no memory. */
struct hostfunc *part_read(const struct part *p);

/* One more at the end of an array: its place, or NULL when there is no memory. */
void *part_grow(void **array, uint32_t *count, size_t bytes);

#endif
