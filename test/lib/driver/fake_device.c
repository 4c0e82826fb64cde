/* SPDX-License-Identifier: Apache-2.0
 *
 * The fake driver's state, its one device and its one context.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/driver/fake_state.h"

struct fake_state fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* The generation of the calling thread's current context. */
static _Thread_local uint64_t current;

#define THE_CONTEXT ((CUcontext)(uintptr_t)0xc0)

int fake_lock(void) {
    pthread_mutex_lock(&fake.lock);
    return 0;
}

void fake_unlock(const int *guard) {
    (void)guard;
    pthread_mutex_unlock(&fake.lock);
}

CUresult fake_misuse(CUresult result, const char *call, const char *what) {
    if (!fake.misuse[0]) snprintf(fake.misuse, sizeof(fake.misuse), "%s: %s", call, what);
    return result;
}

CUresult fake_enter(const char *call, bool needs_context) {
    fake.calls++;
    if (fake.fatal) return fake.fatal;
    if (!fake.initialised) return fake_misuse(CUDA_ERROR_NOT_INITIALIZED, call, "before cuInit");
    if (!needs_context) return CUDA_SUCCESS;
    if (!fake.retained || current != fake.generation)
        return fake_misuse(CUDA_ERROR_INVALID_CONTEXT, call, "without a context");
    return CUDA_SUCCESS;
}

/* ---- objects --------------------------------------------------------------------------------- */

struct object *fake_object_new(enum object_kind kind, uint64_t addr, uint64_t bytes) {
    struct object *o = calloc(1, sizeof(*o));
    if (!o) abort();
    *o = (struct object){.next = fake.objects, .kind = kind, .addr = addr, .bytes = bytes};
    o->id = fake.last_id += 16;
    o->fd = -1;
    o->last = &o->first;
    fake.objects = o;
    return o;
}

struct object *fake_object(enum object_kind kind, const void *id) {
    for (struct object *o = fake.objects; o; o = o->next)
        if (o->kind == kind && o->id == (uintptr_t)id) return o;
    return NULL;
}

struct object *fake_object_at(enum object_kind kind, uint64_t addr, uint64_t bytes) {
    for (struct object *o = fake.objects; o; o = o->next)
        if (o->kind == kind && addr >= o->addr && bytes <= o->bytes &&
            addr - o->addr <= o->bytes - bytes)
            return o;
    return NULL;
}

bool fake_object_overlaps(enum object_kind kind, uint64_t addr, uint64_t bytes) {
    for (const struct object *o = fake.objects; o; o = o->next)
        if (o->kind == kind && addr < o->addr + o->bytes && o->addr < addr + bytes) return true;
    return false;
}

void fake_object_free(struct object *o) {
    struct object **at = &fake.objects;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    free(o);
}

/* ---- control --------------------------------------------------------------------------------- */

static void forget(struct object *o) {
    switch (o->kind) {
    case OBJECT_STREAM:
    case OBJECT_EVENT: fake_stream_forget(o); break;
    case OBJECT_ARRAY: fake_array_forget(o); break;
    default: fake_memory_forget(o);
    }
}

static void start(const struct fake_options *options) {
    fake_stream_engine_stop();
    FAKE_GUARD;
    while (fake.objects) {
        forget(fake.objects);
        fake_object_free(fake.objects);
    }
    fake.options = *options;
    if (!fake.options.granule) fake.options.granule = 64 << 10;
    if (!fake.options.devices) fake.options.devices = 1;
    if (!fake.options.free_bytes) fake.options.free_bytes = 1ull << 30;
    fake.last_id += 0x1000;
    fake.random = options->shuffle;
    fake.initialised = false;
    fake.stream_count = 0;
    fake.retained = 0;
    fake.fatal = CUDA_SUCCESS;
    fake.misuse[0] = '\0';
    fake.ran_count = fake.calls = 0;
    fake.clock_ns = options->clock_ns;
}

static struct fake_left left(void) {
    FAKE_GUARD;
    struct fake_left l = {.contexts = fake.retained};
    uint32_t *counts[] = {[OBJECT_RESERVATION] = &l.reservations,
                          [OBJECT_MEMORY] = &l.memories,
                          [OBJECT_MAP] = &l.maps,
                          [OBJECT_REGISTRATION] = &l.registrations,
                          [OBJECT_PINNED] = &l.pinned,
                          [OBJECT_STREAM] = &l.streams,
                          [OBJECT_EVENT] = &l.events,
                          [OBJECT_MODULE] = &l.modules,
                          [OBJECT_LIBRARY] = &l.modules,
                          [OBJECT_LINK] = &l.modules,
                          [OBJECT_FUNC] = NULL,
                          [OBJECT_GLOBAL] = NULL,
                          [OBJECT_GREEN] = &l.greens,
                          [OBJECT_ARRAY] = &l.arrays,
                          [OBJECT_MIPMAPPED] = &l.arrays,
                          [OBJECT_TEXTURE] = &l.textures,
                          [OBJECT_REFERENCE] = NULL};
    for (const struct object *o = fake.objects; o; o = o->next)
        if (counts[o->kind]) ++*counts[o->kind];
    return l;
}

static const char *misuse(void) {
    static _Thread_local char said[sizeof(fake.misuse)];
    FAKE_GUARD;
    memcpy(said, fake.misuse, sizeof(said));
    return said;
}

static bool step(uint32_t stream) {
    FAKE_GUARD;
    return fake_stream_step(stream);
}

static void run(void) {
    FAKE_GUARD;
    fake_stream_run();
}

static void end(CUresult fatal) {
    FAKE_GUARD;
    if (!fake.fatal) fake.fatal = fatal;
    pthread_cond_broadcast(&fake.changed);
}

static struct fake_launch last_launch(void) {
    FAKE_GUARD;
    return fake.last_launch;
}

static struct fake_texture last_texture(void) {
    FAKE_GUARD;
    return fake.last_texture;
}

static struct tensor_ask last_tensor(void) {
    FAKE_GUARD;
    return fake.last_tensor;
}

static struct fake_texture reference(const char *name) {
    FAKE_GUARD;
    const struct object *o = fake.objects;
    while (o && (o->kind != OBJECT_REFERENCE || strcmp(o->name, name) != 0))
        o = o->next;
    return o ? o->told : (struct fake_texture){.level = UINT32_MAX};
}

static void set_clock(uint64_t ns) {
    FAKE_GUARD;
    fake.clock_ns = ns;
}

static uint32_t calls(void) {
    FAKE_GUARD;
    return fake.calls;
}

static uint32_t ran(struct fake_ran *out, uint32_t room) {
    FAKE_GUARD;
    for (uint32_t i = 0; i < room && i < fake.ran_count; i++)
        out[i] = fake.ran[i];
    return fake.ran_count;
}

const struct fake_control fake_control = {.start = start,
                                          .left = left,
                                          .misuse = misuse,
                                          .step = step,
                                          .run = run,
                                          .end = end,
                                          .last_launch = last_launch,
                                          .last_texture = last_texture,
                                          .last_tensor = last_tensor,
                                          .reference = reference,
                                          .set_clock = set_clock,
                                          .calls = calls,
                                          .ran = ran};

/* ---- the device ------------------------------------------------------------------------------ */

CUresult cuInit(unsigned int flags) {
    FAKE_GUARD;
    if (fake.fatal) return fake.fatal;
    fake.initialised = true;
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
    *version = 13000;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == CUDA_ERROR_INVALID_IMAGE ? "CUDA_ERROR_INVALID_IMAGE"
                                                : "CUDA_ERROR_OF_SOME_KIND";
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    return cuGetErrorName(error, text);
}

static bool device_exists(int ordinal) {
    return ordinal >= 0 && (uint32_t)ordinal < fake.options.devices;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    FAKE_CALL(false);
    *device = ordinal;
    return device_exists(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetCount(int *count) {
    FAKE_CALL(false);
    *count = (int)fake.options.devices;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device) {
    FAKE_CALL(false);
    snprintf(name, (size_t)bytes, "Fake GPU %d", device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    FAKE_CALL(false);
    memset(uuid, 0x5a, sizeof(*uuid));
    uuid->bytes[15] = (char)(0x5a + device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    FAKE_CALL(false);
    if ((int)attribute > 150) return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = FAKE_SMS; break;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH: *value = 1 << 20; break;
    default: *value = 100 + (int)attribute;
    }
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    FAKE_CALL(false);
    *bytes = fake.options.free_bytes;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *most, CUarray_format format,
                                            unsigned int channels, CUdevice device) {
    FAKE_CALL(false);
    *most = 1 << 27;
    return CUDA_SUCCESS;
}

/* ---- the context ----------------------------------------------------------------------------- */

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
    FAKE_CALL(false);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    FAKE_CALL(false);
    if (!fake.retained++) fake.generation++;
    *context = THE_CONTEXT;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    FAKE_CALL(false);
    if (!fake.retained) return FAKE_MISUSE(CUDA_ERROR_INVALID_CONTEXT, "more often than retained");
    fake.retained--;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
    FAKE_CALL(false);
    if (context != THE_CONTEXT || !fake.retained)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_CONTEXT, "a context that there is not");
    current = fake.generation;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    FAKE_CALL(true);
    *least = 0;
    *greatest = fake.options.greatest;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    FAKE_CALL(true);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
    FAKE_CALL(true);
    *value = 1024;
    return (int)limit > 8 ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    FAKE_CALL(true);
    *free_bytes = *total = fake.options.free_bytes;
    return CUDA_SUCCESS;
}
