/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of the software GPU: the device, its clients' spaces, queues and threads. Only soft.c,
 * chunk.c, space.c, queue.c, pool.c and transfer.c include this.
 *
 * Locks: one, dev->lock, over every list below; never held while a kernel or a copy runs.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_SOFT_H
#define DAEMON_DEVICE_SOFT_DEV_SOFT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/list.h"
#include "daemon/device/device.h"
#include "daemon/device/soft/code/kernel.h"
#include "daemon/device/soft/code/module.h"
#include "daemon/device/soft/dev/chunk.h"
#include "daemon/device/soft/dev/transfer.h"
#include "daemon/device/soft/exec/grid.h"
#include "daemon/device/soft/exec/heap.h"
#include "daemon/device/soft/exec/ranges.h"
#include "daemon/device/soft/image/image.h"

#define SOFT_GRANULARITY (2ull << 20)
#define SOFT_HEAP_BYTES (8ull << 20) /* CU_LIMIT_MALLOC_HEAP_SIZE's default */
#define SOFT_SLICE_INSTS 32768u      /* warp-instructions: some 160 us of one thread */
#define SOFT_SLICE_BYTES (1u << 20)  /* of a copy: some 100 us */
#define SOFT_LEVELS 2                /* of dispatch: the higher goes first */
/* A copy this small costs less than waking a thread: 22 us for 256 KiB, a piece of staging. */
#define SOFT_INLINE_BYTES (256u << 10)

struct dev {
    struct dev_info info;
    struct dev_config config;
    uint64_t memory_used; /* chunks and module memory */
    /* chunk.c: physical memory as a file, and a mapping of all of it */
    int memory_fd;
    unsigned char *memory;
    struct dev_chunk *chunks;
    uint64_t chunk_count, chunk_next;

    pthread_mutex_t lock;
    pthread_cond_t work;
    struct list ready[SOFT_LEVELS]; /* tasks of queues' heads; threads rotate through each */
    bool stopping;
    pthread_t *threads;
    uint32_t thread_count;

    int event_fd;
    bool armed;
    struct dev_op *done_first, **done_last;
    _Atomic uint32_t done_count; /* lets poll() look without the lock */
};

struct dev_space {
    struct dev *dev;
    struct dev_windows windows;
    const struct dev_space_ops *ops;
    void *ops_arg;
    struct ranges *ranges;
    uint64_t memory_used; /* module memory */
    struct heap *heap;    /* behind malloc() in kernels; NULL: none needed yet */
    struct list queues;   /* dev_queue.space_link */
    struct list blocks;   /* module window: allocated blocks in ascending order */
    struct list managed;  /* the same for managed variables */
};

struct dev_queue {
    struct dev_space *space;
    struct list space_link;
    struct list tasks; /* first: the one that is ready or running */
    uint32_t level;
};

enum task_kind { TASK_LAUNCH, TASK_TRANSFER };

/* An operation on its way through a queue. Owned by the queue until it completes. */
struct task {
    struct list queue_link, ready_link;
    struct dev_queue *queue;
    struct dev_op *op;
    enum task_kind kind;
    bool exclusive; /* at most one thread inside: transfers, and grids being created */
    bool idle;      /* nobody else can help at the moment */
    bool done;
    _Atomic bool cancelled; /* set under the lock, looked at without it */
    uint32_t inside;        /* threads */
    /* Time with any thread inside: what kernel_timeout counts, so that neighbours cannot use it up.
     */
    uint64_t active_since_ns, active_ns;
    struct grid *grid;
    struct transfer transfer;
    struct ranges *ranges;
    struct dev_launch launch;
    unsigned char params[];
};

struct dev_module {
    struct dev_space *space;
    struct image image;
    struct code_module *code;   /* NULL: machine code only */
    struct list blocks;         /* its memory in the module window */
    uint64_t var_next, var_end; /* unused rest of its last block */
    bool managed;               /* a variable is: then all lie in the host window */
    const char **names;         /* kernels */
    uint32_t name_count, global_count;
    struct dev_func **funcs; /* by index of names; NULL until asked for */
};

struct dev_func {
    struct dev_module *module;
    struct code_kernel *kernel;
    struct dev_func_info info;
    struct dev_param *params;
};

/* space.c */
int space_create(struct dev *dev, const struct dev_windows *windows,
                 const struct dev_space_ops *ops, void *arg, struct dev_space **out);
void space_destroy(struct dev_space *space);
int space_chunk_map(struct dev_space *space, uint64_t addr, struct dev_chunk *const *chunks,
                    uint32_t count);
int space_chunk_unmap(struct dev_space *space, uint64_t addr, uint32_t count);
/* Zeroed memory of the module window, put on `owner`; 0 when there is none. */
uint64_t space_module_alloc(struct dev_space *space, uint64_t bytes, uint64_t align,
                            struct list *owner);
/* The same, of the host window's last part. */
uint64_t space_managed_alloc(struct dev_space *space, uint64_t bytes, uint64_t align,
                             struct list *owner);
void space_module_free(struct dev_space *space, struct list *owner);

/* module.c */
int module_load(struct dev_space *space, const void *image, size_t bytes, struct dev_module **out,
                char *why, size_t why_bytes);
void module_unload(struct dev_module *module);
uint32_t module_func_count(struct dev_module *module);
const char *module_func_name(struct dev_module *module, uint32_t index);
int module_func_get(struct dev_module *module, const char *name, struct dev_func **out,
                    struct dev_func_info *info, char *why, size_t why_bytes);
int module_global_get(struct dev_module *module, const char *name, uint64_t *addr, uint64_t *bytes);
uint32_t module_global_count(struct dev_module *module);

/* queue.c */
int queue_create(struct dev_space *space, int priority, struct dev_queue **out);
void queue_destroy(struct dev_queue *queue);
void queue_level(struct dev_queue *queue, uint32_t level);
int queue_launch(struct dev_queue *queue, const struct dev_launch *launch, struct dev_op *op);
int queue_copy(struct dev_queue *queue, const struct dev_copy *copy, struct dev_op *op);
int queue_memset(struct dev_queue *queue, const struct dev_memset *set, struct dev_op *op);
/* Of an operation in flight: device time so far. */
uint64_t queue_busy(struct dev *dev, const struct dev_op *op);
void queue_cancel_space(struct dev_space *space);
/* Called with the lock held: `task` is over; completes its op and lets the queue go on. */
void queue_finish(struct task *task);

/* pool.c */
int pool_start(struct dev *dev);
void pool_stop(struct dev *dev);
/* Called with the lock held. The first also moves a task that is there already to the line where it
 * belongs now. */
void pool_add(struct dev *dev, struct task *task);
void pool_complete(struct dev *dev, struct dev_op *op);

#endif
