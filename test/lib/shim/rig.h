/* SPDX-License-Identifier: Apache-2.0
 *
 * The library with a worker that does what the test says, in one process and without a broker: the
 * pages and both windows are the test's, device memory is memory. The worker answers at once and
 * completes at once, unless it is told otherwise, and keeps every record it read but IDLE, those of
 * a launched graph behind its launch, and those of a conditional node's body behind the node: the
 * one that its word says when it is read.
 *
 * Linked with all of the library, built to abort where it would wait with a lock held (lock.h).
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
#define RIG_KEY 4711 /* of every segment, and the next number: two granules */

/* What kernels are given of a texture or surface whose number is this, of those that ask. */
#define RIG_CLUSTERS 3 /* that are active; of 4 blocks at most */
#define RIG_SEEN(number) (0x5ee0000000ull + (number) / 2)

/* Connects, and makes the primary context current on this thread. Once a process. */
#define RIG_STREAMS (WIRE_STREAMS_FIRST + 64) /* ids that it takes are below */

void rig_begin(void);

/* ---- what arrived ---------------------------------------------------------------------------- */

/* Records read so far, all that were sent before among them; and the one with this number, from 0:
 * rec.op first, `bytes` in all (may be NULL). */
uint32_t rig_count(void);
const void *rig_record(uint32_t number, uint32_t *bytes);

/* The only record that arrived since rig_forget; aborts unless there is one, with this op.
 */
const void *rig_only(uint16_t op);
void rig_forget(void);

/* ---- what the worker does -------------------------------------------------------------------- */

/* Reads nothing any more, so that the ring fills; or goes on. */
void rig_stand(bool still);
/* Reads, but completes nothing; or goes on. */
void rig_hold_streams(bool hold);
/* Reads requests with this op, but answers none until rig_answer; 0: none is withheld. */
void rig_withhold(uint16_t op);
void rig_answer(void);
/* Waits until such a request was read. */
void rig_await_request(void);
/* The device keeps this limit, whatever it is asked for; 0: it keeps to what it is asked for. */
void rig_limit(uint64_t force);
/* The next requests with this op fail with it; 0: no longer. */
void rig_refuse(uint16_t op, int32_t err, const char *text);
/* From now on it keeps segments for descriptors, as salusd does since 1.7: what was asked for last,
 * and the end that came with it, which is the test's; -1: none did since. Refused as MEM_EXPORT is.
 */
void rig_keeps(void);
int rig_kept(struct wire_file *last);
/* Another worker has the job: its page, with what stands in the one before, is sent, and the word
 * is said. From here on it alone writes; who looks at the old page sees no more. */
void rig_move(void);
/* The broker's side of the socket; and the number of the latest, when
 * nobody moves it. */
int rig_peer(void);
uint32_t rig_moved(void);

/* Ends the context with this result. */
void rig_fault(CUresult result);
/* A kernel wrote this, to the program's standard error or output. */
void rig_text(bool to_stderr, const char *text);
/* Credit in granules, in each window. */
void rig_credit(uint64_t persistent, uint64_t ephemeral);
/* Hands the oldest host function back, and waits until it ran. Its stream stands until then. */
void rig_callback(void);

/* ---- code ------------------------------------------------------------------------------------ */

/* Every module has these kernels, and no others. `params`: static. */
struct rig_kernel {
    const char *name;
    const struct wire_param *params;
    struct wire_func_reply info;
};
void rig_kernels(const struct rig_kernel *kernels, uint32_t count);

/* PTX text that the library takes for a module. */
extern const char rig_ptx[];

#endif
