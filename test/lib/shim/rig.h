/* SPDX-License-Identifier: Apache-2.0
 *
 * The shim library with a worker that the test controls, in one process and without a broker. The
 * test owns the pages and both windows; device memory is host memory. The worker answers and
 * completes at once unless told otherwise.
 *
 * The worker stores every record it reads except IDLE. Records of a launched graph follow its
 * launch. Records of a conditional node's body follow the node: the body that the node's word
 * selects when it is read.
 *
 * Linked with all of the library, built to abort where it would wait with
 * a lock held (lock.h).
 */
#ifndef TEST_LIB_SHIM_RIG_H
#define TEST_LIB_SHIM_RIG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/gen/prototypes.h"
#include "proto/wire/wire.h"

#define RIG_GRANULE (2ull << 20)
#define RIG_ALLOC_BYTES (256ull << 20)
#define RIG_MODULE_BYTES (16ull << 20)
#define RIG_HOST_BYTES (256ull << 20)
/* Keys of every segment and signal: RIG_KEY and the next number. A segment has two granules. */
#define RIG_KEY 4711

#define RIG_CLUSTERS 3 /* active clusters; clusters have at most 4 blocks */
/* The handle that kernels get for a texture or surface; `number`: the low 16 bits of the
 * program's handle. */
#define RIG_SEEN(number) (0x5ee0000000ull + (number) / 2)

#define RIG_STREAMS (WIRE_STREAMS_FIRST + 64) /* the worker accepts stream ids below this */

/* Connects, and makes the primary context current on this thread. Called once per process. */
void rig_begin(void);

/* ---- arrived records ------------------------------------------------------------------------- */

/* The number of records read so far, including all that were sent before the call; and the
 * record with this number, from 0: starts at rec.op, `bytes` gets its size (may be NULL). */
uint32_t rig_count(void);
const void *rig_record(uint32_t number, uint32_t *bytes);

/* The only record since rig_forget; aborts unless there is exactly one, with this op. */
const void *rig_only(uint16_t op);
void rig_forget(void);

/* ---- the worker's behaviour ------------------------------------------------------------------ */

/* Stops reading, so that the ring fills; or resumes. */
void rig_stand(bool still);
/* Reads but completes nothing; or resumes. */
void rig_hold_streams(bool hold);
/* Reads requests with this op, but answers none until rig_answer, which answers the latest and
 * ends this. 0: none is withheld. */
void rig_withhold(uint16_t op);
void rig_answer(void);
/* Waits until a withheld request was read. */
void rig_await_request(void);
/* The device reports this limit whatever is requested; 0: it reports the requested limit. */
void rig_limit(uint64_t force);
/* The next requests with this op fail with `err`; 0: they succeed again. */
void rig_refuse(uint16_t op, int32_t err, const char *text);
/* From now on the worker keeps segments for descriptors, as salusd does since 1.7. Such requests
 * fail while rig_refuse names MEM_EXPORT. */
void rig_keeps(void);
/* Sets *last to the latest such request. Returns the descriptor that came with the request, which
 * the test owns then; -1: none came, or it was returned before. */
int rig_kept(struct wire_file *last);
/* Moves the job to another worker: sends its page, with the contents of the old one, and writes
 * the word. From here on only the new page is updated. */
void rig_move(void);
/* The broker's end of the socket; and the number of moves so far, while no thread moves the job.
 */
int rig_peer(void);
uint32_t rig_moved(void);

/* Ends the context with this result. */
void rig_fault(CUresult result);
/* Adds text as if a kernel had printed it; the library prints it to the program's standard error
 * or output. */
void rig_text(bool to_stderr, const char *text);
/* Sets the credit in granules, in each window. */
void rig_credit(uint64_t persistent, uint64_t ephemeral);
/* Returns the oldest host function to the library and waits until it has run. Its stream waits
 * until then. */
void rig_callback(void);

/* ---- code ------------------------------------------------------------------------------------ */

/* Every module has exactly these kernels. `params` must be static. */
struct rig_kernel {
    const char *name;
    const struct wire_param *params;
    struct wire_func_reply info;
};
void rig_kernels(const struct rig_kernel *kernels, uint32_t count);

/* PTX text that the library accepts as a module. */
extern const char rig_ptx[];

#endif
