/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of CUDA's device runtime, lane by lane. A kernel's arguments are hostile: functions and
 * handles are looked up, and memory is read and written through the range check.
 */
#include "daemon/device/soft/runtime/cdp.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/launch/block_state.h"
#include "daemon/device/soft/memory/mem.h"
#include "daemon/device/soft/module/code_kernel_info.h"
#include "daemon/device/soft/module/code_module.h"
#include "daemon/device/soft/runtime/heap.h"
#include "daemon/device/soft/runtime/native_call.h"
#include "daemon/device/soft/runtime/nest.h"
#include "daemon/device/soft/runtime/nest_stream.h"
#include "proto/cuda/cuda_abi.h"

#define COPY_DEVICE 3 /* cudaMemcpyDeviceToDevice */
#define COPY_DEFAULT 4
#define STREAM_NON_BLOCKING 1u
#define EVENT_DISABLE_TIMING 2u

/* One lane's call. */
struct call {
    struct warp_ctx *x;
    const struct code_inst *i;
    uint32_t lane, slot;
    struct nested *self;
    struct runtime *runtime;
    uint64_t result; /* result of calls that do not return an error */
};

static uint64_t arg(const struct call *c, uint32_t k) {
    return native_argument(c->x, c->i, c->lane, k);
}

static enum runtime_error put(const struct call *c, uint64_t addr, const void *value,
                              uint32_t bytes) {
    if (!addr) return RUNTIME_INVALID_VALUE;
    native_write(c->x, c->i, c->lane, addr, value, bytes);
    return RUNTIME_SUCCESS;
}

static enum runtime_error put_int(const struct call *c, uint64_t addr, uint32_t value) {
    return put(c, addr, &value, sizeof(value));
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Returns the kernel of a handle, or NULL if there is none or it cannot run. */
static struct code_kernel *kernel_at(const struct call *c, uint64_t handle) {
    const struct code_module *m = c->x->block->kernel->module;
    uint64_t index = code_handle_index(handle);
    return index < m->ptx->func_count ? m->launchable[index].kernel : NULL;
}

static bool is_sized(const struct nest_shape *s) {
    const uint32_t *g = s->grid, *b = s->block, *cluster = s->kernel->entry->ptx->req_cluster;
    for (int d = 0; d < 3; d++)
        if (cluster[d] && g[d] % cluster[d]) return false;
    if (!g[0] || g[0] > INT32_MAX || !g[1] || g[1] > 65535 || !g[2] || g[2] > 65535) return false;
    if (!b[0] || b[0] > 1024 || !b[1] || b[1] > 1024 || !b[2] || b[2] > 64) return false;
    return b[0] * b[1] * b[2] <= 1024;
}

static enum runtime_error check_shape(const struct call *c, const struct nest_shape *s) {
    if (!s->kernel) return RUNTIME_INVALID_FUNCTION;
    uint64_t shared = (uint64_t)s->kernel->shared_bytes + s->shared_bytes;
    if (!is_sized(s) || shared > c->runtime->facts.sm.shared_optin_bytes)
        return RUNTIME_INVALID_CONFIGURATION;
    if (s->block[0] * s->block[1] * s->block[2] > code_kernel_threads(s->kernel))
        return RUNTIME_OUT_OF_RESOURCES;
    return RUNTIME_SUCCESS;
}

/* Reads the shape of a launch. The kernel is argument 0; grid, block and shared bytes begin at
 * argument `k`. */
static enum runtime_error take_shape(const struct call *c, uint32_t k, struct nest_shape *s) {
    s->kernel = kernel_at(c, arg(c, 0));
    native_bytes(c->x, c->i, c->lane, k, s->grid, sizeof(s->grid));
    native_bytes(c->x, c->i, c->lane, k + 1, s->block, sizeof(s->block));
    s->shared_bytes = (uint32_t)arg(c, k + 2);
    return check_shape(c, s);
}

/* (alignment, bytes) -> address */
static enum runtime_error get_parameter_buffer(struct call *c) {
    return nest_prepare(c->self, NULL, arg(c, 1), &c->result);
}

/* (kernel, grid, block, shared bytes) -> address */
static enum runtime_error get_parameter_buffer_v2(struct call *c) {
    struct nest_shape s;
    enum runtime_error err = take_shape(c, 1, &s);
    if (err) return err;
    return nest_prepare(c->self, &s, s.kernel->entry->ptx->param_bytes, &c->result);
}

/* (kernel, parameters, grid, block, shared bytes, stream) */
static enum runtime_error launch_device(struct call *c) {
    struct nest_shape s;
    uint64_t params = arg(c, 1);
    enum runtime_error err = take_shape(c, 2, &s);
    if (!err && !params) err = nest_prepare(c->self, NULL, 0, &params);
    return err ? err : nest_launch(c->self, c->slot, params, &s, arg(c, 5));
}

/* (parameters, stream) */
static enum runtime_error launch_device_v2(struct call *c) {
    return nest_launch(c->self, c->slot, arg(c, 0), NULL, arg(c, 1));
}

/* ---- streams and events ---------------------------------------------------------------------- */

/* Writes the handle to the address in argument 0. */
static enum runtime_error put_handle(const struct call *c, uint64_t handle) {
    return put(c, arg(c, 0), &handle, sizeof(handle));
}

/* Kernels can only create streams and events with these flags. */
static enum runtime_error stream_create(struct call *c) {
    uint64_t handle = 0;
    if (arg(c, 1) != STREAM_NON_BLOCKING || !arg(c, 0)) return RUNTIME_INVALID_VALUE;
    enum runtime_error err = nest_stream_create(c->self, &handle);
    return err ? err : put_handle(c, handle);
}

static enum runtime_error event_create(struct call *c) {
    uint64_t handle = 0;
    if (arg(c, 1) != EVENT_DISABLE_TIMING || !arg(c, 0)) return RUNTIME_INVALID_VALUE;
    enum runtime_error err = nest_event_create(c->self, &handle);
    return err ? err : put_handle(c, handle);
}

static enum runtime_error stream_destroy(struct call *c) {
    return nest_stream_destroy(c->self, arg(c, 0));
}

static enum runtime_error event_destroy(struct call *c) {
    return nest_event_destroy(c->self, arg(c, 0));
}

static enum runtime_error stream_wait(struct call *c) {
    return nest_stream_wait(c->self, c->slot, arg(c, 0), arg(c, 1));
}

static enum runtime_error event_record(struct call *c) {
    return nest_event_record(c->self, c->slot, arg(c, 0), arg(c, 1));
}

/* ---- copies and fills ------------------------------------------------------------------------ */

/* True for memory of the block or the lane, which a copy cannot reach. */
static bool is_private(const struct call *c, uint64_t addr) {
    const struct warp_ctx *x = c->x;
    return addr - x->shared_base < x->shared_bytes ||
           addr - (x->local_base + c->lane * x->local_stride) < x->local_bytes ||
           addr - x->param_base < x->param_bytes;
}

static enum runtime_error copy(const struct call *c, const struct dev_copy *copy, uint32_t kind,
                               uint64_t stream) {
    const struct transfer t = {.copy = *copy};
    if (!copy->width_bytes || !copy->height || !copy->depth) return RUNTIME_SUCCESS;
    if (kind != COPY_DEVICE && kind != COPY_DEFAULT) return RUNTIME_INVALID_DIRECTION;
    if (!copy->dst || !copy->src || is_private(c, copy->dst) || is_private(c, copy->src))
        return RUNTIME_INVALID_VALUE;
    if ((copy->height > 1 || copy->depth > 1) &&
        (copy->width_bytes > copy->dst_pitch || copy->width_bytes > copy->src_pitch))
        return RUNTIME_INVALID_VALUE;
    return nest_transfer(c->self, c->slot, &t, stream);
}

/* (to, from, bytes, kind, stream) */
static enum runtime_error memcpy_async(struct call *c) {
    const struct dev_copy d = {
        .dst = arg(c, 0), .src = arg(c, 1), .width_bytes = arg(c, 2), .height = 1, .depth = 1};
    return copy(c, &d, (uint32_t)arg(c, 3), arg(c, 4));
}

/* (to, pitch, from, pitch, width, height, kind, stream) */
static enum runtime_error memcpy_2d_async(struct call *c) {
    const struct dev_copy d = {.dst = arg(c, 0),
                               .dst_pitch = arg(c, 1),
                               .src = arg(c, 2),
                               .src_pitch = arg(c, 3),
                               .width_bytes = arg(c, 4),
                               .height = arg(c, 5),
                               .depth = 1};
    return copy(c, &d, (uint32_t)arg(c, 6), arg(c, 7));
}

struct pitched { /* cudaPitchedPtr */
    uint64_t addr, pitch, width, height;
};

struct extent { /* cudaExtent */
    uint64_t width, height, depth;
};

struct copy_3d { /* cudaMemcpy3DParms */
    uint64_t src_array, src_pos[3];
    struct pitched src;
    uint64_t dst_array, dst_pos[3];
    struct pitched dst;
    struct extent extent;
    uint32_t kind;
};

static uint64_t start_of(const struct pitched *p, const uint64_t pos[3]) {
    return p->addr + pos[0] + p->pitch * (pos[1] + p->height * pos[2]);
}

/* (description, stream) */
static enum runtime_error memcpy_3d_async(struct call *c) {
    struct copy_3d d;
    if (!arg(c, 0)) return RUNTIME_INVALID_VALUE;
    if (!native_read(c->x, c->i, c->lane, arg(c, 0), &d, sizeof(d))) return RUNTIME_SUCCESS;
    if (d.src_array || d.dst_array) return RUNTIME_INVALID_VALUE;
    const struct dev_copy flat = {.dst = start_of(&d.dst, d.dst_pos),
                                  .src = start_of(&d.src, d.src_pos),
                                  .width_bytes = d.extent.width,
                                  .height = d.extent.height,
                                  .depth = d.extent.depth,
                                  .dst_pitch = d.dst.pitch,
                                  .src_pitch = d.src.pitch,
                                  .dst_slice = d.dst.pitch * d.dst.height,
                                  .src_slice = d.src.pitch * d.src.height};
    return copy(c, &flat, d.kind, arg(c, 1));
}

static enum runtime_error fill(const struct call *c, const struct dev_memset *set,
                               uint64_t stream) {
    const struct transfer t = {.fill = true, .set = *set};
    if (!set->width_elems || !set->height) return RUNTIME_SUCCESS;
    if (!set->dst || is_private(c, set->dst)) return RUNTIME_INVALID_VALUE;
    if (set->height > 1 && set->width_elems > set->pitch) return RUNTIME_INVALID_VALUE;
    return nest_transfer(c->self, c->slot, &t, stream);
}

/* (to, value, bytes, stream) */
static enum runtime_error memset_async(struct call *c) {
    const struct dev_memset s = {.dst = arg(c, 0),
                                 .value = (uint8_t)arg(c, 1),
                                 .width_elems = arg(c, 2),
                                 .height = 1,
                                 .elem_bytes = 1};
    return fill(c, &s, arg(c, 3));
}

/* (to, pitch, value, width, height, stream) */
static enum runtime_error memset_2d_async(struct call *c) {
    const struct dev_memset s = {.dst = arg(c, 0),
                                 .pitch = arg(c, 1),
                                 .value = (uint8_t)arg(c, 2),
                                 .width_elems = arg(c, 3),
                                 .height = arg(c, 4),
                                 .elem_bytes = 1};
    return fill(c, &s, arg(c, 5));
}

/* (where, value, extent, stream): one fill if slices follow each other without a gap. Else one fill
 * for each slice, and each counts as a pending launch. */
static enum runtime_error memset_3d_async(struct call *c) {
    struct pitched p;
    struct extent e;
    native_bytes(c->x, c->i, c->lane, 0, &p, sizeof(p));
    native_bytes(c->x, c->i, c->lane, 2, &e, sizeof(e));
    bool dense = e.depth <= 1 || e.height == p.height;
    enum runtime_error err = RUNTIME_SUCCESS;
    struct dev_memset s = {.dst = p.addr,
                           .pitch = p.pitch,
                           .value = (uint8_t)arg(c, 1),
                           .width_elems = e.width,
                           .height = dense ? e.height * e.depth : e.height,
                           .elem_bytes = 1};
    if (!e.width || !e.height || !e.depth) return RUNTIME_SUCCESS;
    for (uint64_t z = 0; !err && z < (dense ? 1 : e.depth); z++, s.dst += p.pitch * p.height)
        err = fill(c, &s, arg(c, 3));
    return err;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static enum runtime_error take_memory(struct call *c) {
    struct heap *heap = c->x->block->config->heap;
    if (!arg(c, 0) || !arg(c, 1)) return RUNTIME_INVALID_VALUE;
    uint64_t addr = heap ? heap_alloc(heap, arg(c, 1)) : 0;
    return addr ? put(c, arg(c, 0), &addr, sizeof(addr)) : RUNTIME_NO_MEMORY;
}

static enum runtime_error give_memory(struct call *c) {
    struct heap *heap = c->x->block->config->heap;
    uint64_t addr = arg(c, 0);
    if (addr && (!heap || heap_free(heap, addr)))
        warp_fault(&c->x->w, c->i, c->lane, ERR_ILLEGAL_ADDRESS, addr,
                   "cudaFree() got a pointer that no kernel's cudaMalloc() or malloc() returned");
    return RUNTIME_SUCCESS;
}

/* ---- queries --------------------------------------------------------------------------------- */

static enum runtime_error get_last_error(struct call *c) {
    c->result = c->x->last_error[c->lane];
    c->x->last_error[c->lane] = 0;
    return RUNTIME_SUCCESS;
}

static enum runtime_error peek_at_last_error(struct call *c) {
    c->result = c->x->last_error[c->lane];
    return RUNTIME_SUCCESS;
}

static enum runtime_error get_error_name(struct call *c) {
    c->result = runtime_error_name(c->runtime, (uint32_t)arg(c, 0));
    return RUNTIME_SUCCESS;
}

static enum runtime_error get_error_string(struct call *c) {
    c->result = runtime_error_text(c->runtime, (uint32_t)arg(c, 0));
    return RUNTIME_SUCCESS;
}

static enum runtime_error put_one(struct call *c) {
    return put_int(c, arg(c, 0), 1);
}

static enum runtime_error put_zero(struct call *c) {
    return put_int(c, arg(c, 0), 0);
}

static enum runtime_error get_version(struct call *c) {
    return put_int(c, arg(c, 0), CUDA_VERSION);
}

static bool attribute(const struct runtime_facts *f, uint32_t which, uint32_t *value) {
    switch (which) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = INT32_MAX; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = f->shared_per_block_bytes; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *value = f->sm.shared_optin_bytes;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        *value = f->sm.shared_bytes;
        break;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
        *value = f->sm.shared_reserved_bytes;
        break;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: *value = 65536; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = WARP_LANES; break;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH: *value = INT32_MAX; break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: *value = f->sm.regs; break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = f->clock_khz; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = f->mem_clock_khz; break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = f->mem_bus_bits; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = f->l2_bytes; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = f->sm_count; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = f->sm.threads; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: *value = f->sm.blocks; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = f->capability / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = f->capability % 10; break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: *value = 1; break;
    default: return false;
    }
    return true;
}

/* (value, attribute, device) */
static enum runtime_error device_get_attribute(struct call *c) {
    uint32_t value;
    if (arg(c, 2)) return RUNTIME_INVALID_DEVICE;
    if (!attribute(&c->runtime->facts, (uint32_t)arg(c, 1), &value)) return RUNTIME_INVALID_VALUE;
    return put_int(c, arg(c, 0), value);
}

/* (value, limit) */
static enum runtime_error device_get_limit(struct call *c) {
    const struct runtime_limits l = runtime_get_limits(c->runtime);
    uint64_t value;
    switch ((uint32_t)arg(c, 1)) {
    case CU_LIMIT_STACK_SIZE: value = l.stack_bytes; break;
    case CU_LIMIT_PRINTF_FIFO_SIZE: value = l.text_bytes; break;
    case CU_LIMIT_MALLOC_HEAP_SIZE: value = l.heap_bytes; break;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: value = l.pending; break;
    default: return RUNTIME_UNSUPPORTED_LIMIT;
    }
    return put(c, arg(c, 0), &value, sizeof(value));
}

/* (attributes, kernel): the first members of cudaFuncAttributes, as far as kernels can read
 * them. */
static enum runtime_error func_get_attributes(struct call *c) {
    const struct code_kernel *k = kernel_at(c, arg(c, 1));
    struct code_kernel_info info;
    struct {
        uint64_t shared_bytes, const_bytes, local_bytes;
        uint32_t max_threads, regs, ptx_version, binary_version;
    } told;
    if (!arg(c, 0)) return RUNTIME_INVALID_VALUE;
    if (!k) return RUNTIME_INVALID_FUNCTION;
    code_kernel_info(k, &info);
    memset(&told, 0, sizeof(told));
    told.shared_bytes = info.shared_bytes;
    told.const_bytes = info.const_bytes;
    told.local_bytes = info.local_bytes;
    told.max_threads = code_kernel_threads(k);
    told.regs = info.regs;
    told.ptx_version = k->module->ptx->target;
    told.binary_version = c->runtime->facts.capability;
    return put(c, arg(c, 0), &told, sizeof(told));
}

/* (blocks, kernel, threads, dynamic shared bytes), and flags in one variant. */
static enum runtime_error occupancy(struct call *c) {
    const struct code_kernel *k = kernel_at(c, arg(c, 1));
    struct code_kernel_info info;
    uint32_t threads = (uint32_t)arg(c, 2), blocks = 0;
    if (!k) return RUNTIME_INVALID_FUNCTION;
    if (!arg(c, 0) || !threads || threads > INT32_MAX) return RUNTIME_INVALID_VALUE;
    code_kernel_info(k, &info);
    const struct occupancy_sm *sm = &c->runtime->facts.sm;
    if (threads <= code_kernel_threads(k) && arg(c, 3) <= sm->shared_optin_bytes)
        blocks = occupancy_blocks(
            sm, &(struct occupancy_block){threads, info.regs, info.shared_bytes + arg(c, 3)});
    return put_int(c, arg(c, 0), blocks);
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static enum runtime_error (*const calls[])(struct call *c) = {
    [NATIVE_GetParameterBuffer] = get_parameter_buffer,
    [NATIVE_GetParameterBufferV2] = get_parameter_buffer_v2,
    [NATIVE_LaunchDevice] = launch_device,
    [NATIVE_LaunchDeviceV2] = launch_device_v2,
    [NATIVE_StreamCreateWithFlags] = stream_create,
    [NATIVE_StreamDestroy] = stream_destroy,
    [NATIVE_StreamWaitEvent] = stream_wait,
    [NATIVE_EventCreateWithFlags] = event_create,
    [NATIVE_EventRecord] = event_record,
    [NATIVE_EventRecordWithFlags] = event_record,
    [NATIVE_EventDestroy] = event_destroy,
    [NATIVE_MemcpyAsync] = memcpy_async,
    [NATIVE_Memcpy2DAsync] = memcpy_2d_async,
    [NATIVE_Memcpy3DAsync] = memcpy_3d_async,
    [NATIVE_MemsetAsync] = memset_async,
    [NATIVE_Memset2DAsync] = memset_2d_async,
    [NATIVE_Memset3DAsync] = memset_3d_async,
    [NATIVE_Malloc] = take_memory,
    [NATIVE_Free] = give_memory,
    [NATIVE_GetLastError] = get_last_error,
    [NATIVE_PeekAtLastError] = peek_at_last_error,
    [NATIVE_GetErrorString] = get_error_string,
    [NATIVE_GetErrorName] = get_error_name,
    [NATIVE_GetDeviceCount] = put_one,
    [NATIVE_GetDevice] = put_zero,
    [NATIVE_RuntimeGetVersion] = get_version,
    [NATIVE_DeviceGetAttribute] = device_get_attribute,
    [NATIVE_DeviceGetLimit] = device_get_limit,
    [NATIVE_DeviceGetCacheConfig] = put_zero, /* no preference */
    [NATIVE_DeviceGetSharedMemConfig] = put_zero,
    [NATIVE_FuncGetAttributes] = func_get_attributes,
    [NATIVE_OccupancyMaxActiveBlocksPerMultiprocessor] = occupancy,
    [NATIVE_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags] = occupancy,
};

/* True if the call returns an error code. */
static bool gives_error(enum code_native native) {
    return native != NATIVE_GetParameterBuffer && native != NATIVE_GetParameterBufferV2 &&
           native != NATIVE_GetErrorString && native != NATIVE_GetErrorName &&
           native != NATIVE_GetLastError && native != NATIVE_PeekAtLastError;
}

void cdp_call(struct warp *w, const struct code_inst *i, uint32_t mask) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    const enum code_native native = ((const struct code_extra *)i->extra)->native;
    const struct launch_config *g = x->block->config;
    if (!g->self) {
        warp_fault(w, i, (uint32_t)__builtin_ctz(mask), ERR_ILLEGAL_INSTRUCTION, 0,
                   "the kernel was launched without the device runtime");
        return;
    }
    for (uint32_t left = mask; left && !x->stop; left &= left - 1) {
        struct call c = {x,          i, (uint32_t)__builtin_ctz(left), x->block->slot, g->self,
                         g->runtime, 0};
        enum runtime_error err = calls[native](&c);
        if (err) x->last_error[c.lane] = (uint16_t)err;
        native_result(x, i, c.lane, gives_error(native) ? err : c.result);
    }
}
