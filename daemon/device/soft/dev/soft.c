/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU as a device: what it reports of itself, completions, and the table of
 * operations.
 */
#include "daemon/device/soft/dev/soft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "common/hostmem.h"

#define SOFT_SM_LANES 128 /* 4 schedulers, each of which issues for a warp every cycle */

/* Half of the memory that the machine has and our control group may use, at most 16 GiB: a guest
 * among others. */
static uint64_t soft_default_memory(void) {
    struct hostmem m;
    uint64_t half, most = 16ull << 30;
    hostmem_read(&m, "");
    half = hostmem_ram(&m) / 2;
    return (half < most ? half : most) & ~(SOFT_GRANULARITY - 1);
}

/* Limits of a compute capability 9.0 device (CUDA C++ Programming Guide, technical specifications).
 */
static void soft_describe(struct dev *dev) {
    const struct dev_config *c = &dev->config;
    dev->info = (struct dev_info){
        .name = "Salus software GPU",
        .uuid = "salus-soft-gpu-",
        .memory_bytes = c->memory_bytes,
        .granularity_bytes = SOFT_GRANULARITY,
        .sm_count = c->sm_count,
        .cc_major = c->cc_major,
        .cc_minor = c->cc_minor,
        .threads_per_sm = 2048,
        .blocks_per_sm = 32,
        .regs_per_sm = 65536,
        .shared_per_sm_bytes = 228 << 10,
        .shared_per_block_bytes = 48 << 10,
        .shared_optin_bytes = 227 << 10,
        .shared_reserved_bytes = 1 << 10,
        .clock_khz = 1980000,
        .mem_clock_khz = 2619000,
        .mem_bus_bits = 5120,
        .l2_bytes = 50 << 20,
        .levels = SOFT_LEVELS,
    };
    struct dev_info *i = &dev->info;
    i->insts_s = (uint64_t)i->sm_count * SOFT_SM_LANES * i->clock_khz * 1000;
    i->bytes_s = (uint64_t)i->mem_clock_khz * 1000 * (i->mem_bus_bits / 8) * 2; /* double rate */
}

static int soft_open(struct dev **out, const struct dev_config *config) {
    struct dev *dev = calloc(1, sizeof *dev);
    if (!dev) return -ENOMEM;
    dev->memory_fd = -1;
    dev->memory = MAP_FAILED;
    dev->config = *config;
    if (!dev->config.memory_bytes) dev->config.memory_bytes = soft_default_memory();
    dev->config.memory_bytes &= ~(SOFT_GRANULARITY - 1);
    if (!dev->config.sm_count) dev->config.sm_count = 16;
    if (!dev->config.threads) dev->config.threads = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (!dev->config.cc_major) dev->config.cc_major = 9;
    soft_describe(dev);
    pthread_mutex_init(&dev->lock, NULL);
    pthread_cond_init(&dev->work, NULL);
    for (uint32_t level = 0; level < SOFT_LEVELS; level++)
        list_init(&dev->ready[level]);
    dev->done_last = &dev->done_first;
    dev->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int err = dev->event_fd < 0 ? -errno : chunk_open(dev);
    if (!err) err = pool_start(dev);
    if (err) {
        chunk_close(dev);
        fdutil_close(&dev->event_fd);
        free(dev);
        return err;
    }
    *out = dev;
    return 0;
}

static void soft_close(struct dev *dev) {
    if (!dev) return;
    pool_stop(dev);
    chunk_close(dev);
    fdutil_close(&dev->event_fd);
    pthread_cond_destroy(&dev->work);
    pthread_mutex_destroy(&dev->lock);
    free(dev);
}

static void soft_info(struct dev *dev, struct dev_info *out) {
    *out = dev->info;
}

static int soft_event_fd(struct dev *dev) {
    return dev->event_fd;
}

static struct dev_op *soft_poll(struct dev *dev) {
    if (!atom_load_acquire(&dev->done_count)) return NULL;
    pthread_mutex_lock(&dev->lock);
    struct dev_op *first = dev->done_first;
    dev->done_first = NULL;
    dev->done_last = &dev->done_first;
    atom_store_relaxed(&dev->done_count, 0);
    pthread_mutex_unlock(&dev->lock);
    return first;
}

static int soft_arm(struct dev *dev) {
    uint64_t drained;
    while (read(dev->event_fd, &drained, sizeof drained) > 0)
        continue;
    pthread_mutex_lock(&dev->lock);
    int waiting = dev->done_first != NULL;
    dev->armed = !waiting;
    pthread_mutex_unlock(&dev->lock);
    return waiting;
}

static uint64_t soft_mem_used(struct dev *dev) {
    return dev->memory_used;
}

const struct dev_ops dev_soft = {
    .name = "soft",
    .open = soft_open,
    .close = soft_close,
    .info = soft_info,
    .event_fd = soft_event_fd,
    .poll = soft_poll,
    .arm = soft_arm,
    .space_create = space_create,
    .space_destroy = space_destroy,
    .space_cancel = queue_cancel_space,
    .chunk_create = chunk_create,
    .chunk_destroy = chunk_destroy,
    .chunk_map = space_chunk_map,
    .chunk_unmap = space_chunk_unmap,
    .chunk_copy = chunk_copy,
    .chunk_save = chunk_save,
    .chunk_load = chunk_load,
    .chunk_clear = chunk_clear,
    .mem_used = soft_mem_used,
    .module_load = module_load,
    .module_unload = module_unload,
    .func_count = module_func_count,
    .func_name = module_func_name,
    .func_get = module_func_get,
    .global_get = module_global_get,
    .global_count = module_global_count,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_level = queue_level,
    .launch = queue_launch,
    .copy = queue_copy,
    .memset = queue_memset,
    .busy = queue_busy,
};
