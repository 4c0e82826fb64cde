/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes every driver call of the real driver's device fail once: each kind of call, each time that
 * a job of two clients makes it, with each of: out of memory, not supported, invalid value, and a
 * fatal error.
 *
 * After any failure there is no crash and no hang, and nothing is lost. Each operation completes
 * once, and with success only if its data is right. The device is lost if and only if the failure
 * was fatal; otherwise everything works afterwards, and all objects are freed.
 *
 *   cuda_faults [MOST [CALL]]: at most MOST of each kind, including the first and the last.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_native.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_shares.h"
#include "daemon/device/device_textures.h"
#include "daemon/worker/front/texture_record.h"
#include "proto/cuda/array_layout.h"
#include "test/lib/cuda/cuda_rig.h"
#include "test/lib/ptx/devmodule.h"

#define OPS 40u
#define CHUNKS 3u
/* The fake driver reads the comment; the code that splits kernels reads the rest. */
#define IMAGE                                                                              \
    ".version 8.0\n.target sm_80\n.address_size 64\n/*" RIG_IMAGE                          \
    "texref line\ntexref plane\nsurfref sheet\n*/\n"                                       \
    ".visible .entry append(.param .u64 list, .param .u32 value) { .reg .b32 %r; mov.u32 " \
    "%r, %ctaid.x; ret; }\n"
#define BLOCKS (7 * FAKE_SMS) /* blocks of 1024 threads: four parts */

static const struct {
    const char *name;
    int result;
} ways[] = {{"no memory", CUDA_ERROR_OUT_OF_MEMORY},
            {"not supported", CUDA_ERROR_NOT_SUPPORTED},
            {"invalid value", CUDA_ERROR_INVALID_VALUE},
            {"illegal address", CUDA_ERROR_ILLEGAL_ADDRESS},
            {"launch failed", CUDA_ERROR_LAUNCH_FAILED}};
#define WAYS (sizeof(ways) / sizeof(ways[0]))
#define WAYS_ALIVE 3u /* the others are fatal */

static struct cuda_rig rig;
static char what[200];   /* the failure being tested */
static uint32_t fired;   /* some calls are not made in every run, and then nothing fails */
static bool ends_params; /* the driver reports the end of the parameters by an error */
static int complaints;

static void complain(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    fprintf(stderr, "cuda_faults: %s: ", what);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    complaints++;
}

/* ---- a job ----------------------------------------------------------------------------------- */

/* The objects of one client; NULL: could not be made. */
struct job {
    struct rig_space space;
    bool has_space, mapped;
    struct dev_chunk *chunks[CHUNKS];
    struct dev_module *modules[2];
    struct dev_queue *queue;
    struct dev_func *append;
    bool has_array[2]; /* the second array has levels */
    struct rig_op ops[OPS];
    uint32_t submitted;
    bool appended[OPS], all_well;
};

struct reading {
    struct job *job;
    const void *image;
    size_t bytes;
    struct dev_module *module;
    int err;
};

/* Runs on another thread, as in the worker. */
static void *read_module(void *arg) {
    struct reading *r = arg;
    char why[256];
    r->err = rig.ops->module_read(r->job->space.space, 0, r->image, r->bytes, &r->module, why,
                                  sizeof(why));
    return NULL;
}

static int load(struct job *j, const void *image, size_t bytes, struct dev_module **out) {
    struct reading r = {.job = j, .image = image, .bytes = bytes};
    pthread_t thread;
    char why[256];
    if (pthread_create(&thread, NULL, read_module, &r)) abort();
    pthread_join(thread, NULL);
    if (!r.err) r.err = rig.ops->module_place(r.module, why, sizeof(why));
    *out = r.err ? NULL : r.module;
    return r.err;
}

static size_t add_fatbin(unsigned char *at, const char *text) {
    struct {
        uint32_t magic;
        uint16_t version, header_bytes;
        uint64_t bytes;
    } head = {0xba55ed50, 1, 16, strlen(text)};
    memcpy(at, &head, sizeof(head));
    memcpy(at + sizeof(head), text, head.bytes);
    return sizeof(head) + head.bytes;
}

/* Checks that a failed mapping left nothing at its address. */
static void map_again(struct job *j) {
    if (rig.ops->driver->lost(rig.dev)) return;
    if (cuda_rig_map(&rig, &j->space, 0, CHUNKS, j->chunks))
        complain("what was not mapped cannot be mapped");
    else
        cuda_rig_unmap(&rig, &j->space, 0, CHUNKS, j->chunks);
}

static int begin(struct job *j, unsigned int nth) {
    unsigned char units[512];
    size_t bytes = add_fatbin(units, "fake\nkernel fill 8 8 4\n");
    bytes += add_fatbin(units + bytes, "fake\nkernel add 8 8 8 8\n");
    *j = (struct job){.all_well = true};
    int err = cuda_rig_space(&rig, &j->space, nth);
    j->has_space = !err;
    if (!err) err = cuda_rig_map(&rig, &j->space, 0, CHUNKS, j->chunks);
    j->mapped = !err;
    if (err && j->has_space) map_again(j);
    if (!err)
        err = rig.ops->driver->host_show(j->space.space, j->space.windows.host_base, RIG_HOST);
    if (!err) err = load(j, IMAGE, strlen(IMAGE), &j->modules[0]);
    if (!err) err = load(j, units, bytes, &j->modules[1]);
    if (!err) err = rig.ops->queue_create(j->space.space, 0, &j->queue);
    return err;
}

static void end(struct job *j) {
    if (j->queue) rig.ops->queue_destroy(j->queue);
    for (int i = 0; i < 2; i++)
        if (j->modules[i]) devmodule_unload(rig.ops, j->modules[i]);
    if (j->mapped) cuda_rig_unmap(&rig, &j->space, 0, CHUNKS, j->chunks);
    if (j->has_space) cuda_rig_space_end(&rig, &j->space);
}

/* ---- the job's work -------------------------------------------------------------------------- */

static void sent(struct job *j, int err) {
    if (err)
        j->all_well = false;
    else
        j->submitted++;
}

/* Launches, some in parts; each part appends to the list. */
static void append(struct job *j) {
    uint64_t params[] = {j->space.windows.dev_base, j->submitted + 1};
    uint32_t nth = j->submitted;
    if (!j->append || nth == OPS) return;
    const struct dev_launch launch = {.func = j->append,
                                      .grid = {nth % 3 ? 1 : BLOCKS, 1, 1},
                                      .block = {1024, 1, 1},
                                      .params = params,
                                      .param_bytes = 12};
    j->appended[nth] = true;
    j->ops[nth] = (struct rig_op){.dev.timed = rig.asked.timed};
    sent(j, rig.ops->launch(j->queue, &launch, &j->ops[nth].dev));
    if (j->submitted == nth) j->appended[nth] = false;
}

static void fill_rows(struct job *j, uint64_t at, uint32_t element) {
    const struct dev_memset set = {.dst = at,
                                   .pitch = 64,
                                   .width_elems = 4,
                                   .height = 3,
                                   .value = 0x5a,
                                   .elem_bytes = element};
    j->ops[j->submitted] = (struct rig_op){0};
    sent(j, rig.ops->memset(j->queue, &set, &j->ops[j->submitted].dev));
}

static void copy_rows(struct job *j, uint64_t dst, uint64_t src) {
    const struct dev_copy copy = {.dst = dst,
                                  .src = src,
                                  .width_bytes = 12,
                                  .height = 3,
                                  .depth = 2,
                                  .dst_pitch = 32,
                                  .src_pitch = 16,
                                  .dst_slice = 128,
                                  .src_slice = 64};
    j->ops[j->submitted] = (struct rig_op){0};
    sent(j, rig.ops->copy(j->queue, &copy, &j->ops[j->submitted].dev));
}

/* ---- arrays ---------------------------------------------------------------------------------- */

#define ARRAY_AT (32 * RIG_GRANULE)
#define ARRAY_SIDE 16u /* elements of a side */

static struct wire_array array_of(const struct job *j, int which) {
    return (struct wire_array){.addr = j->space.windows.dev_base + ARRAY_AT + which * RIG_GRANULE,
                               .width = ARRAY_SIDE,
                               .height = ARRAY_SIDE,
                               .levels = which ? 3 : 0,
                               .format = CU_AD_FORMAT_UNSIGNED_INT8,
                               .channels = 1,
                               .flags = which ? 0 : CUDA_ARRAY3D_SURFACE_LDST};
}

static void make_array(struct job *j, int which) {
    const struct wire_array w = array_of(j, which);
    const struct dev_array a = texture_record_describe_array(&w);
    j->has_array[which] = !rig.ops->arrays->array_create(j->space.space, &a);
    if (!j->has_array[which]) j->all_well = false;
}

/* Describes a texture of the array or, if there is none, of memory. */
static struct dev_texture seen_as(const struct job *j, uint64_t number, const struct wire_array *a,
                                  uint16_t flags) {
    struct wire_texture w = {.handle = number,
                             .addr = a ? a->addr : j->space.windows.dev_base,
                             .width = ARRAY_SIDE,
                             .height = a ? ARRAY_SIDE : 1,
                             .depth = 1,
                             .levels = (uint8_t)(a && a->levels ? a->levels : 1),
                             .format = CU_AD_FORMAT_UNSIGNED_INT8,
                             .channels = 1,
                             .flags = flags};
    if (flags & WIRE_TEXTURE_PITCHED) w.pitch = ARRAY_LAYOUT_PITCH;
    return texture_record_describe(&w);
}

static void show(struct job *j, uint64_t number, const struct wire_array *a, uint16_t flags) {
    const struct dev_texture t = seen_as(j, number, a, flags);
    uint64_t seen;
    if (rig.ops->textures->texture_add(j->space.space, &t, &seen)) j->all_well = false;
}

static void show_arrays(struct job *j) {
    const struct wire_array flat = array_of(j, 0), levels = array_of(j, 1);
    show(j, 1, NULL, WIRE_TEXTURE_LINEAR);
    if (j->has_array[0]) show(j, 2, &flat, WIRE_TEXTURE_SURFACE);
    if (j->has_array[1]) show(j, 3, &levels, WIRE_TEXTURE_NORMALIZED_COORDS);
    rig.ops->textures->texture_remove(j->space.space, 1);
}

static void refer(struct job *j, const char *name, const struct wire_array *a, uint16_t flags) {
    const struct dev_texture t = seen_as(j, 0, a, flags);
    if (rig.ops->arrays->module_reference(j->modules[0], name, t.surface, &t)) j->all_well = false;
}

/* Binds each reference to one thing after the other; frees what they read last before their
 * module. */
static void refer_to_arrays(struct job *j) {
    const struct wire_array flat = array_of(j, 0), levels = array_of(j, 1);
    refer(j, "line", NULL, WIRE_TEXTURE_LINEAR);
    refer(j, "plane", NULL, WIRE_TEXTURE_PITCHED);
    if (j->has_array[0]) refer(j, "plane", &flat, 0);
    if (j->has_array[0]) refer(j, "sheet", &flat, WIRE_TEXTURE_SURFACE);
    if (j->has_array[1]) refer(j, "line", &levels, WIRE_TEXTURE_NORMALIZED_COORDS);
    if (rig.ops->arrays->module_reference(j->modules[0], "line", false, NULL)) j->all_well = false;
    if (j->has_array[1]) refer(j, "line", &levels, WIRE_TEXTURE_NORMALIZED_COORDS);
}

static void copy_square(struct job *j, uint64_t dst, uint64_t dst_pitch, uint64_t src,
                        uint64_t src_pitch) {
    const struct dev_copy copy = {.dst = dst,
                                  .src = src,
                                  .width_bytes = ARRAY_SIDE,
                                  .height = ARRAY_SIDE,
                                  .depth = 1,
                                  .dst_pitch = dst_pitch,
                                  .src_pitch = src_pitch};
    j->ops[j->submitted] = (struct rig_op){0};
    sent(j, rig.ops->copy(j->queue, &copy, &j->ops[j->submitted].dev));
}

#define SQUARE (1u << 16) /* offset in the host window, in bytes */

/* Copies from the host into one array, to the other, and back. */
static void fill_arrays(struct job *j) {
    const uint64_t a = array_of(j, 0).addr, b = array_of(j, 1).addr;
    const uint64_t host = j->space.windows.host_base + SQUARE;
    if (!j->has_array[0] || !j->has_array[1]) return;
    memset((char *)j->space.host + SQUARE, 0x3c, ARRAY_SIDE * ARRAY_SIDE);
    copy_square(j, a, ARRAY_LAYOUT_PITCH, host, ARRAY_SIDE);
    copy_square(j, b, ARRAY_LAYOUT_PITCH, a, ARRAY_LAYOUT_PITCH);
    copy_square(j, host + SQUARE, ARRAY_SIDE, b, ARRAY_LAYOUT_PITCH);
}

static void check_arrays(const struct job *j) {
    const char *square = (const char *)j->space.host + 2 * SQUARE;
    for (uint32_t i = 0; i < ARRAY_SIDE * ARRAY_SIDE; i++)
        if (square[i] != 0x3c) {
            complain("byte %u of an array is wrong", i);
            return;
        }
}

/* Each operation writes to a place of its own, from `area` on, so that each result can be
 * checked. */
static void work(struct job *j) {
    uint64_t area = j->space.windows.dev_base + RIG_GRANULE, host = j->space.windows.host_base;
    struct dev_func_info info;
    char why[256];
    if (rig.ops->func_get(j->modules[0], "append", &j->append, &info, why, sizeof(why)))
        j->all_well = false;
    else if (info.param_bytes != 12 && !ends_params)
        complain("a kernel has %u bytes of parameters", info.param_bytes);
    for (int i = 0; i < 4; i++) {
        append(j);
        if (i == 1 && j->submitted)
            rig.ops->driver->queue_time(j->queue, &j->ops[j->submitted - 1].dev);
    }
    rig.ops->shares->queue_still(j->queue, true);
    for (int i = 0; i < 3; i++, cuda_rig_poll(&rig))
        append(j);
    rig.ops->shares->queue_still(j->queue, false);
    rig.asked.timed = true;
    rig.ops->shares->queue_level(j->queue, 1);
    for (int i = 0; i < 4; i++)
        append(j);
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2)
        fill_rows(j, area + 1024 * bytes, bytes);
    rig.ops->shares->queue_level(j->queue, 0);
    j->space.host[0] = 77;
    sent(j, cuda_rig_copy(&rig, j->queue, &j->ops[j->submitted], area, host, 4));
    sent(j, cuda_rig_copy(&rig, j->queue, &j->ops[j->submitted], host + 64, area, 4));
    copy_rows(j, area + 16384, host + 4096);
    rig.asked.timed = false;
    rig.ops->shares->queue_share(j->queue, 24);
    for (int i = 0; i < 3; i++)
        append(j);
    rig.ops->shares->queue_share(j->queue, 0);
    append(j);
    for (int i = 0; i < 2; i++)
        make_array(j, i);
    show_arrays(j);
    refer_to_arrays(j);
    fill_arrays(j);
}

/* True if the job failed before it could do anything. */
static bool never_was(const struct job *j) {
    return !j->has_space || !j->queue;
}

/* ---- checks of the results ------------------------------------------------------------------- */

static void check_list(const struct job *j) {
    const uint32_t *list = cuda_rig_words(j->space.windows.dev_base);
    uint32_t at = 1;
    for (uint32_t i = 0; i < j->submitted; i++) {
        if (!j->appended[i] || j->ops[i].dev.result) continue;
        while (at <= list[0] && list[at] != i + 1) /* an operation that failed may have run */
            at++;
        if (at > list[0]) complain("operation %u succeeded and did nothing in its turn", i);
    }
}

static void check_job(struct job *j) {
    if (never_was(j)) return;
    for (uint32_t i = 0; i < j->submitted; i++) {
        if (j->ops[i].done != 1)
            complain("operation %u of %u completed %u times", i, j->submitted, j->ops[i].done);
        if (j->ops[i].dev.result) j->all_well = false;
    }
    if (j->mapped && !rig.ops->driver->lost(rig.dev)) check_list(j);
    if (!j->all_well || rig.ops->driver->lost(rig.dev)) return;
    const uint32_t *area = cuda_rig_words(j->space.windows.dev_base + RIG_GRANULE);
    check_arrays(j);
    if (area[0] != 77 || j->space.host[16] != 77) complain("copied wrongly");
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2)
        for (int row = 0; row < 3; row++)
            if (((const uint8_t *)area)[1024 * bytes + 64 * row + 3 * bytes] != 0x5a)
                complain("row %d of %u bytes filled wrongly", row, bytes);
}

static bool count_clusters(const struct job *j) {
    struct dev_launch like = {
        .func = j->append, .grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}};
    bool well = true;
    for (int largest = 0; j->append && largest < 2; largest++) {
        uint32_t count = 77;
        int err = rig.ops->native->cluster_count(&like, largest, &count);
        if (!err && count != (largest ? 4 : FAKE_SMS / 2 - 1)) complain("%u clusters", count);
        well &= !err;
    }
    return well;
}

/* Writes one map of each kind; a driver that lacks optional functions reports that. */
static bool write_maps(void) {
    bool well = true;
    for (uint32_t kind = 0; kind < TENSOR_KINDS; kind++) {
        const struct tensor_ask ask = {
            .kind = kind, .rank = 3, .address = 4096, .size = {64, 64, 64}, .step = {1, 1, 1}};
        struct tensor_answer answer = {.map = {0}};
        int err = rig.ops->native->tensor_map(rig.dev, &ask, &answer);
        if (err && (answer.map[0] || answer.map[15])) complain("a map that was refused is there");
        if (!err && !answer.map[0]) complain("a map that was written is not there");
        well &= !err;
    }
    return well;
}

/* Checks single words and chunks, each by itself. */
static bool look(struct job *j) {
    uint64_t value = 0, addr, bytes;
    static uint8_t host[RIG_GRANULE];
    struct dev_chunk *last = j->chunks[CHUNKS - 1];
    memset(host, 9, sizeof(host));
    bool well = !rig.ops->global_get(j->modules[0], "table", &addr, &bytes);
    j->space.host[8] = 4711;
    int err = rig.ops->peek(j->space.space, j->space.windows.host_base + 32, 4, &value);
    if (!err && value != 4711) complain("a peek saw %llu", (unsigned long long)value);
    well &= !err;
    err = rig.ops->chunk_load(rig.dev, last, host);
    well &= !err;
    if (!err) err = rig.ops->chunk_copy(rig.dev, j->chunks[1], last);
    well &= !err;
    memset(host, 0, sizeof(host));
    if (!err) err = rig.ops->chunk_save(rig.dev, host, j->chunks[1]);
    well &= !err;
    if (!err && (host[0] != 9 || host[RIG_GRANULE - 1] != 9)) complain("a chunk was saved wrongly");
    well &= write_maps();
    well &= count_clusters(j);
    err = rig.ops->chunk_clear(rig.dev, &last, 1);
    if (!err && *cuda_rig_words(j->space.windows.dev_base + (CHUNKS - 1) * RIG_GRANULE) != 0)
        complain("a chunk was not cleared");
    return well && !err;
}

/* Runs everything that two clients do. Returns whether all of it succeeded. */
static bool scenario(void) {
    struct job jobs[2];
    struct description d;
    uint32_t submitted = 0;
    bool well = true;
    rig.ops->describe(rig.dev, &d);
    rig.done = 0;
    for (unsigned int i = 0; i < 2; i++)
        well &= !begin(&jobs[i], i);
    for (int i = 0; i < 2; i++) {
        if (!never_was(&jobs[i])) work(&jobs[i]);
        submitted += jobs[i].submitted;
    }
    rig.ops->arm(rig.dev);
    if (!cuda_rig_wait(&rig, submitted)) {
        complain("hangs: %u of %u completed", rig.done, submitted);
        exit(1);
    }
    for (int i = 0; i < 2; i++) {
        check_job(&jobs[i]);
        well &= jobs[i].all_well;
        if (!never_was(&jobs[i])) well &= look(&jobs[i]);
        if (jobs[i].has_space)
            rig.ops->arrays->array_destroy(jobs[i].space.space, array_of(&jobs[i], 0).addr);
        end(&jobs[i]);
    }
    return well;
}

/* ---- memory that outlives the device --------------------------------------------------------- */

#define LASTING 2u /* number of chunks; the first one is adopted */

/* Fills a chunk, if possible. Returns DEV_NOT_KEPT if it does not outlive the device. */
static uint64_t fill_one(uint8_t value) {
    static uint8_t host[RIG_GRANULE];
    struct dev_chunk *chunk;
    memset(host, value, sizeof(host));
    if (rig.ops->chunk_create(rig.dev, &chunk)) return DEV_NOT_KEPT;
    if (rig.ops->chunk_load(rig.dev, chunk, host)) return DEV_NOT_KEPT;
    return rig.ops->recovery->chunk_id(rig.dev, chunk);
}

/* Checks that an adopted object is unchanged, and that everything else works. */
static bool look_again(uint64_t id) {
    static uint8_t host[RIG_GRANULE];
    struct dev_chunk *chunk = NULL, *more = NULL;
    int err = rig.ops->recovery->chunk_adopt(rig.dev, id, &chunk);
    rig.ops->recovery->memory_settle(rig.dev);
    memset(host, 0, sizeof(host));
    if (!err) err = rig.ops->chunk_save(rig.dev, host, chunk);
    if (!err && (host[0] != 0x41 || memcmp(host, host + 1, sizeof(host) - 1) != 0))
        complain("what was adopted is not as it was");
    int other = rig.ops->chunk_create(rig.dev, &more);
    if (!other) other = rig.ops->chunk_save(rig.dev, host, more);
    if (!other && (host[0] || memcmp(host, host + 1, sizeof(host) - 1) != 0))
        complain("what nobody adopted is not zero");
    rig.ops->chunk_destroy(rig.dev, chunk);
    rig.ops->chunk_destroy(rig.dev, more);
    return !err && !other;
}

/* Opens a device, and another one on the memory that the first one left. Returns whether all
 * succeeded. */
static bool outlive(void) {
    cuda_rig_keep(&rig);
    bool well = false, opened = !cuda_rig_open(&rig);
    uint64_t ids[LASTING];
    for (uint32_t i = 0; opened && i < LASTING; i++)
        ids[i] = fill_one((uint8_t)(0x41 + i));
    if (opened) {
        rig.config.memory_fd = fcntl(rig.ops->recovery->memory_fd(rig.dev), F_DUPFD_CLOEXEC, 0);
        rig.config.kept = rig.kept;
        rig.config.kept_count = rig.kept_count;
        cuda_rig_close(&rig);
        opened = !cuda_rig_open(&rig);
    }
    if (opened) {
        well = look_again(ids[0]);
        cuda_rig_close(&rig);
    }
    cuda_rig_drop(&rig);
    return well;
}

/* ---- each failure ---------------------------------------------------------------------------- */

static void start(uint32_t seed) {
    static const enum dev_completion all[] = {DEV_COMPLETION_AUTO, DEV_COMPLETION_WORDS,
                                              DEV_COMPLETION_EVENTS};
    rig.config.completion = all[seed % 3];
    rig.config.subgrids = true;
    rig.faulty->set(NULL);
    rig.fake->start(&(struct fake_options){.greatest = -2, .shuffle = seed});
}

/* Checks the objects that are left: only objects that could not be freed may be. */
static void check_rest(uint32_t call) {
    const char *said = cuda_rig_complaint(&rig);
    if (said[0] && !rig.faulty->gives_back(call)) complain("%s", said);
}

/* Checks the device after `call` failed. Objects that could not be freed may be in the way. */
static void check_after(uint32_t call, bool fatal) {
    int lost = rig.ops->driver->lost(rig.dev);
    if (!fatal && lost) complain("it is said to be lost: %s", err_name(lost));
    if (fatal && !lost) complain("it is not said to be lost");
    if (!fatal && !scenario() && !rig.faulty->gives_back(call))
        complain("it does not work any more");
}

static void try(uint32_t call, uint32_t nth, unsigned int way) {
    const struct faulty_rule rule = {
        .call = (int)call, .nth = nth, .result = ways[way].result, .delay_us = 0};
    bool fatal = way >= WAYS_ALIVE;
    snprintf(what, sizeof(what), "%s %u, %s", rig.faulty->names[call], nth, ways[way].name);
    ends_params = !strcmp(rig.faulty->names[call], "cuFuncGetParamInfo") &&
                  ways[way].result == CUDA_ERROR_INVALID_VALUE;
    start(1 + call + nth);
    rig.faulty->set(&rule);
    int err = cuda_rig_open(&rig);
    if (!err) {
        scenario();
        if (rig.ops->mem_used(rig.dev)) complain("memory is in use");
        if (rig.faulty->fired()) check_after(call, fatal);
        cuda_rig_close(&rig);
    }
    outlive();
    fired += rig.faulty->fired() > 0;
    if (!fatal) check_rest(call);
    if (!err || fatal) return;
    if (cuda_rig_open(&rig)) {
        complain("it cannot be opened any more");
    } else {
        check_after(call, false);
        cuda_rig_close(&rig);
    }
    if (!outlive() && !rig.faulty->gives_back(call)) complain("its memory does not outlive it");
}

/* Counts the calls of each kind in a run without failures. */
static void count_calls(uint32_t *counts) {
    snprintf(what, sizeof(what), "nothing");
    start(0);
    if (cuda_rig_open(&rig) || !scenario()) complain("does not go well");
    cuda_rig_close(&rig);
    if (!outlive()) complain("its memory does not outlive it");
    check_rest(0);
    for (uint32_t call = 0; call < rig.faulty->call_count; call++)
        counts[call] = rig.faulty->count(call);
}

static void try_all(uint32_t call, uint32_t count, uint32_t most) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < count && i < most; i++) {
        uint32_t nth =
            count <= most ? i + 1 : 1 + (uint32_t)((uint64_t)i * (count - 1) / (most - 1));
        if (nth == last) continue;
        last = nth;
        for (unsigned int way = 0; way < WAYS; way++)
            try(call, nth, way);
    }
}

/* Delays every call, so that streams overtake one another. */
static void shuffle(uint32_t rounds) {
    for (uint32_t seed = 1; seed <= rounds; seed++) {
        snprintf(what, sizeof(what), "order %u", seed);
        start(seed);
        if (cuda_rig_open(&rig) || !scenario()) complain("does not go well");
        cuda_rig_close(&rig);
        check_rest(0);
    }
}

int main(int argc, char **argv) {
    uint32_t most = argc > 1 ? (uint32_t)atoi(argv[1]) : 3;
    const char *only = argc > 2 ? argv[2] : "";
    if (most < 2) most = 2;
    log_init("none"); /* the device's messages about each failure are not shown */
    cuda_rig_load(&rig, true);
    uint32_t counts[rig.faulty->call_count], failures = 0;
    count_calls(counts);
    for (uint32_t call = 0; call < rig.faulty->call_count; call++) {
        if (!strstr(rig.faulty->names[call], only)) continue;
        try_all(call, counts[call], most);
        failures += (counts[call] < most ? counts[call] : most) * WAYS;
    }
    shuffle(most);
    rig.fake->start(&(struct fake_options){0});
    printf("cuda_faults: %u of %u failures of %u kinds of calls, %d complaints\n", fired, failures,
           rig.faulty->call_count, complaints);
    return complaints || fired < failures - failures / 10;
}
