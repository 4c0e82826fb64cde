/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake device for tests. It has one thread, its caller's, except for the calls that device.h runs
 * on other threads. Operations take no time.
 */
#include "test/lib/worker/fakedev.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/list.h"
#include "common/remap.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_host.h"
#include "daemon/device/device_native.h"
#include "daemon/device/device_shares.h"
#include "daemon/device/device_textures.h"
#include "proto/cuda/cuda_abi.h"
#include "test/lib/description.h"
#include "test/lib/patience.h"
#include "test/lib/worker/nodriver.h"

#define FAKE_LAUNCHES 1000000u
#define FAKE_NAME_BYTES 32
#define FAKE_LEVELS 2
#define FAKE_MEMORY (256ull << 20)
#define FAKE_CHUNKS (FAKE_MEMORY / FAKEDEV_GRANULARITY)

struct dev_chunk {
    bool used;
    uint32_t maps;
};

struct fake_launch {
    uint64_t token;
    uint32_t level;
    char kernel[FAKE_NAME_BYTES];
};

struct dev {
    bool held;
    int event_fd;
    uint64_t memory_used, clock_ns;
    struct fakedev_cost cost;
    struct list spaces;
    uint32_t space_count;
    struct dev_op *done_first, **done_last;
    int memory_fd;
    char *memory;
    struct dev_chunk chunks[FAKE_CHUNKS];
    uint32_t maps, moves, clears, fail_in;
    bool fail_on;
    struct fake_launch *launches;
    uint32_t launch_count;
    pthread_mutex_t reading; /* protects reads_held and reads */
    pthread_cond_t changed;  /* reads_held or reads has changed */
    bool reads_held;
    uint32_t reads;
    uint32_t most_inflight, violations, asked, exact;
    uint64_t expected_ns;
    const char *violation;
    struct fakedev_reference reference;
};

struct dev_space {
    struct dev *dev;
    struct list link, queues;
    struct dev_windows windows;
    const struct dev_space_ops *ops;
    void *arg;
    struct dev_chunk **chunks; /* one per page of the alloc window */
    uint32_t inflight, modules;
    uint64_t added_bytes;                          /* memory outside its windows */
    struct dev_texture textures[FAKEDEV_TEXTURES]; /* handle 0: none */
    struct dev_array arrays[FAKEDEV_ARRAYS];       /* bytes 0: none */
};

struct dev_queue {
    struct dev_space *space;
    struct list link;
    struct dev_op *first, **last;
    struct dev_graph *graph; /* graph of the latest launch */
    uint32_t level;
    uint32_t sms;
    int priority;
    bool still;
};

struct dev_func {
    struct dev_module *module;
    struct dev_func *next;
    struct dev_param param;
    char name[FAKE_NAME_BYTES];
};

struct dev_module {
    struct dev *dev;
    struct dev_space *space; /* may be destroyed before the module */
    uint32_t count;
    struct dev_func *funcs;
    char names[16][FAKE_NAME_BYTES];
};

static void fake_violation(struct dev *dev, const char *what) {
    dev->violations++;
    dev->violation = what;
    fprintf(stderr, "fakedev: %s\n", what);
}

/* ---- device ---------------------------------------------------------------------------------- */

static int fake_open(struct dev **out, const struct dev_config *config) {
    struct dev *dev = calloc(1, sizeof(*dev));
    if (!dev) return -ENOMEM;
    dev->launches = calloc(FAKE_LAUNCHES, sizeof(*dev->launches));
    dev->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    dev->done_last = &dev->done_first;
    dev->clock_ns = 1000;
    dev->cost.ns = 1000;
    list_init(&dev->spaces);
    pthread_mutex_init(&dev->reading, NULL);
    pthread_cond_init(&dev->changed, NULL);
    dev->memory_fd = fdutil_memfd("fakedev-memory", FAKE_MEMORY, 0);
    dev->memory = mmap(NULL, FAKE_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, dev->memory_fd, 0);
    *out = dev;
    return dev->launches && dev->memory != MAP_FAILED ? 0 : -ENOMEM;
}

static void fake_close(struct dev *dev) {
    if (dev->space_count) fake_violation(dev, "closed with spaces");
    if (dev->memory_used) fake_violation(dev, "closed with memory in use");
    munmap(dev->memory, FAKE_MEMORY);
    fdutil_close(&dev->memory_fd);
    fdutil_close(&dev->event_fd);
    free(dev->launches);
    free(dev);
}

static void fake_info(struct dev *dev, struct dev_info *out) {
    *out = (struct dev_info){.name = "fake device",
                             .memory_bytes = FAKE_MEMORY,
                             .granularity_bytes = FAKEDEV_GRANULARITY,
                             .sm_count = 4,
                             .slice_ns = 1000,
                             .cc_major = 9,
                             .threads_per_sm = 2048,
                             .blocks_per_sm = 32,
                             .regs_per_sm = 65536,
                             .shared_per_sm_bytes = 228 << 10,
                             .shared_reserved_bytes = 1 << 10,
                             .shared_per_block_bytes = 48 << 10,
                             .shared_optin_bytes = 100000,
                             .levels = FAKE_LEVELS,
                             .insts_s = FAKEDEV_INSTS_S,
                             .bytes_s = FAKEDEV_BYTES_S};
}

static void fake_describe(struct dev *dev, struct description *out) {
    struct dev_info i;
    fake_info(dev, &i);
    struct wire_device d = {.memory_bytes = i.memory_bytes,
                            .sm_count = i.sm_count,
                            .cc_major = i.cc_major,
                            .cc_minor = i.cc_minor,
                            .threads_per_sm = i.threads_per_sm,
                            .blocks_per_sm = i.blocks_per_sm,
                            .regs_per_sm = i.regs_per_sm,
                            .shared_per_sm_bytes = i.shared_per_sm_bytes,
                            .shared_per_block_bytes = i.shared_per_block_bytes,
                            .shared_optin_bytes = i.shared_optin_bytes,
                            .shared_reserved_bytes = i.shared_reserved_bytes};
    memcpy(d.name, i.name, sizeof(d.name));
    memcpy(d.uuid, i.uuid, sizeof(d.uuid));
    description_example(out, &d);
    /* Less than a record may ask for. */
    description_set(out, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 32);
    description_set(out, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 4095);
}

static int fake_event_fd(struct dev *dev) {
    return dev->event_fd;
}

static struct dev_op *fake_poll(struct dev *dev) {
    struct dev_op *list = dev->done_first;
    uint64_t drained;
    dev->done_first = NULL;
    dev->done_last = &dev->done_first;
    if (list && read(dev->event_fd, &drained, sizeof(drained)) < 0) return list;
    return list;
}

static int fake_arm(struct dev *dev) {
    return dev->done_first != NULL;
}

static void fake_done(struct dev *dev, struct dev_op *op, int result) {
    uint64_t one = 1;
    op->result = result;
    op->end_ns = dev->clock_ns;
    op->busy_ns = op->end_ns - op->start_ns;
    op->next = NULL;
    *dev->done_last = op;
    dev->done_last = &op->next;
    if (write(dev->event_fd, &one, sizeof(one)) < 0) fake_violation(dev, "event_fd overflowed");
}

/* ---- spaces ---------------------------------------------------------------------------------- */

static int fake_space_create(struct dev *dev, struct dev_windows *windows,
                             const struct dev_space_ops *ops, void *arg, struct dev_space **out) {
    struct dev_space *s = calloc(1, sizeof(*s));
    void *want = (void *)(uintptr_t)windows->dev_base;
    uint64_t bytes = windows->alloc_bytes + windows->module_bytes;
    void *got = mmap(want, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) {
        int err = -errno;
        free(s);
        return err;
    }
    s->dev = dev;
    s->windows = *windows;
    s->ops = ops;
    s->arg = arg;
    s->chunks = calloc(windows->alloc_bytes / FAKEDEV_GRANULARITY, sizeof(*s->chunks));
    list_init(&s->queues);
    list_append(&dev->spaces, &s->link);
    dev->space_count++;
    *out = s;
    return 0;
}

static void fake_space_destroy(struct dev_space *s) {
    if (s->inflight || !list_empty(&s->queues) || s->modules)
        fake_violation(s->dev, "space destroyed in use");
    for (uint32_t k = 0; k < FAKEDEV_ARRAYS; k++)
        if (s->arrays[k].bytes) fake_violation(s->dev, "space destroyed with arrays");
    munmap((void *)(uintptr_t)s->windows.dev_base,
           s->windows.alloc_bytes + s->windows.module_bytes);
    for (uint64_t i = 0; i < s->windows.alloc_bytes / FAKEDEV_GRANULARITY; i++)
        if (s->chunks[i]) s->chunks[i]->maps--;
    list_remove(&s->link);
    s->dev->space_count--;
    free(s->chunks);
    free(s);
}

/* Ends a queue's first operation. */
static void fake_pop(struct dev_queue *q, int result) {
    struct dev *dev = q->space->dev;
    struct dev_op *op = q->first;
    q->first = op->next;
    if (!q->first) q->last = &q->first;
    q->space->inflight--;
    dev->clock_ns += dev->cost.ns;
    if (q->first) q->first->start_ns = dev->clock_ns;
    fake_done(dev, op, op->result ? op->result : result);
}

static void fake_space_cancel(struct dev_space *s) {
    struct list *pos;
    list_each(pos, &s->queues) {
        struct dev_queue *q = list_entry(pos, struct dev_queue, link);
        while (q->first) {
            q->first->result = ERR_CANCELLED;
            fake_pop(q, ERR_CANCELLED);
        }
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* True if the test wants this call, or this call and all later ones, to fail. */
static bool fake_fails(struct dev *dev) {
    if (!dev->fail_in || --dev->fail_in) return false;
    if (dev->fail_on) dev->fail_in = 1;
    return true;
}

static char *fake_chunk_bytes(struct dev *dev, const struct dev_chunk *c) {
    if (!c->used) fake_violation(dev, "a chunk used after its end");
    return dev->memory + (size_t)(c - dev->chunks) * FAKEDEV_GRANULARITY;
}

static int fake_chunk_create(struct dev *dev, struct dev_chunk **out) {
    *out = NULL;
    if (fake_fails(dev) || dev->memory_used + FAKEDEV_GRANULARITY > FAKE_MEMORY)
        return ERR_NO_MEMORY;
    struct dev_chunk *c = dev->chunks;
    while (c->used)
        c++;
    c->used = true;
    dev->memory_used += FAKEDEV_GRANULARITY;
    *out = c;
    return 0;
}

static void fake_chunk_destroy(struct dev *dev, struct dev_chunk *c) {
    if (!c) return;
    if (c->maps) fake_violation(dev, "chunk destroyed while mapped");
    /* zeroed for its next use */
    madvise(fake_chunk_bytes(dev, c), FAKEDEV_GRANULARITY, MADV_REMOVE);
    dev->memory_used -= FAKEDEV_GRANULARITY;
    c->used = false;
}

static uint64_t fake_chunk_id(const struct dev *dev, const struct dev_chunk *c) {
    return (uint64_t)(c - dev->chunks);
}

/* This device is never opened again, so there is no chunk to adopt. */
static int fake_chunk_adopt(struct dev *dev, uint64_t id, struct dev_chunk **out) {
    *out = NULL;
    return id < FAKE_CHUNKS ? -ENOENT : -EINVAL;
}

/* Returns the page's number, or -EINVAL: accepts only whole chunks in the alloc window. */
static int64_t fake_page(struct dev_space *s, uint64_t addr, uint32_t count) {
    uint64_t pages = s->windows.alloc_bytes / FAKEDEV_GRANULARITY;
    uint64_t page = (addr - s->windows.dev_base) / FAKEDEV_GRANULARITY;
    bool bad = addr % FAKEDEV_GRANULARITY || addr < s->windows.dev_base || page >= pages || !count;
    return bad || count > pages - page ? -EINVAL : (int64_t)page;
}

static int fake_chunk_map(struct dev_space *s, uint64_t addr, struct dev_chunk *const *chunks,
                          uint32_t count) {
    int64_t page = fake_page(s, addr, count);
    if (page < 0) return (int)page;
    for (uint32_t i = 0; i < count; i++)
        if (s->chunks[page + i]) return -EEXIST;
    s->dev->maps++;
    if (fake_fails(s->dev)) return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        off_t offset = fake_chunk_bytes(s->dev, chunks[i]) - s->dev->memory;
        (void)mmap((void *)(uintptr_t)(addr + i * FAKEDEV_GRANULARITY), FAKEDEV_GRANULARITY,
                   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, s->dev->memory_fd, offset);
        s->chunks[page + i] = chunks[i];
        chunks[i]->maps++;
    }
    return 0;
}

static int fake_chunk_unmap(struct dev_space *s, uint64_t addr, uint32_t count) {
    int64_t page = fake_page(s, addr, count);
    if (s->inflight) fake_violation(s->dev, "memory unmapped with operations in flight");
    if (page < 0) return (int)page;
    for (uint32_t i = 0; i < count; i++)
        if (!s->chunks[page + i]) return -ENOENT;
    s->dev->maps++;
    (void)mmap((void *)(uintptr_t)addr, count * FAKEDEV_GRANULARITY, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    for (uint32_t i = 0; i < count; i++) {
        s->chunks[page + i]->maps--;
        s->chunks[page + i] = NULL;
    }
    return 0;
}

static int fake_move(struct dev *dev, void *dst, const void *src) {
    dev->moves++;
    if (fake_fails(dev)) return -EIO;
    memcpy(dst, src, FAKEDEV_GRANULARITY);
    return 0;
}

static int fake_chunk_copy(struct dev *dev, struct dev_chunk *dst, const struct dev_chunk *src) {
    return fake_move(dev, fake_chunk_bytes(dev, dst), fake_chunk_bytes(dev, src));
}

static int fake_chunk_save(struct dev *dev, void *host, const struct dev_chunk *c) {
    return fake_move(dev, host, fake_chunk_bytes(dev, c));
}

static int fake_chunk_load(struct dev *dev, struct dev_chunk *c, const void *host) {
    return fake_move(dev, fake_chunk_bytes(dev, c), host);
}

static int fake_chunk_clear(struct dev *dev, struct dev_chunk *const *chunks, uint32_t count) {
    if (fake_fails(dev)) return -EIO;
    for (uint32_t i = 0; i < count; i++)
        memset(fake_chunk_bytes(dev, chunks[i]), 0, FAKEDEV_GRANULARITY);
    dev->clears += count;
    return 0;
}

static uint64_t fake_mem_used(struct dev *dev) {
    return dev->memory_used;
}

/* ---- modules --------------------------------------------------------------------------------- */

/* Waits while the test holds reads. */
static void fake_read(struct dev *dev) {
    pthread_mutex_lock(&dev->reading);
    dev->reads++;
    pthread_cond_broadcast(&dev->changed);
    while (dev->reads_held)
        pthread_cond_wait(&dev->changed, &dev->reading);
    dev->reads--;
    pthread_mutex_unlock(&dev->reading);
}

static int fake_module_read(struct dev_space *s, uint32_t capability, const void *image,
                            size_t bytes, struct dev_module **out, char *why, size_t why_bytes) {
    fake_read(s->dev);
    struct dev_module *m = calloc(1, sizeof(*m));
    char *text = strndup(image, bytes), *rest = text, *name;
    *out = NULL;
    if (strncmp(text, "FAKE", 4) != 0) {
        snprintf(why, why_bytes, "not a fake image");
        free(text);
        free(m);
        return ERR_INVALID_IMAGE;
    }
    strtok_r(rest, " ", &rest);
    while ((name = strtok_r(rest, " ", &rest)) && m->count < 16)
        snprintf(m->names[m->count++], FAKE_NAME_BYTES, "%.31s", name);
    free(text);
    m->dev = s->dev;
    m->space = s;
    *out = m;
    return 0;
}

static int fake_module_place(struct dev_module *m, char *why, size_t why_bytes) {
    m->space->modules++;
    return 0;
}

static void fake_module_remove(struct dev_module *m) {
    if (m->space->inflight) fake_violation(m->dev, "module removed while in use");
    m->space->modules--;
}

static void fake_module_free(struct dev_module *m) {
    if (!m) return;
    for (struct dev_func *f = m->funcs, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    free(m);
}

static uint32_t fake_func_count(struct dev_module *m) {
    return m->count;
}

static const char *fake_func_name(struct dev_module *m, uint32_t index) {
    return m->names[index];
}

static int fake_func_get(struct dev_module *m, const char *name, struct dev_func **out,
                         struct dev_func_info *info, char *why, size_t why_bytes) {
    fake_read(m->dev);
    for (uint32_t i = 0; i < m->count; i++) {
        if (strcmp(m->names[i], name) != 0) continue;
        struct dev_func *f = calloc(1, sizeof(*f));
        f->module = m;
        f->next = m->funcs;
        f->param = (struct dev_param){0, strncmp(name, "big", 3) ? 8 : FAKEDEV_BIG_BYTES};
        m->funcs = f;
        memcpy(f->name, m->names[i], FAKE_NAME_BYTES);
        *info = (struct dev_func_info){.params = &f->param,
                                       .param_count = 1,
                                       .param_bytes = f->param.bytes,
                                       .regs = 32,
                                       .shared_bytes = 1000,
                                       .max_threads = 512};
        *out = f;
        return 0;
    }
    return ERR_NOT_FOUND;
}

static int fake_global_get(struct dev_module *m, const char *name, uint64_t *addr,
                           uint64_t *bytes) {
    const struct dev_windows *w = &m->space->windows;
    if (strncmp(name, "var", 3) != 0) return ERR_NOT_FOUND;
    *addr = w->dev_base + w->alloc_bytes;
    *bytes = 64;
    return 0;
}

static uint32_t fake_global_count(struct dev_module *m) {
    return 1;
}

/* ---- textures -------------------------------------------------------------------------------- */

static int fake_texture_add(struct dev_space *s, const struct dev_texture *t, uint64_t *seen) {
    *seen = t->handle;
    const uint32_t number = (uint16_t)t->handle;
    if (number >= FAKEDEV_TEXTURES) return -ENOMEM;
    if (s->textures[number].handle) return -EEXIST;
    s->textures[number] = *t;
    return 0;
}

static void fake_texture_remove(struct dev_space *s, uint64_t handle) {
    struct dev_texture *t = &s->textures[(uint16_t)handle % FAKEDEV_TEXTURES];
    if (s->inflight) fake_violation(s->dev, "texture removed while in use");
    if (t->handle == handle) t->handle = 0;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static int fake_seen_texture_add(struct dev_space *s, const struct dev_texture *t, uint64_t *seen) {
    int err = t->levels[0].width == 13 ? -EINVAL : fake_texture_add(s, t, seen);
    *seen = FAKEDEV_SEEN(t->handle);
    return err;
}

static int fake_array_create(struct dev_space *s, const struct dev_array *a) {
    struct dev_array *place = NULL;
    for (uint32_t k = 0; k < FAKEDEV_ARRAYS; k++) {
        struct dev_array *other = &s->arrays[k];
        if (!other->bytes)
            place = other;
        else if (a->addr < other->addr + other->bytes && other->addr < a->addr + a->bytes)
            return -EEXIST;
    }
    if (a->width == 13) return -EINVAL;
    if (!place || s->dev->memory_used + a->charge_bytes > FAKE_MEMORY) return ERR_NO_MEMORY;
    s->dev->memory_used += a->charge_bytes;
    *place = *a;
    return 0;
}

static void fake_array_drop(struct dev_space *s, struct dev_array *a) {
    if (!a->bytes) return;
    if (s->inflight) fake_violation(s->dev, "array destroyed while in use");
    s->dev->memory_used -= a->charge_bytes;
    a->bytes = 0;
}

static void fake_array_destroy(struct dev_space *s, uint64_t addr) {
    for (uint32_t k = 0; k < FAKEDEV_ARRAYS; k++)
        if (s->arrays[k].addr == addr) fake_array_drop(s, &s->arrays[k]);
}

static void fake_array_end(struct dev_space *s) {
    for (uint32_t k = 0; k < FAKEDEV_ARRAYS; k++)
        fake_array_drop(s, &s->arrays[k]);
}

/* ---- references ------------------------------------------------------------------------------ */

static int fake_module_reference(struct dev_module *m, const char *name, bool surface,
                                 const struct dev_texture *t) {
    struct fakedev_reference *r = &m->dev->reference;
    if (m->space->inflight) fake_violation(m->dev, "a reference told while in use");
    if (strncmp(name, "ref", 3) != 0) return ERR_NOT_FOUND;
    if (t && t->surface != surface) fake_violation(m->dev, "a surface for a texture");
    *r = (struct fakedev_reference){.count = r->count + 1, .surface = surface};
    snprintf(r->name, sizeof(r->name), "%s", name);
    if (t) r->texture = *t;
    return 0;
}

/* ---- clusters -------------------------------------------------------------------------------- */

static int fake_cluster_count(const struct dev_launch *like, bool largest, uint32_t *count) {
    *count = largest ? 4 : 1000 * like->block[0] + 10 * like->cluster[0] + like->grid[2];
    return like->shared_bytes == 13 ? -EINVAL : 0;
}

/* ---- tensor maps ----------------------------------------------------------------------------- */

static int fake_tensor_map(struct dev *dev, const struct tensor_ask *a, struct tensor_answer *out) {
    if (a->address % 16) return -EINVAL;
    out->map[0] = FAKEDEV_SEEN(a->address);
    out->map[15] = a->kind;
    return 0;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static int fake_queue_create(struct dev_space *s, int priority, struct dev_queue **out) {
    struct dev_queue *q = calloc(1, sizeof(*q));
    if (!q) return -ENOMEM;
    q->space = s;
    q->priority = priority;
    q->last = &q->first;
    list_append(&s->queues, &q->link);
    *out = q;
    return 0;
}

static void fake_queue_destroy(struct dev_queue *q) {
    if (q->first) fake_violation(q->space->dev, "queue destroyed in use");
    list_remove(&q->link);
    free(q);
}

static void fake_queue_share(struct dev_queue *q, uint32_t sms) {
    q->sms = sms;
}

static void fake_queue_still(struct dev_queue *q, bool still) {
    q->still = still;
}

static void fake_queue_level(struct dev_queue *q, uint32_t level) {
    if (level >= FAKE_LEVELS) fake_violation(q->space->dev, "no such level");
    q->level = level;
}

static void fake_submit(struct dev_queue *q, struct dev_op *op, int result, bool hang) {
    struct dev *dev = q->space->dev;
    dev->asked += op->timed;
    dev->exact += op->exact;
    dev->expected_ns = op->expected_ns;
    op->start_ns = dev->clock_ns; /* or later, when the operation before it completes */
    op->result = result;
    op->next = NULL;
    *q->last = op;
    q->last = &op->next;
    if (++q->space->inflight > dev->most_inflight) dev->most_inflight = q->space->inflight;
    if (!dev->held && !hang && q->first == op) fake_pop(q, 0);
}

static void fake_queue_time(struct dev_queue *q, struct dev_op *op) {
    if (!q->first || q->last != &op->next) fake_violation(q->space->dev, "not the latest");
    q->space->dev->asked++;
}

static int fake_launch(struct dev_queue *q, const struct dev_launch *l, struct dev_op *op) {
    struct dev *dev = q->space->dev;
    struct fake_launch *log = &dev->launches[dev->launch_count];
    const char *name = l->func->name;
    char text[32];
    if (strncmp(name, "refuse", 6) == 0) return -EINVAL;
    if (l->func->module->space != q->space) fake_violation(dev, "launched in another's space");
    if (dev->launch_count < FAKE_LAUNCHES - 1) dev->launch_count++;
    memcpy(&log->token, l->params, 8);
    log->level = q->level;
    memcpy(log->kernel, name, FAKE_NAME_BYTES);
    if (strncmp(name, "say", 3) == 0) {
        int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", log->token);
        q->space->ops->text(q->space->arg, 0, text, (size_t)n);
    }
    op->thread_insts = dev->cost.thread_insts;
    op->memory_bytes = dev->cost.memory_bytes;
    op->fault_addr = log->token; /* fakedev_head reads the token here */
    q->graph = l->graph;
    if (strncmp(name, "fault", 5) == 0) {
        op->fault_addr = 0xbad;
        snprintf(op->fault_text, sizeof(op->fault_text), "told to");
        fake_submit(q, op, ERR_ILLEGAL_ADDRESS, false);
    } else {
        fake_submit(q, op, 0, strncmp(name, "hang", 4) == 0);
    }
    return 0;
}

static int fake_copy(struct dev_queue *q, const struct dev_copy *c, struct dev_op *op) {
    for (uint64_t z = 0; z < c->depth; z++)
        for (uint64_t y = 0; y < c->height; y++)
            memmove((void *)(uintptr_t)(c->dst + z * c->dst_slice + y * c->dst_pitch),
                    (void *)(uintptr_t)(c->src + z * c->src_slice + y * c->src_pitch),
                    c->width_bytes);
    op->thread_insts = op->memory_bytes = 0;
    fake_submit(q, op, 0, false);
    return 0;
}

static int fake_memset(struct dev_queue *q, const struct dev_memset *m, struct dev_op *op) {
    for (uint64_t y = 0; y < m->height; y++)
        for (uint64_t x = 0; x < m->width_elems; x++)
            memcpy((char *)(uintptr_t)(m->dst + y * m->pitch) + x * m->elem_bytes, &m->value,
                   m->elem_bytes);
    op->thread_insts = op->memory_bytes = 0;
    fake_submit(q, op, 0, false);
    return 0;
}

static int fake_host_map(struct dev_space *s, uint64_t addr, uint64_t bytes, int fd,
                         uint64_t offset) {
    uint64_t at = addr - s->windows.host_base;
    if (at > s->windows.host_bytes || bytes > s->windows.host_bytes - at)
        fake_violation(s->dev, "a file outside the host window");
    return remap_file(addr, bytes, fd, offset);
}

static bool fake_in_windows(const struct dev_windows *w, uint64_t addr, uint64_t bytes) {
    bool in_host = addr < w->host_base + w->host_bytes && addr + bytes > w->host_base;
    uint64_t dev_bytes = w->alloc_bytes + w->module_bytes;
    return in_host || (addr < w->dev_base + dev_bytes && addr + bytes > w->dev_base);
}

static int fake_host_add(struct dev_space *s, uint64_t addr, uint64_t bytes) {
    if (fake_in_windows(&s->windows, addr, bytes)) fake_violation(s->dev, "a window is added");
    s->added_bytes += bytes;
    return 0;
}

static int fake_host_remove(struct dev_space *s, uint64_t addr, uint64_t bytes) {
    if (bytes > s->added_bytes) fake_violation(s->dev, "memory removed that was not added");
    s->added_bytes -= bytes;
    return 0;
}

static const struct dev_host_ops host_ops = {
    .host_map = fake_host_map, .host_add = fake_host_add, .host_remove = fake_host_remove};

static const struct dev_driver_ops driver_ops = {.lost = nodriver_lost,
                                                 .space_owns = nodriver_owns,
                                                 .host_show = nodriver_show,
                                                 .host_shown = nodriver_shown,
                                                 .queue_time = fake_queue_time};

static int fake_peek(struct dev_space *s, uint64_t addr, uint32_t bytes, uint64_t *value) {
    uint64_t page = (addr - s->windows.dev_base) / FAKEDEV_GRANULARITY;
    bool backs = addr - s->windows.dev_base < s->windows.alloc_bytes;
    if (backs && !s->chunks[page]) fake_violation(s->dev, "a look at memory that is not there");
    *value = 0;
    memcpy(value, (const void *)(uintptr_t)addr, bytes);
    return 0;
}

static const struct dev_shares_ops shares_ops = {.queue_level = fake_queue_level,
                                                 .queue_share = fake_queue_share,
                                                 .queue_still = fake_queue_still};

#define FAKE_OPS                                                                                   \
    .open = fake_open, .close = fake_close, .info = fake_info, .describe = fake_describe,          \
    .event_fd = fake_event_fd, .poll = fake_poll, .arm = fake_arm,                                 \
    .space_create = fake_space_create, .space_destroy = fake_space_destroy,                        \
    .space_cancel = fake_space_cancel, .chunk_create = fake_chunk_create,                          \
    .chunk_destroy = fake_chunk_destroy, .chunk_map = fake_chunk_map,                              \
    .chunk_unmap = fake_chunk_unmap, .chunk_copy = fake_chunk_copy, .chunk_save = fake_chunk_save, \
    .chunk_load = fake_chunk_load, .chunk_clear = fake_chunk_clear, .peek = fake_peek,             \
    .mem_used = fake_mem_used, .module_read = fake_module_read, .module_place = fake_module_place, \
    .module_remove = fake_module_remove, .module_free = fake_module_free,                          \
    .func_count = fake_func_count, .func_name = fake_func_name, .func_get = fake_func_get,         \
    .global_get = fake_global_get, .global_count = fake_global_count,                              \
    .queue_create = fake_queue_create, .queue_destroy = fake_queue_destroy, .launch = fake_launch, \
    .copy = fake_copy, .memset = fake_memset, .host = &host_ops, .driver = &driver_ops,            \
    .shares = &shares_ops

const struct dev_recovery_ops fakedev_recovery = {.chunk_id = fake_chunk_id,
                                                  .chunk_adopt = fake_chunk_adopt};

static const struct dev_textures_ops textures_ops = {.texture_add = fake_texture_add,
                                                     .texture_remove = fake_texture_remove};

const struct dev_ops fakedev = {.name = "fakedev", .textures = &textures_ops, FAKE_OPS};

static const struct dev_textures_ops seen_textures_ops = {.texture_add = fake_seen_texture_add,
                                                          .texture_remove = fake_texture_remove};

static const struct dev_arrays_ops arrays_ops = {.array_create = fake_array_create,
                                                 .array_destroy = fake_array_destroy,
                                                 .array_end = fake_array_end,
                                                 .module_reference = fake_module_reference};

static const struct dev_native_ops native_ops = {.tensor_map = fake_tensor_map,
                                                 .cluster_count = fake_cluster_count};

const struct dev_ops fakedev_arrays = {.name = "fakedev",
                                       .textures = &seen_textures_ops,
                                       .arrays = &arrays_ops,
                                       .native = &native_ops,
                                       FAKE_OPS};

/* ---- interface for tests
 * ----------------------------------------------------------------------- */

void fakedev_hold(struct dev *dev, bool held) {
    dev->held = held;
    if (!held) fakedev_finish_all(dev);
}

void fakedev_hold_reads(struct dev *dev, bool held) {
    pthread_mutex_lock(&dev->reading);
    dev->reads_held = held;
    pthread_cond_broadcast(&dev->changed);
    pthread_mutex_unlock(&dev->reading);
}

uint32_t fakedev_reads(struct dev *dev) {
    pthread_mutex_lock(&dev->reading);
    uint32_t reads = dev->reads;
    pthread_mutex_unlock(&dev->reading);
    return reads;
}

bool fakedev_await_reads(struct dev *dev, uint32_t count) {
    return PATIENCE_UNTIL(fakedev_reads(dev) >= count);
}

struct fakedev_reference fakedev_reference(const struct dev *dev) {
    return dev->reference;
}

uint32_t fakedev_array_count(const struct dev *dev) {
    const struct list *pos;
    uint32_t count = 0;
    list_each(pos, &dev->spaces) for (uint32_t k = 0; k < FAKEDEV_ARRAYS; k++) count +=
        list_entry(pos, struct dev_space, link)->arrays[k].bytes != 0;
    return count;
}

const struct dev_texture *fakedev_texture(const struct dev *dev, uint32_t number) {
    struct list *pos;
    list_each(pos, &dev->spaces) {
        const struct dev_texture *t =
            &list_entry(pos, struct dev_space, link)->textures[number % FAKEDEV_TEXTURES];
        if (t->handle) return t;
    }
    return NULL;
}

static struct dev_queue *fake_busy_queue(const struct dev *dev, uint32_t n, uint32_t *count) {
    struct list *spos, *qpos;
    *count = 0;
    list_each(spos, &dev->spaces) {
        struct dev_space *s = list_entry(spos, struct dev_space, link);
        list_each(qpos, &s->queues) {
            struct dev_queue *q = list_entry(qpos, struct dev_queue, link);
            if (q->first && (*count)++ == n) return q;
        }
    }
    return NULL;
}

uint32_t fakedev_busy(const struct dev *dev) {
    uint32_t count;
    fake_busy_queue(dev, UINT32_MAX, &count);
    return count;
}

uint64_t fakedev_head(const struct dev *dev, uint32_t busy_queue) {
    uint32_t count;
    const struct dev_queue *q = fake_busy_queue(dev, busy_queue, &count);
    return q ? q->first->fault_addr : UINT64_MAX;
}

void fakedev_finish(struct dev *dev, uint32_t busy_queue) {
    uint32_t count;
    struct dev_queue *q = fake_busy_queue(dev, busy_queue, &count);
    if (q) fake_pop(q, 0);
}

void fakedev_finish_after(struct dev *dev, uint32_t busy_queue, uint64_t ns) {
    uint32_t count;
    struct dev_queue *q = fake_busy_queue(dev, busy_queue, &count);
    if (!q) return;
    dev->cost.ns = ns;
    q->first->start_ns = dev->clock_ns;
    fake_pop(q, 0);
}

void fakedev_finish_all(struct dev *dev) {
    while (fakedev_busy(dev))
        fakedev_finish(dev, 0);
}

uint32_t fakedev_launches(const struct dev *dev) {
    return dev->launch_count;
}

uint64_t fakedev_token(const struct dev *dev, uint32_t at) {
    return at < dev->launch_count ? dev->launches[at].token : UINT64_MAX;
}

const char *fakedev_kernel(const struct dev *dev, uint32_t at) {
    return at < dev->launch_count ? dev->launches[at].kernel : "";
}

uint32_t fakedev_level(const struct dev *dev, uint32_t at) {
    return at < dev->launch_count ? dev->launches[at].level : UINT32_MAX;
}

uint32_t fakedev_head_share(const struct dev *dev, uint32_t busy_queue) {
    uint32_t count;
    const struct dev_queue *q = fake_busy_queue(dev, busy_queue, &count);
    return q ? q->sms : UINT32_MAX;
}

int fakedev_head_priority(const struct dev *dev, uint32_t busy_queue) {
    uint32_t count;
    const struct dev_queue *q = fake_busy_queue(dev, busy_queue, &count);
    return q ? q->priority : INT32_MAX;
}

bool fakedev_head_stands(const struct dev *dev, uint32_t busy_queue) {
    uint32_t count;
    const struct dev_queue *q = fake_busy_queue(dev, busy_queue, &count);
    return q && q->still;
}

int fakedev_ask(struct dev *dev, uint64_t token, uint64_t handle, enum dev_graph_order how) {
    uint32_t count, i = 0;
    struct dev_queue *q;
    while ((q = fake_busy_queue(dev, i, &count)) && q->first->fault_addr != token)
        i++;
    if (!q) return -ENOENT;
    return q->graph ? q->space->ops->graph(q->space->arg, q->graph, handle, how) : -EPERM;
}

uint64_t fakedev_handle(struct dev *dev, uint64_t token) {
    uint32_t count, i = 0;
    const struct dev_queue *q;
    while ((q = fake_busy_queue(dev, i, &count)) && q->first->fault_addr != token)
        i++;
    return q && q->graph ? q->graph->handle : 0;
}

uint32_t fakedev_head_level(const struct dev *dev, uint32_t busy_queue) {
    uint32_t count;
    const struct dev_queue *q = fake_busy_queue(dev, busy_queue, &count);
    return q ? q->level : UINT32_MAX;
}

void fakedev_cost(struct dev *dev, const struct fakedev_cost *cost) {
    dev->cost = *cost;
}

void fakedev_forget_launches(struct dev *dev) {
    dev->launch_count = 0;
}

uint32_t fakedev_exact(const struct dev *dev) {
    return dev->exact;
}

uint64_t fakedev_expected_ns(const struct dev *dev) {
    return dev->expected_ns;
}

uint32_t fakedev_asked(const struct dev *dev) {
    return dev->asked;
}

uint32_t fakedev_most_inflight(const struct dev *dev) {
    return dev->most_inflight;
}

uint32_t fakedev_violations(const struct dev *dev, const char **what) {
    if (what) *what = dev->violation ? dev->violation : "";
    return dev->violations;
}

uint32_t fakedev_spaces(const struct dev *dev) {
    return dev->space_count;
}

uint32_t fakedev_maps(const struct dev *dev) {
    return dev->maps;
}

uint32_t fakedev_moves(const struct dev *dev) {
    return dev->moves;
}

uint32_t fakedev_clears(const struct dev *dev) {
    return dev->clears;
}

void fakedev_fail(struct dev *dev, uint32_t nth, bool and_on) {
    dev->fail_in = nth;
    dev->fail_on = and_on;
}
