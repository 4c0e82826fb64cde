/* SPDX-License-Identifier: Apache-2.0
 *
 * The scripted client and its bench (worker and broker's end).
 */
#include "test/lib/worker/wireclient.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/kernels/kernel_wire.h"
#include "daemon/worker/loop.h"
#include "proto/wire/record.h"
#include "test/lib/patience.h"
#include "test/lib/worker/fakedev.h"

#define BENCH_WHY_AT (8u << 20)    /* offset in the host window of failure texts */
#define BENCH_PARAMS_AT (9u << 20) /* offset of parameter layouts */
#define BENCH_IMAGE_AT (10u << 20) /* offset of images */
#define BENCH_NAP_US 200
#define BENCH_NAPS (patience_ms() * (1000 / BENCH_NAP_US))

static void bench_check(bool ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "wireclient: %s: %s\n", what, strerror(errno));
    abort();
}

/* ---- bench ----------------------------------------------------------------------------------- */

struct wirebench *wirebench_start(const struct dev_ops *ops, uint32_t cap) {
    struct worker_config config = {
        .ops = ops,
        .policy = {.exclusive = -1, .swap = -1, .inflight_cap = cap, .grow_wait_ns = 1}};
    return wirebench_start_as(&config);
}

struct wirebench *wirebench_start_as(const struct worker_config *as) {
    struct worker_config config = *as;
    struct wirebench *b = calloc(1, sizeof(*b));
    char why[256];
    int pair[2];
    bench_check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
    log_init(getenv("SALUS_LOG") ? "info" : "none");
    config.broker_fd = pair[1];
    b->sock = pair[0];
    b->next_job = 1;
    bench_check(worker_create(&b->worker, &config, why, sizeof(why)) == 0, why);
    return b;
}

static void *bench_main(void *arg) {
    struct wirebench *b = arg;
    loop_run(b->worker);
    return NULL;
}

void wirebench_thread(struct wirebench *b) {
    b->threaded = true;
    bench_check(pthread_create(&b->thread, NULL, bench_main, b) == 0, "pthread_create");
}

void wirebench_stop(struct wirebench *b) {
    shutdown(b->sock, SHUT_RDWR); /* the worker sees end of file and ends */
    if (b->threaded) pthread_join(b->thread, NULL);
    loop_finish(b->worker);
    fdutil_close(&b->sock);
    free(b);
}

void wirebench_run(struct wirebench *b) {
    if (b->threaded) {
        usleep(BENCH_NAP_US);
        return;
    }
    for (int idle = 0; idle < 3;) {
        b->worker->loop.tick_ns = 0; /* checks the socket in every round */
        uint64_t now_ns = b->clock_ns ? b->clock_ns : fdutil_now_ns();
        idle = loop_at(b->worker, now_ns) ? 0 : idle + 1;
        if (!b->worker->loads.background_tasks.away || b->background_waits) continue;
        idle = 0;
        sched_yield();
    }
}

const char *wirebench_launched(struct wirebench *b) {
    static char text[16384];
    struct dev *dev = b->worker->dev;
    size_t used = 0;
    wirebench_run(b);
    text[0] = 0;
    for (uint32_t i = 0; i < fakedev_launches(dev) && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lu", i ? " " : "",
                                 (unsigned long)fakedev_token(dev, i));
    bench_check(used < sizeof(text), "there is room for all tokens");
    fakedev_forget_launches(dev);
    return text;
}

bool wirebench_hear(struct wirebench *b, struct wire_worker_msg *msg, int *fd) {
    const uint64_t end_ns = fdutil_now_ns() + patience_ms() * 1000000ull;
    while (fdutil_now_ns() < end_ns) {
        int fds[FDUTIL_MAX_FDS], nfds = FDUTIL_MAX_FDS;
        struct pollfd p = {.fd = b->sock, .events = POLLIN};
        if (!b->threaded) wirebench_run(b);
        if (poll(&p, 1, 1) <= 0) continue; /* a thread of the worker or of its device still runs */
        union kernel_wire_message in;
        int n = fdutil_recv(b->sock, &in, sizeof(in), fds, &nfds);
        if (n > 0 && kernel_wire_is_batch(&in, (size_t)n)) continue;
        bench_check(n == sizeof(*msg), "recv");
        *msg = in.msg;
        if (msg->kind == WIRE_BEAT || msg->kind == WIRE_RESUMED) continue;
        if (fd) *fd = nfds ? fds[0] : -1;
        return true;
    }
    return false;
}

/* ---- attaching ------------------------------------------------------------------------------- */

static uint64_t windows_top;

static void find_top(void) {
    const uint64_t align = 2ull << 20;
    void *at = mmap(NULL, align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bench_check(at != MAP_FAILED, "mmap");
    munmap(at, align);
    windows_top = ((uintptr_t)at & ~(align - 1)) - (16ull << 30);
}

/* Windows lie far below the addresses that mmap chooses by itself, so that they are still free
 * when the worker maps them. mmap's place shifts when a new thread gets an arena, so it is
 * determined once: windows never overlap, however late they are made. */
struct wire_windows wireclient_windows(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Atomic uint32_t turn;
    const uint64_t dev_bytes = WIRECLIENT_ALLOC_BYTES + WIRECLIENT_MODULE_BYTES;
    pthread_once(&once, find_top);
    uint64_t base = windows_top - (atom_add_relaxed(&turn, 1) % 1024) * (256ull << 20);
    return (struct wire_windows){base, WIRECLIENT_ALLOC_BYTES, WIRECLIENT_MODULE_BYTES,
                                 base + dev_bytes, WIRECLIENT_HOST_BYTES};
}

int wireclient_try(struct wirebench *b, struct wireclient *wc, const struct wire_windows *windows,
                   const int fds[3], int nfds) {
    struct wire_worker_msg msg = {.kind = WIRE_ATTACH,
                                  .job_id = wc->job_id,
                                  .uid = b->uid,
                                  .flags = b->holds ? WIRE_ATTACH_HELD : 0,
                                  .windows = *windows,
                                  .name = "scripted"};
    msg.job = wc->job;
    msg.group = wc->group;
    int completion = -1;
    bench_check(fdutil_send(b->sock, &msg, sizeof(msg), fds, nfds) == 0, "send");
    bench_check(wirebench_hear(b, &msg, &completion), "no answer to WIRE_ATTACH");
    bench_check(msg.kind == WIRE_ATTACHED && msg.job_id == wc->job_id, "not WIRE_ATTACHED");
    if (msg.result == 0) {
        wc->com = mmap(NULL, sizeof(*wc->com), PROT_READ, MAP_SHARED, completion, 0);
        bench_check(wc->com != MAP_FAILED, "mmap of the completion page");
    }
    fdutil_close(&completion);
    return msg.result;
}

struct wireclient *wireclient_attach(struct wirebench *b) {
    static const struct wire_job nothing = {.flags = WIRE_JOB_RESERVED};
    return wireclient_attach_as(b, &nothing, 0);
}

struct wireclient *wireclient_attach_as(struct wirebench *b, const struct wire_job *job,
                                        uint32_t group) {
    struct wireclient *wc = calloc(1, sizeof(*wc));
    int fds[3];
    wc->bench = b;
    wc->job = *job;
    wc->group = group;
    wc->job_id = b->next_job++;
    wc->windows = wireclient_windows();
    wc->host = (char *)(uintptr_t)wc->windows.host_base; /* the worker maps it in this process */
    fds[0] = fdutil_memfd("submission", sizeof(*wc->sub), 0);
    fds[1] = fdutil_memfd("host", WIRECLIENT_HOST_BYTES, 0);
    fds[2] = wc->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bench_check(fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0, "descriptors");
    wc->sub = mmap(NULL, sizeof(*wc->sub), PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    bench_check(wc->sub != MAP_FAILED, "mmap");
    bench_check(wireclient_try(b, wc, &wc->windows, fds, 3) == 0, "attaching failed");
    ring_tx_init(&wc->tx, &wc->sub->ring, &wc->com->credit);
    fdutil_close(&fds[0]);
    fdutil_close(&fds[1]);
    return wc;
}

void wireclient_begin(struct wireclient *wc) {
    struct wire_worker_msg msg = {
        .kind = WIRE_BEGIN, .job_id = wc->job_id, .job = wc->job, .group = wc->group};
    bench_check(fdutil_send(wc->bench->sock, &msg, sizeof(msg), NULL, 0) == 0, "send");
}

void wireclient_detach(struct wireclient *wc) {
    struct wire_worker_msg msg = {.kind = WIRE_DETACH, .job_id = wc->job_id};
    bench_check(fdutil_send(wc->bench->sock, &msg, sizeof(msg), NULL, 0) == 0, "send");
    do
        bench_check(wirebench_hear(wc->bench, &msg, NULL), "no answer to WIRE_DETACH");
    while (msg.kind != WIRE_DETACHED || msg.job_id != wc->job_id);
}

void wireclient_free(struct wireclient *wc) {
    if (!wc) return;
    if (wc->com) munmap((void *)wc->com, sizeof(*wc->com));
    munmap(wc->sub, sizeof(*wc->sub));
    fdutil_close(&wc->doorbell);
    free(wc);
}

/* ---- records --------------------------------------------------------------------------------- */

static void wake_worker(void *arg) {
    struct wireclient *wc = arg;
    uint64_t one = 1;
    bench_check(write(wc->doorbell, &one, sizeof(one)) == sizeof(one), "doorbell");
}

static const struct doorbell_ops wireclient_bell = {.wake = wake_worker};

uint64_t wireclient_send(struct wireclient *wc, uint16_t op, uint32_t stream, bool reply, void *rec,
                         uint32_t bytes, const void *tail, uint32_t tail_bytes) {
    struct wire_record *r = rec;
    bool ordered = record_ordered(op);
    r->op = op;
    r->stream = stream;
    r->seq = ordered ? ++wc->seq[stream] : 0;
    r->ticket = reply ? ++wc->ticket : 0;
    r->reply = (uint16_t)(r->ticket % WIRE_REPLIES);
    const uint64_t end_ns = fdutil_now_ns() + patience_ms() * 1000000ull;
    while (ring_push(&wc->tx, rec, bytes, tail, tail_bytes) == -EAGAIN) {
        bench_check(fdutil_now_ns() < end_ns, "the ring stays full");
        wirebench_run(wc->bench);
    }
    doorbell_ring(&wc->sub->worker_sleeping, &wireclient_bell, wc);
    return ordered ? r->seq : r->ticket;
}

static uint64_t lend(struct wireclient *wc, bool keep, uint32_t number, int fd, int result) {
    uint64_t ticket = ++wc->ticket;
    struct wire_worker_msg msg = {.kind = keep ? WIRE_KEEP : WIRE_FILE,
                                  .job_id = wc->job_id,
                                  .result = result,
                                  .file = {.magic = keep ? WIRE_KEEP_MAGIC : WIRE_FILE_MAGIC,
                                           .file = number,
                                           .reply = (uint32_t)(ticket % WIRE_REPLIES),
                                           .ticket = ticket}};
    int err = fdutil_send(wc->bench->sock, &msg, sizeof(msg), &fd, fd >= 0);
    bench_check(err == 0, "WIRE_FILE");
    fdutil_close(&fd);
    bench_check(wirebench_hear(wc->bench, &msg, NULL), "WIRE_FILED");
    bench_check(msg.kind == WIRE_FILED && msg.job_id == wc->job_id, "WIRE_FILED of this client");
    return ticket;
}

uint64_t wireclient_file(struct wireclient *wc, uint32_t file, int fd, int result) {
    return lend(wc, false, file, fd, result);
}

uint64_t wireclient_keep(struct wireclient *wc, uint32_t segment, int fd, int result) {
    return lend(wc, true, segment, fd, result);
}

uint64_t wireclient_launch(struct wireclient *wc, uint32_t stream, uint32_t func, uint64_t token) {
    struct wire_launch l = {
        .func = func, .grid = {1, 1, 1}, .block = {32, 1, 1}, .param_bytes = sizeof(token)};
    return wireclient_send(wc, WIRE_LAUNCH, stream, false, &l, sizeof(l), &token, sizeof(token));
}

uint64_t wireclient_copy(struct wireclient *wc, uint32_t stream, uint64_t dst, uint64_t src,
                         uint64_t bytes) {
    struct wire_copy c = {.dst = dst, .src = src, .width_bytes = bytes, .height = 1, .depth = 1};
    return wireclient_send(wc, WIRE_COPY, stream, false, &c, sizeof(c), NULL, 0);
}

uint64_t wireclient_event(struct wireclient *wc, uint32_t stream, uint32_t event) {
    struct wire_event_record e = {.event = event};
    return wireclient_send(wc, WIRE_EVENT_RECORD, stream, false, &e, sizeof(e), NULL, 0);
}

uint64_t wireclient_wait(struct wireclient *wc, uint32_t stream, uint32_t on, uint64_t on_seq) {
    struct wire_stream_wait w = {.on = on, .on_seq = on_seq};
    return wireclient_send(wc, WIRE_STREAM_WAIT, stream, false, &w, sizeof(w), NULL, 0);
}

uint64_t wireclient_host_func(struct wireclient *wc, uint32_t stream, uint64_t token) {
    struct wire_host_func h = {.token = token};
    return wireclient_send(wc, WIRE_HOST_FUNC, stream, false, &h, sizeof(h), NULL, 0);
}

void wireclient_create_stream(struct wireclient *wc, uint32_t stream, uint32_t flags) {
    struct wire_stream_create s = {.flags = flags, .first_seq = wc->seq[stream] + 1};
    wireclient_send(wc, WIRE_STREAM_CREATE, stream, false, &s, sizeof(s), NULL, 0);
}

void wireclient_destroy_stream(struct wireclient *wc, uint32_t stream) {
    struct wire_stream_destroy d = {0};
    wireclient_send(wc, WIRE_STREAM_DESTROY, stream, false, &d, sizeof(d), NULL, 0);
}

uint64_t wireclient_mem(struct wireclient *wc, uint16_t op, uint64_t offset, uint64_t bytes) {
    struct wire_mem m = {.addr = wc->windows.dev_base + offset, .bytes = bytes};
    return wireclient_send(wc, op, 0, true, &m, sizeof(m), NULL, 0);
}

void wireclient_mem_silent(struct wireclient *wc, uint16_t op, uint64_t offset, uint64_t bytes) {
    struct wire_mem m = {.addr = wc->windows.dev_base + offset, .bytes = bytes};
    wireclient_send(wc, op, 0, false, &m, sizeof(m), NULL, 0);
}

void wireclient_say(struct wireclient *wc, uint16_t op) {
    struct wire_ping p = {0};
    wireclient_send(wc, op, 0, false, &p, sizeof(p), NULL, 0);
}

uint64_t wireclient_load(struct wireclient *wc, uint32_t module, const char *image) {
    struct wire_module_load m = {.module = module,
                                 .image = wc->windows.host_base + BENCH_IMAGE_AT,
                                 .image_bytes = strlen(image),
                                 .why = wc->windows.host_base + BENCH_WHY_AT,
                                 .why_bytes = 256};
    strcpy(wc->host + BENCH_IMAGE_AT, image);
    return wireclient_send(wc, WIRE_MODULE_LOAD, 0, true, &m, sizeof(m), NULL, 0);
}

uint64_t wireclient_func(struct wireclient *wc, uint32_t module, uint32_t func, const char *name) {
    struct wire_func_get f = {.module = module,
                              .func = func,
                              .params = wc->windows.host_base + BENCH_PARAMS_AT,
                              .params_cap = 4,
                              .name_bytes = (uint32_t)strlen(name) + 1};
    return wireclient_send(wc, WIRE_FUNC_GET, 0, true, &f, sizeof(f), name, f.name_bytes);
}

uint64_t wireclient_ping(struct wireclient *wc) {
    struct wire_ping p = {0};
    return wireclient_send(wc, WIRE_PING, 0, true, &p, sizeof(p), NULL, 0);
}

void wireclient_kernels(struct wireclient *wc, const char *names) {
    char image[256], *rest = image, *name;
    uint32_t func = 0;
    snprintf(image, sizeof(image), "FAKE %s", names);
    bench_check(wireclient_result(wc, wireclient_load(wc, 0, image)) == 0, "MODULE_LOAD");
    strtok_r(rest, " ", &rest);
    while ((name = strtok_r(rest, " ", &rest)))
        bench_check(wireclient_result(wc, wireclient_func(wc, 0, func++, name)) == 0, "FUNC_GET");
}

/* ---- answers --------------------------------------------------------------------------------- */

uint64_t wireclient_done(const struct wireclient *wc, uint32_t stream) {
    return atom_load_acquire(WIRE_DONE(wc->com, stream));
}

const struct wire_reply *wireclient_reply(const struct wireclient *wc, uint64_t ticket) {
    const struct wire_reply *r = &wc->com->replies[ticket % WIRE_REPLIES];
    return atom_load_acquire(&r->ticket) == ticket ? r : NULL;
}

int wireclient_result(struct wireclient *wc, uint64_t ticket) {
    for (int tries = 0; tries < (wc->bench->threaded ? BENCH_NAPS : 1); tries++) {
        wirebench_run(wc->bench);
        const struct wire_reply *r = wireclient_reply(wc, ticket);
        if (r) return r->result;
    }
    return -EAGAIN;
}

uint32_t wireclient_fault(const struct wireclient *wc) {
    return atom_load_acquire(&wc->com->fault.cuda);
}
