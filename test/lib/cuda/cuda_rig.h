/* SPDX-License-Identifier: Apache-2.0
 *
 * The real driver's device (dev_cuda) on the fake driver, opened in the test's own process, which
 * can read device memory directly. Owner: the test. Thread: one.
 */
#ifndef TEST_LIB_CUDA_RIG_H
#define TEST_LIB_CUDA_RIG_H

#include "daemon/device/device.h"
#include "test/lib/driver/fake.h"
#include "test/lib/driver/faulty.h"

#define RIG_GRANULE (64ull << 10)
#define RIG_ALLOC (64 * RIG_GRANULE) /* bytes of a space's device window */
#define RIG_HOST (20ull << 20)       /* bytes of a space's host window: two and a half pieces */
/* Addresses that sanitizers also leave free. */
#define RIG_DEV_BASE 0x567000000000ull

/* An image with each of the fake driver's kernels and a variable. */
#define RIG_IMAGE                                                                      \
    "fake\nkernel fill 8 8 4\nkernel add 8 8 8 8\nkernel append 8 4\nkernel fault 4\n" \
    "global table 256\n"

struct rig_op {
    struct dev_op dev; /* must be the first member */
    uint32_t done;     /* number of completions */
};

#define RIG_CHUNKS 32u /* chunks of the device */

struct cuda_rig {
    const struct dev_ops *ops;
    const struct fake_control *fake;
    /* NULL: the faulty driver is not in front of the fake one */
    const struct faulty_control *faulty;
    char path[4096];
    struct dev_config config; /* the device is opened with this and with values that the rig adds */
    struct dev *dev;
    struct dev_info info;
    /* Parts that outlive the device, as the broker keeps them, once cuda_rig_keep was called. */
    struct dev_kept kept[RIG_CHUNKS];
    uint32_t kept_count;
    int keep_result;     /* result of keeping a part, from now on */
    struct dev_op asked; /* request of operations from now on: their times, exact completion */
    uint32_t done;       /* operations that have completed */
};

struct rig_space {
    struct dev_space *space;
    struct dev_windows windows;
    uint32_t *host;
};

/* Loads the libraries without opening a device. `faulty`: with the faulty driver in front. */
void cuda_rig_load(struct cuda_rig *r, bool faulty);
/* Returns 0 or the device's error. The first call of cuda_rig_close closes the device. */
int cuda_rig_open(struct cuda_rig *r);
void cuda_rig_close(struct cuda_rig *r);
/* Keeps the memory of devices that are opened from now on. */
void cuda_rig_keep(struct cuda_rig *r);
/* Ends the device with its operations unfinished, as the end of its process would, then opens a
 * device on the kept memory. `options`: those of the new fake driver. Returns open's result. */
int cuda_rig_die(struct cuda_rig *r, const struct fake_options *options);
/* Releases the kept memory and keeps none from now on. */
void cuda_rig_drop(struct cuda_rig *r);
/* "": nothing was misused, and no object is left. Valid until the next call. */
const char *cuda_rig_complaint(const struct cuda_rig *r);

/* Creates the `nth` space with its host window. On failure the space owns nothing. */
int cuda_rig_space(struct cuda_rig *r, struct rig_space *s, unsigned int nth);
void cuda_rig_space_end(struct cuda_rig *r, struct rig_space *s);

/* Creates `count` chunks and maps them at the window's start plus `at` granules. */
int cuda_rig_map(struct cuda_rig *r, struct rig_space *s, uint32_t at, uint32_t count,
                 struct dev_chunk **chunks);
void cuda_rig_unmap(struct cuda_rig *r, struct rig_space *s, uint32_t at, uint32_t count,
                    struct dev_chunk **chunks);

/* Polls once; returns the number of operations that completed. */
uint32_t cuda_rig_poll(struct cuda_rig *r);
/* Waits until `done` operations have completed since the start; returns false when they do not in
 * time. */
bool cuda_rig_wait(struct cuda_rig *r, uint32_t done);

/* A launch of one block of 32 threads with words as parameters. */
int cuda_rig_launch(struct cuda_rig *r, struct dev_queue *q, struct dev_func *f, struct rig_op *op,
                    uint32_t param_bytes, const uint64_t *params);
int cuda_rig_copy(struct cuda_rig *r, struct dev_queue *q, struct rig_op *op, uint64_t dst,
                  uint64_t src, uint64_t bytes);
int cuda_rig_fill(struct cuda_rig *r, struct dev_queue *q, struct rig_op *op, uint64_t dst,
                  uint32_t value, uint64_t words);

/* Device or host memory of the space; both are host memory here. */
static inline uint32_t *cuda_rig_words(uint64_t addr) {
    return (uint32_t *)(uintptr_t)addr;
}

#endif
