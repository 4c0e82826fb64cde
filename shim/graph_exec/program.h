/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph as the worker has it: its parts (part.h), of which one is launched, and the others are
 * bodies of conditional nodes. It never changes: another graph is another program.
 */
#ifndef SHIM_GRAPH_EXEC_PROGRAM_H
#define SHIM_GRAPH_EXEC_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

struct function;
struct graph;
struct program;
struct stream;

/* What follows, with graph_lock held. */

/* `handle`: by which kernels may launch it; 0: they may not. `ask`: a kernel of which the worker
 * has to be asked before (resolve_ready, without the lock); NULL otherwise.
 * CUDA_ERROR_INVALID_VALUE when the edges make a circle; what is wrong with a node.
 */
CUresult program_build(struct graph *g, uint64_t handle, struct program **out,
                       struct function **ask);
/* Whether it still means what it did: kernels may have been unloaded. */
int program_current(const struct program *p);
/* What it allocates and frees is so, for a launch in this stream, and has memory, unless so many
 * bytes are missing (room_supply). `again`: what was left allocated is freed first.
 * CUDA_ERROR_INVALID_VALUE: what it allocates is allocated, or what it frees is not. Whoever called
 * this calls mem_tell without the lock, before the launch. */
CUresult program_begin_memory(const struct program *p, int again, uint32_t stream,
                              uint64_t *missing);
/* The launch was sent: this is its end; `seq` 0: it was not. */
void program_end_memory(const struct program *p, uint32_t stream, uint64_t seq);
/* For a launch, so that it stays meanwhile; and when that was sent. */
void program_hold(struct program *p);
void program_drop(struct program *p);
/* Whether a launch returns when it is complete, and how much of the program's memory it reads when
 * it is sent. */
bool program_awaited(const struct program *p);
uint64_t program_early_bytes(const struct program *p);
/* Nobody launches it any more. `with`: goes when it does; may be NULL. */
void program_retire(struct program *p, struct graph *with);

/* And these without it. */

/* The worker has it afterwards, and kernels may launch it. */
CUresult program_say(struct program *p);
/* They may no longer. */
void program_withdraw(uint64_t handle);
/* In the order of the stream, and behind the launch `after`, which is then this one. A held one. */
struct program_point {
    uint32_t stream;
    uint64_t seq;
};
CUresult program_launch(struct program *p, struct stream *s, struct program_point *after);
/* Frees what was retired and is complete. */
void program_reap(void);

#endif
