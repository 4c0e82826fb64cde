/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker's messages and its end. The input is steps of two bytes, for workers, clients and files,
 * on a broker whose loop runs here between them. Jobs move from worker to worker; a worker that
 * breaks the protocol is replaced. No input may crash the broker, leak a job, a connection or a
 * descriptor, or send a client a page out of turn. A client that gets no message still has its job.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/clients/clients.h"
#include "daemon/broker/server.h"
#include "daemon/broker/server_parts.h"

#define CLIENTS 3

static struct server *server;
static int worker_fd = -1; /* end of the worker's socket; -1: the worker has ended */
static bool honest;        /* the worker answers all at once, and accepts the memory it is given */
static bool fresh;         /* the next worker does not accept the memory */

static struct {
    int sock; /* -1: none */
    uint32_t job, moved;
    struct wire_submission *page;
} clients[CLIENTS];

/* ---- the worker ------------------------------------------------------------------------------ */

static void say(struct wire_worker_msg *m, const int *fds, int nfds) {
    if (worker_fd >= 0) fdutil_send(worker_fd, m, sizeof(*m), fds, nfds);
}

/* Parts must come once, in order, and be complete. */
static void look_at_parts(int list) {
    struct wire_kept parts[8];
    ssize_t n = list < 0 ? 0 : pread(list, parts, sizeof(parts), 0);

    if (n % (ssize_t)sizeof(parts[0]) || (list >= 0 && n <= 0)) abort();
    for (ssize_t i = 0; i < n / (ssize_t)sizeof(parts[0]); i++) {
        if (i && parts[i].id <= parts[i - 1].id) abort();
        if (parts[i].id >= 8 || !fdutil_is_memfd(parts[i].fd)) abort();
    }
}

static int launch(void *arg, const struct spawn_launch *l) {
    struct wire_worker_msg ready = {.kind = WIRE_READY};
    int fds[2] = {fdutil_memfd("board", sizeof(struct wire_board), 0), -1};

    if (worker_fd >= 0) close(worker_fd);
    worker_fd = l->fd;
    look_at_parts(l->kept_fd);
    ready.device.memory_bytes = 1u << 30;
    fds[1] = l->memory_fd >= 0 && !fresh ? dup(l->memory_fd) : fdutil_memfd("memory", 4096, 1);
    if (l->memory_fd >= 0 && !fresh) ready.flags = WIRE_READY_ADOPTED;
    fresh = false;
    say(&ready, fds, 2);
    close(fds[0]);
    close(fds[1]);
    return 0;
}

static void answer_attach(struct wire_worker_msg *m, bool again) {
    int fds[2] = {fdutil_memfd("page", sizeof(struct wire_completion), 0),
                  fdutil_memfd("recovery_state", 4096, 0)};

    m->kind = WIRE_ATTACHED;
    say(m, fds, again ? 1 : 2);
    close(fds[0]);
    close(fds[1]);
}

static void answer(struct wire_worker_msg *m) {
    if (m->kind == WIRE_ATTACH) {
        answer_attach(m, false);
    } else if (m->kind == WIRE_RESTORE) {
        if (honest) answer_attach(m, true);
    } else if (m->kind == WIRE_DETACH) {
        m->kind = WIRE_DETACHED;
        say(m, NULL, 0);
    } else if (m->kind == WIRE_FILE || m->kind == WIRE_KEEP) {
        m->kind = WIRE_FILED;
        if (honest) say(m, NULL, 0);
    }
}

/* Answers the broker's messages, and runs the broker until it is idle. */
static void turn(void) {
    struct wire_worker_msg m;
    int fds[FDUTIL_MAX_FDS], nfds;

    for (int i = 0; i < 8; i++) {
        uv_run(&server->loop, UV_RUN_NOWAIT);
        while (worker_fd >= 0 && recv(worker_fd, &m, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
            nfds = FDUTIL_MAX_FDS;
            if (fdutil_recv(worker_fd, &m, sizeof(m), fds, &nfds) != sizeof(m)) abort();
            for (int k = 0; k < nfds; k++)
                close(fds[k]);
            answer(&m);
        }
    }
}

static void end_worker(void) {
    if (worker_fd >= 0) close(worker_fd);
    worker_fd = -1;
}

/* Sends any message about any job, with descriptors that fit or do not. */
static void lie(uint8_t what) {
    struct wire_worker_msg m = {.kind = 1 + what % 23};
    unsigned who = what / 23 % (CLIENTS + 2);
    int fds[2] = {-1, -1}, nfds = what & 1 ? 2 : (what >> 1 & 1);

    m.job_id = who < CLIENTS ? clients[who].job : who == CLIENTS ? WIRE_TRIAL_JOB : 77;
    m.result = what & 64 ? -EIO : 0;
    for (int i = 0; i < nfds; i++)
        fds[i] =
            what & 32 ? dup(STDERR_FILENO) : fdutil_memfd("any", sizeof(struct wire_completion), 0);
    say(&m, fds, nfds);
    for (int i = 0; i < nfds; i++)
        close(fds[i]);
}

/* Sends parts of its memory, in pieces, without descriptors, and with numbers that do not exist. */
static void keep(uint8_t what) {
    struct wire_part m[2] = {{.kind = what & 16 ? 77 : WIRE_PART, .id = what & 7}};
    int fds[2] = {fdutil_memfd("part", 4096, 0), fdutil_memfd("part", 4096, 0)};
    size_t bytes = what & 32 ? sizeof(m[0]) - 1 + (what & 2) : sizeof(m[0]);

    if (what & 64) m[0].id = WIRE_PARTS + (what & 1);
    if (worker_fd >= 0) fdutil_send(worker_fd, m, bytes, fds, what & 8 ? what & 2 : 1);
    for (int i = 0; i < 2; i++)
        close(fds[i]);
}

/* ---- clients --------------------------------------------------------------------------------- */

static void leave(unsigned i) {
    if (clients[i].sock < 0) return;
    close(clients[i].sock);
    munmap(clients[i].page, 4096);
    clients[i].sock = -1;
}

/* The whole handshake, if a worker serves. */
static void join(unsigned i) {
    struct wire_hello h = {.magic = WIRE_MAGIC, .major = WIRE_MAJOR, .minor = WIRE_MINOR};
    struct wire_answer a = {.magic = WIRE_MAGIC, .accepted = 1};
    int pair[2], fds[WIRE_FD_COUNT], nfds = WIRE_FD_COUNT;
    struct wire_welcome w;
    struct wire_offer o;

    if (clients[i].sock >= 0 || !worker_ready(&server->broker.gpus.items[0].worker)) return;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) abort();
    clients_accept(&server->broker.clients, pair[0]);
    fdutil_send(pair[1], &h, sizeof(h), NULL, 0);
    turn();
    if (fdutil_recv(pair[1], &o, sizeof(o), fds, &nfds) != sizeof(o) || nfds != WIRE_FD_COUNT) {
        close(pair[1]);
        return;
    }
    clients[i].page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fds[WIRE_FD_SUBMISSION], 0);
    clients[i].sock = pair[1];
    clients[i].job = o.job_id;
    clients[i].moved = 0;
    for (int k = 0; k < WIRE_FD_COUNT; k++)
        close(fds[k]);
    fdutil_send(pair[1], &a, sizeof(a), NULL, 0);
    turn();
    if (fdutil_recv(pair[1], &w, sizeof(w), NULL, NULL) != sizeof(w) || w.result != 0) leave(i);
}

/* Sends a file or, with `keep`, the end of a segment's descriptor. */
static void lend(unsigned i, bool keep) {
    struct wire_file f = {
        .magic = keep ? WIRE_KEEP_MAGIC : WIRE_FILE_MAGIC, .file = 1, .reply = 5, .ticket = 100};
    int pair[2];

    if (clients[i].sock < 0) return;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) abort();
    if (!keep) close(pair[1]);
    if (!keep) pair[1] = fdutil_memfd("lent", 4096, 0);
    fdutil_send(clients[i].sock, &f, sizeof(f), &pair[1], 1);
    close(pair[0]);
    close(pair[1]);
}

/* Expects each page in its turn and the word after it, or the end, which has an error. */
static void listen_to_broker(unsigned i) {
    struct wire_moved m;
    int fd, nfds, n;

    if (clients[i].sock < 0) return;
    for (;;) {
        fd = -1;
        nfds = 1;
        n = fdutil_recv(clients[i].sock, &m, sizeof(m), &fd, &nfds);
        if (n <= 0) break;
        if (n != sizeof(m) || nfds != 1 || m.number != ++clients[i].moved) abort();
        if (fdutil_check_sealed(fd, sizeof(struct wire_completion)) < 0) abort();
        close(fd);
    }
    if (n == -EAGAIN) {
        if (clients[i].page->moved != clients[i].moved || clients[i].page->lost) abort();
        return;
    }
    if (!clients[i].page->lost) abort();
    leave(i);
}

/* ---- workers and clients --------------------------------------------------------------------- */

static void remove_dir(void) {
    char dir[108];

    strcpy(dir, server->broker.config.run_dir);
    server_destroy(server);
    strcat(dir, "/salusd.lock");
    unlink(dir);
    *strrchr(dir, '/') = '\0';
    rmdir(dir);
}

static void start(void) {
    struct server_hooks hooks = {.launch = launch};
    static struct config config;
    char dir[] = "/tmp/salus-fuzz-XXXXXX", why[256];

    log_init("none");
    config_defaults(&config);
    config.window_host_bytes = 64u << 20;
    config.profiles[0] = config.kernels[0] = '\0';
    config.worker_timeout = UINT64_MAX / 2; /* this worker sends no heartbeats */
    if (!mkdtemp(dir)) abort();
    strcpy(config.run_dir, dir);
    if (server_create(&server, &config, NULL, &hooks, why, sizeof(why)) < 0) abort();
    atexit(remove_dir);
    for (int i = 0; i < CLIENTS; i++)
        clients[i].sock = -1;
    supervise_start(&server->supervise[0]);
}

/* Skips the pauses between restarts. */
static void let_it_serve(void) {
    struct worker *w = &server->broker.gpus.items[0].worker;

    for (int i = 0; i < 64 && !worker_ready(w); i++) {
        worker_retry(w);
        turn();
        if (w->state == WORKER_RESTORING) end_worker(); /* it was asked while it was not honest */
    }
    if (!worker_ready(w)) abort();
}

/* Pipes do not count: the broker has none, but the fuzzer's symbolizer does. */
static int count_fds(void) {
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;
    char what[64];
    int n = 0;

    while ((e = readdir(d))) {
        ssize_t length = readlinkat(dirfd(d), e->d_name, what, sizeof(what));
        n += length < 5 || memcmp(what, "pipe:", 5) != 0;
    }
    closedir(d);
    return n;
}

static void step(uint8_t what, uint8_t arg) {
    switch (what % 9) {
    case 0: join(arg % CLIENTS); break;
    case 1: leave(arg % CLIENTS); break;
    case 2: end_worker(); break;
    case 3: lie(arg); break;
    case 4: honest = arg & 1; break;
    case 5: fresh = arg & 1; break;
    case 6: lend(arg % CLIENTS, arg & 16); break;
    case 8: keep(arg); break;
    default: let_it_serve(); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static int before;

    if (!server) start();
    honest = true;
    fresh = false;
    let_it_serve();
    if (before == 0) before = count_fds();
    for (size_t i = 0; i + 1 < n && i < 64; i += 2) {
        step(data[i], data[i + 1]);
        turn();
        for (unsigned k = 0; k < CLIENTS; k++)
            listen_to_broker(k);
    }
    honest = true;
    let_it_serve();
    for (unsigned k = 0; k < CLIENTS; k++) {
        listen_to_broker(k);
        leave(k);
    }
    turn();
    end_worker(); /* it still owes answers from when it was not honest */
    turn();
    let_it_serve();
    turn();
    if (server->broker.clients.count || !list_empty(&server->broker.gpus.items[0].attachments.list))
        abort();
    if (count_fds() > before) abort();
    return 0;
}
