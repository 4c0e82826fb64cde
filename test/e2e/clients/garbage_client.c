/* SPDX-License-Identifier: Apache-2.0
 *
 * A hostile client: `garbage_client RUN_DIR SEED` does the usual handshake, then writes garbage
 * into its ring. Exit status 0 when the daemon ends the connection, and only then.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "proto/wire/wire.h"

static void fail(const char *what) {
    fprintf(stderr, "garbage_client: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int dial(const char *run_dir) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/job.sock", run_dir);
    int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (sock < 0 || connect(sock, (struct sockaddr *)&addr, sizeof(addr))) fail("connect");
    return sock;
}

/* Does the handshake up to the welcome. Returns the submission page. */
static struct wire_submission *shake_hands(int sock, int *doorbell) {
    struct wire_hello hello = {.magic = WIRE_MAGIC,
                               .major = WIRE_MAJOR,
                               .minor = WIRE_MINOR,
                               .pid = getpid(),
                               .name = "garbage"};
    struct wire_offer offer;
    struct wire_welcome welcome;
    int fds[FDUTIL_MAX_FDS], count = FDUTIL_MAX_FDS, none = 0;
    if (fdutil_send(sock, &hello, sizeof(hello), NULL, 0)) fail("hello");
    if (fdutil_recv(sock, &offer, sizeof(offer), fds, &count) != sizeof(offer) ||
        count != WIRE_FD_COUNT)
        fail("offer");
    struct wire_answer answer = {.magic = WIRE_MAGIC, .accepted = 1};
    if (fdutil_send(sock, &answer, sizeof(answer), NULL, 0)) fail("answer");
    if (fdutil_recv(sock, &welcome, sizeof(welcome), NULL, &none) != sizeof(welcome))
        fail("welcome");
    void *p = mmap(NULL, sizeof(struct wire_submission), PROT_READ | PROT_WRITE, MAP_SHARED,
                   fds[WIRE_FD_SUBMISSION], 0);
    if (p == MAP_FAILED) fail("mmap");
    *doorbell = fds[WIRE_FD_DOORBELL];
    return p;
}

/* Writes one of several kinds of garbage: noise everywhere, or well-formed records with absurd
 * contents. */
static void write_garbage(struct wire_submission *page, unsigned seed) {
    srand(seed);
    if (seed % 2 == 0) {
        unsigned char *p = (unsigned char *)&page->ring;
        for (size_t i = 0; i < sizeof(page->ring); i++)
            p[i] = (unsigned char)rand();
        return;
    }
    struct ring_tx tx;
    static const _Atomic uint64_t credit;
    ring_tx_init(&tx, &page->ring, &credit);
    for (int i = 0; i < 200; i++) {
        unsigned char record[300];
        for (size_t k = 0; k < sizeof(record); k++)
            record[k] = (unsigned char)rand();
        uint16_t op = (uint16_t)(rand() % 20);
        memcpy(record, &op, sizeof(op));
        if (ring_push(&tx, record, 24 + (uint32_t)rand() % 200, NULL, 0)) break;
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: garbage_client RUN_DIR SEED\n");
        return 2;
    }
    int doorbell, sock = dial(argv[1]);
    struct wire_submission *page = shake_hands(sock, &doorbell);
    write_garbage(page, (unsigned)atoi(argv[2]));
    uint64_t one = 1;
    atom_fence();
    if (write(doorbell, &one, sizeof(one)) != sizeof(one)) fail("doorbell");
    struct pollfd p = {.fd = sock, .events = POLLIN};
    if (poll(&p, 1, 30000) != 1) {
        fprintf(stderr, "garbage_client: the daemon still listens after 30 s\n");
        return 1;
    }
    printf("ended\n");
    return 0;
}
