/* SPDX-License-Identifier: Apache-2.0
 *
 * The device of the real driver (dev_cuda) with the fake one under it, opened in the test's own
 * process, where device memory can be looked at.
 *
 * Owner: the test. Thread: one.
 */
#ifndef TEST_LIB_CUDA_RIG_H
#define TEST_LIB_CUDA_RIG_H

#include "daemon/device/device.h"
#include "test/lib/driver/fake.h"
#include "test/lib/driver/faulty.h"

#define RIG_GRANULE (64ull << 10)
#define RIG_ALLOC (64 * RIG_GRANULE) /* bytes of a space's device window */
#define RIG_HOST (20ull << 20)       /* and of its host window: two pieces and a half */
/* Which sanitizers leave to programs as well. */
#define RIG_DEV_BASE 0x567000000000ull

/* A kernel of each that the fake driver has, and a variable. */
#define RIG_IMAGE                                                                      \
    "fake\nkernel fill 8 8 4\nkernel add 8 8 8 8\nkernel append 8 4\nkernel fault 4\n" \
    "global table 256\n"

struct rig_op {
    struct dev_op dev; /* first */
    uint32_t done;     /* how often it has completed */
};

#define RIG_CHUNKS 32u /* that the device has */

struct cuda_rig {
    const struct dev_ops *ops;
    const struct fake_control *fake;
    const struct faulty_control *faulty; /* NULL: not in front of it */
    char path[4096];
    struct dev_config config; /* it is opened with this, and what the rig knows itself */
    struct dev *dev;
    struct dev_info info;
    /* As the broker has it: what outlives the device, once cuda_rig_keep was said. */
    struct dev_kept kept[RIG_CHUNKS];
    uint32_t kept_count;
    int keep_result; /* of what is to be kept from now on */
    bool timed;      /* operations from now on ask for their times */
    uint32_t done;   /* operations that have completed */
};

struct rig_space {
    struct dev_space *space;
    struct dev_windows windows;
    uint32_t *host;
};

/* The libraries, nothing opened. `faulty`: that one in front. */
void cuda_rig_load(struct cuda_rig *r, bool faulty);
/* 0 or what the device said. Closed by the first call of cuda_rig_close. */
int cuda_rig_open(struct cuda_rig *r);
void cuda_rig_close(struct cuda_rig *r);
/* Memory of devices that are opened from now on is kept. */
void cuda_rig_keep(struct cuda_rig *r);
/* The device's process ends, and nothing of it comes to its end any more; the next one opens a
 * device on what is left. What open said. */
int cuda_rig_die(struct cuda_rig *r, const struct fake_options *options);
/* Nothing is kept any more. */
void cuda_rig_drop(struct cuda_rig *r);
/* "": nothing was misused, and nothing is left. Until the next call. */
const char *cuda_rig_complaint(const struct cuda_rig *r);

/* The `nth` one, with its host window. On failure it has nothing. */
int cuda_rig_space(struct cuda_rig *r, struct rig_space *s, unsigned int nth);
void cuda_rig_space_end(struct cuda_rig *r, struct rig_space *s);

/* `count` chunks, made and shown at the window's beginning plus `at` granules. */
int cuda_rig_map(struct cuda_rig *r, struct rig_space *s, uint32_t at, uint32_t count,
                 struct dev_chunk **chunks);
void cuda_rig_unmap(struct cuda_rig *r, struct rig_space *s, uint32_t at, uint32_t count,
                    struct dev_chunk **chunks);

/* Polls once; how many more have completed. */
uint32_t cuda_rig_poll(struct cuda_rig *r);
/* Until so many have completed; false: they do not. */
bool cuda_rig_wait(struct cuda_rig *r, uint32_t done);

/* A launch of one block of 32 threads with words as parameters. */
int cuda_rig_launch(struct cuda_rig *r, struct dev_queue *q, struct dev_func *f, struct rig_op *op,
                    uint32_t param_bytes, const uint64_t *params);
int cuda_rig_copy(struct cuda_rig *r, struct dev_queue *q, struct rig_op *op, uint64_t dst,
                  uint64_t src, uint64_t bytes);
int cuda_rig_fill(struct cuda_rig *r, struct dev_queue *q, struct rig_op *op, uint64_t dst,
                  uint32_t value, uint64_t words);

/* Memory of the space or of the host, which here is memory. */
static inline uint32_t *cuda_rig_words(uint64_t addr) {
    return (uint32_t *)(uintptr_t)addr;
}

#endif
