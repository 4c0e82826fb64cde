/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread reads the ring. The test also reads it, under the same lock, whenever it asks what
 * arrived, so that all records sent before are seen.
 */
#include "test/lib/shim/rig.h"

#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/worker/stream/graph.h"
#include "proto/wire/record.h"
#include "proto/wire/ring.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/memory/mem.h"
#include "test/lib/description.h"

#ifdef __SANITIZE_THREAD__
void __tsan_release(void *addr);
#endif

#define REFUSED_TEXT 200

const char rig_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n";

/* Fails without Criterion, so that programs under TSan can use the rig; Criterion reports an
 * abort as a failure. */
static void must(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "rig: %s\n", what);
    abort();
}

struct kept {
    uint32_t bytes;
    unsigned char *data;
};

static struct {
    pthread_mutex_t lock;
    struct wire_completion *com;
    struct ring_rx rx;
    struct kept *records;
    uint32_t count, cap, forgotten;
    bool still, hold;
    uint16_t withheld, refused;
    uint64_t limit; /* limit that the device reports; 0: the requested one */
    int32_t refusal;
    char text[REFUSED_TEXT];
    struct kept request; /* request record that waits for rig_answer */
    uint64_t posted;     /* host functions posted */
    /* number of records from the start that are complete, before any host function */
    uint32_t settled;
    const struct rig_kernel *kernels;
    uint32_t kernel_count;
    struct graphs graphs;
    int peer; /* the other end of conn.sock */
    uint32_t moved;
    bool keeps;
    struct wire_file kept;
    int end; /* the other end of that descriptor */
} rig = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The library reads a moved page at another address than we write it at, which TSan takes for
 * different memory. This tells TSan that everything written before this word is visible after
 * it. */
static void publish(const void *word) {
#ifdef __SANITIZE_THREAD__
    __tsan_release((char *)(uintptr_t)state.conn.completion +
                   ((const char *)word - (const char *)rig.com));
#else
    (void)word;
#endif
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answer(const struct wire_record *rec, int32_t result, const void *data,
                   uint32_t bytes) {
    struct wire_reply *r = &rig.com->replies[rec->reply];
    r->result = result;
    r->cuda = 0;
    r->bytes = bytes;
    if (bytes) memcpy(r->data, data, bytes);
    publish(&r->ticket);
    atom_store_release(&r->ticket, rec->ticket);
}

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

static void answer_func(const struct wire_func_get *get) {
    const char *name = (const char *)(get + 1);
    for (uint32_t i = 0; i < rig.kernel_count; i++) {
        const struct rig_kernel *k = &rig.kernels[i];
        if (strcmp(k->name, name) != 0) continue;
        uint32_t fits =
            k->info.param_count < get->params_cap ? k->info.param_count : get->params_cap;
        if (fits) memcpy(at(get->params), k->params, fits * sizeof(*k->params));
        answer(&get->rec, 0, &k->info, sizeof(k->info));
        return;
    }
    answer(&get->rec, ERR_NOT_FOUND, NULL, 0);
}

static void answer_name(const struct wire_func_name *ask) {
    if (ask->index >= rig.kernel_count) {
        answer(&ask->rec, ERR_NOT_FOUND, NULL, 0);
        return;
    }
    const char *name = rig.kernels[ask->index].name;
    uint32_t bytes = (uint32_t)strlen(name);
    memcpy(at(ask->buf), name, bytes + 1);
    answer(&ask->rec, 0, &bytes, sizeof(bytes));
}

static void refuse(const struct wire_record *rec) {
    const struct wire_module_load *load = (const void *)rec;
    if (rec->op == WIRE_MODULE_LOAD) memcpy(at(load->why), rig.text, sizeof(rig.text));
    answer(rec, rig.refusal, rig.text, (uint32_t)strlen(rig.text));
}

static bool gives_key(uint16_t op) {
    return op == WIRE_MEM_OPEN || op == WIRE_MEM_EXPORT || op == WIRE_MEM_SHARE;
}

static bool is_signal(uint16_t op) {
    return op == WIRE_SIGNAL_MAKE || op == WIRE_SIGNAL_OPEN || op == WIRE_SIGNAL_ASK;
}

static void reply(const struct wire_record *rec) {
    static const struct wire_signal_reply signal = {{RIG_KEY, RIG_KEY + 1}, 1, 0};
    static const struct wire_segment_reply segment = {{RIG_KEY, RIG_KEY + 1}, 2 * RIG_GRANULE};
    struct wire_module_reply counts = {.functions = rig.kernel_count, .globals = 1};
    struct wire_global_reply global = {state.conn.windows.dev_base + state.conn.windows.alloc_bytes,
                                       64};
    if (rec->op == rig.refused)
        refuse(rec);
    else if (rec->op == WIRE_FUNC_GET)
        answer_func((const void *)rec);
    else if (rec->op == WIRE_FUNC_NAME)
        answer_name((const void *)rec);
    else if (rec->op == WIRE_MODULE_LOAD)
        answer(rec, 0, &counts, sizeof(counts));
    else if (rec->op == WIRE_GLOBAL_GET) {
        if (strcmp((const char *)rec + sizeof(struct wire_global_get), "reference") == 0)
            global.bytes = 8;
        answer(rec, 0, &global, sizeof(global));
    } else if (rec->op == WIRE_TEXTURE) {
        uint64_t seen = RIG_SEEN((uint16_t)((const struct wire_texture *)rec)->handle);
        answer(rec, 0, &seen, sizeof(seen));
    } else if (rec->op == WIRE_CLUSTERS) {
        uint32_t count = ((const struct wire_clusters *)rec)->largest ? 4 : RIG_CLUSTERS;
        answer(rec, 0, &count, sizeof(count));
    } else if (rec->op == WIRE_TENSOR_MAP) {
        struct tensor_answer map = {.alloc_class = CU_TENSOR_MAP_ALLOC_CLASS_LARGE};
        for (uint64_t i = 0; i < 16; i++)
            map.map[i] = RIG_SEEN(i);
        answer(rec, 0, &map, sizeof(map));
    } else if (rec->op == WIRE_LIMIT && rig.limit)
        answer(rec, 0, &rig.limit, sizeof(rig.limit));
    else if (is_signal(rec->op))
        answer(rec, 0, &signal, sizeof(signal));
    else if (gives_key(rec->op))
        answer(rec, 0, &segment, sizeof(segment));
    else
        answer(rec, 0, NULL, 0);
}

static void keep_segment(const struct wire_file *f, int end) {
    static const struct wire_segment_reply segment = {{RIG_KEY, RIG_KEY + 1}, 2 * RIG_GRANULE};
    const struct wire_record asked = {.reply = (uint16_t)f->reply, .ticket = f->ticket};
    bool refused = rig.refused == WIRE_MEM_EXPORT;
    must(f->magic == WIRE_KEEP_MAGIC && !f->pad, "not of a segment");
    must(fdutil_check_end(end) == 0, "not the end of a pair");
    fdutil_close(&rig.end);
    rig.kept = *f;
    if (refused)
        close(end);
    else
        rig.end = end;
    if (refused)
        answer(&asked, rig.refusal, rig.text, (uint32_t)strlen(rig.text));
    else
        answer(&asked, 0, &segment, sizeof(segment));
}

static void read_peer(void) {
    struct wire_file f;
    struct pollfd p = {.fd = rig.peer, .events = POLLIN};
    int end, nfds = 1;
    while (poll(&p, 1, 0) > 0) {
        must(fdutil_recv(rig.peer, &f, sizeof(f), &end, &nfds) == sizeof(f) && nfds == 1, "asked");
        keep_segment(&f, end);
    }
}

/* ---- work ------------------------------------------------------------------------------------ */

static void copy(const struct wire_copy *c) {
    for (uint64_t z = 0; z < c->depth; z++) {
        for (uint64_t y = 0; y < c->height; y++)
            memmove(at(c->dst + z * c->dst_slice + y * c->dst_pitch),
                    at(c->src + z * c->src_slice + y * c->src_pitch), c->width_bytes);
    }
}

static void carry_out(const struct wire_record *rec) {
    if (rec->op == WIRE_COPY) copy((const void *)rec);
    if (rec->op == WIRE_EVENT_RECORD) {
        const struct wire_event_record *e = (const void *)rec;
        atom_store_relaxed(WIRE_EVENT_NS(rig.com, e->event & ~WIRE_EVENT_MARKS),
                           rec->seq * 1000000);
    }
    publish(WIRE_DONE(rig.com, rec->stream));
    atom_store_release(WIRE_DONE(rig.com, rec->stream), rec->seq);
}

static const struct wire_record *record(uint32_t i) {
    return (const void *)rig.records[i].data;
}

static bool settled(const struct wire_record *rec) {
    return rec->seq <= atom_load_relaxed(WIRE_DONE(rig.com, rec->stream));
}

/* Completes all operations of the streams, except those behind a host function that has not run. */
static void advance(void) {
    bool stopped[RIG_STREAMS] = {false};
    uint64_t functions = 0;
    while (rig.settled < rig.count && settled(record(rig.settled)) &&
           record(rig.settled)->op != WIRE_HOST_FUNC)
        rig.settled++;
    for (uint32_t i = rig.settled; !rig.hold && i < rig.count; i++) {
        const struct wire_record *rec = record(i);
        bool function = rec->op == WIRE_HOST_FUNC;
        if (function && functions++ >= rig.posted) stopped[rec->stream] = true;
        if (!settled(rec) && !stopped[rec->stream]) carry_out(rec);
    }
}

static void wake(void) {
    _Atomic uint32_t *sleeping = &state.conn.submission->client_sleeping;
    if (atom_exchange(sleeping, 0))
        syscall(SYS_futex, sleeping, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void keep(const unsigned char *data, uint32_t bytes) {
    if (((const struct wire_record *)(const void *)data)->op == WIRE_IDLE) return;
    if (rig.count == rig.cap) {
        rig.cap = rig.cap ? rig.cap * 2 : 1024;
        rig.records = realloc(rig.records, rig.cap * sizeof(*rig.records));
        must(rig.records != NULL, "no memory");
    }
    struct kept *k = &rig.records[rig.count++];
    *k = (struct kept){bytes, malloc(bytes)};
    memcpy(k->data, data, bytes);
    const struct wire_record *rec = (const void *)k->data;
    if (rec->ticket && rec->op == rig.withheld)
        rig.request = *k;
    else if (rec->ticket)
        reply(rec);
}

/* Chooses the branch of a conditional node when the node is read: a loop runs once. Records of
 * bodies have no numbers, because they belong to no stream of the library. */
static void keep_body(struct graph *g, const struct wire_choice *c) {
    _Alignas(8) unsigned char next[RING_RECORD_MAX];
    struct graph_choice choice = graph_hold_choice(g, c);
    uint32_t value = *(const volatile uint32_t *)(uintptr_t)c->value;
    struct graph_cursor at = {graph_body(&choice, value, 0), 0};
    graph_drop_choice(&choice);
    while (at.graph) {
        struct graph *body = at.graph;
        struct wire_record *rec = (void *)next;
        uint32_t length = graph_read(&at, next);
        rec->stream = 0;
        rec->seq = 0;
        keep(next, length);
        if (rec->op == WIRE_GRAPH_CHOICE) keep_body(body, (void *)next);
    }
}

/* The worker's own code checks and reads graphs. */
static void take(const unsigned char *data, uint32_t bytes) {
    static _Alignas(8) unsigned char next[RING_RECORD_MAX];
    const struct wire_record *rec = (const void *)data;
    char why[256] = "";
    int err = 0;
    keep(data, bytes);
    if (rec->op == WIRE_GRAPH_DATA) err = graph_data(&rig.graphs, (void *)data, why, sizeof(why));
    if (rec->op == WIRE_GRAPH_LAUNCH)
        err = graph_launch(&rig.graphs, (void *)data, why, sizeof(why));
    if (rec->op == WIRE_GRAPH_DROP)
        err =
            graph_drop(&rig.graphs, ((const struct wire_graph_drop *)rec)->graph, why, sizeof(why));
    must(!err, why);
    while (graph_replaying(&rig.graphs)) {
        uint32_t length = graph_next(&rig.graphs, next);
        must(record_check(next, length, why, sizeof(why)) == 0, why);
        keep(next, length);
        rec = (const void *)next;
        if (rec->op == WIRE_GRAPH_CHOICE) keep_body(graph_latest(&rig.graphs), (void *)next);
    }
}

/* With the lock held. */
static void read_all(void) {
    static _Alignas(8) unsigned char buf[RING_RECORD_MAX + 8];
    while (!rig.still) {
        int n = ring_pop(&rig.rx, buf, RING_RECORD_MAX);
        must(n >= 0, "a record that no honest client sends");
        if (n == 0) break;
        take(buf, (uint32_t)n);
    }
    if (!rig.still) ring_publish(&rig.rx);
    if (rig.keeps) read_peer();
    advance();
    wake();
}

static void *loop(void *arg) {
    const struct timespec nap = {.tv_nsec = 20000};
    for (;;) {
        pthread_mutex_lock(&rig.lock);
        read_all();
        pthread_mutex_unlock(&rig.lock);
        nanosleep(&nap, NULL);
    }
    return arg;
}

/* ---- control by the test --------------------------------------------------------------------- */

void rig_stand(bool still) {
    pthread_mutex_lock(&rig.lock);
    read_all();
    rig.still = still;
    pthread_mutex_unlock(&rig.lock);
}

void rig_hold_streams(bool hold) {
    pthread_mutex_lock(&rig.lock);
    read_all();
    rig.hold = hold;
    read_all();
    pthread_mutex_unlock(&rig.lock);
}

void rig_withhold(uint16_t op) {
    pthread_mutex_lock(&rig.lock);
    rig.withheld = op;
    pthread_mutex_unlock(&rig.lock);
}

void rig_answer(void) {
    pthread_mutex_lock(&rig.lock);
    rig.withheld = 0;
    must(rig.request.data != NULL, "nothing was asked");
    reply((const void *)rig.request.data);
    rig.request.data = NULL;
    pthread_mutex_unlock(&rig.lock);
}

static bool requested(void) {
    pthread_mutex_lock(&rig.lock);
    bool yes = rig.request.data != NULL;
    pthread_mutex_unlock(&rig.lock);
    return yes;
}

void rig_await_request(void) {
    const struct timespec nap = {.tv_nsec = 100000};
    while (!requested())
        nanosleep(&nap, NULL);
}

void rig_limit(uint64_t force) {
    pthread_mutex_lock(&rig.lock);
    rig.limit = force;
    pthread_mutex_unlock(&rig.lock);
}

void rig_refuse(uint16_t op, int32_t err, const char *text) {
    pthread_mutex_lock(&rig.lock);
    rig.refused = op;
    rig.refusal = err;
    memset(rig.text, 0, sizeof(rig.text));
    if (text) strncpy(rig.text, text, sizeof(rig.text) - 1);
    pthread_mutex_unlock(&rig.lock);
}

void rig_keeps(void) {
    pthread_mutex_lock(&rig.lock);
    state.conn.minor = 7;
    rig.keeps = true;
    rig.end = -1;
    pthread_mutex_unlock(&rig.lock);
}

int rig_kept(struct wire_file *last) {
    pthread_mutex_lock(&rig.lock);
    int end = rig.end;
    *last = rig.kept;
    rig.end = -1;
    pthread_mutex_unlock(&rig.lock);
    return end;
}

/* ---- another worker -------------------------------------------------------------------------- */

/* Makes a page as a worker does, with the contents of the present one; the rig uses it from now
 * on. */
static int next_page(void) {
    int fd = fdutil_memfd("completion", sizeof(struct wire_completion), 1);
    must(fd >= 0, "no memfd");
    void *map =
        mmap(NULL, sizeof(struct wire_completion), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(map != MAP_FAILED && fdutil_seal_readonly(fd) == 0, "no page");
    memcpy(map, rig.com, sizeof(struct wire_completion));
    if (rig.moved) munmap(rig.com, sizeof(struct wire_completion));
    rig.com = map;
    rig.rx.credit = &rig.com->credit;
    return fd;
}

void rig_move(void) {
    pthread_mutex_lock(&rig.lock);
    int fd = next_page();
    struct wire_moved m = {.magic = WIRE_MOVED_MAGIC, .number = ++rig.moved};
    must(fdutil_send(rig.peer, &m, sizeof(m), &fd, 1) == 0, "not sent");
    close(fd);
    atom_store_release(&state.conn.submission->moved, m.number);
    wake();
    pthread_mutex_unlock(&rig.lock);
}

int rig_peer(void) {
    return rig.peer;
}

uint32_t rig_moved(void) {
    return rig.moved;
}

void rig_fault(CUresult result) {
    atom_store_release(&rig.com->fault.cuda, (uint32_t)result);
}

void rig_text(bool to_stderr, const char *text) {
    uint32_t head[2] = {(uint32_t)strlen(text), to_stderr};
    uint64_t written = atom_load_relaxed(&rig.com->text_written);
    must(written + sizeof(head) + head[0] <= WIRE_TEXT_BYTES, "no more text than once around");
    memcpy(rig.com->text + written, head, sizeof(head));
    memcpy(rig.com->text + written + sizeof(head), text, head[0]);
    atom_store_release(&rig.com->text_written, written + sizeof(head) + head[0]);
}

void rig_credit(uint64_t persistent, uint64_t ephemeral) {
    pthread_mutex_lock(&rig.lock);
    atom_store_relaxed(&rig.com->persistent_credit, persistent);
    atom_store_relaxed(&rig.com->ephemeral_credit, ephemeral);
    pthread_mutex_unlock(&rig.lock);
}

static uint64_t token(uint64_t number) {
    for (uint32_t i = 0; i < rig.count; i++) {
        const struct wire_host_func *h = (const void *)record(i);
        if (h->rec.op == WIRE_HOST_FUNC && number-- == 0) return h->token;
    }
    must(false, "no host function was sent");
    return 0;
}

void rig_callback(void) {
    const struct timespec nap = {.tv_nsec = 100000};
    pthread_mutex_lock(&rig.lock);
    read_all();
    rig.com->callbacks[rig.posted % WIRE_CALLBACKS] = token(rig.posted);
    publish(&rig.com->callbacks_posted);
    atom_store_release(&rig.com->callbacks_posted, rig.posted + 1);
    wake();
    pthread_mutex_unlock(&rig.lock);
    while (atom_load_acquire(&state.conn.submission->callbacks_done) <= rig.posted)
        nanosleep(&nap, NULL);
    pthread_mutex_lock(&rig.lock);
    rig.posted++;
    read_all();
    pthread_mutex_unlock(&rig.lock);
}

void rig_kernels(const struct rig_kernel *kernels, uint32_t count) {
    rig.kernels = kernels;
    rig.kernel_count = count;
}

/* ---- arrived records ------------------------------------------------------------------------- */

uint32_t rig_count(void) {
    pthread_mutex_lock(&rig.lock);
    read_all();
    uint32_t count = rig.count - rig.forgotten;
    pthread_mutex_unlock(&rig.lock);
    return count;
}

const void *rig_record(uint32_t number, uint32_t *bytes) {
    must(number < rig_count(), "no such record");
    const struct kept *k = &rig.records[rig.forgotten + number];
    if (bytes) *bytes = k->bytes;
    return k->data;
}

const void *rig_only(uint16_t op) {
    must(rig_count() == 1, "not the only record");
    const struct wire_record *rec = rig_record(0, NULL);
    must(rec->op == op, "another record");
    return rec;
}

void rig_forget(void) {
    pthread_mutex_lock(&rig.lock);
    read_all();
    rig.forgotten = rig.count; /* the records stay for callers that still look at one */
    pthread_mutex_unlock(&rig.lock);
}

/* ---- start ----------------------------------------------------------------------------------- */

static uint64_t window(uint64_t bytes) {
    char *p = mmap(NULL, bytes + RIG_GRANULE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(p != MAP_FAILED, "no address space");
    return ((uint64_t)(uintptr_t)p + RIG_GRANULE - 1) / RIG_GRANULE * RIG_GRANULE;
}

static void *page(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(p != MAP_FAILED, "no address space");
    return p;
}

static void make_conn(void) {
    struct conn *c = &state.conn;
    int pair[2];
    c->windows = (struct wire_windows){window(RIG_ALLOC_BYTES + RIG_MODULE_BYTES), RIG_ALLOC_BYTES,
                                       RIG_MODULE_BYTES, window(RIG_HOST_BYTES), RIG_HOST_BYTES};
    c->device = (struct wire_device){
        .memory_bytes = RIG_ALLOC_BYTES / 2,
        .granularity_bytes = RIG_GRANULE,
        .sm_count = 4,
        .cc_major = 9,
        .threads_per_sm = 2048,
        .l2_bytes = 1 << 20,
        .blocks_per_sm = 32,
        .regs_per_sm = 65536,
        .shared_per_sm_bytes = 228 << 10,
        .shared_per_block_bytes = 48 << 10,
        .shared_optin_bytes = 227 << 10,
        .shared_reserved_bytes = 1024,
    };
    description_example(&c->description, &c->device);
    c->submission = page(sizeof(*c->submission));
    c->completion = rig.com = page(sizeof(*rig.com));
    atom_store_relaxed(&rig.com->worker_cpu, UINT32_MAX);
    atom_store_relaxed(&rig.com->obtainable.persistent, RIG_ALLOC_BYTES / 2 / RIG_GRANULE);
    c->doorbell = eventfd(0, EFD_NONBLOCK);
    must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "no sockets");
    c->sock = pair[0];
    rig.peer = pair[1]; /* never reports that the other side has closed */
}

void rig_begin(void) {
    static _Atomic uint32_t alive = 1;
    pthread_t thread;
    CUcontext ctx;
    make_conn();
    rig_credit(64, 64);
    ring_rx_init(&rig.rx, &state.conn.submission->ring, &rig.com->credit);
    must(mem_init() == 0, "no memory");
    submit_init();
    atom_store_release(&state.alive, &alive);
    must(pthread_create(&thread, NULL, loop, NULL) == 0, "no thread");
    must(cuDevicePrimaryCtxRetain(&ctx, 0) == CUDA_SUCCESS, "no context");
    must(cuCtxSetCurrent(ctx) == CUDA_SUCCESS, "no context");
}
