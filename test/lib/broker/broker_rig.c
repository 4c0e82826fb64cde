/* SPDX-License-Identifier: Apache-2.0
 *
 * The rig's broker, worker and client.
 */
#include "test/lib/broker/broker_rig.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "test/lib/patience.h"

static void fail(const char *what) {
    fprintf(stderr, "broker rig: %s: %s\n", what, strerror(errno));
    abort();
}

/* ---- the fake worker ------------------------------------------------------------------------- */

#define REST_MS 20 /* time without an order, after which the worker sends a heartbeat */

/* Creates a page of `bytes` bytes that the receiver may only read. Returns its mapping, or NULL
 * when `bytes` is not `whole`. */
static void *make_page(const char *name, size_t bytes, size_t whole, int *fd) {
    void *map = NULL;

    *fd = fdutil_memfd(name, bytes, 1);
    if (*fd < 0) fail(name);
    if (bytes == whole) map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (map == MAP_FAILED || fdutil_seal_readonly(*fd) < 0) fail(name);
    return map;
}

/* Protects the members of struct broker_rig_worker that are not atomic: a killed worker may still
 * be running while the next one starts. */
static pthread_mutex_t shown = PTHREAD_MUTEX_INITIALIZER;

/* Answers the ATTACH of the broker's own trial job, which counts in `trials` only. */
static void answer_trial(struct broker_rig_worker *w, int fd, const struct wire_worker_msg *m) {
    struct wire_worker_msg reply = {
        .kind = WIRE_ATTACHED, .job_id = m->job_id, .result = atomic_load(&w->trial_result)};
    int completion = -1;

    atomic_fetch_add(&w->trials, 1);
    if (atomic_load(&w->trial_silent)) return;
    if (reply.result == 0)
        make_page("fake-completion", sizeof(struct wire_completion), 0, &completion);
    else
        strcpy(reply.text, "no room for it");
    fdutil_send(fd, &reply, sizeof(reply), &completion, completion >= 0 ? 1 : 0);
    fdutil_close(&completion);
}

static uint64_t inode_of(int fd) {
    struct stat st = {0};

    if (fd >= 0 && fstat(fd, &st) < 0) fail("fstat");
    return st.st_ino;
}

static void answer_attach(struct broker_rig_worker *w, int fd, struct wire_worker_msg *m) {
    struct wire_worker_msg reply = {.kind = WIRE_ATTACHED, .job_id = m->job_id};
    int completion = -1, recovery_state = -1;

    atomic_store(&w->last_dev_base, m->windows.dev_base);
    if (atomic_load(&w->collide) > 0) {
        atomic_fetch_sub(&w->collide, 1);
        reply.result = -EEXIST;
    } else if (atomic_load(&w->attach_result) < 0) {
        reply.result = atomic_load(&w->attach_result);
        strcpy(reply.text, "out of patience");
    } else {
        size_t whole = sizeof(struct wire_completion);
        size_t bytes = atomic_load(&w->bad_completion) ? 4096 : whole;

        pthread_mutex_lock(&shown);
        if (w->page) munmap(w->page, whole);
        w->page = make_page("fake-completion", bytes, whole, &completion);
        w->last_attach = *m;
        if (atomic_load(&w->recovery_states))
            recovery_state = fdutil_memfd("fake-recovery-state", 4096, 0);
        w->recovery_inode = inode_of(recovery_state);
        pthread_mutex_unlock(&shown);
        atomic_fetch_add(&w->attached, 1);
    }
    fdutil_send(fd, &reply, sizeof(reply), (int[]){completion, recovery_state},
                completion < 0       ? 0
                : recovery_state < 0 ? 1
                                     : 2);
    fdutil_close(&completion);
    fdutil_close(&recovery_state);
}

/* Replaces the received page by one of its own with the same contents. */
static int take_page(struct broker_rig_worker *w, int old) {
    size_t whole = sizeof(struct wire_completion);
    size_t bytes = atomic_load(&w->bad_restore) ? 4096 : whole;
    void *before = mmap(NULL, whole, PROT_READ, MAP_SHARED, old, 0);
    int fd = -1;

    if (before == MAP_FAILED) fail("the page before");
    if (w->page) munmap(w->page, whole);
    w->page = make_page("fake-completion", bytes, whole, &fd);
    if (w->page) memcpy(w->page, before, whole);
    munmap(before, whole);
    return fd;
}

static void answer_restore(struct broker_rig_worker *w, int fd, const struct wire_worker_msg *m,
                           const int *fds) {
    struct wire_worker_msg reply = {
        .kind = WIRE_ATTACHED, .job_id = m->job_id, .result = atomic_load(&w->restore_result)};
    int completion = -1, at = atomic_load(&w->restores);

    pthread_mutex_lock(&shown);
    w->last_restore = *m;
    w->restore_ids[at % 64] = m->job_id;
    for (int i = 0; i < 5; i++)
        w->restore_inodes[i] = inode_of(fds[i]);
    if (reply.result < 0)
        strcpy(reply.text, "kernel k was under way");
    else
        completion = take_page(w, fds[3]);
    pthread_mutex_unlock(&shown);
    atomic_fetch_add(&w->restores, 1);
    if (atomic_load(&w->restore_dies) > 0) {
        atomic_fetch_sub(&w->restore_dies, 1);
        shutdown(fd, SHUT_RDWR);
    } else if (!atomic_load(&w->restore_silent)) {
        fdutil_send(fd, &reply, sizeof(reply), &completion, completion >= 0);
        reply.kind = WIRE_RESUMED;
        if (reply.result == 0 && !atomic_load(&w->resume_silent))
            fdutil_send(fd, &reply, sizeof(reply), NULL, 0);
    }
    fdutil_close(&completion);
}

static void answer_set(struct broker_rig_worker *w, int fd, const struct wire_worker_msg *m) {
    struct wire_worker_msg reply = {
        .kind = WIRE_DID, .job_id = m->job_id, .result = atomic_load(&w->set_result)};

    pthread_mutex_lock(&shown);
    w->last_set = *m;
    pthread_mutex_unlock(&shown);
    /* counted before the answer, so that its reader sees the count */
    atomic_fetch_add(&w->sets, 1);
    if (reply.result < 0) strcpy(reply.text, "the lever is stuck");
    if (!atomic_load(&w->set_silent)) fdutil_send(fd, &reply, sizeof(reply), NULL, 0);
}

static void answer_file(struct broker_rig_worker *w, int fd, const struct wire_worker_msg *m,
                        int file) {
    struct wire_worker_msg reply = {.kind = WIRE_FILED, .job_id = m->job_id};
    struct stat st = {0};

    if (file >= 0 && fstat(file, &st) < 0) fail("a file");
    pthread_mutex_lock(&shown);
    w->last_file = *m;
    pthread_mutex_unlock(&shown);
    atomic_store(&w->file_inode, st.st_ino);
    atomic_fetch_add(&w->files, 1);
    if (!atomic_load(&w->file_silent)) fdutil_send(fd, &reply, sizeof(reply), NULL, 0);
}

static void take_kernels(struct broker_rig_worker *w, int memfd) {
    struct kernel_wire k;

    if (kernel_wire_open(&k, memfd) < 0) fail("WIRE_KERNELS");
    pthread_mutex_lock(&shown);
    w->last_hints = k.hints;
    w->last_profiles = k.profiles;
    pthread_mutex_unlock(&shown);
    kernel_wire_close(&k);
    atomic_fetch_add(&w->kernels, 1);
}

static void obey(struct broker_rig_worker *w, int fd, struct wire_worker_msg *m, const int *fds) {
    if (m->job_id == WIRE_TRIAL_JOB && m->kind == WIRE_DETACH) {
        struct wire_worker_msg reply = {.kind = WIRE_DETACHED, .job_id = m->job_id};

        fdutil_send(fd, &reply, sizeof(reply), NULL, 0);
    } else if (m->job_id == WIRE_TRIAL_JOB) {
        answer_trial(w, fd, m);
    } else if (m->kind == WIRE_ATTACH) {
        answer_attach(w, fd, m);
    } else if (m->kind == WIRE_RESTORE) {
        answer_restore(w, fd, m, fds);
    } else if (m->kind == WIRE_RESTORED) {
        atomic_fetch_add(&w->restored, 1);
    } else if (m->kind == WIRE_SET_JOB || m->kind == WIRE_SET_POLICY) {
        answer_set(w, fd, m);
    } else if (m->kind == WIRE_BEGIN) {
        atomic_fetch_add(&w->begins, 1);
    } else if (m->kind == WIRE_LIMITS) {
        pthread_mutex_lock(&shown);
        w->last_limits = *m;
        pthread_mutex_unlock(&shown);
        atomic_fetch_add(&w->limits, 1);
    } else if (m->kind == WIRE_FILE || m->kind == WIRE_KEEP) {
        answer_file(w, fd, m, fds[0]);
    } else if (m->kind == WIRE_KERNELS) {
        take_kernels(w, fds[0]);
    } else if (m->kind == WIRE_FORGET) {
        pthread_mutex_lock(&shown);
        w->last_forget = *m;
        pthread_mutex_unlock(&shown);
        atomic_fetch_add(&w->forgets, 1);
    } else if (m->kind == WIRE_DETACH && !atomic_load(&w->keep)) {
        struct wire_worker_msg reply = {.kind = WIRE_DETACHED, .job_id = m->job_id};

        atomic_store(&w->detach_result, m->result);
        fdutil_send(fd, &reply, sizeof(reply), NULL, 0);
        /* counted after DETACH is handled, so that later messages to the broker come after it */
        atomic_fetch_add(&w->detached, 1);
    }
}

/* Device memory that a worker got from the worker before it. */
struct given {
    bool any;
    int memory; /* -1: none */
};

static void keep_part(int sock, uint64_t id, int fd) {
    struct wire_part m = {.kind = WIRE_PART, .id = id};

    if (fdutil_send(sock, &m, sizeof(m), &fd, fd >= 0) < 0) fail("keep");
}

static void keep_early(int sock) {
    int part = fdutil_memfd("early", 4096, 0);

    keep_part(sock, 1, part);
    fdutil_close(&part);
}

static void say_ready(struct broker_rig_worker *w, int fd, struct given given) {
    struct wire_worker_msg m = {.kind = WIRE_READY, .result = atomic_load(&w->ready_result)};
    int fds[2] = {-1, -1};

    strcpy(m.device.name, "Fake GPU");
    m.device.driver_index = 4;
    m.device.memory_bytes = 1ull << 30;
    m.device.granularity_bytes = 2u << 20;
    m.device.sm_count = w->sm_count ? w->sm_count : 4;
    m.device.cc_major = 9;
    m.device.pci_domain = 2;
    m.device.pci_bus = w->pci_bus ? w->pci_bus : 0x41;
    m.device.uuid[0] = (uint8_t)w->uuid;
    m.device.pci_slot = 5;
    if (atomic_load(&w->fail_ready) > 0) {
        atomic_fetch_sub(&w->fail_ready, 1);
        m.result = -EIO;
    }
    if (m.result < 0) strcpy(m.text, "the fan is stuck");
    if (!atomic_load(&w->no_board)) {
        pthread_mutex_lock(&shown);
        if (w->board) munmap(w->board, sizeof(*w->board));
        w->board = make_page("fake-board", sizeof(*w->board), sizeof(*w->board), &fds[0]);
        w->board->free_bytes = 1ull << 30;
        pthread_mutex_unlock(&shown);
    }
    if (given.any && !atomic_load(&w->fresh)) m.flags = WIRE_READY_ADOPTED;
    if (m.flags && given.memory >= 0) {
        fds[1] = dup(given.memory);
    } else if (atomic_load(&w->recovery_states) && !atomic_load(&w->in_parts)) {
        fds[1] = fdutil_memfd("fake-memory", 4096, 1);
    }
    atomic_store(&w->memory_inode, inode_of(fds[1]));
    if (atomic_load(&w->early_part)) keep_early(fd);
    fdutil_send(fd, &m, sizeof(m), fds, fds[1] >= 0 ? 2 : fds[0] >= 0);
    for (int i = 0; i < 2; i++)
        fdutil_close(&fds[i]);
    m = (struct wire_worker_msg){.kind = 99, .job_id = 7};
    if (atomic_load(&w->nonsense)) fdutil_send(fd, &m, sizeof(m), NULL, 0);
}

/* The thread that launches a worker passes the descriptor: by the time the worker's thread runs,
 * w->fd may already be the next worker's. */
struct launched {
    struct broker_rig_worker *w;
    int fd;
    struct given given;
};

static void note_silence(struct broker_rig_worker *w, uint64_t since_ns) {
    uint64_t ns = fdutil_now_ns() - since_ns;

    if (ns > atomic_load(&w->silence_ns)) atomic_store(&w->silence_ns, ns);
}

/* `spoke_ns`: a time just before the latest heartbeat. */
static void beat(struct broker_rig_worker *w, int fd, uint64_t *spoke_ns) {
    struct wire_worker_msg m = {.kind = WIRE_BEAT};
    uint64_t before_ns = fdutil_now_ns();

    if (!atomic_load(&w->silent) && !atomic_load(&w->never_ready))
        fdutil_send(fd, &m, sizeof(m), NULL, 0);
    note_silence(w, *spoke_ns);
    *spoke_ns = before_ns;
    atomic_fetch_add(&w->rests, 1);
}

static void *worker_main(void *arg) {
    struct broker_rig_worker *w = ((struct launched *)arg)->w;
    struct given given = ((struct launched *)arg)->given;
    int fd = ((struct launched *)arg)->fd;
    uint64_t spoke_ns = fdutil_now_ns();

    free(arg);
    if (!atomic_load(&w->never_ready)) say_ready(w, fd, given);
    fdutil_close(&given.memory);
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        struct wire_worker_msg m;
        int fds[5] = {-1, -1, -1, -1, -1}, nfds = 5;

        if (poll(&p, 1, REST_MS) == 0) {
            beat(w, fd, &spoke_ns);
            continue;
        }
        if (fdutil_recv(fd, &m, sizeof(m), fds, &nfds) <= 0) break;
        obey(w, fd, &m, fds);
        for (int i = 0; i < nfds; i++)
            fdutil_close(&fds[i]);
    }
    atomic_compare_exchange_strong(&w->fd, &(int){fd}, -1);
    close(fd);
    note_silence(w, spoke_ns);
    atomic_fetch_sub(&w->running, 1);
    return NULL;
}

static void drop_parts(struct broker_rig_worker *w) {
    for (uint32_t i = 0; i < w->part_count; i++)
        close(w->parts[i].fd);
    free(w->parts);
    w->parts = NULL;
    w->part_count = 0;
}

/* Duplicates the descriptors, as a separate process would have its own. */
static void take_parts(struct broker_rig_worker *w, int list) {
    struct stat st = {0};

    pthread_mutex_lock(&shown);
    drop_parts(w);
    if (list >= 0 && fstat(list, &st) < 0) fail("fstat");
    w->parts = malloc((size_t)st.st_size + 1);
    if (st.st_size && pread(list, w->parts, (size_t)st.st_size, 0) != st.st_size) fail("pread");
    w->part_count = (uint32_t)((size_t)st.st_size / sizeof(*w->parts));
    for (uint32_t i = 0; i < w->part_count; i++)
        w->parts[i].fd = fcntl(w->parts[i].fd, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&shown);
}

static int launch_fake(void *arg, const struct spawn_launch *launch) {
    struct broker_rig *r = arg;
    struct broker_rig_worker *w = launch->gpu == 0 ? &r->worker : &r->second;
    int fd = launch->fd, memory_fd = launch->memory_fd;
    struct given given = {memory_fd >= 0 || launch->kept_fd >= 0, -1};
    pthread_t t;

    if (atomic_load(&w->launch_result) < 0) {
        atomic_fetch_add(&w->launches, 1);
        close(fd);
        return atomic_load(&w->launch_result);
    }
    struct launched *l = malloc(sizeof(*l));
    if (!l) return -ENOMEM;
    atomic_store(&w->given_inode, inode_of(memory_fd));
    take_parts(w, launch->kept_fd);
    if (memory_fd >= 0) given.memory = dup(memory_fd);
    *l = (struct launched){w, fd, given};
    atomic_store(&w->fd, fd);
    atomic_fetch_add(&w->running, 1);
    if (pthread_create(&t, NULL, worker_main, l) != 0) {
        atomic_fetch_sub(&w->running, 1);
        free(l);
        return -EAGAIN;
    }
    pthread_detach(t);
    atomic_fetch_add(&w->launches, 1);
    return 0;
}

/* When the worker finds nothing to do for the second time, it has looked after our request. */
void broker_rig_settle(struct broker_rig *r) {
    struct broker_rig_worker *w = &r->worker;
    int rests;

    if (!broker_rig_wait(&w->running, 1)) fail("one worker");
    rests = atomic_load(&w->rests);
    if (!PATIENCE_UNTIL(atomic_load(&w->rests) - rests >= 2)) fail("a worker at rest");
}

void broker_rig_kill_worker(struct broker_rig *r) {
    shutdown(atomic_load(&r->worker.fd), SHUT_RDWR);
}

void broker_rig_say(struct broker_rig *r, const struct wire_worker_msg *msg) {
    if (fdutil_send(atomic_load(&r->worker.fd), msg, sizeof(*msg), NULL, 0) < 0) fail("say");
}

void broker_rig_keep(struct broker_rig *r, uint64_t id, int fd) {
    keep_part(atomic_load(&r->worker.fd), id, fd);
}

void broker_rig_learned(struct broker_rig *r, const struct kernel_wire_batch *b, size_t bytes) {
    if (fdutil_send(atomic_load(&r->worker.fd), b, bytes, NULL, 0) < 0) fail("learned");
}

/* ---- the broker ------------------------------------------------------------------------------ */

static void remove_dir(const char *dir) {
    static const char *const files[] = {"salusd.lock",     "job.sock",           "ctl.sock",
                                        "profiles",        "profiles.corrupt",   "kernels",
                                        "kernels.corrupt", "kernels.Other-GPU-8"};
    char path[128];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
}

/* Removes the directory after the test's end. A test that fails, crashes or times out cannot do
 * so itself; a reparented child process waits for its end. */
static void remove_after_end(const char *dir) {
    int ends[2];
    char byte;
    pid_t child = -1;

    if (pipe2(ends, O_CLOEXEC) < 0 || (child = fork()) < 0) fail("janitor");
    if (child > 0) {
        close(ends[0]);
        waitpid(child, NULL, 0);
        return; /* the test's end closes the other end of the pipe, however the test ends */
    }
    if (fork() != 0) _exit(0);
    setsid();
    dup2(ends[0], 0);
    close_range(1, ~0u, 0);
    while (read(0, &byte, 1) > 0) {
    }
    remove_dir(dir);
    _exit(0);
}

void broker_rig_init(struct broker_rig *r) {
    memset(r, 0, sizeof(*r));
    log_init("none");
    config_defaults(&r->config);
    strcpy(r->dir, "/tmp/salus-rig-XXXXXX");
    if (!mkdtemp(r->dir)) fail("mkdtemp");
    remove_after_end(r->dir);
    strcpy(r->config.run_dir, r->dir);
    r->config.handshake_timeout = r->config.worker_timeout = patience_ms() * 1000000ull;
    r->config.worker_tries = 1000000;
    atomic_store(&r->worker.fd, -1);
    atomic_store(&r->second.fd, -1);
}

static void *server_main(void *arg) {
    struct broker_rig *r = arg;

    r->result = server_run(r->server);
    atomic_store(&r->ended, 1);
    return NULL;
}

static void make_server(struct broker_rig *r, const struct server_hooks *hooks) {
    char why[512];

    if (server_create(&r->server, &r->config, NULL, hooks, why, sizeof(why)) < 0) {
        fprintf(stderr, "broker rig: %s\n", why);
        abort();
    }
}

void broker_rig_listen(struct broker_rig *r) {
    struct server_hooks hooks = {.launch = launch_fake, .arg = r};

    make_server(r, &hooks);
}

void broker_rig_run(struct broker_rig *r) {
    if (pthread_create(&r->thread, NULL, server_main, r) != 0) fail("thread");
}

void broker_rig_start(struct broker_rig *r) {
    broker_rig_listen(r);
    broker_rig_run(r);
}

void broker_rig_start_real(struct broker_rig *r) {
    make_server(r, NULL);
    broker_rig_run(r);
}

void broker_rig_stop_keep(struct broker_rig *r) {
    server_stop(r->server);
    pthread_join(r->thread, NULL);
    server_destroy(r->server);
    broker_rig_wait(&r->worker.running, 0); /* the worker's threads use the rig */
    broker_rig_wait(&r->second.running, 0);
}

void broker_rig_stop(struct broker_rig *r) {
    broker_rig_stop_keep(r);
    drop_parts(&r->worker);
    drop_parts(&r->second);
    if (r->worker.page) munmap(r->worker.page, sizeof(*r->worker.page));
    if (r->worker.board) munmap(r->worker.board, sizeof(*r->worker.board));
    if (r->second.page) munmap(r->second.page, sizeof(*r->second.page));
    if (r->second.board) munmap(r->second.board, sizeof(*r->second.board));
    remove_dir(r->dir);
}

/* ---- the client ------------------------------------------------------------------------------ */

int broker_rig_connect(const struct broker_rig *r, const char *socket_name) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = patience_ms() / 1000};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", r->dir, socket_name);
    if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) fail("connect");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

struct wire_hello broker_rig_hello(void) {
    struct wire_hello h = {
        .magic = WIRE_MAGIC, .major = WIRE_MAJOR, .minor = WIRE_MINOR, .pid = getpid()};

    strcpy(h.name, "rig");
    return h;
}

void broker_rig_expect(int fd, void *msg, size_t bytes, int *fds, int want_fds) {
    int got[FDUTIL_MAX_FDS], nfds = FDUTIL_MAX_FDS;
    unsigned char buf[2048];
    int n = fdutil_recv(fd, buf, sizeof(buf), got, &nfds);

    if (n != (int)bytes || nfds != want_fds) {
        fprintf(stderr, "broker rig: got %d bytes and %d descriptors, not %zu and %d\n", n, nfds,
                bytes, want_fds);
        abort();
    }
    memcpy(msg, buf, bytes);
    if (fds) memcpy(fds, got, sizeof(int) * (size_t)nfds);
}

int broker_rig_closed(int fd) {
    char byte;
    ssize_t n = recv(fd, &byte, 1, 0);

    return n == 0 || (n < 0 && errno != EAGAIN); /* recv that returns 0 does not set errno */
}

struct wire_offer broker_rig_attach(int fd, int *fds) {
    struct wire_hello h = broker_rig_hello();

    return broker_rig_attach_as(fd, &h, fds);
}

/* Marks the page as a client does that has created a context. */
void broker_rig_use(int submission_fd) {
    struct wire_submission *s =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, submission_fd, 0);

    if (s == MAP_FAILED) fail("the submission page");
    atomic_store(&s->used, 1);
    munmap(s, 4096);
}

struct wire_offer broker_rig_attach_as(int fd, const struct wire_hello *h, int *fds) {
    struct wire_answer a = {.magic = WIRE_MAGIC, .accepted = 1};
    struct wire_welcome w;
    struct wire_offer o;

    fdutil_send(fd, h, sizeof(*h), NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
    fdutil_send(fd, &a, sizeof(a), NULL, 0);
    broker_rig_expect(fd, &w, sizeof(w), NULL, 0);
    if (o.result != 0 || w.result != 0) fail("attach");
    broker_rig_use(fds[WIRE_FD_SUBMISSION]);
    return o;
}

int broker_rig_wait(const _Atomic int *word, int value) {
    return PATIENCE_UNTIL(atomic_load(word) == value);
}

int broker_rig_count_fds(void) {
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}
