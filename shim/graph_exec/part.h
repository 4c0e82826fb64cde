/* SPDX-License-Identifier: Apache-2.0
 *
 * A sequence of records in lanes, in the form that the worker gets (proto/wire/wire.h), and the
 * data that each launch adds to it. Every record is put behind all earlier ones of its lane. The
 * caller holds graph_lock.
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

/* A conditional node. The sender of the part numbers the graphs that the record names. */
struct part_choice {
    struct part_choice *next;
    uint64_t at; /* byte offset of the record */
    uint32_t count;
    struct part *bodies[];
};

/* An event that the part records: `seq` of `lane`. */
struct part_record {
    CUevent event;
    uint32_t id, lane; /* `id`: the event's id on the wire */
    uint64_t seq;
};

struct part {
    uint32_t id; /* id on the wire */
    struct lanes lanes;
    unsigned char *bytes;
    uint64_t used, cap;
    struct hostfunc *functions;
    uint32_t function_count;
    struct part_record *records;
    uint32_t record_count;
    CUevent *waits; /* events that the part waits for, in slots from 2; slot 1: previous launch */
    uint32_t wait_count;
    struct part_rows *rows;
    uint64_t early_bytes; /* bytes of pageable memory that a launch reads at once */
    bool awaited; /* the part writes pageable memory: a launch returns only when it is complete */
    struct part_buffer *buffers;
    struct part_choice *choices;
    struct part *next; /* the next part of the same program, begun earlier */
};

/* Creates a part. `launched`: it begins with the wait for the previous launch. NULL when out of
 * memory. */
struct part *part_create(bool launched);
void part_free(struct part *p);

CUresult part_put(struct part *p, uint32_t lane, void *head, uint32_t head_bytes, const void *tail,
                  uint32_t tail_bytes);
/* Puts a record that belongs to no lane. */
CUresult part_put_aside(struct part *p, const void *head, uint32_t head_bytes);
CUresult part_put_function(struct part *p, uint32_t lane, CUhostFn fn, void *arg);
CUresult part_put_record(struct part *p, uint32_t lane, CUevent event);
CUresult part_put_event_wait(struct part *p, uint32_t lane, CUevent event);
/* Puts a conditional node. A part of `bodies` may have no records. */
CUresult part_put_choice(struct part *p, uint32_t lane, const struct params_choice *n,
                         struct part *const *bodies);
/* Puts a launch that kernels change at this address; it is the only record of `body`. */
CUresult part_put_changing(struct part *p, uint32_t lane, uint64_t node, struct part *body);
/* Writes the parts' numbers into the conditional nodes, once they are known. */
void part_number_choices(struct part *p);
/* Puts waits for every lane of the place. */
CUresult part_put_waits(struct part *p, uint32_t lane, const struct lanes_place *after);
/* Puts a copy. Host functions of this library copy memory that the worker cannot access, through a
 * buffer of the part, in the order of the lane. Such memory is read when the part is launched, as
 * with CUDA, unless the part has written such memory before. */
CUresult part_put_copy(struct part *p, uint32_t lane, const struct transfer *asked,
                       unsigned int flags);

/* Returns the host functions of one launch, with the memory that they read now; for
 * hostfunc_expect, then free. NULL when out of memory. */
struct hostfunc *part_read(const struct part *p);

/* Adds an item at the end of an array and returns it; NULL when out of memory. */
void *part_grow(void **array, uint32_t *count, size_t bytes);

#endif
