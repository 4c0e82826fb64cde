/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports refusals of Salus that a real GPU would not make, on the job's own standard error,
 * because some libraries ignore the error and go on with old memory. The log has the first refused
 * kernel of a process, the first refused module (which may be a probe), and each unsupported call
 * once, up to REFUSE_CALLS of them. SALUS_LOG=shim:warn logs the others too, and
 * SALUS_LOG=shim:none logs nothing. With SALUS_STRICT=1 the process ends, with JOB_STRICT_EXIT, at
 * the first refused kernel, module, call or registered memory; the other reports do not end it,
 * because the program gets an error as well. Any thread; preserves errno.
 */
#ifndef SHIM_CONNECTION_REFUSE_H
#define SHIM_CONNECTION_REFUSE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

#define REFUSE_CALLS 8

/* True when the worker's error `err` means that code was refused. Other errors are the program's
 * own mistake, or a fault that every call reports. */
int refuse_is_code(int err);

/* Report a refused kernel or module. `code`: an address in the image, which identifies the file
 * that contains it; may be NULL. `reason`: a text of at most `reason_bytes` that may end earlier,
 * with a NUL. */
void refuse_kernel(const char *name, const void *code, int err, const char *reason,
                   size_t reason_bytes);
void refuse_module(size_t image_bytes, const void *code, int err, const char *reason,
                   size_t reason_bytes);

/* Reports an allocation beyond a limit of the user's jobs, which no CUDA error expresses. Logged
 * the first time. */
void refuse_memory(size_t bytes, const char *reason, size_t reason_bytes);

/* Objects of which a job can have a limited number: X(NAME, text). */
#define REFUSE_THINGS(X)                                            \
    X(STREAMS, "streams")                                           \
    X(EVENTS, "events")                                             \
    X(SHARED_EVENTS, "events that are shared with other processes") \
    X(MODULES, "modules")                                           \
    X(KERNELS, "kernels")                                           \
    X(SEGMENTS, "allocations without an address")                   \
    X(CONTEXTS, "contexts")                                         \
    X(POOLS, "memory pools")                                        \
    X(ARRAYS, "arrays")                                             \
    X(TEXTURES, "texture and surface objects")                      \
    X(GRAPHS, "executable graphs")                                  \
    X(GRAPH_BYTES, "bytes of executable graphs")                    \
    X(OFFERS, "graphs that kernels launch")                         \
    X(LINKS, "links")
enum refuse_thing {
#define X(name, text) REFUSE_##name,
    REFUSE_THINGS(X)
#undef X
};

/* Reports that the program has reached a limit of Salus, for which CUDA's error means something
 * else. Logged the first time for each kind of object, with the number. */
void refuse_more(enum refuse_thing what, uint64_t most);

/* Reports that the window of `window_bytes` has no free addresses for this many bytes; addresses
 * are not memory. Logged the first time. */
void refuse_addresses(uint64_t bytes, uint64_t window_bytes);

/* Reports that an allocation cannot be exported, with the reason. Logged the first time. */
void refuse_export(const char *reason, size_t reason_bytes);

/* Reports that registered memory cannot be mapped for the device
 * (docs/adr/0015-registered-memory.md), with the reason. Logged the first time. Returns
 * CUDA_ERROR_NOT_SUPPORTED. */
CUresult refuse_registered(const char *reason);

/* Reports an unsupported call. The caller reports each name once. Returns CUDA_ERROR_NOT_SUPPORTED.
 */
CUresult refuse_call(const char *name);
/* Writes the name of a slot of the private table with this UUID (16 bytes) to `out`, which has
 * REFUSE_SLOT_BYTES. */
#define REFUSE_SLOT_BYTES 48
void refuse_slot_name(const unsigned char *uuid, unsigned int slot, char *out);

#endif
