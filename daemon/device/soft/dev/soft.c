/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU as a device: its properties, completions, and the table of operations.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/hostmem.h"
#include "daemon/device/device.h"
#include "daemon/device/device_host.h"
#include "daemon/device/device_inflight.h"
#include "daemon/device/device_null_mode.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_retirement.h"
#include "daemon/device/device_settings.h"
#include "daemon/device/device_shares.h"
#include "daemon/device/device_spares.h"
#include "daemon/device/device_textures.h"
#include "daemon/device/device_variables.h"
#include "daemon/device/soft/dev/attributes.h"
#include "daemon/device/soft/dev/chunk.h"
#include "daemon/device/soft/dev/module.h"
#include "daemon/device/soft/dev/pool.h"
#include "daemon/device/soft/dev/provision.h"
#include "daemon/device/soft/dev/queue.h"
#include "daemon/device/soft/dev/space.h"
#include "daemon/device/soft/dev/touched_memory.h"
#include "daemon/device/soft/image/image.h"
#include "daemon/device/soft/launch/clock.h"

#define SOFT_CAPABILITY 90
#define SOFT_SM_LANES 128 /* 4 schedulers, each of which issues for a warp every cycle */

struct dev {
    struct dev_info info;
    struct dev_config config;
    struct chunks chunks;
    struct pool pool;
};

/* Half of the memory that the machine has and our control group may use, at most 16 GiB: Salus is
 * one program among others on the machine. */
static uint64_t default_memory(void) {
    struct hostmem m;
    uint64_t half, most = 16ull << 30;
    hostmem_read(&m, "");
    half = hostmem_ram(&m) / 2;
    return (half < most ? half : most) & ~(CHUNK_BYTES - 1);
}

/* Limits of a device of compute capability 9.0 (CUDA C++ Programming Guide, technical
 * specifications), whichever capability it reports: no other capability has a higher limit. */
static void describe(struct dev *dev) {
    const struct dev_config *c = &dev->config;
    dev->info = (struct dev_info){
        .name = "Salus software GPU",
        .uuid = "salus-soft-gpu-",
        .memory_bytes = c->memory_bytes,
        .granularity_bytes = CHUNK_BYTES,
        .sm_count = c->sm_count,
        .cc_major = c->capability / 10,
        .cc_minor = c->capability % 10,
        .threads_per_sm = 2048,
        .blocks_per_sm = 32,
        .regs_per_sm = 65536,
        .shared_per_sm_bytes = 228 << 10,
        .shared_per_block_bytes = 48 << 10,
        .shared_optin_bytes = 227 << 10,
        .shared_reserved_bytes = 1 << 10,
        .clock_khz = CLOCK_KHZ,
        .mem_clock_khz = 2619000,
        .mem_bus_bits = 5120,
        .l2_bytes = 50 << 20,
        .levels = POOL_LEVELS,
        .slice_ns = POOL_SLICE_NS,
        .library_capability = IMAGE_BEYOND,
        .in_order = c->deterministic,
    };
    struct dev_info *i = &dev->info;
    i->uuid[sizeof(i->uuid) - 1] = (uint8_t)c->index; /* the last byte, after the 15 letters */
    i->insts_s = (uint64_t)i->sm_count * SOFT_SM_LANES * i->clock_khz * 1000;
    i->bytes_s = (uint64_t)i->mem_clock_khz * 1000 * (i->mem_bus_bits / 8) * 2; /* double rate */
}

static int open_dev(struct dev **out, const struct dev_config *config) {
    struct dev *dev = calloc(1, sizeof(*dev));
    if (!dev) return -ENOMEM;
    dev->config = *config;
    if (!dev->config.memory_bytes && config->memory_fd <= 0)
        dev->config.memory_bytes = default_memory();
    dev->config.memory_bytes &= ~(CHUNK_BYTES - 1);
    if (!dev->config.sm_count) dev->config.sm_count = 16;
    if (!dev->config.threads) dev->config.threads = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (!dev->config.capability) dev->config.capability = SOFT_CAPABILITY;
    int err = chunk_open(&dev->chunks, dev->config.memory_bytes, config->memory_fd);
    dev->config.memory_bytes = dev->chunks.bytes;
    describe(dev);
    if (!err)
        err = pool_start(&dev->pool, dev->config.threads, dev->config.sm_count,
                         dev->config.deterministic, dev->config.kernel_timeout_ns);
    if (err) {
        chunk_close(&dev->chunks);
        free(dev);
        return err;
    }
    *out = dev;
    return 0;
}

static void close_dev(struct dev *dev) {
    if (!dev) return;
    pool_stop(&dev->pool);
    chunk_close(&dev->chunks);
    free(dev);
}

static void info_of(struct dev *dev, struct dev_info *out) {
    *out = dev->info;
}

static void describe_to(struct dev *dev, struct description *out) {
    attributes_describe(out, &dev->info, dev->config.index);
}

/* ---- completions ----------------------------------------------------------------------------- */

static int event_fd(struct dev *dev) {
    return dev->pool.done.event_fd;
}

static struct dev_op *poll_done(struct dev *dev) {
    struct pool *p = &dev->pool;
    if (completion_none(&p->done)) return NULL;
    pthread_mutex_lock(&p->lock);
    struct dev_op *first = completion_take(&p->done);
    pool_seen(p);
    pthread_mutex_unlock(&p->lock);
    return first;
}

static int arm_event(struct dev *dev) {
    struct pool *p = &dev->pool;
    uint64_t drained;
    while (read(p->done.event_fd, &drained, sizeof(drained)) > 0)
        continue;
    pthread_mutex_lock(&p->lock);
    bool armed = completion_arm(&p->done);
    pthread_mutex_unlock(&p->lock);
    return !armed;
}

static uint32_t stalled(struct dev_space *space) {
    return pool_stalled(space->config.pool, &space->rotation);
}

static uint64_t busy_ns(struct dev *dev, const struct dev_op *op) {
    return pool_busy(&dev->pool, op);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int create_space(struct dev *dev, struct dev_windows *windows,
                        const struct dev_space_ops *ops, void *arg, struct dev_space **out) {
    struct space_config config = {
        .chunks = &dev->chunks,
        .pool = &dev->pool,
        .capability = dev->config.capability,
        .ops = ops,
        .ops_arg = arg,
    };
    int err = space_create(&config, windows, out);
    if (err) return err;
    (*out)->provision = provision_create(*out, &dev->info);
    if ((*out)->provision) return 0;
    space_destroy(*out);
    return -ENOMEM;
}

static void destroy_space(struct dev_space *space) {
    if (space) provision_destroy(space->provision);
    space_destroy(space);
}

static int space_limit(struct dev_space *space, uint32_t limit, uint64_t value) {
    return provision_limit(space->provision, limit, value);
}

static uint64_t space_limit_bytes(const struct dev_space *space, uint32_t limit, uint64_t value) {
    return provision_limit_bytes(space->provision, limit, value);
}

static void space_capability(struct dev_space *space, uint32_t capability) {
    space->config.capability = capability;
}

static int space_null(struct dev_space *space) {
    space->config.null = true;
    return pool_start_clock(space->config.pool);
}

static int memory_fd(const struct dev *dev) {
    return dev->chunks.fd;
}

static void settle_memory(struct dev *dev) {
    chunk_settle(&dev->chunks);
}

static const char *space_unrestorable(const struct dev_space *space) {
    return provision_unrestorable(space->provision);
}

static uint64_t id_of_chunk(const struct dev *dev, const struct dev_chunk *chunk) {
    return chunk_id(&dev->chunks, chunk);
}

static int promise_chunk(struct dev *dev, uint64_t id) {
    return chunk_promise(&dev->chunks, id);
}

static void renounce_chunk(struct dev *dev, uint64_t id) {
    chunk_renounce(&dev->chunks, id);
}

static int adopt_chunk(struct dev *dev, uint64_t id, struct dev_chunk **out) {
    return chunk_adopt(&dev->chunks, id, out);
}

static int create_chunk(struct dev *dev, struct dev_chunk **out) {
    return chunk_create(&dev->chunks, out);
}

static void destroy_chunk(struct dev *dev, struct dev_chunk *chunk) {
    chunk_destroy(&dev->chunks, chunk);
}

static int retire_chunk(struct dev *dev, struct dev_chunk *chunk, struct dev_retired **out) {
    return chunk_retire(&dev->chunks, chunk, out);
}

static int revive_chunk(struct dev *dev, struct dev_retired *retired, struct dev_chunk **out) {
    return chunk_revive(&dev->chunks, retired, out);
}

static void free_retired(struct dev *dev, struct dev_retired *retired) {
    chunk_retired_free(&dev->chunks, retired);
}

static void *make_spare(struct dev *dev) {
    return chunk_spare_make(&dev->chunks);
}

static void free_spare(struct dev *dev, void *host) {
    chunk_spare_free(&dev->chunks, host);
}

static uint64_t id_of_spare(const struct dev *dev, const void *host) {
    return chunk_spare_id(&dev->chunks, host);
}

static int adopt_spare(struct dev *dev, uint64_t id, void **out) {
    return chunk_spare_adopt(&dev->chunks, id, out);
}

static int copy_chunk(struct dev *dev, struct dev_chunk *dst, const struct dev_chunk *src) {
    chunk_copy(&dev->chunks, dst, src);
    return 0;
}

static int save_chunk(struct dev *dev, void *host, const struct dev_chunk *chunk) {
    chunk_save(&dev->chunks, host, chunk);
    return 0;
}

static int load_chunk(struct dev *dev, struct dev_chunk *chunk, const void *host) {
    chunk_load(&dev->chunks, chunk, host);
    return 0;
}

static int save_granule(struct dev *dev, void *host, uint64_t chunk) {
    const struct dev_chunk *from = chunk_numbered(&dev->chunks, chunk);
    if (!from) return -EINVAL;
    chunk_save(&dev->chunks, host, from);
    return 0;
}

static int load_granule(struct dev *dev, uint64_t chunk, const void *host) {
    struct dev_chunk *to = chunk_numbered(&dev->chunks, chunk);
    if (!to) return -EINVAL;
    chunk_load(&dev->chunks, to, host);
    return 0;
}

static int clear_chunks(struct dev *dev, struct dev_chunk *const *chunks, uint32_t count) {
    chunk_clear(&dev->chunks, chunks, count);
    return 0;
}

static int peek(struct dev_space *space, uint64_t addr, uint32_t bytes, uint64_t *value) {
    if (!ranges_find(space->ranges, addr, bytes)) return ERR_ILLEGAL_ADDRESS;
    const void *cell = (const void *)(uintptr_t)addr;
    *value = bytes == 8 ? atom_load_acquire((const _Atomic uint64_t *)cell)
                        : atom_load_acquire((const _Atomic uint32_t *)cell);
    return 0;
}

static uint64_t mem_used(struct dev *dev) {
    return dev->chunks.used;
}

static const struct dev_recovery_ops recovery_ops = {
    .memory_fd = memory_fd,
    .memory_settle = settle_memory,
    .chunk_id = id_of_chunk,
    .chunk_adopt = adopt_chunk,
    .chunk_promise = promise_chunk,
    .chunk_renounce = renounce_chunk,
    .module_where = module_where,
    .module_place_at = module_place_at,
    .space_unrestorable = space_unrestorable,
    .launch_touches = touched_memory_find,
};

static const struct dev_spares_ops spares_ops = {
    .spare_make = make_spare,
    .spare_free = free_spare,
    .spare_id = id_of_spare,
    .spare_adopt = adopt_spare,
};

static const struct dev_variables_ops variables_ops = {
    .granule_save = save_granule,
    .granule_load = load_granule,
};

static const struct dev_retirement_ops retirement_ops = {
    .chunk_retire = retire_chunk,
    .chunk_revive = revive_chunk,
    .retired_free = free_retired,
};

static const struct dev_textures_ops textures_ops = {
    .texture_add = space_texture_add,
    .texture_remove = space_texture_remove,
};

static const struct dev_host_ops host_ops = {
    .host_map = space_host_map,
    .host_add = space_host_add,
    .host_remove = space_host_remove,
};

static const struct dev_shares_ops shares_ops = {
    .queue_level = queue_level,
    .queue_share = queue_share,
    .queue_still = queue_still,
};

static const struct dev_null_mode_ops null_mode_ops = {
    .space_null = space_null,
    .spend = queue_spend,
};

static const struct dev_settings_ops settings_ops = {
    .space_capability = space_capability,
    .space_limit = space_limit,
    .space_limit_bytes = space_limit_bytes,
};

static const struct dev_inflight_ops inflight_ops = {
    .stalled = stalled,
    .busy = busy_ns,
};

const struct dev_ops dev_soft = {
    .name = "soft",
    .open = open_dev,
    .close = close_dev,
    .info = info_of,
    .describe = describe_to,
    .event_fd = event_fd,
    .poll = poll_done,
    .arm = arm_event,
    .space_create = create_space,
    .space_destroy = destroy_space,
    .space_cancel = queue_cancel_space,
    .chunk_create = create_chunk,
    .chunk_destroy = destroy_chunk,
    .chunk_map = space_chunk_map,
    .chunk_unmap = space_chunk_unmap,
    .chunk_copy = copy_chunk,
    .chunk_save = save_chunk,
    .chunk_load = load_chunk,
    .chunk_clear = clear_chunks,
    .peek = peek,
    .mem_used = mem_used,
    .module_read = module_read,
    .module_place = module_place,
    .module_remove = module_remove,
    .module_free = module_free,
    .func_count = module_func_count,
    .func_name = module_func_name,
    .func_get = module_func_get,
    .global_get = module_global_get,
    .global_count = module_global_count,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .launch = queue_launch,
    .copy = queue_copy,
    .memset = queue_memset,
    .recovery = &recovery_ops,
    .spares = &spares_ops,
    .variables = &variables_ops,
    .retirement = &retirement_ops,
    .textures = &textures_ops,
    .host = &host_ops,
    .shares = &shares_ops,
    .null_mode = &null_mode_ops,
    .settings = &settings_ops,
    .inflight = &inflight_ops,
};
