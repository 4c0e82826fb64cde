/* SPDX-License-Identifier: Apache-2.0
 *
 * The handshake. The input is a client's messages, each after a byte with its length (255: the
 * rest), sent to a broker whose loop runs here between them, with a worker that answers. No input
 * may crash the broker, leak a connection, cost the broker its worker, or be welcomed without two
 * correct messages. A message may also be a question, or a file of a running client; messages whose
 * length is a multiple of four carry a descriptor.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "common/utf8.h"
#include "daemon/broker/clients/clients.h"
#include "daemon/broker/clients/hello.h"
#include "daemon/broker/server.h"
#include "daemon/broker/server_parts.h"
#include "proto/wire/job.h"

static struct server *server;
static int worker_fd = -1;

static int launch(void *arg, const struct spawn_launch *l) {
    struct wire_worker_msg ready = {.kind = WIRE_READY};

    ready.device.memory_bytes = 1u << 30;
    if (worker_fd >= 0) close(worker_fd);
    worker_fd = l->fd;
    return fdutil_send(l->fd, &ready, sizeof(ready), NULL, 0);
}

static void remove_dir(void) {
    char dir[108];

    strcpy(dir, server->broker.config.run_dir);
    server_destroy(server);
    strcat(dir, "/salusd.lock");
    unlink(dir);
    *strrchr(dir, '/') = '\0';
    rmdir(dir);
}

/* The answer to one message; notifications have none. */
static void answer(struct wire_worker_msg *m) {
    int completion = -1;

    if (m->kind == WIRE_ATTACH) {
        completion = fdutil_memfd("fuzz", sizeof(struct wire_completion), 0);
        m->kind = WIRE_ATTACHED;
    } else if (m->kind == WIRE_DETACH) {
        m->kind = WIRE_DETACHED;
    } else if (m->kind == WIRE_FILE) {
        m->kind = WIRE_FILED;
    } else {
        return;
    }
    fdutil_send(worker_fd, m, sizeof(*m), &completion, completion >= 0);
    fdutil_close(&completion);
}

/* Answers the broker's messages to the worker, and runs the broker until it is idle. */
static void turn(void) {
    struct wire_worker_msg m;
    int fds[4], nfds, n;

    for (int i = 0; i < 6; i++) {
        uv_run(&server->loop, UV_RUN_NOWAIT);
        for (;;) {
            nfds = 4;
            if (recv(worker_fd, &m, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) break;
            n = fdutil_recv(worker_fd, &m, sizeof(m), fds, &nfds);
            if (n != sizeof(m)) abort();
            for (int k = 0; k < nfds; k++)
                close(fds[k]);
            answer(&m);
        }
    }
}

static void start(void) {
    struct server_hooks hooks = {.launch = launch};
    static struct config config;
    char dir[] = "/tmp/salus-fuzz-XXXXXX", why[256];

    log_init("none");
    config_defaults(&config);
    config.window_host_bytes = 64u << 20;
    config.profiles[0] = '\0';
    config.worker_timeout = UINT64_MAX / 2; /* this worker sends no heartbeats */
    if (!mkdtemp(dir)) abort();
    strcpy(config.run_dir, dir);
    if (server_create(&server, &config, NULL, &hooks, why, sizeof(why)) < 0) abort();
    atexit(remove_dir);
    supervise_start(&server->supervise[0]);
    turn();
    if (!worker_ready(&server->broker.gpus.items[0].worker)) abort();
}

static void check_words(const uint8_t *msg, size_t n) {
    char why[HELLO_WHY_BYTES] = "";
    char command[WIRE_COMMAND_BYTES];
    struct wire_file file;
    struct wire_exit end;
    struct hello h;
    bool accepted;
    uint32_t gpu;

    if (hello_check(msg, n, &h, why, sizeof(why)) == 0) {
        if ((n != sizeof(struct wire_hello) && n != WIRE_HELLO_BYTES_1_7) || !*h.name ||
            !memchr(h.name, 0, sizeof(h.name)))
            abort();
        for (const char *p = h.name; *p; p++)
            if (*p < ' ' || *p > '~' || *p == '"') abort();
        if (h.job.slo_of > 3 || h.job.weight > JOB_WEIGHT_MAX ||
            h.job.persistent_bytes > JOB_BYTES_MAX || h.job.ephemeral_bytes > JOB_BYTES_MAX ||
            (h.job.flags & ~(WIRE_JOB_RESERVED | WIRE_JOB_NULL | WIRE_JOB_SAVEPOINTS)) ||
            h.job.slo_ns > JOB_NS_MAX || !memchr(h.job.group, 0, sizeof(h.job.group)))
            abort();
        if (h.job.flags & WIRE_JOB_NULL && !strstr(h.name, JOB_TAG)) abort();
    } else if (!*why) {
        abort();
    }
    if (hello_check_command(msg, n, command, why, sizeof(why)) == 0)
        for (const char *p = command; *p; p++)
            if (utf8_shown(p, strlen(p)) == 0 && (*p & 0xc0) != 0x80) abort();
    if (hello_check_exit(msg, n, &end, why, sizeof(why)) == 0 &&
        (n != sizeof(end) || !end.run || end.status > 255 || end.signal > 64))
        abort();
    hello_check_answer(msg, n, &accepted, why, sizeof(why));
    if (hello_check_file(msg, n, &file, why, sizeof(why)) == 0 &&
        (n != sizeof(file) || file.file >= WIRE_FILES || file.reply >= WIRE_REPLIES))
        abort();
    if (hello_asks(msg, n) && hello_check_question(msg, n, &gpu, why, sizeof(why)) == 0 &&
        n != sizeof(struct wire_question))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static int lent = -1;
    int pair[2], sent = 0;

    if (!server) {
        start();
        lent = fdutil_memfd("lent", 4096, 0);
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) abort();
    clients_accept(&server->broker.clients, pair[0]);
    while (n > 0 && sent < 4) {
        size_t length = *data++;

        n--;
        if (length == 255 || length > n) length = n;
        check_words(data, length);
        if (length > 0 && fdutil_send(pair[1], data, length, &lent, sent > 1) < 0) break;
        data += length;
        n -= length;
        sent++;
        turn();
        if (server->broker.clients.running > 0 && sent < 2)
            abort(); /* welcomed without an answer message */
    }
    close(pair[1]);
    turn();
    if (server->broker.clients.count || !list_empty(&server->broker.gpus.items[0].attachments.list))
        abort();
    if (server->broker.gpus.items[0].worker.restarts > 0) abort();
    return 0;
}
