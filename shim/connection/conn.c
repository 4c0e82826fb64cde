/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects to the broker: hello, then offers until both address windows fit into this process, then
 * welcome. Every message is checked before use: a memfd that can shrink would end the program with
 * SIGBUS.
 */
#include "shim/connection/conn.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "common/text/command_line.h"
#include "proto/gen/calls.h"
#include "proto/wire/job.h"
#include "shim/connection/refusals.h"
#include "shim/process/dial.h"
#include "shim/process/gpu_choice.h"
#include "shim/process/program_identity.h"
#include "shim/process/title.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define CONN_OFFERS 64   /* offers to try before giving up */
#define CONN_PAGE_GREW 9 /* first minor version whose completion page has `savepoint` and more */
#define CONN_WORKERS \
    4 /* the job is refused when this many workers in turn ended before its welcome */
#define CONN_MINOR 5    /* daemons of an older minor version do not describe their device */
#define COMMAND_MINOR 9 /* first minor version in which a daemon accepts a command line */
#define CONN_WINDOW_MAX (1ull << 46)

_Static_assert(sizeof(((struct wire_hello *)0)->name) == TITLE_BYTES, "a title fits");

/* Returns how many bytes of the completion page are mapped. Older daemons have no more; members
 * that newer daemons append are not known here. */
static size_t page_bytes(uint16_t minor) {
    return minor < CONN_PAGE_GREW ? offsetof(struct wire_completion, savepoint)
                                  : sizeof(struct wire_completion);
}

/* Describes the job by the settings in the environment and the program's profile name. */
static void describe(struct wire_job *job) {
    char why[JOB_WHY_BYTES];
    static bool said; /* programs call again after an error */
    int wrong = job_from_environment(job, why);
    if (wrong && !said)
        log_error("shim",
                  "what=\"a setting has no effect: %s\" variables=%d do=\"correct or unset the "
                  "variable\"",
                  why, wrong);
    said = wrong;
    job->profile = program_identity_self();
}

/* Records a final refusal, by salusd or by this library, and tells `salusctl run` the reason. The
 * caller has logged it. Returns `err`. */
static int told(struct conn *c, int err, const char *why) {
    refusals_tell(why, SIZE_MAX);
    c->refused = true;
    return err;
}

static int no_daemon(struct conn *c, int err) {
    log_error("shim",
              "what=\"no salusd answers at %s/job.sock\" error=%s "
              "do=\"start it with 'salusd --foreground', or set SALUS_RUN_DIR\"",
              dial_run_dir(), err_name(err));
    return told(c, ERR_NO_DAEMON, err_text(ERR_NO_DAEMON));
}

/* True for an error of connecting. Any other error was an answer, or the lack of one. */
static bool is_unreachable(int err) {
    return err == -ENOENT || err == -ENOTDIR || err == -ECONNREFUSED || err == -EACCES ||
           err == -EPERM || err == -ENAMETOOLONG;
}

/* Finds the job's GPU. A misspelt choice is an error: otherwise the job would silently run on
 * another GPU. The error is logged once, because programs call again. */
static int find_gpu(struct conn *c, uint32_t *gpu) {
    static bool said;
    char why[GPU_CHOICE_WHY_BYTES];
    struct gpu_choice choice;
    int err = gpu_choice_make(&choice, why);

    *gpu = choice.gpu;
    if (!err) return 0;
    if (is_unreachable(err)) return no_daemon(c, err);
    if (err != -EINVAL && err != -ENODEV) return err;
    c->refused = true;
    if (!*why || said) return -ENODEV;
    said = true;
    log_error("shim", "what=\"%s\" do=\"see 'salusctl gpu list'\"", why);
    return told(c, -ENODEV, why);
}

static int say_hello(int sock, uint32_t gpu, bool *null) {
    struct wire_hello hello = {.magic = WIRE_MAGIC,
                               .major = WIRE_MAJOR,
                               .minor = WIRE_MINOR,
                               .spec_hash = CALL_SPEC_HASH,
                               .pid = getpid(),
                               .gpu = gpu};
    title_self(hello.name);
    describe(&hello.job);
    *null = hello.job.flags & WIRE_JOB_NULL;
    /* Without a latency goal the hello has the form that older daemons accept. */
    size_t bytes = hello.job.slo_ns ? sizeof(hello) : WIRE_HELLO_BYTES_1_7;
    return fdutil_send(sock, &hello, bytes, NULL, 0);
}

static void close_all(int *fds) {
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        fdutil_close(&fds[i]);
}

/* Checks the windows before this process reserves them. */
static int check_windows(const struct wire_windows *w, uint64_t granularity) {
    if (granularity < 4096 || granularity & (granularity - 1)) return ERR_PROTOCOL;
    uint64_t parts[] = {w->alloc_bytes, w->module_bytes, w->host_bytes};
    for (int i = 0; i < 3; i++) {
        if (parts[i] == 0 || parts[i] > CONN_WINDOW_MAX || parts[i] % granularity)
            return ERR_PROTOCOL;
    }
    if (WIRE_EPHEMERAL_OFFSET(w->alloc_bytes) % granularity) return ERR_PROTOCOL;
    if (w->dev_base % granularity || w->host_base % granularity) return ERR_PROTOCOL;
    if (w->dev_base == 0 || w->host_base == 0) return ERR_PROTOCOL;
    return 0;
}

static int refused(struct conn *c, int result, const char *text) {
    log_error("shim", "what=\"salusd refused this job\" reason=\"%s\"", text);
    return told(c, result, *text ? text : err_text(result));
}

/* True when the job may connect again. Its worker ended before the job was welcome: the job has
 * lost nothing, and the next worker may accept it. */
static bool may_try_again(struct conn *c, int result) {
    return result == ERR_WORKER_LOST && ++c->workers_lost < CONN_WORKERS;
}

/* Handles a welcome that refuses the job. -EAGAIN: the job may try again. */
static int not_welcome(struct conn *c, struct wire_welcome *w) {
    if (may_try_again(c, w->result)) return -EAGAIN;
    w->text[sizeof(w->text) - 1] = '\0';
    return refused(c, w->result, w->text);
}

/* Handles a refusal in the form of a welcome while an offer is expected: it was sent before the
 * broker learned that the previous windows did not fit. 0: the message is no such refusal. */
static int refused_late(struct conn *c, const struct wire_offer *offer, int bytes) {
    struct wire_welcome w;
    memcpy(&w, offer, sizeof(w));
    if (bytes != sizeof(w) || w.magic != WIRE_MAGIC || w.result >= 0) return 0;
    return not_welcome(c, &w);
}

/* True for an offer of another major version, whose layout may differ. */
static bool is_of_another_major(const struct wire_offer *offer, int bytes) {
    return bytes != sizeof(*offer) && bytes >= (int)offsetof(struct wire_offer, minor) &&
           offer->magic == WIRE_MAGIC && offer->major != WIRE_MAJOR;
}

/* Receives one offer with its descriptors, and checks both. */
static int receive_offer(struct conn *c, struct wire_offer *offer, int *fds) {
    int nfds = WIRE_FD_COUNT;
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        fds[i] = -1;
    int n = fdutil_recv(c->sock, offer, sizeof(*offer), fds, &nfds);
    if (n <= 0) return n ? n : ERR_BROKER_LOST;
    int late = refused_late(c, offer, n);
    if (late) return late;
    offer->text[sizeof(offer->text) - 1] = '\0';
    if (is_of_another_major(offer, n)) return ERR_VERSION;
    if (n != sizeof(*offer) || offer->magic != WIRE_MAGIC) return ERR_PROTOCOL;
    if (offer->result < 0) return refused(c, offer->result, offer->text);
    if (offer->major != WIRE_MAJOR || offer->minor < CONN_MINOR) return ERR_VERSION;
    if (nfds == FDUTIL_LOST) return -EMFILE; /* this process has reached its limit of descriptors */
    if (nfds != WIRE_FD_COUNT) return ERR_PROTOCOL;
    int err = check_windows(&offer->windows, offer->device.granularity_bytes);
    if (err) return err;
    offer->device.name[sizeof(offer->device.name) - 1] = '\0';
    if (fdutil_check_sealed(fds[WIRE_FD_SUBMISSION], sizeof(struct wire_submission)) ||
        fdutil_check_sealed(fds[WIRE_FD_COMPLETION], page_bytes(offer->minor)) ||
        fdutil_check_sealed(fds[WIRE_FD_HOST], offer->windows.host_bytes))
        return ERR_PROTOCOL;
    return 0;
}

/* Calls the kernel, not mmap: a sanitizer's mmap rejects addresses outside of the program's memory,
 * and ThreadSanitizer then ends the program. */
static void *map_at(uint64_t at, uint64_t bytes, int prot, int kind, int fd) {
    long p = syscall(SYS_mmap, at, bytes, prot, kind | MAP_FIXED_NOREPLACE, fd, 0L);
    return (void *)(uintptr_t)p; /* -1 is MAP_FAILED */
}

/* Maps memory that a forked child does not get and core files leave out. `at` 0: at any address;
 * `fd` < 0: anonymous memory. NULL with errno on failure; EEXIST: the addresses are in use. */
static void *map_shared(uint64_t at, uint64_t bytes, int prot, int fd) {
    int kind = MAP_NORESERVE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    void *p = at ? map_at(at, bytes, prot, kind, fd) : mmap(NULL, bytes, prot, kind, fd, 0);
    if (p == MAP_FAILED) return NULL;
    /* Kernels before 4.17 take the address as a hint. */
    if (at && (uint64_t)(uintptr_t)p != at) {
        munmap(p, bytes);
        errno = EEXIST;
        return NULL;
    }
    madvise(p, bytes, MADV_DONTFORK);
    madvise(p, bytes, MADV_DONTDUMP);
    return p;
}

/* Maps both windows or neither. -EEXIST: another mapping of this process is in the way, and other
 * addresses may work; any other error would repeat there. */
static int map_windows(const struct wire_windows *w, int host_fd) {
    uint64_t dev_bytes = w->alloc_bytes + w->module_bytes;
    void *dev = map_shared(w->dev_base, dev_bytes, PROT_NONE, -1);
    if (!dev) return -errno;
    if (map_shared(w->host_base, w->host_bytes, PROT_READ | PROT_WRITE, host_fd)) return 0;
    int err = -errno;
    munmap(dev, dev_bytes);
    return err;
}

/* Reports that addresses are short: the user limits them, or this process has reached its limit of
 * mappings. */
static int no_room(struct conn *c, const struct wire_windows *w, int err) {
    log_error("shim",
              "what=\"this process cannot reserve the addresses of its GPU's memory\" gib=%llu "
              "error=%s do=\"run 'ulimit -v unlimited', or reduce window_*_bytes in salus.conf\"",
              (unsigned long long)((w->alloc_bytes + w->module_bytes + w->host_bytes) >> 30),
              err_name(err));
    return told(c, err,
                "this process cannot reserve the addresses of its GPU's memory; raise 'ulimit -v'");
}

static void unmap_windows(const struct wire_windows *w) {
    munmap((void *)(uintptr_t)w->dev_base, w->alloc_bytes + w->module_bytes);
    munmap((void *)(uintptr_t)w->host_base, w->host_bytes);
}

static int answer(int sock, uint32_t accepted) {
    struct wire_answer a = {.magic = WIRE_MAGIC, .accepted = accepted};
    return fdutil_send(sock, &a, sizeof(a), NULL, 0);
}

static int await_welcome(struct conn *c) {
    struct wire_welcome w;
    int n = fdutil_recv(c->sock, &w, sizeof(w), NULL, NULL);
    if (n <= 0) return n ? n : ERR_BROKER_LOST;
    if (n != sizeof(w) || w.magic != WIRE_MAGIC) return ERR_PROTOCOL;
    return w.result < 0 ? not_welcome(c, &w) : 0;
}

static uint64_t inode_of(int fd) {
    struct stat st;
    return fstat(fd, &st) < 0 ? 0 : st.st_ino;
}

/* Takes the device's description. It is copied first and then checked, because the worker could
 * change its page. */
static int take_description(struct description *out, const struct wire_completion *page) {
    const char *why;
    *out = page->description;
    int err = description_check(out, &why);
    if (err)
        log_error("shim", "what=\"the GPU worker described its device wrongly\" why=\"%s\"", why);
    return err == -EINVAL ? ERR_PROTOCOL : err;
}

/* Maps the pages of both rings and lets the broker continue. The windows are mapped already. */
static int settle(struct conn *c, const struct wire_offer *offer, int *fds) {
    size_t sub_bytes = sizeof(struct wire_submission), comp_bytes = page_bytes(offer->minor);
    void *sub = map_shared(0, sub_bytes, PROT_READ | PROT_WRITE, fds[WIRE_FD_SUBMISSION]);
    void *comp = map_shared(0, comp_bytes, PROT_READ, fds[WIRE_FD_COMPLETION]);
    int err = sub && comp ? take_description(&c->description, comp) : -ENOMEM;
    if (!err) err = answer(c->sock, 1);
    if (!err) err = await_welcome(c);
    if (err) {
        if (sub) munmap(sub, sub_bytes);
        if (comp) munmap(comp, comp_bytes);
        return err;
    }
    c->windows = offer->windows;
    c->device = offer->device;
    c->job_id = offer->job_id;
    c->minor = offer->minor;
    c->submission = sub;
    c->completion = comp;
    c->doorbell = fds[WIRE_FD_DOORBELL];
    fds[WIRE_FD_DOORBELL] = -1;
    c->host = fds[WIRE_FD_HOST];
    c->host_inode = inode_of(c->host);
    fds[WIRE_FD_HOST] = -1;
    return 0;
}

/* Tries one offer. 1: the windows collide, and another offer was requested. */
static int try_offer(struct conn *c) {
    struct wire_offer offer;
    int fds[WIRE_FD_COUNT];
    int err = receive_offer(c, &offer, fds);
    if (!err) {
        err = map_windows(&offer.windows, fds[WIRE_FD_HOST]);
        if (err == -EEXIST) {
            err = answer(c->sock, 0);
            if (!err) err = 1;
        } else if (err) {
            err = no_room(c, &offer.windows, err);
        } else {
            err = settle(c, &offer, fds);
            if (err) unmap_windows(&offer.windows);
        }
    }
    close_all(fds);
    return err;
}

/* Makes one connection, from hello to welcome. -EAGAIN: its worker ended meanwhile. */
static int join(struct conn *c, uint32_t gpu, bool *null) {
    int err;
    c->sock = dial_broker();
    if (c->sock < 0) return no_daemon(c, c->sock);
    err = say_hello(c->sock, gpu, null);
    if (err == -EPIPE) err = 0; /* refused before the hello was sent: the offer has the reason */
    for (int i = 0; !err && i < CONN_OFFERS; i++) {
        err = try_offer(c);
        if (err != 1) break;
        err = i + 1 < CONN_OFFERS ? 0 : -EADDRINUSE;
    }
    if (err) fdutil_close(&c->sock);
    return err;
}

/* Sends the command line for the history, unless the daemon is too old for it. */
static void tell_command(const struct conn *c) {
    struct wire_command m = {.magic = WIRE_COMMAND_MAGIC};
    if (c->minor < COMMAND_MINOR) return;
    command_line_print(0, m.text, sizeof(m.text));
    fdutil_send(c->sock, &m, sizeof(m), NULL, 0);
}

int conn_open(struct conn *c) {
    c->refused = false;
    c->workers_lost = 0;
    c->sock = -1;
    uint32_t gpu;
    bool null = false;
    int err = find_gpu(c, &gpu);
    if (!err) {
        do {
            err = join(c, gpu, &null);
        } while (err == -EAGAIN);
    }
    if (!err) tell_command(c);
    if (err && !c->refused) {
        log_error("shim", "what=\"this process cannot join salusd\" error=%s text=\"%s\"",
                  err_name(err), err_text(err));
        told(c, err, err_text(err));
    }
    if (!err && null)
        log_error("shim", "what=\"this program is not computed: its kernels take an estimated time "
                          "and compute nothing\" do=\"unset SALUS_DEVICE_MODE\"");
    return err;
}

/* ---- change of the worker -------------------------------------------------------------------- */

/* Receives the next message, which must have arrived already, and its descriptor. *fd is -1 when
 * this process has reached its limit of descriptors. */
static int receive_moved(const struct conn *c, struct wire_moved *m, int *fd) {
    struct pollfd p = {.fd = c->sock, .events = POLLIN};
    int nfds = 1;
    *fd = -1;
    if (poll(&p, 1, 0) <= 0) return ERR_PROTOCOL;
    int n = fdutil_recv(c->sock, m, sizeof(*m), fd, &nfds);
    if (n <= 0) return ERR_BROKER_LOST;
    if (nfds <= 0) *fd = -1;
    if (n == sizeof(*m) && m->magic == WIRE_MOVED_MAGIC && nfds) return 0;
    fdutil_close(fd);
    return ERR_PROTOCOL;
}

/* Receives the messages up to `number` and returns the page of the last; earlier pages belong to
 * workers that have ended. */
static int receive_page(const struct conn *c, uint32_t number, int *page) {
    struct wire_moved m = {0};
    int err = 0;
    *page = -1;
    while (!err && m.number != number) {
        fdutil_close(page);
        err = receive_moved(c, &m, page);
    }
    if (!err && *page < 0) err = -EMFILE;
    if (!err && fdutil_check_sealed(*page, page_bytes(c->minor))) err = ERR_PROTOCOL;
    return err;
}

/* Replaces the page atomically: threads that read there see the old or the new page, and never a
 * gap. */
static int put_page(const struct conn *c, int page) {
    size_t bytes = page_bytes(c->minor);
    void *place = (void *)(uintptr_t)c->completion, *map = map_shared(0, bytes, PROT_READ, page);
    if (!map) return -errno;
    if (mremap(map, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED) return 0;
    int err = -errno;
    munmap(map, bytes);
    return err;
}

int conn_follow(struct conn *c) {
    uint32_t number = atom_load_acquire(&c->submission->moved);
    if (number == atom_load_relaxed(&c->moved)) return 0; /* another thread did it first */
    int page;
    int err = receive_page(c, number, &page);
    if (!err) err = put_page(c, page);
    fdutil_close(&page);
    atom_store_release(&c->moved, number);
    if (err)
        log_error("shim",
                  "what=\"this process cannot move to its job's new GPU worker\" job=%u error=%s "
                  "text=\"%s\"",
                  c->job_id, err_name(err), err_text(err));
    return err;
}

bool conn_has_host(const struct conn *c) {
    return c->host_inode && inode_of(c->host) == c->host_inode;
}

bool conn_closed(const struct conn *c) {
    struct pollfd p = {.fd = c->sock, .events = POLLIN};
    int saved = errno;
    bool closed = poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR | POLLNVAL);
    errno = saved;
    return closed;
}
