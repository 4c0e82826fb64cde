/* SPDX-License-Identifier: Apache-2.0
 *
 * The real driver as a device: the GPU's description, and the table of operations.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/device/cuda/driver/context.h"
#include "daemon/device/cuda/driver/cuda_describe.h"
#include "daemon/device/cuda/driver/cuda_share.h"
#include "daemon/device/cuda/driver/cuda_text.h"
#include "daemon/device/cuda/driver/cuda_time.h"
#include "daemon/device/cuda/memory/cuda_chunk.h"
#include "daemon/device/cuda/memory/cuda_lasting.h"
#include "daemon/device/cuda/memory/cuda_space.h"
#include "daemon/device/cuda/memory/cuda_spare.h"
#include "daemon/device/cuda/module/cuda_cluster.h"
#include "daemon/device/cuda/module/cuda_module.h"
#include "daemon/device/cuda/module/cuda_touch.h"
#include "daemon/device/cuda/queue/cuda_issue.h"
#include "daemon/device/cuda/queue/cuda_queue.h"
#include "daemon/device/cuda/texture/cuda_reference.h"
#include "daemon/device/cuda/texture/cuda_tensor.h"
#include "daemon/device/cuda/texture/cuda_texture.h"
#include "daemon/device/device.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_native.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_shares.h"
#include "daemon/device/device_spares.h"
#include "daemon/device/device_textures.h"

/* Part of the free memory for the driver's other needs: code and variables of modules, local
 * memory, printf's buffer. */
#define CUDA_KEEP_PART 16
#define CUDA_KEEP_LEAST (256ull << 20)

struct dev {
    struct context context;
    struct lasting lasting;
    struct chunks chunks;
    struct spares spares;
    struct shares shares;
    struct queues queues;
    struct texts texts;
    struct dev_info info;
    struct times times;
    CUstream stream; /* for peeks and time stamps */
    uint64_t *cell;  /* destination of a peek; pinned */
};

/* ---- description ----------------------------------------------------------------------------- */

/* 0 for an attribute that the driver does not know. Any other error is stored in `*err`. */
static uint32_t attribute(struct dev *dev, CUdevice_attribute which, int *err) {
    int value = 0;
    CUresult r = dev->context.driver.cuDeviceGetAttribute(&value, which, dev->context.device);
    if (r && r != CUDA_ERROR_INVALID_VALUE && !*err) *err = context_result(&dev->context, r);
    return r || value < 0 ? 0 : (uint32_t)value;
}

static int describe_limits(struct dev *dev) {
    struct dev_info *i = &dev->info;
    int err = 0;
    i->sm_count = attribute(dev, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &err);
    i->cc_major = attribute(dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &err);
    i->cc_minor = attribute(dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &err);
    i->threads_per_sm = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &err);
    i->blocks_per_sm = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &err);
    i->regs_per_sm = attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &err);
    i->shared_per_sm_bytes =
        attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &err);
    i->shared_per_block_bytes =
        attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &err);
    i->shared_optin_bytes =
        attribute(dev, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &err);
    i->shared_reserved_bytes =
        attribute(dev, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &err);
    i->clock_khz = attribute(dev, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &err);
    i->mem_clock_khz = attribute(dev, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &err);
    i->mem_bus_bits = attribute(dev, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &err);
    i->l2_bytes = attribute(dev, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &err);
    i->runs_code = i->host_hidden = i->plain = i->open_memory = true;
    i->arrays = i->maps = i->clusters = true;
    i->levels = dev->context.greatest_priority < dev->context.least_priority ? QUEUE_LEVELS : 1;
    i->bytes_s = (uint64_t)i->mem_clock_khz * 1000 * (i->mem_bus_bits / 8) * 2; /* double rate */
    i->insts_s = (uint64_t)i->sm_count * 128 * i->clock_khz * 1000;
    if (!err && !(i->sm_count && i->cc_major && i->threads_per_sm && i->regs_per_sm))
        err = ERR_DRIVER; /* without these, nothing can be scheduled on it */
    return err;
}

static int describe_identity(struct dev *dev) {
    const struct driver *d = &dev->context.driver;
    CUuuid uuid;
    dev->info.has_index = true;
    dev->info.index = dev->context.index;
    int err =
        context_result(&dev->context, d->cuDeviceGetName(dev->info.name, sizeof(dev->info.name),
                                                         dev->context.device));
    if (!err)
        err = context_result(&dev->context, d->cuDeviceGetUuid_v2(&uuid, dev->context.device));
    if (!err) memcpy(dev->info.uuid, uuid.bytes, sizeof(dev->info.uuid));
    return err;
}

static int describe_granule(struct dev *dev) {
    CUmemAllocationProp prop = cuda_chunk_prop(dev->context.device);
    size_t granule = 0;
    CUresult r = dev->context.driver.cuMemGetAllocationGranularity(
        &granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    dev->info.granularity_bytes = granule;
    return r || granule ? context_result(&dev->context, r) : ERR_DRIVER;
}

/* The free memory now, or as much as was asked for. Not used while memory of an earlier process
 * still exists, which determines the size (open_memory). */
static int describe_memory(struct dev *dev, uint64_t asked, char *why, size_t why_bytes) {
    uint64_t granule = dev->info.granularity_bytes;
    size_t free_bytes = 0, total = 0;
    int err =
        context_result(&dev->context, dev->context.driver.cuMemGetInfo_v2(&free_bytes, &total));
    if (err) return err;
    uint64_t keep = free_bytes / CUDA_KEEP_PART;
    if (keep < CUDA_KEEP_LEAST) keep = CUDA_KEEP_LEAST;
    uint64_t most = free_bytes > keep ? free_bytes - keep : 0;
    if (asked && asked < most) most = asked;
    if (most < granule) {
        snprintf(why, why_bytes,
                 "the GPU has %zu MiB, of which only %zu are free; end other programs, or lower "
                 "device_memory",
                 total >> 20, free_bytes >> 20);
        return ERR_NO_MEMORY;
    }
    dev->info.memory_bytes = most / granule * granule;
    return 0;
}

static void describe(struct dev *dev, struct description *out) {
    cuda_describe(&dev->context, &dev->info, out);
}

static void info_of(struct dev *dev, struct dev_info *out) {
    *out = dev->info;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int open_peeking(struct dev *dev) {
    const struct driver *d = &dev->context.driver;
    void *cell = NULL;
    int err = context_result(
        &dev->context, d->cuMemHostAlloc(&cell, sizeof(*dev->cell), CU_MEMHOSTALLOC_PORTABLE));
    dev->cell = cell;
    if (err) return err;
    return context_result(&dev->context,
                          d->cuStreamCreateWithPriority(&dev->stream, CU_STREAM_NON_BLOCKING,
                                                        dev->context.greatest_priority));
}

static void close_dev(struct dev *dev) {
    if (!dev) return;
    const struct driver *d = &dev->context.driver;
    if (dev->context.handle) {
        cuda_text_stop(&dev->texts);
        cuda_queues_close(&dev->queues);
        cuda_share_close(&dev->shares);
        cuda_time_close(&dev->times);
        cuda_chunk_close(&dev->chunks);
        cuda_reference_close(&dev->context);
        if (dev->stream) d->cuStreamDestroy_v2(dev->stream);
        if (dev->cell) d->cuMemFreeHost(dev->cell);
        context_close(&dev->context);
    }
    cuda_text_close(&dev->texts);
    cuda_spare_close(&dev->spares);
    cuda_lasting_close(&dev->lasting);
    free(dev);
}

static int open_memory(struct dev *dev, const struct dev_config *config) {
    int err = cuda_lasting_open(&dev->lasting, config, &dev->info);
    if (!err) err = cuda_spare_open(&dev->spares, &dev->lasting);
    return err ? err : cuda_chunk_open(&dev->chunks, &dev->context, &dev->lasting, config);
}

static int open_parts(struct dev *dev, const struct dev_config *config, char *why,
                      size_t why_bytes) {
    int err = cuda_text_open(&dev->texts);
    if (!err) err = context_open(&dev->context, config, why, why_bytes);
    if (err) return err;
    dev->context.texts = &dev->texts;
    dev->context.subgrids = config->subgrids;
    dev->info.slice_ns = config->subgrids ? DEV_WAVES : 0;
    err = describe_identity(dev);
    if (!err) err = describe_granule(dev);
    if (!err && config->memory_fd <= 0)
        err = describe_memory(dev, config->memory_bytes, why, why_bytes);
    if (!err) err = describe_limits(dev);
    if (err) return err;
    err = open_memory(dev, config);
    if (!err) err = cuda_share_open(&dev->shares, &dev->context, dev->info.sm_count);
    dev->info.whole = !dev->shares.count;
    dev->info.share_sms = dev->shares.step;
    if (!err)
        err = cuda_queues_open(&dev->queues, &dev->context, &dev->shares, &dev->times,
                               config->completion);
    dev->queues.each = config->completion_each;
    dev->queues.kernel_timeout_ns = config->kernel_timeout_ns;
    dev->queues.cancel_timeout_ns = config->cancel_timeout_ns;
    dev->queues.subgrids = (struct cuda_subgrids){
        config->subgrids, config->subgrid_waves ? config->subgrid_waves : 1000};
    if (!err) err = cuda_text_start(&dev->texts, &dev->context, dev->queues.words.event_fd);
    if (!err) err = open_peeking(dev);
    if (!err) err = cuda_time_open(&dev->times, &dev->context, dev->stream);
    dev->info.coarse = dev->times.works;
    return err;
}

static int open_dev(struct dev **out, const struct dev_config *config) {
    char why[256] = "";
    struct dev *dev = calloc(1, sizeof(*dev));
    *out = NULL;
    if (!dev) return -ENOMEM;
    dev->lasting.fd = -1;
    int err = open_parts(dev, config, why, sizeof(why));
    if (err) {
        log_error("device", "event=not-opened why=\"%s\"", why[0] ? why : err_text(err));
        if (config->why) snprintf(config->why, config->why_bytes, "%s", why);
        close_dev(dev);
        return err;
    }
    *out = dev;
    return 0;
}

static int lost(struct dev *dev) {
    return driver_error((CUresult)context_fatal(&dev->context));
}

/* ---- completions ----------------------------------------------------------------------------- */

static int event_fd(struct dev *dev) {
    return dev->queues.words.event_fd;
}

static struct dev_op *poll_done(struct dev *dev) {
    return cuda_queues_poll(&dev->queues);
}

static int arm_event(struct dev *dev) {
    return cuda_queues_arm(&dev->queues);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int create_space(struct dev *dev, struct dev_windows *windows,
                        const struct dev_space_ops *ops, void *arg, struct dev_space **out) {
    int err = cuda_space_create(&dev->chunks, windows, out);
    if (err) return err;
    (*out)->dev = dev;
    (*out)->ops = ops;
    (*out)->ops_arg = arg;
    return 0;
}

static void destroy_space(struct dev_space *space) {
    cuda_texture_finish(space);
    cuda_space_destroy(space);
}

static void remove_module(struct dev_module *module) {
    cuda_reference_drop_module(module);
    cuda_module_remove(module);
}

static void cancel_space(struct dev_space *space) {
    space->cancelled_ns = fdutil_now_ns();
    cuda_queues_cancel(&space->dev->queues, space);
}

static int memory_fd(const struct dev *dev) {
    return dev->lasting.fd;
}

static void settle_memory(struct dev *dev) {
    cuda_chunk_free_rest(&dev->chunks);
    cuda_spare_settle(&dev->spares);
}

static int create_chunk(struct dev *dev, struct dev_chunk **out) {
    return cuda_chunk_create(&dev->chunks, out);
}

static void destroy_chunk(struct dev *dev, struct dev_chunk *chunk) {
    cuda_chunk_destroy(&dev->chunks, chunk);
}

static uint64_t id_of_chunk(const struct dev *dev, const struct dev_chunk *chunk) {
    return cuda_chunk_id(&dev->chunks, chunk);
}

static int adopt_chunk(struct dev *dev, uint64_t id, struct dev_chunk **out) {
    return cuda_chunk_adopt(&dev->chunks, id, out);
}

static int promise_chunk(struct dev *dev, uint64_t id) {
    return cuda_chunk_promise(&dev->chunks, id);
}

static void renounce_chunk(struct dev *dev, uint64_t id) {
    cuda_chunk_renounce(&dev->chunks, id);
}

static void *make_spare(struct dev *dev) {
    return cuda_spare_make(&dev->spares);
}

static void free_spare(struct dev *dev, void *host) {
    cuda_spare_free(&dev->spares, host);
}

static uint64_t id_of_spare(const struct dev *dev, const void *host) {
    return cuda_spare_id(&dev->spares, host);
}

static int adopt_spare(struct dev *dev, uint64_t id, void **out) {
    return cuda_spare_adopt(&dev->spares, id, out);
}

static int copy_chunk(struct dev *dev, struct dev_chunk *dst, const struct dev_chunk *src) {
    return cuda_chunk_copy(&dev->chunks, dst, src);
}

static int save_chunk(struct dev *dev, void *host, const struct dev_chunk *chunk) {
    return cuda_chunk_save(&dev->chunks, host, chunk);
}

static int load_chunk(struct dev *dev, struct dev_chunk *chunk, const void *host) {
    return cuda_chunk_load(&dev->chunks, chunk, host);
}

static int clear_chunks(struct dev *dev, struct dev_chunk *const *chunks, uint32_t count) {
    return cuda_chunk_clear(&dev->chunks, chunks, count);
}

static int peek(struct dev_space *space, uint64_t addr, uint32_t bytes, uint64_t *value) {
    struct dev *dev = space->dev;
    const struct driver *d = &dev->context.driver;
    if (!cuda_space_has(space, addr, bytes)) return ERR_ILLEGAL_ADDRESS;
    *dev->cell = 0;
    int err = cuda_space_follow(space, dev->stream, &space->peeked);
    if (err) return err;
    CUresult r = d->cuMemcpyAsync((CUdeviceptr)(uintptr_t)dev->cell, addr, bytes, dev->stream);
    err = context_settle(&dev->context, dev->stream);
    *value = *dev->cell;
    return err ? err : context_result(&dev->context, r);
}

static uint64_t mem_used(struct dev *dev) {
    return dev->chunks.used * dev->chunks.granule + dev->chunks.array_bytes;
}

static int tensor_map(struct dev *dev, const struct tensor_ask *ask, struct tensor_answer *out) {
    return cuda_tensor_map(&dev->context, ask, out);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static int create_queue(struct dev_space *space, int priority, struct dev_queue **out) {
    return cuda_queue_create(&space->dev->queues, space, priority, out);
}

static const struct dev_recovery_ops recovery_ops = {
    .by_process = true,
    .memory_fd = memory_fd,
    .memory_settle = settle_memory,
    .chunk_id = id_of_chunk,
    .chunk_adopt = adopt_chunk,
    .chunk_promise = promise_chunk,
    .chunk_renounce = renounce_chunk,
    .module_where = cuda_module_where,
    .module_place_at = cuda_module_place_at,
    .space_unrestorable = cuda_space_unrestorable,
    .launch_touches = cuda_touch_launch,
};

static const struct dev_spares_ops spares_ops = {
    .spare_make = make_spare,
    .spare_free = free_spare,
    .spare_id = id_of_spare,
    .spare_adopt = adopt_spare,
};

static const struct dev_textures_ops textures_ops = {
    .texture_add = cuda_texture_add,
    .texture_remove = cuda_texture_remove,
};

static const struct dev_arrays_ops arrays_ops = {
    .array_create = cuda_array_create,
    .array_destroy = cuda_texture_drop_array,
    .array_end = cuda_texture_drop_arrays,
    .module_reference = cuda_reference_set,
};

static const struct dev_native_ops native_ops = {
    .tensor_map = tensor_map,
    .cluster_count = cuda_cluster_count,
};

static const struct dev_driver_ops driver_ops = {
    .lost = lost,
    .space_owns = cuda_space_in_globals,
    .host_show = cuda_space_host_show,
    .host_shown = cuda_space_host_shown,
    .queue_time = cuda_issue_time,
};

static const struct dev_shares_ops shares_ops = {
    .queue_level = cuda_queue_level,
    .queue_share = cuda_queue_share,
    .queue_still = cuda_queue_still,
};

const struct dev_ops dev_cuda = {
    .name = "cuda",
    .open = open_dev,
    .close = close_dev,
    .info = info_of,
    .describe = describe,
    .event_fd = event_fd,
    .poll = poll_done,
    .arm = arm_event,
    .space_create = create_space,
    .space_destroy = destroy_space,
    .space_cancel = cancel_space,
    .chunk_create = create_chunk,
    .chunk_destroy = destroy_chunk,
    .chunk_map = cuda_space_chunk_map,
    .chunk_unmap = cuda_space_chunk_unmap,
    .chunk_copy = copy_chunk,
    .chunk_save = save_chunk,
    .chunk_load = load_chunk,
    .chunk_clear = clear_chunks,
    .peek = peek,
    .mem_used = mem_used,
    .module_read = cuda_module_read,
    .module_place = cuda_module_place,
    .module_remove = remove_module,
    .module_free = cuda_module_free,
    .func_count = cuda_module_func_count,
    .func_name = cuda_module_func_name,
    .func_get = cuda_module_func_get,
    .global_get = cuda_module_global_get,
    .global_count = cuda_module_global_count,
    .queue_create = create_queue,
    .queue_destroy = cuda_queue_destroy,
    .launch = cuda_issue_launch,
    .copy = cuda_issue_copy,
    .memset = cuda_issue_memset,
    .recovery = &recovery_ops,
    .spares = &spares_ops,
    .textures = &textures_ops,
    .arrays = &arrays_ops,
    .native = &native_ops,
    .driver = &driver_ops,
    .shares = &shares_ops,
};
