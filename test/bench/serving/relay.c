/* SPDX-License-Identifier: Apache-2.0
 *
 * The floor of a gateway: receives request_bench's requests, passes each to a model's process over
 * a socket of packets and returns the answer, reading only a message's length. So it makes the
 * system calls that any process between a client and a model must make, and wakes both.
 *
 *   relay    prints "relay on port N process PID"; ends when its standard input does
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netinet/tcp.h>
#include <signal.h>

#include "test/bench/serving/request.h"

#define MAX_FDS 256

struct packet {
    int fd; /* the client's socket */
    char text[REQUEST_MOST];
};

static struct packet from[MAX_FDS]; /* the received part of a request, by descriptor */
static size_t have[MAX_FDS];

static void check(bool good, const char *what) {
    if (good) return;
    perror(what);
    exit(1);
}

/* The model: adds the two tensors at the request's end, and replies with a header like the
 * gateway's. */
static void model(int fd) {
    static struct packet in, out;
    ssize_t n;

    out.fd = 0;
    while ((n = recv(fd, &in, sizeof(in), 0)) > 0) {
        const char *end = (const char *)&in + n;
        float a[REQUEST_NUMBERS], b[REQUEST_NUMBERS];
        int head = snprintf(out.text, sizeof(out.text),
                            "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
                            "Content-Type: application/octet-stream\r\n"
                            "Inference-Header-Content-Length: 129\r\nContent-Length: %zu\r\n\r\n"
                            "%-129s",
                            129 + REQUEST_TENSOR, "{\"model_name\":\"add\"}");

        out.fd = in.fd;
        memcpy(a, end - 2 * REQUEST_TENSOR, sizeof(a));
        memcpy(b, end - REQUEST_TENSOR, sizeof(b));
        for (int i = 0; i < REQUEST_NUMBERS; i++)
            a[i] += b[i];
        memcpy(out.text + head, a, sizeof(a));
        n = (ssize_t)(offsetof(struct packet, text) + (size_t)head + sizeof(a));
        check(send(fd, &out, (size_t)n, MSG_NOSIGNAL) == n, "send");
    }
    exit(0);
}

static void watch(int poll, int fd) {
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

    check(fd >= 0 && fd < MAX_FDS && !epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e), "descriptor");
}

static void take_client(int poll, int listening) {
    int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

    watch(poll, fd);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    from[fd].fd = fd;
    have[fd] = 0;
}

static void take_answer(int fd) {
    static struct packet p;
    ssize_t n = recv(fd, &p, sizeof(p), 0);

    check(n > 0, "recv");
    n -= (ssize_t)offsetof(struct packet, text);
    check(send(p.fd, p.text, (size_t)n, MSG_NOSIGNAL) == n, "send");
}

static void take_request(int fd, int to) {
    struct packet *p = &from[fd];
    ssize_t n = recv(fd, p->text + have[fd], sizeof(p->text) - have[fd], 0);
    size_t bytes;

    if (n <= 0) {
        close(fd);
        return;
    }
    have[fd] += (size_t)n;
    bytes = request_bytes(p->text, have[fd]);
    if (!bytes || have[fd] < bytes) return;
    n = (ssize_t)(offsetof(struct packet, text) + bytes);
    check(send(to, p, (size_t)n, MSG_NOSIGNAL) == n, "send");
    have[fd] = 0;
}

static int listen_anywhere(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    check(fd >= 0 && !bind(fd, (const struct sockaddr *)&at, bytes) && !listen(fd, 64) &&
              !getsockname(fd, (struct sockaddr *)&at, &bytes),
          "listen");
    printf("relay on port %d process %d\n", ntohs(at.sin_port), getpid());
    fflush(stdout);
    return fd;
}

int main(void) {
    struct epoll_event ready[MAX_FDS];
    int pair[2], poll = epoll_create1(EPOLL_CLOEXEC), listening;

    check(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), "socketpair");
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(pair[0]);
        model(pair[1]);
    }
    listening = listen_anywhere();
    watch(poll, listening);
    watch(poll, pair[0]);
    watch(poll, STDIN_FILENO);
    for (;;) {
        int n = epoll_wait(poll, ready, MAX_FDS, -1);

        for (int i = 0; i < n; i++) {
            int fd = ready[i].data.fd;

            if (fd == STDIN_FILENO) return 0;
            if (fd == listening) take_client(poll, listening);
            if (fd == pair[0]) take_answer(fd);
            if (fd != listening && fd != pair[0]) take_request(fd, pair[0]);
        }
    }
}
