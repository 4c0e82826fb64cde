/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps the pages that a client shares, and looks up the objects that it names.
 */
#include "daemon/worker/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_null_mode.h"
#include "daemon/device/device_settings.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_recovery.h"
#include "daemon/worker/memory/memory_saved.h"
#include "daemon/worker/memory/memory_swap.h"
#include "daemon/worker/recovery/module_reservation.h"

#define CLIENT_ADDRESS_END (1ull << 47)

enum { FD_SUBMISSION, FD_HOST, FD_DOORBELL, FD_COMPLETION, FD_RECOVERY };

/* ---- mapping --------------------------------------------------------------------------------- */

static bool window_ok(uint64_t base, uint64_t bytes, uint64_t align) {
    return base && bytes && base % align == 0 && bytes % align == 0 && bytes < CLIENT_ADDRESS_END &&
           base <= CLIENT_ADDRESS_END - bytes;
}

static int check_windows(const struct worker *w, const struct wire_windows *win) {
    uint64_t dev_bytes = win->alloc_bytes + win->module_bytes;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (dev_bytes < win->alloc_bytes || win->alloc_bytes % (2 * w->info.granularity_bytes) ||
        !window_ok(win->dev_base, dev_bytes, w->info.granularity_bytes) ||
        !window_ok(win->host_base, win->host_bytes, page))
        return -EINVAL;
    if (win->dev_base < win->host_base + win->host_bytes &&
        win->host_base < win->dev_base + dev_bytes)
        return -EINVAL;
    return 0;
}

static int map_host(struct client *c, int fd) {
    const struct wire_windows *win = &c->windows;
    void *want = (void *)(uintptr_t)win->host_base;
    void *got = mmap(want, win->host_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
    if (got == MAP_FAILED) return -errno;
    if (got != want) { /* a kernel older than 4.17 takes the address as a hint */
        munmap(got, win->host_bytes);
        return -EEXIST;
    }
    madvise(got, win->host_bytes, MADV_DONTFORK);
    c->host_mapped = true;
    return 0;
}

static int copy_part(void *page, int fd, uint64_t at, size_t bytes) {
    return pread(fd, (char *)page + at, bytes, (off_t)at) == (ssize_t)bytes ? 0 : -EIO;
}

/* Copies what was written between `at` and `end`; holes are skipped. */
static int copy_written(void *page, int fd, uint64_t at, uint64_t end) {
    int err;
    for (uint64_t from, to = at; !(err = fdutil_written(fd, to, &from, &to)) && from < end;) {
        err = copy_part(page, fd, from, (to < end ? to : end) - from);
        if (err) return err;
    }
    return err == -ENXIO ? 0 : err;
}

/* Copies an earlier worker's page, except for the fields about the worker itself. -ENOTRECOVERABLE:
 * the page shows a fault. Most of the page was never written: holes are not copied and take no
 * memory. */
static int copy_page(struct wire_completion *page, int fd) {
    int err = fdutil_check_sealed(fd, sizeof(*page));
    if (!err) err = copy_written(page, fd, 0, offsetof(struct wire_completion, description));
    if (!err)
        err = copy_written(page, fd, offsetof(struct wire_completion, streams_end), sizeof(*page));
    if (!err)
        err = copy_part(page, fd, offsetof(struct wire_completion, savepoint),
                        sizeof(page->savepoint));
    if (!err)
        err = copy_part(page, fd, offsetof(struct wire_completion, usage), sizeof(page->usage));
    if (err) return err;
    atom_store_relaxed(&page->stats.queued, 0);
    memset(&page->running, 0, sizeof(page->running));
    return atom_load_relaxed(&page->fault.cuda) ? -ENOTRECOVERABLE : 0;
}

static int map_pages(struct client *c, const int *fds, int nfds, int *completion_fd) {
    int err = fdutil_check_sealed(fds[FD_SUBMISSION], sizeof(*c->sub));
    if (!err) err = fdutil_check_sealed(fds[FD_HOST], c->windows.host_bytes);
    if (err) return err;
    void *sub =
        mmap(NULL, sizeof(*c->sub), PROT_READ | PROT_WRITE, MAP_SHARED, fds[FD_SUBMISSION], 0);
    if (sub == MAP_FAILED) return -errno;
    c->sub = sub;
    madvise(sub, sizeof(*c->sub), MADV_DONTFORK);
    *completion_fd = fdutil_memfd("salus-completion", sizeof(*c->com.page), 1);
    if (*completion_fd < 0) return *completion_fd;
    void *com =
        mmap(NULL, sizeof(*c->com.page), PROT_READ | PROT_WRITE, MAP_SHARED, *completion_fd, 0);
    if (com == MAP_FAILED) return -errno;
    c->com.page = com;
    c->com.page->description = c->worker->description;
    if (nfds == CLIENT_AGAIN) err = copy_page(com, fds[FD_COMPLETION]);
    if (err) return err;
    madvise(com, sizeof(*c->com.page), MADV_DONTFORK);
    /* An earlier worker checked this address. */
    void *ring = client_host(c, atom_load_relaxed(&c->com.page->text_ring.addr),
                             atom_load_relaxed(&c->com.page->text_ring.bytes));
    text_attach(&c->text, com, sub, ring);
    return fdutil_seal_readonly(*completion_fd);
}

/* The owner of the bytes that the client writes into lanes: its job with clear_always, else its
 * user. */
static uint64_t owner_of(const struct client *c) {
    return 1ull + (c->worker->config.clear_always ? c->job_id : c->uid);
}

/* Called on the device's threads. */
static void put_text(void *arg, int to_stderr, const char *text, size_t bytes) {
    struct client *c = arg;
    savepoint_void(&c->recovery_state.savepoint, SAVEPOINT_ONCE);
    text_put(&c->text, to_stderr, text, bytes);
}

static int ask_graph(void *arg, struct dev_graph *from, uint64_t handle, enum dev_graph_order how) {
    return device_launch_ask(&((struct client *)arg)->launching, from, handle, how);
}

static const struct dev_space_ops space_ops = {.text = put_text, .graph = ask_graph};

static struct dev_windows device_windows(const struct client *c) {
    const struct wire_windows *win = &c->windows;
    return (struct dev_windows){win->dev_base,     win->alloc_bytes,
                                win->module_bytes, win->host_base,
                                win->host_bytes,   WIRE_MANAGED_BYTES(win->host_bytes)};
}

static int open_space(struct client *c) {
    const struct wire_windows *win = &c->windows;
    struct dev_windows dev = device_windows(c);
    struct worker *w = c->worker;
    int err = w->ops->space_create(w->dev, &dev, &space_ops, c, &c->space);
    if (err) return err;
    c->windows.dev_base = dev.dev_base;
    err = check_windows(w, win);
    if (err) return err;
    lifetime_init(&c->lifetime, client_ephemeral(c),
                  win->alloc_bytes - WIRE_EPHEMERAL_OFFSET(win->alloc_bytes), w->config.seed);
    err = memory_create(&c->memory, w->ops, w->dev, c->space, &dev, w->info.granularity_bytes);
    if (err) return err;
    memory_set_owner(c->memory, owner_of(c));
    c->streams.space = c->space;
    return stream_open(&c->streams, 0, false, 0,
                       atom_load_relaxed(&c->com.page->stream_done[0]) + 1);
}

static uint64_t page_count(const struct client *c) {
    return c->windows.alloc_bytes / c->worker->info.granularity_bytes;
}

/* A client without recovery state is served, and ends with this worker. */
static void open_recovery_state(struct client *c) {
    if (!c->worker->ops->recovery || c->job_id == WIRE_TRIAL_JOB) return;
    if (recovery_create(&c->recovery_state, page_count(c))) return;
    if (memory_recovery_keep(c->memory, c->recovery_state.memory))
        recovery_close(&c->recovery_state);
}

static bool want_savepoints(struct client *c, const struct wire_job *job) {
    const struct worker *w = c->worker;
    if (!(job->flags & WIRE_JOB_SAVEPOINTS) || !w->config.savepoint_ns) return false;
    recovery_want_savepoints(&c->recovery_state, w->config.savepoint_ns, &c->com.page->savepoint);
    return c->recovery_state.savepoint.header;
}

/* The first savepoint is the state in which the client has no memory. It needs no copy. */
static void begin_savepoints(struct client *c, const struct wire_job *job) {
    struct savepoint *k = &c->recovery_state.savepoint;
    if (want_savepoints(c, job)) savepoint_commit(k, c->com.page, savepoint_begin(k), 0);
}

bool client_under_way(const struct client *c) {
    const struct recovery_header *h = c->recovery_state.header;
    bool any = false;
    for (uint32_t i = 0; i < atom_load_relaxed(&c->com.page->streams_end); i++)
        any |= atom_load_relaxed(&h->begun[i]) > atom_load_relaxed(WIRE_DONE(c->com.page, i));
    return any;
}

/* Returns to the savepoint, if the client must and can. The next worker may use that savepoint too.
 */
static int take_savepoint(struct client *c) {
    const struct worker *w = c->worker;
    struct savepoint *k = &c->recovery_state.savepoint;
    if (!k->header) return 0;
    bool returning = atom_load_relaxed(&k->header->returning);
    if (!savepoint_open(k, c->com.page)) return returning ? -EPERM : 0;
    int err = memory_saved_adopt(c->memory, c->recovery_state.memory);
    if (!err) err = variables_adopt(&c->variables, w->ops, w->dev, k);
    if (err) {
        savepoint_void(k, SAVEPOINT_ROOM);
        return returning ? err : 0;
    }
    if (!client_under_way(c) && !returning) return 0;
    c->replay.back = true;
    atom_store_release(&k->header->returning, 1);
    return 0;
}

/* The job knows its memory by addresses alone, so its windows must keep their place. */
static int check_place(const struct client *c, const struct wire_windows *was, char *why,
                       size_t why_bytes) {
    if (c->windows.dev_base == was->dev_base) return 0;
    snprintf(
        why, why_bytes,
        "the job cannot continue on another worker: the driver placed its addresses elsewhere");
    return -EADDRNOTAVAIL;
}

/* Takes over the memory and the page's state of a client that an earlier worker served. */
static int take_recovery_state(struct client *c, const struct wire_job *job, int *fd, char *why,
                               size_t why_bytes) {
    int err = recovery_open(&c->recovery_state, page_count(c), *fd);
    *fd = -1;
    if (err) return err;
    want_savepoints(c, job);
    const struct wire_completion *page = c->com.page;
    const struct recovery_header *h = c->recovery_state.header;
    const char *lacks = recovery_lacks(&c->recovery_state);
    if (lacks) {
        snprintf(why, why_bytes, "the job cannot continue on another worker: %s", lacks);
        return -EPERM;
    }
    if (!callback_restore(&c->callbacks, &c->com, atom_load_relaxed(&h->callbacks_done)))
        err = -EINVAL;
    if (!err) err = take_savepoint(c);
    if (err) return err;
    err = c->replay.back ? memory_return(c->memory, c->recovery_state.memory, c->recovery_state.fd,
                                         recovery_memory_at())
                         : memory_adopt(c->memory, c->recovery_state.memory, c->recovery_state.fd,
                                        recovery_memory_at());
    if (err) {
        snprintf(why, why_bytes,
                 "the job cannot continue on another worker: its memory cannot be taken over: %s",
                 err_text(err));
        return err;
    }
    c->displaced = memory_spilled(c->memory) || memory_swapped(c->memory);
    c->stranded = memory_spilled(c->memory); /* until a boundary says that the data is not needed */
    c->lifetime.uses = atom_load_relaxed(&h->uses);
    c->lifetime.filled_uses = atom_load_relaxed(&page->boundary_filled);
    c->boundary.earlier = atom_load_relaxed(&page->boundaries);
    return 0;
}

/* Sets the compute capability that the job is told; 0: the device's own. */
static int set_capability(struct client *c, uint32_t capability) {
    const struct worker *w = c->worker;
    if (!capability || capability == w->info.cc_major * 10 + w->info.cc_minor) return 0;
    if (!w->ops->settings) return -ENOTSUP;
    w->ops->settings->space_capability(c->space, capability);
    return 0;
}

/* Called before any module of the client is loaded; holds until the client ends. */
static int set_null(struct client *c, const struct wire_job *job) {
    const struct dev_ops *ops = c->worker->ops;
    if (!(job->flags & WIRE_JOB_NULL)) return 0;
    if (!ops->null_mode) return -ENOTSUP;
    c->null = c->profiling.null = true;
    return ops->null_mode->space_null(c->space);
}

/* The reservation that the job states; nothing where it states none. */
static struct credit credit_of(const struct worker *w, const struct wire_job *job) {
    bool known = job->flags & WIRE_JOB_RESERVED;
    return (struct credit){.granule = w->info.granularity_bytes,
                           .reserved_p = known ? job->persistent_bytes : 0,
                           .reserved_e = known ? job->ephemeral_bytes : 0,
                           .known = known};
}

static struct client *new_client(struct worker *w, const struct wire_worker_msg *msg) {
    struct client *c = calloc(1, sizeof(*c));
    if (!c) return NULL;
    c->worker = w;
    c->job_id = msg->job_id;
    c->windows = msg->windows;
    c->uid = msg->uid;
    c->limits = msg->limits;
    c->quota = WORKER_QUOTA;
    c->credit = credit_of(w, &msg->job);
    c->lane = c->next_lane = SCHED_NO_LANE;
    c->throttled = CLIENT_WAITS;
    c->doorbell = c->files.window = c->recovery_state.fd = -1;
    c->parked_last = &c->parked;
    snprintf(c->name, sizeof(c->name), "%.*s", (int)sizeof(msg->name) - 1, msg->name);
    list_init(&c->link);
    list_init(&c->fault_link);
    list_init(&c->clearing);
    list_init(&c->parts);
    list_init(&c->keeping);
    memory_ask_init(c->asks, c);
    watch_init(&c->watch);
    op_pool_init(&c->pool);
    device_launch_init(&c->launching, w->config.seed);
    text_init(&c->text);
    c->profiling =
        (struct profiling){.kernels = w->profiles.kernels, .info = &w->info, .uid = c->uid};
    c->com.recovery_state = &c->recovery_state;
    int err = boundary_init(&c->boundary);
    int streams = stream_set_init(&c->streams, w->ops, &c->com, &w->work.active);
    c->streams.order.on = w->info.in_order;
    int objects = object_init(&c->objects);
    if (!err && !streams && !objects) return c;
    client_destroy(c);
    return NULL;
}

int client_create(struct worker *w, const struct wire_worker_msg *msg, int *fds, int nfds,
                  int *completion_fd, struct client **out, char *why, size_t why_bytes) {
    bool again = nfds == CLIENT_AGAIN;
    int err = check_windows(w, &msg->windows);
    struct client *c = err ? NULL : new_client(w, msg);
    *completion_fd = -1;
    if (!err && !c) err = -ENOMEM;
    if (!err) err = map_pages(c, fds, nfds, completion_fd);
    if (!err) err = map_host(c, fds[FD_HOST]);
    if (!err) err = open_space(c);
    if (!err && again) err = check_place(c, &msg->windows, why, why_bytes);
    if (!err) err = set_capability(c, msg->job.capability);
    if (!err) err = set_null(c, &msg->job);
    if (!err && again) err = take_recovery_state(c, &msg->job, &fds[FD_RECOVERY], why, why_bytes);
    if (!err && !again) open_recovery_state(c);
    if (!err && !again) begin_savepoints(c, &msg->job);
    if (!err) {
        const struct dev_windows dev = device_windows(c);
        hostfile_init(&c->files, w->ops, c->space, &dev, &w->config.closed, fds[FD_HOST]);
        fds[FD_HOST] = -1;
        c->doorbell = fds[FD_DOORBELL];
        fds[FD_DOORBELL] = -1;
        ring_rx_init(&c->rx, &c->sub->ring, &c->com.page->credit);
        if (again) ring_rx_resume(&c->rx, record_log_ring_next(&c->recovery_state.log));
        list_append(&w->clients.list, &c->link);
        w->clients.count++;
        *out = c;
    } else {
        fdutil_close(completion_fd);
        client_destroy(c);
    }
    for (int i = 0; i < nfds; i++)
        fdutil_close(&fds[i]);
    return err;
}

void client_leave(struct client *c) {
    if (!c->leaving) c->worker->clients.leaving++;
    c->leaving = true;
}

void client_destroy(struct client *c) {
    if (!c) return;
    struct worker *w = c->worker;
    if (!list_empty(&c->link)) w->clients.count--;
    if (c->leaving) w->clients.leaving--;
    list_remove(&c->link);
    list_remove(&c->fault_link);
    list_remove(&c->clearing);
    list_remove(&c->parts);
    list_remove(&c->keeping);
    memory_ask_forget(c->asks);
    watch_forget(&c->watch);
    boundary_finish(&c->boundary);
    lifetime_finish(&c->lifetime);
    memory_destroy(c->memory);
    memory_destroy(c->ending);
    device_launch_finish(&c->launching);
    stream_set_finish(&c->streams);
    signal_finish(&c->signals);
    if (c->space) w->ops->space_destroy(c->space);
    if (c->host_mapped) munmap((void *)(uintptr_t)c->windows.host_base, c->windows.host_bytes);
    if (c->com.page) munmap(c->com.page, sizeof(*c->com.page));
    if (c->sub) munmap(c->sub, sizeof(*c->sub));
    fdutil_close(&c->doorbell);
    hostfile_finish(&c->files);
    object_finish(&c->objects);
    variables_finish(&c->variables, w->ops, w->dev);
    graph_finish(&c->graphs);
    op_pool_finish(&c->pool);
    if (c->replay.promised) module_reservation_release(&c->recovery_state.log, w->ops, w->dev);
    replay_forget(&c->replay);
    recovery_close(&c->recovery_state);
    text_finish(&c->text);
    free(c);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static bool is_inside(uint64_t base, uint64_t size, uint64_t addr, uint64_t bytes) {
    return addr >= base && bytes <= size && addr - base <= size - bytes;
}

void *client_host(const struct client *c, uint64_t addr, uint64_t bytes) {
    if (!is_inside(c->windows.host_base, c->windows.host_bytes, addr, bytes)) return NULL;
    return (void *)(uintptr_t)addr;
}

bool client_owns(const struct client *c, uint64_t addr, uint64_t bytes) {
    const struct wire_windows *win = &c->windows;
    return is_inside(win->dev_base, win->alloc_bytes + win->module_bytes, addr, bytes) ||
           is_inside(win->host_base, win->host_bytes, addr, bytes) ||
           hostfile_has(&c->files, addr, bytes) ||
           (c->worker->ops->driver && c->worker->ops->driver->space_owns(c->space, addr, bytes));
}

struct client *client_find(const struct worker *w, uint32_t job_id) {
    const struct list *pos;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->job_id == job_id) return c;
    }
    return NULL;
}
