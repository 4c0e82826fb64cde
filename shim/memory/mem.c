/* SPDX-License-Identifier: Apache-2.0
 *
 * The windows' allocators. A round trip to the worker happens only for a granule that has no memory
 * yet and exceeds the credit; no lock is held meanwhile.
 *
 * Blocks of the ephemeral window are announced to the worker when they are allocated and freed, in
 * order with the launches, so that it knows which are alive at the end of an iteration. The lock
 * puts the announcements in the order of the allocators' changes.
 */
#include "shim/memory/mem.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "common/log.h"
#include "proto/wire/wire.h"
#include "shim/connection/refuse.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/lock.h"
#include "shim/memory/backlog.h"
#include "shim/memory/identity.h"
#include "shim/memory/learn.h"
#include "shim/memory/vmem.h"

/* Bytes of empty granules that each window keeps backed: enough for a loop that frees what it
 * allocates. */
#define MEM_DEVICE_CACHE (64ull << 20)
#define MEM_HOST_CACHE (64ull << 20)
#define MEM_HOST_GRANULE (2ull << 20)

__thread struct mem_thread mem_self;

static struct vmem device[MEM_WINDOWS], host;
static struct learn *lifetimes;
_Atomic uint32_t mem_refusals;
static uint64_t
    segment_bytes[MEM_WINDOWS]; /* bytes of segments, held or requested, and of arrays */
/* Bytes of segments whose request the worker has not answered yet: its credit does not count them.
 */
static uint64_t asked_bytes[MEM_WINDOWS];
static pthread_mutex_t mem_lock = PTHREAD_MUTEX_INITIALIZER;

/* Packs the members of a mem_block beyond its range into a tag. */
static uint32_t tag_of(enum mem_kind kind, uint32_t owner, uint32_t detail) {
    return (uint32_t)kind | owner << 8 | detail << 16;
}

static enum mem_kind kind_of(uint32_t tag) {
    return (enum mem_kind)(tag & 0xff);
}

void mem_tell(void) {
    backlog_send(&mem_lock);
}

void mem_tell_all(void) {
    backlog_send_all(&mem_lock);
}

/* ---- backing memory of the windows ----------------------------------------------------------- */

static void device_back(void *arg, uint64_t addr, uint64_t bytes) {
    backlog_tell(WIRE_MEM_BACK, addr, bytes);
}

static void device_unback(void *arg, uint64_t addr, uint64_t bytes) {
    backlog_tell(WIRE_MEM_UNBACK, addr, bytes);
}

static struct reply refusal; /* the latest refusal; protected by the lock */

static void note_refusal(uint64_t bytes, const struct reply *answer) {
    mem_self.refused_bytes = bytes;
    lock_enter(&mem_lock);
    refusal = *answer;
    lock_leave(&mem_lock);
}

CUresult mem_refused(CUresult r) {
    uint64_t bytes = mem_self.refused_bytes;
    mem_self.refused_bytes = 0;
    if (!bytes || r != CUDA_ERROR_OUT_OF_MEMORY) return r;
    lock_enter(&mem_lock);
    struct reply why = refusal;
    lock_leave(&mem_lock);
    refuse_memory(bytes, (const char *)why.data, why.bytes);
    return r;
}

/* Asks for memory beyond the credit. The caller holds no lock; earlier records are sent first. */
static bool ask_worker(uint64_t addr, uint64_t bytes) {
    struct wire_mem rec = {.rec = {.op = WIRE_MEM_BACK}, .addr = addr, .bytes = bytes};
    struct reply answer = {0};
    mem_tell_all();
    CUresult r = reply_call(&rec, sizeof(rec), NULL, 0, &answer);
    /* A full device is the program's own concern; it cannot know of a limit. */
    if (r && answer.bytes) note_refusal(bytes, &answer);
    return r == CUDA_SUCCESS;
}

static uint64_t device_credit(void *arg) {
    const struct wire_completion *comp = state.conn.completion;
    bool ephemeral = arg == &device[MEM_EPHEMERAL];
    uint64_t credit =
        atom_load_relaxed(ephemeral ? &comp->ephemeral_credit : &comp->persistent_credit);
    uint64_t asked = asked_bytes[ephemeral ? MEM_EPHEMERAL : MEM_PERSISTENT] /
                     state.conn.device.granularity_bytes;
    return credit > asked ? credit - asked : 0;
}

bool mem_host_is_pinned(void) {
    return state.conn.device.flags & WIRE_DEVICE_HOST;
}

/* The window is a sparse file, whose pages are allocated when they are touched. */
static void host_back(void *arg, uint64_t addr, uint64_t bytes) {
    if (mem_host_is_pinned()) backlog_tell(WIRE_HOST_SHOW, addr, bytes);
}

/* Punching a hole in memory that a device has pinned would leave the old pages on the device. */
static void host_unback(void *arg, uint64_t addr, uint64_t bytes) {
    int saved = errno;
    if (mem_host_is_pinned()) return;
    madvise((void *)(uintptr_t)addr, bytes, MADV_REMOVE);
    errno = saved;
}

static const struct vmem_ops device_ops = {device_back, device_unback, device_credit};
static const struct vmem_ops host_ops = {host_back, host_unback, NULL};

static int init_device(enum mem_window window, uint64_t offset, uint64_t bytes) {
    struct vmem *v = &device[window];
    return vmem_init(v, state.conn.windows.dev_base + offset, bytes,
                     state.conn.device.granularity_bytes, MEM_DEVICE_CACHE, &device_ops, v);
}

int mem_init(void) {
    const struct wire_windows *w = &state.conn.windows;
    uint64_t half = WIRE_EPHEMERAL_OFFSET(w->alloc_bytes);
    uint64_t host_bytes = w->host_bytes - WIRE_MANAGED_BYTES(w->host_bytes);
    int err = init_device(MEM_PERSISTENT, 0, half);
    if (!err) err = init_device(MEM_EPHEMERAL, half, w->alloc_bytes - half);
    if (!err)
        err = vmem_init(&host, w->host_base, host_bytes, MEM_HOST_GRANULE, MEM_HOST_CACHE,
                        &host_ops, NULL);
    if (!err) err = learn_create(&lifetimes);
    if (!err) return 0;
    vmem_finish(&device[MEM_PERSISTENT]);
    vmem_finish(&device[MEM_EPHEMERAL]);
    vmem_finish(&host);
    return err;
}

static struct vmem *window_of(uint64_t addr) {
    const struct wire_windows *w = &state.conn.windows;
    if (!conn_in_device(&state.conn, addr)) return conn_in_host(&state.conn, addr) ? &host : NULL;
    return &device[addr - w->dev_base >= WIRE_EPHEMERAL_OFFSET(w->alloc_bytes)];
}

/* ---- lifetimes; with the lock held ----------------------------------------------------------- */

static void born(const struct vmem *v, uint64_t addr, uint64_t bytes, uint64_t key) {
    bool ephemeral = v == &device[MEM_EPHEMERAL];
    learn_born(lifetimes, addr, key, ephemeral);
    if (ephemeral) backlog_tell(WIRE_MEM_USE, addr, bytes);
}

/* Applies the boundaries that the worker has found since. */
static void learn(void) {
    const struct wire_completion *comp = state.conn.completion;
    uint64_t boundaries = atom_load_acquire(&comp->boundaries);
    learn_boundary(lifetimes, boundaries, atom_load_relaxed(&comp->boundary_uses),
                   atom_load_relaxed(&comp->boundary_filled));
}

/* Notes a free. A block that a pool keeps was freed before. */
static void died(const struct vmem *v, const struct vmem_block *b) {
    if (v == &host || kind_of(b->tag) == MEM_POOL_FREE) return;
    learn();
    learn_died(lifetimes, b->addr);
    if (v == &device[MEM_EPHEMERAL]) backlog_tell(WIRE_MEM_DROP, b->addr, b->bytes);
}

struct mem_place mem_place(uint64_t bytes, uint32_t stream) {
    uint64_t previous = mem_self.previous_bytes;
    bool ephemeral = stream != LEARN_NO_STREAM;
    struct mem_place place = {.window = ephemeral ? MEM_EPHEMERAL : MEM_PERSISTENT};
    mem_self.previous_bytes = bytes;
    /* Jobs without iterations do not pay for learning. */
    if (atom_load_relaxed(&state.conn.completion->boundaries) == 0) return place;
    place.key = learn_key(bytes, stream, &mem_self.latest, previous);
    lock_enter(&mem_lock);
    learn();
    ephemeral = learn_ephemeral(lifetimes, place.key, ephemeral);
    lock_leave(&mem_lock);
    place.window = ephemeral ? MEM_EPHEMERAL : MEM_PERSISTENT;
    return place;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static CUresult result_of(int err) {
    if (!err) return CUDA_SUCCESS;
    CUresult r = state_fault();
    return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Logs a full host window once, for programs that ignore the error. */
static void say_host_full(uint64_t bytes) {
    static _Atomic uint32_t said;
    if (atom_exchange(&said, 1)) return;
    log_error("shim",
              "what=\"%llu MiB of pinned memory do not fit into the window of %llu MiB\" do=\"use "
              "less, or raise user_pinned or window_host_bytes in salus.conf\"",
              (unsigned long long)bytes >> 20,
              (unsigned long long)state.conn.windows.host_bytes >> 20);
}

CUresult mem_take(enum mem_kind kind, uint32_t owner, uint32_t detail, uint64_t bytes,
                  uint64_t *addr) {
    struct vmem_ask never;
    lock_enter(&mem_lock);
    int err = vmem_alloc(&host, bytes, tag_of(kind, owner, detail), addr, &never);
    backlog_need_memory();
    lock_leave(&mem_lock);
    if (err)
        say_host_full(bytes);
    else
        identity_forget(*addr, bytes);
    return result_of(err);
}

bool mem_is_beyond(uint64_t bytes) {
    return bytes > state.conn.windows.alloc_bytes;
}

CUresult mem_take_device(const struct mem_place *place, enum mem_kind kind, uint32_t owner,
                         uint32_t detail, uint64_t bytes, uint64_t *addr) {
    struct vmem *v = &device[place->window];
    struct vmem_ask ask;
    if (mem_is_beyond(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    lock_enter(&mem_lock);
    int err = vmem_alloc(v, bytes, tag_of(kind, owner, detail), addr, &ask);
    while (err == -EAGAIN) {
        lock_leave(&mem_lock);
        bool granted = ask_worker(ask.addr, ask.bytes);
        if (!granted) atom_add_relaxed(&mem_refusals, 1);
        lock_enter(&mem_lock);
        err = vmem_settle(v, &ask, granted, addr);
    }
    if (!err) born(v, *addr, bytes, place->key);
    /* The block may lie in memory whose record another thread has not sent yet. */
    backlog_need_memory();
    lock_leave(&mem_lock);
    if (!err) identity_forget(*addr, bytes);
    mem_tell();
    return result_of(err);
}

void mem_give_kept(uint64_t addr) {
    struct vmem *v = window_of(addr);
    struct vmem_block b;
    lock_enter(&mem_lock);
    if (v && vmem_find(v, addr, &b) == 0 && b.addr == addr) {
        died(v, &b);
        vmem_free(v, addr);
    }
    lock_leave(&mem_lock);
}

void mem_give(uint64_t addr) {
    mem_give_kept(addr);
    mem_tell();
}

void mem_keep(const struct mem_block *m) {
    struct vmem *v = window_of(m->addr);
    struct vmem_block b;
    lock_enter(&mem_lock);
    if (vmem_find(v, m->addr, &b) == 0) died(v, &b);
    vmem_retag(v, m->addr, m->bytes, tag_of(MEM_POOL_FREE, m->owner, m->detail));
    lock_leave(&mem_lock);
}

void mem_reuse(uint64_t addr, const struct mem_place *place, uint32_t owner, uint32_t detail,
               uint64_t bytes) {
    struct vmem *v = window_of(addr);
    lock_enter(&mem_lock);
    vmem_retag(v, addr, bytes, tag_of(MEM_POOLED, owner, detail));
    if (v != &host) born(v, addr, bytes, place->key);
    lock_leave(&mem_lock);
    identity_forget(addr, bytes);
}

/* ---- segments -------------------------------------------------------------------------------- */

CUresult mem_reserve(enum mem_window window, uint64_t bytes, uint64_t align, uint64_t want,
                     uint64_t *addr) {
    lock_enter(&mem_lock);
    int err = vmem_reserve(&device[window], bytes, align, want, addr);
    lock_leave(&mem_lock);
    return result_of(err);
}

void mem_unreserve(uint64_t addr, uint64_t bytes) {
    lock_enter(&mem_lock);
    vmem_unreserve(window_of(addr), addr, bytes);
    lock_leave(&mem_lock);
}

void mem_segment_ask(enum mem_window window, uint64_t bytes) {
    lock_enter(&mem_lock);
    segment_bytes[window] += bytes;
    asked_bytes[window] += bytes;
    lock_leave(&mem_lock);
}

void mem_segment_told(enum mem_window window, uint64_t bytes, bool granted) {
    lock_enter(&mem_lock);
    asked_bytes[window] -= bytes;
    if (!granted) segment_bytes[window] -= bytes;
    lock_leave(&mem_lock);
}

void mem_count_array(uint64_t bytes, bool made) {
    lock_enter(&mem_lock);
    uint64_t *sum = &segment_bytes[MEM_PERSISTENT];
    *sum = made ? *sum + bytes : *sum - bytes;
    lock_leave(&mem_lock);
}

void mem_segment_show(uint32_t segment, uint64_t addr, uint64_t bytes) {
    const struct wire_segment rec = {
        .rec = {.op = WIRE_MEM_SHOW}, .segment = segment, .addr = addr, .bytes = bytes};
    lock_enter(&mem_lock);
    backlog_tell_segment(&rec);
    lock_leave(&mem_lock);
}

void mem_segment_hide(uint64_t addr, uint64_t bytes) {
    lock_enter(&mem_lock);
    backlog_tell(WIRE_MEM_UNBACK, addr, bytes);
    lock_leave(&mem_lock);
}

void mem_segment_close(enum mem_window window, uint32_t segment, uint64_t bytes) {
    const struct wire_segment rec = {.rec = {.op = WIRE_MEM_CLOSE}, .segment = segment};
    lock_enter(&mem_lock);
    segment_bytes[window] -= bytes;
    backlog_tell_segment(&rec);
    lock_leave(&mem_lock);
}

CUresult mem_share(uint64_t addr, uint64_t *key, uint64_t *offset) {
    struct vmem *v = window_of(addr);
    struct wire_segment rec = {.rec = {.op = WIRE_MEM_SHARE}};
    struct wire_segment_reply got;
    struct reply answer;
    lock_enter(&mem_lock);
    int err = v && v != &host ? vmem_expose(v, addr, &rec.addr, &rec.bytes) : -EINVAL;
    lock_leave(&mem_lock);
    if (err) return CUDA_ERROR_INVALID_VALUE;
    *offset = addr - rec.addr;
    mem_tell_all();
    CUresult r = reply_call(&rec, sizeof(rec), NULL, 0, &answer);
    if (r) return r;
    memcpy(&got, answer.data, sizeof(got));
    memcpy(key, got.key, sizeof(got.key));
    return CUDA_SUCCESS;
}

void mem_trim(void) {
    lock_enter(&mem_lock);
    vmem_trim(&device[MEM_PERSISTENT]);
    vmem_trim(&device[MEM_EPHEMERAL]);
    lock_leave(&mem_lock);
    mem_tell();
}

void mem_rest(uint64_t addr, uint64_t bytes) {
    lock_enter(&mem_lock);
    backlog_tell(WIRE_MEM_DROP, addr, bytes);
    lock_leave(&mem_lock);
}

static struct mem_block describe(const struct vmem *v, const struct vmem_block *b) {
    return (struct mem_block){
        .addr = b->addr,
        .bytes = b->bytes,
        .kind = kind_of(b->tag),
        .owner = b->tag >> 8 & 0xff,
        .detail = b->tag >> 16,
        .device = v != &host,
        .window = v == &device[MEM_EPHEMERAL] ? MEM_EPHEMERAL : MEM_PERSISTENT,
    };
}

/* The worker places managed variables: to this library they are one block. */
static bool find_variable(uint64_t addr, struct mem_block *out) {
    const struct wire_windows *w = &state.conn.windows;
    uint64_t bytes = WIRE_MANAGED_BYTES(w->host_bytes);
    uint64_t base = w->host_base + w->host_bytes - bytes;
    if (addr - base >= bytes) return false;
    *out = (struct mem_block){.addr = base, .bytes = bytes, .kind = MEM_VARIABLE};
    return true;
}

bool mem_find(uint64_t addr, struct mem_block *out) {
    const struct vmem *v = window_of(addr);
    struct vmem_block b;
    if (!v) return false;
    if (v == &host && find_variable(addr, out)) return true;
    lock_enter(&mem_lock);
    int err = vmem_find(v, addr, &b);
    lock_leave(&mem_lock);
    if (!err) *out = describe(v, &b);
    return !err;
}

void mem_written(const struct mem_block *b) {
    if (b->window != MEM_EPHEMERAL) return;
    if (atom_load_relaxed(&state.conn.completion->boundaries) == 0) return;
    lock_enter(&mem_lock);
    learn_written(lifetimes, b->addr);
    lock_leave(&mem_lock);
}

uint64_t mem_capacity(uint64_t bytes, bool of_device) {
    return vmem_capacity(of_device ? &device[MEM_PERSISTENT] : &host, bytes);
}

/* Returns the bytes free out of `granules` granules of the window. `beside`: bytes used without an
 * address in it. The caller holds the lock. */
static uint64_t free_bytes(enum mem_window window, uint64_t granules, uint64_t beside) {
    uint64_t granule = state.conn.device.granularity_bytes;
    uint64_t taken = device[window].used_granules * granule + beside;
    return granules * granule > taken ? granules * granule - taken : 0;
}

uint64_t mem_free(void) {
    const struct wire_obtainable *o = &state.conn.completion->obtainable;
    lock_enter(&mem_lock);
    uint64_t p = free_bytes(MEM_PERSISTENT, atom_load_relaxed(&o->persistent),
                            segment_bytes[MEM_PERSISTENT]);
    uint64_t e =
        free_bytes(MEM_EPHEMERAL, atom_load_relaxed(&o->ephemeral), asked_bytes[MEM_EPHEMERAL]);
    lock_leave(&mem_lock);
    return p > e ? p : e;
}

uint64_t mem_used(void) {
    lock_enter(&mem_lock);
    uint64_t granules = device[MEM_PERSISTENT].used_granules + device[MEM_EPHEMERAL].used_granules;
    uint64_t segments = segment_bytes[MEM_PERSISTENT] + segment_bytes[MEM_EPHEMERAL];
    lock_leave(&mem_lock);
    return granules * state.conn.device.granularity_bytes + segments;
}

static void release_window(struct vmem *v, uint32_t owner) {
    struct vmem_block b;
    uint64_t at = v->base;
    while (vmem_next(v, at, &b) == 0) {
        struct mem_block m = describe(v, &b);
        at = b.addr + 1;
        if (m.owner != owner || m.kind == MEM_OWN || m.kind == MEM_SHADOW) continue;
        died(v, &b);
        vmem_free(v, b.addr);
    }
}

void mem_release(uint32_t owner) {
    lock_enter(&mem_lock);
    release_window(&device[MEM_PERSISTENT], owner);
    release_window(&device[MEM_EPHEMERAL], owner);
    release_window(&host, owner);
    lock_leave(&mem_lock);
    mem_tell();
}
