/* SPDX-License-Identifier: Apache-2.0
 *
 * A device for tests: copies and memsets are done on real memory, kernels do nothing but are
 * remembered, and operations complete at once or when the test says so. It watches over the
 * promises of device.h that its caller must keep and counts those that were broken.
 *
 * An image is the text "FAKE" followed by kernels' names, separated by blanks. A kernel takes one
 * parameter of 8 bytes, called its token; the names mean something:
 *   fault*   ends with ERR_ILLEGAL_ADDRESS          refuse*  launching it fails with -EINVAL
 *   hang*    runs until its space is cancelled      say*     prints "token\n"
 *   big*     takes 5000 bytes of parameters; the token is in the first 8
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
#define FAKEDEV_TEXTURES 8u /* most textures of a space; their numbers are below it */
#define FAKEDEV_BIG_BYTES 5000u
#define FAKEDEV_INSTS_S 1000000000000ull /* the roofline that it reports */
#define FAKEDEV_BYTES_S 500000000000ull

extern const struct dev_ops fakedev;
/* The chunks' part of recovery alone, for tests of clients' memory. fakedev itself has none, as its
 * memory ends with it. */
extern const struct dev_recovery_ops fakedev_recovery;
/* The same, with arrays of its own: so many in a space, and what kernels are given of a texture. It
 * refuses textures that are 13 wide, and arrays. Tensor maps are its own as well: their first word
 * is what is given for the address, the last one the kind. Of clusters it holds 1000 times the
 * threads, 10 times their width and their depth; the largest has 4 blocks; and 13 bytes of shared
 * memory are refused. Modules have references that are called ref... */
extern const struct dev_ops fakedev_arrays;
#define FAKEDEV_ARRAYS 8u
#define FAKEDEV_SEEN(handle) ((handle) ^ 0x5ee00000000)
/* What references were told, all together: how often, the latest name, and what it reads;
 * `level_count` 0: nothing. */
struct fakedev_reference {
    uint32_t count;
    char name[64];
    bool surface;
    struct dev_texture texture;
};
struct fakedev_reference fakedev_reference(const struct dev *dev);
/* How many arrays there are. */
uint32_t fakedev_array_count(const struct dev *dev);

/* While held, operations stay on their queues until fakedev_finish. */
void fakedev_hold(struct dev *dev, bool held);
/* While held, images are not read and kernels not found, on whatever thread that is asked for. */
void fakedev_hold_reads(struct dev *dev, bool held);
/* How many of these are being asked for, each on its thread; and waits for so many: false when they
 * never are. */
uint32_t fakedev_reads(struct dev *dev);
bool fakedev_await_reads(struct dev *dev, uint32_t count);
/* Queues with an operation on them. */
uint32_t fakedev_busy(const struct dev *dev);
/* The token of the first operation of the n-th busy queue, a launch. */
uint64_t fakedev_head(const struct dev *dev, uint32_t busy_queue);
/* Completes the first operation of the n-th busy queue. */
void fakedev_finish(struct dev *dev, uint32_t busy_queue);
void fakedev_finish_all(struct dev *dev);
/* The same, of an operation that was on the device for so long. */
void fakedev_finish_after(struct dev *dev, uint32_t busy_queue, uint64_t ns);

/* Launches so far, in order; `at` counts from 0. */
uint32_t fakedev_launches(const struct dev *dev);
uint64_t fakedev_token(const struct dev *dev, uint32_t at);
const char *fakedev_kernel(const struct dev *dev, uint32_t at);
/* The level of the launch's queue when it was launched; that of the n-th busy queue now. */
uint32_t fakedev_level(const struct dev *dev, uint32_t at);
uint32_t fakedev_head_level(const struct dev *dev, uint32_t busy_queue);
/* The share of the multiprocessors; 0: all. */
uint32_t fakedev_head_share(const struct dev *dev, uint32_t busy_queue);
/* With which it was made. */
int fakedev_head_priority(const struct dev *dev, uint32_t busy_queue);
/* True while its kernels are paused. */
bool fakedev_head_stands(const struct dev *dev, uint32_t busy_queue);
/* The kernel with this token, which runs and is the latest of its queue, launches a graph: what
 * that gives; -ENOENT: there is no such kernel; -EPERM: it is part of no graph that could. And the
 * handle of the graph that it is part of. */
int fakedev_ask(struct dev *dev, uint64_t token, uint64_t handle, enum dev_graph_order how);
uint64_t fakedev_handle(struct dev *dev, uint64_t token);
void fakedev_forget_launches(struct dev *dev);

/* The texture of this number of any space, or NULL. */
const struct dev_texture *fakedev_texture(const struct dev *dev, uint32_t number);

/* What each operation takes, and kernels launched from now on count; at first 1000 ns and nothing.
 */
struct fakedev_cost {
    uint64_t ns, thread_insts, memory_bytes;
};
void fakedev_cost(struct dev *dev, const struct fakedev_cost *cost);

/* How often it was asked when an operation began or ended. It knows of all. */
uint32_t fakedev_asked(const struct dev *dev);
/* Most operations of one space that were ever on the device at once. */
uint32_t fakedev_most_inflight(const struct dev *dev);
/* Promises broken by the caller, and the latest of them. */
uint32_t fakedev_violations(const struct dev *dev, const char **what);
uint32_t fakedev_spaces(const struct dev *dev);

/* Calls of chunk_map and chunk_unmap so far; of chunk_copy, chunk_save and chunk_load. */
uint32_t fakedev_maps(const struct dev *dev);
uint32_t fakedev_moves(const struct dev *dev);
/* Chunks that chunk_clear was given so far. */
uint32_t fakedev_clears(const struct dev *dev);
/* The nth call from now (1: the next) that makes, maps, moves or clears a chunk fails; with
 * `and_on` all that follow it, too. 0: none. */
void fakedev_fail(struct dev *dev, uint32_t nth, bool and_on);

#endif
