/* SPDX-License-Identifier: Apache-2.0
 *
 * What is refused to a job that a GPU would not refuse it: said on its own standard error, because
 * libraries exist that ignore the error and go on with old memory. The first refused kernel of
 * a process is said, the first refused module (which may be a probe), and each unsupported call
 * once, up to REFUSE_CALLS of them; the rest is under SALUS_LOG=shim:warn, and SALUS_LOG=shim:none
 * says nothing. With SALUS_STRICT=1 the process ends at the first, with JOB_STRICT_EXIT. Any
 * thread; preserves errno.
 */
#ifndef SHIM_CONNECTION_REFUSE_H
#define SHIM_CONNECTION_REFUSE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

#define REFUSE_CALLS 8

/* Whether `err`, of an answer of the worker, says that code was refused; otherwise the program's
 * own mistake, or a fault that every call reports. */
int refuse_is_code(int err);

/* `code`: an address in the image, by which the file that brought it is known; may be NULL.
 * `reason`: text from elsewhere, `reason_bytes` or up to its NUL. */
void refuse_kernel(const char *name, const void *code, int err, const char *reason,
                   size_t reason_bytes);
void refuse_module(size_t image_bytes, const void *code, int err, const char *reason,
                   size_t reason_bytes);

/* Beyond what its user may have, which no error of CUDA's tells: the first time is said. No reason
 * to end a strict job, which is told as well. */
void refuse_memory(size_t bytes, const char *reason, size_t reason_bytes);

/* Things of which a job can have so many at a time: X(NAME, text). */
#define REFUSE_THINGS(X)                                \
    X(STREAMS, "streams")                               \
    X(EVENTS, "events")                                 \
    X(SHARED_EVENTS, "events that other processes see") \
    X(MODULES, "modules")                               \
    X(KERNELS, "kernels")                               \
    X(SEGMENTS, "allocations without an address")       \
    X(CONTEXTS, "contexts")                             \
    X(POOLS, "memory pools")                            \
    X(ARRAYS, "arrays")                                 \
    X(TEXTURES, "texture and surface objects")          \
    X(GRAPHS, "executable graphs")                      \
    X(GRAPH_BYTES, "bytes of executable graphs")        \
    X(OFFERS, "graphs that kernels launch")             \
    X(LINKS, "links")
enum refuse_thing {
#define X(name, text) REFUSE_##name,
    REFUSE_THINGS(X)
#undef X
};

/* The program has as many as there can be, which CUDA says by an error that means something else.
 * The first time of each thing is said, with the number. */
void refuse_more(enum refuse_thing what, uint64_t most);

/* There is no room for so many bytes of addresses in the window of so many, which are no memory.
 * The first time is said. */
void refuse_addresses(uint64_t bytes, uint64_t window_bytes);

/* No descriptor of an allocation is to be had, for this reason; likewise. */
void refuse_export(const char *reason, size_t reason_bytes);

/* The device is not to see registered memory (docs/adr/0015-registered-memory.md), for this reason.
 */
CUresult refuse_registered(const char *reason);

/* The caller says each name once. Gives CUDA_ERROR_NOT_SUPPORTED. */
CUresult refuse_call(const char *name);
/* What slot of the private table with this UUID (16 bytes) is called, REFUSE_SLOT_BYTES. */
#define REFUSE_SLOT_BYTES 48
void refuse_slot_name(const unsigned char *uuid, unsigned int slot, char *out);

#endif
