/* SPDX-License-Identifier: Apache-2.0
 *
 * A device for tests. Copies and memsets act on real memory, kernels do nothing but are recorded,
 * and operations complete at once or when the test says so. The device checks the promises of
 * device.h that its caller must keep, and counts violations.
 *
 * An image is the text "FAKE" followed by kernels' names, separated by blanks. A kernel takes one
 * parameter of 8 bytes, called its token. Some names have a meaning:
 *
 *   fault*   ends with ERR_ILLEGAL_ADDRESS
 *   refuse*  launching it fails with -EINVAL
 *   hang*    runs until its space is cancelled
 *   say*     prints "token\n"
 *   big*     takes 5000 bytes of parameters; the token is in the first 8
 *
 * Globals are named var*, and lie at the beginning of the module window, 64 bytes long.
 */
#ifndef TEST_LIB_FAKEDEV_H
#define TEST_LIB_FAKEDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_textures.h"

#define FAKEDEV_GRANULARITY (2ull << 20)
#define FAKEDEV_TEXTURES 8u /* most textures of a space; texture numbers are below it */
#define FAKEDEV_BIG_BYTES 5000u
#define FAKEDEV_INSTS_S 1000000000000ull /* instructions/s of its roofline */
#define FAKEDEV_BYTES_S 500000000000ull

extern const struct dev_ops fakedev;
/* Only the chunks' part of recovery, for tests of clients' memory. fakedev itself has no
 * recovery, because its memory ends with it. */
extern const struct dev_recovery_ops fakedev_recovery;
/* fakedev with its own textures, arrays, tensor maps, clusters and references.
 *
 * It rejects textures and arrays of width 13. A tensor map's first word is the global address,
 * the last one the kind. The number of clusters is 1000 times the block's width, plus 10 times the
 * cluster's width, plus the grid's depth. The largest cluster has 4 blocks; 13 bytes of shared
 * memory are rejected. Modules have references whose names begin with "ref". */
extern const struct dev_ops fakedev_arrays;
#define FAKEDEV_ARRAYS 8u
#define FAKEDEV_SEEN(handle) ((handle) ^ 0x5ee00000000)
/* The settings of references: the number of calls that set one, the name and kind in the latest
 * call, and the texture that the call gave; its level_count is 0 if it gave none. */
struct fakedev_reference {
    uint32_t count;
    char name[64];
    bool surface;
    struct dev_texture texture;
};
struct fakedev_reference fakedev_reference(const struct dev *dev);
/* The number of arrays in all spaces. */
uint32_t fakedev_array_count(const struct dev *dev);

/* While held, operations stay on their queues until fakedev_finish. */
void fakedev_hold(struct dev *dev, bool held);
/* While held, reading images and looking up kernels block, on whatever thread they run. */
void fakedev_hold_reads(struct dev *dev, bool held);
/* The number of blocked reads, each on its own thread. The second function waits until at least
 * `count` reads are blocked; false on timeout. */
uint32_t fakedev_reads(struct dev *dev);
bool fakedev_await_reads(struct dev *dev, uint32_t count);
/* The number of queues with an operation. */
uint32_t fakedev_busy(const struct dev *dev);
/* The token of the first operation, a launch, of the n-th busy queue. */
uint64_t fakedev_head(const struct dev *dev, uint32_t busy_queue);
/* Completes the first operation of the n-th busy queue. */
void fakedev_finish(struct dev *dev, uint32_t busy_queue);
void fakedev_finish_all(struct dev *dev);
/* Completes the first operation of the n-th busy queue as if it had been on the device for `ns`.
 * Later operations take that long too. */
void fakedev_finish_after(struct dev *dev, uint32_t busy_queue, uint64_t ns);

/* The number of launches since the start or fakedev_forget_launches; and the token and the kernel's
 * name of launch `at`, which counts from 0. */
uint32_t fakedev_launches(const struct dev *dev);
uint64_t fakedev_token(const struct dev *dev, uint32_t at);
const char *fakedev_kernel(const struct dev *dev, uint32_t at);
/* The level that the queue of launch `at` had at that time, and the level of the n-th busy queue
 * now; UINT32_MAX: there is none. */
uint32_t fakedev_level(const struct dev *dev, uint32_t at);
uint32_t fakedev_head_level(const struct dev *dev, uint32_t busy_queue);
/* The n-th busy queue's number of multiprocessors; 0: all. */
uint32_t fakedev_head_share(const struct dev *dev, uint32_t busy_queue);
/* The priority with which the n-th busy queue was created. */
int fakedev_head_priority(const struct dev *dev, uint32_t busy_queue);
/* True while the kernels of the n-th busy queue are paused. */
bool fakedev_head_stands(const struct dev *dev, uint32_t busy_queue);
/* Lets the kernel with this token, which must run and be the latest of its queue, launch a
 * graph. Returns the result; -ENOENT: there is no such kernel; -EPERM: the kernel belongs to no
 * graph that could. The second function returns the handle of the kernel's graph. */
int fakedev_ask(struct dev *dev, uint64_t token, uint64_t handle, enum dev_graph_order how);
uint64_t fakedev_handle(struct dev *dev, uint64_t token);
void fakedev_forget_launches(struct dev *dev);

/* The texture with this number in any space, or NULL. */
const struct dev_texture *fakedev_texture(const struct dev *dev, uint32_t number);

/* Duration of each operation, and counters of kernels launched from now on; initially 1000 ns
 * and 0. */
struct fakedev_cost {
    uint64_t ns, thread_insts, memory_bytes;
};
void fakedev_cost(struct dev *dev, const struct fakedev_cost *cost);

/* The number of times that a caller asked for the begin and end of an operation. The device knows
 * both for every operation. */
uint32_t fakedev_asked(const struct dev *dev);
/* The number of operations whose completion was to be exact, and the expected time of the latest
 * operation. */
uint32_t fakedev_exact(const struct dev *dev);
uint64_t fakedev_expected_ns(const struct dev *dev);
/* Most operations of one space that were on the device at once. */
uint32_t fakedev_most_inflight(const struct dev *dev);
/* The number of promises that the caller broke. Sets *what, unless NULL, to a description of the
 * latest; "": none is broken. */
uint32_t fakedev_violations(const struct dev *dev, const char **what);
uint32_t fakedev_spaces(const struct dev *dev);

/* The number of calls so far of chunk_map and chunk_unmap; and the number of calls of chunk_copy,
 * chunk_save and chunk_load. */
uint32_t fakedev_maps(const struct dev *dev);
uint32_t fakedev_moves(const struct dev *dev);
/* The number of chunks cleared so far. */
uint32_t fakedev_clears(const struct dev *dev);
/* The nth call from now (1: the next) that creates, maps, moves or clears a chunk fails; with
 * `and_on` all later ones fail too. 0: none fails. */
void fakedev_fail(struct dev *dev, uint32_t nth, bool and_on);

#endif
