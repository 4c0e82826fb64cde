/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients of a model "add" over persistent connections, each with one request at a time. Measures
 * the server process's CPU time for one request, by the scheduler's accounting (schedstat) of all
 * its threads. Each answer is checked.
 *
 *   request_bench PORT PID CLIENTS REQUESTS    prints {"ns": CPU of a request, "wall_ns": time of
 * one}
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netinet/tcp.h>

#include "common/fdutil.h"
#include "test/bench/serving/request.h"

#define MAX_CLIENTS 64
#define WARM 200 /* requests before the measurement */

struct client {
    int fd;
    float a[REQUEST_NUMBERS], b[REQUEST_NUMBERS];
    char in[REQUEST_MOST];
    size_t have;
};

struct run {
    struct client client[MAX_CLIENTS];
    int clients, poll;
    long asked, answered;
};

static void fail(const char *what) {
    fprintf(stderr, "request_bench: %s\n", what);
    exit(1);
}

static uint64_t cpu_ns(const char *pid) {
    char path[600];
    uint64_t sum = 0, ns;
    struct dirent *e;
    DIR *d;

    snprintf(path, sizeof(path), "/proc/%s/task", pid);
    d = opendir(path);
    if (!d) fail("the server's process is gone");
    while ((e = readdir(d)) != NULL) {
        FILE *f;

        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof(path), "/proc/%s/task/%s/schedstat", pid, e->d_name);
        f = fopen(path, "re");
        if (f && fscanf(f, "%" SCNu64, &ns) == 1) sum += ns;
        if (f) fclose(f);
    }
    closedir(d);
    return sum;
}

static void ask(struct run *r, struct client *c) {
    char out[REQUEST_MOST];
    size_t json = sizeof(request_json) - 1, n;

    for (int i = 0; i < REQUEST_NUMBERS; i++) {
        c->a[i] = (float)(r->asked % 1000 + i);
        c->b[i] = (float)(i * 3);
    }
    n = (size_t)snprintf(out, sizeof(out),
                         "POST /v2/models/add/infer HTTP/1.1\r\nHost: localhost\r\n"
                         "Content-Length: %zu\r\nInference-Header-Content-Length: %zu\r\n\r\n%s",
                         json + 2 * REQUEST_TENSOR, json, request_json);
    memcpy(out + n, c->a, REQUEST_TENSOR);
    memcpy(out + n + REQUEST_TENSOR, c->b, REQUEST_TENSOR);
    n += 2 * REQUEST_TENSOR;
    if (send(c->fd, out, n, MSG_NOSIGNAL) != (ssize_t)n) fail("a request was not taken whole");
    c->have = 0;
    r->asked++;
}

/* True when the answer has arrived; a wrong answer ends the program. */
static bool answered(struct client *c) {
    float y[REQUEST_NUMBERS];
    size_t bytes = request_bytes(c->in, c->have);

    if (!bytes || c->have < bytes) return false;
    if (c->have > bytes || memcmp(c->in, "HTTP/1.1 200", 12) != 0) fail(c->in);
    memcpy(y, c->in + bytes - REQUEST_TENSOR, REQUEST_TENSOR);
    for (int i = 0; i < REQUEST_NUMBERS; i++)
        if (y[i] != c->a[i] + c->b[i]) fail("an answer is wrong");
    return true;
}

static void receive(struct run *r, struct client *c, long until) {
    ssize_t n = recv(c->fd, c->in + c->have, sizeof(c->in) - 1 - c->have, 0);

    if (n <= 0) fail("the server hung up");
    c->have += (size_t)n;
    c->in[c->have] = 0;
    if (!answered(c)) return;
    r->answered++;
    if (r->asked < until) ask(r, c);
}

static void run_until(struct run *r, long until) {
    struct epoll_event ready[MAX_CLIENTS];

    for (int i = 0; i < r->clients && r->asked < until; i++)
        ask(r, &r->client[i]);
    while (r->answered < until) {
        int n = epoll_wait(r->poll, ready, MAX_CLIENTS, 10000);

        if (n <= 0) fail("no answer in 10 s");
        for (int i = 0; i < n; i++)
            receive(r, ready[i].data.ptr, until);
    }
}

static void start(struct run *r, int port) {
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    r->poll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < r->clients; i++) {
        struct client *c = &r->client[i];
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};

        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
            fail("no server on that port");
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        epoll_ctl(r->poll, EPOLL_CTL_ADD, c->fd, &e);
    }
}

int main(int argc, char **argv) {
    static struct run r;
    uint64_t cpu, wall;
    long requests;

    if (argc != 5) fail("PORT PID CLIENTS REQUESTS");
    r.clients = atoi(argv[3]);
    requests = atol(argv[4]);
    if (r.clients < 1 || r.clients > MAX_CLIENTS || requests < 1) fail("1 to 64 clients");
    start(&r, atoi(argv[1]));
    run_until(&r, WARM);
    cpu = cpu_ns(argv[2]);
    wall = fdutil_now_ns();
    run_until(&r, WARM + requests);
    printf("{\"ns\": %.0f, \"wall_ns\": %.0f}\n",
           (double)(cpu_ns(argv[2]) - cpu) / (double)requests,
           (double)(fdutil_now_ns() - wall) / (double)requests);
    return 0;
}
