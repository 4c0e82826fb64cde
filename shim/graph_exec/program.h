/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph in the worker's form: its parts (part.h), of which one is launched, and the others are
 * bodies of conditional nodes. A program never changes: another graph needs another program.
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

/* The caller of the functions below holds graph_lock. */

/* Builds a program. `handle`: the handle by which kernels may launch it; 0: they may not. `ask`: a
 * kernel that the worker must be asked about first (resolve_ready, without the lock), else NULL.
 * CUDA_ERROR_INVALID_VALUE: the edges form a cycle; other errors come from a node. */
CUresult program_build(struct graph *g, uint64_t handle, struct program **out,
                       struct function **ask);
/* Nonzero while the program is still valid: kernels may have been unloaded. */
int program_current(const struct program *p);
/* Notes what a launch in this stream allocates and frees, and backs the memory. `again`: memory
 * left allocated is freed first. CUDA_ERROR_INVALID_VALUE: memory to allocate is allocated already,
 * or memory to free is not. CUDA_ERROR_OUT_OF_MEMORY: `missing` bytes must be supplied first
 * (address_range_supply). The caller then calls mem_tell without the lock, before the launch. */
CUresult program_begin_memory(const struct program *p, int again, uint32_t stream,
                              uint64_t *missing);
/* Called when the launch was sent: `seq` is its end; 0: it was not sent. */
void program_end_memory(const struct program *p, uint32_t stream, uint64_t seq);
/* program_hold keeps the program while a launch is being sent; program_drop ends that. */
void program_hold(struct program *p);
void program_drop(struct program *p);
/* program_awaited: a launch returns only when it is complete. program_early_bytes: how many bytes
 * of the process's pageable memory a launch reads when it is sent. */
bool program_awaited(const struct program *p);
uint64_t program_early_bytes(const struct program *p);
/* Retires a program that will not be launched any more. `with`: a graph that is freed with it; may
 * be NULL. */
void program_retire(struct program *p, struct graph *with);

/* The functions below are called without graph_lock. */

/* Sends the program to the worker; then kernels may launch it. */
CUresult program_say(struct program *p);
/* Withdraws the handle: kernels may no longer launch it. */
void program_withdraw(uint64_t handle);
/* Launches a held program in the order of the stream, and after the launch `after`, which is then
 * set to this one. */
struct program_point {
    uint32_t stream;
    uint64_t seq;
};
CUresult program_launch(struct program *p, struct stream *s, struct program_point *after);
/* Frees retired programs whose launches are complete. */
void program_reap(void);

#endif
