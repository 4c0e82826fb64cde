/* SPDX-License-Identifier: Apache-2.0
 *
 * Two producers, and one consumer that sleeps on an eventfd when both rings are empty. Every record
 * must arrive whole and in order, and no wake-up may be lost. check-ring runs it under
 * ThreadSanitizer, with the ring and with its mutants; check-plain runs it plainly. Exits 0 on
 * success.
 *
 *   ring_stress [records of each producer]
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/atomics.h"
#include "proto/wire/ring.h"
#include "test/proofs/pattern.h"

#define CLIENTS 2
#define LOST_MS 5000 /* far longer than any producer pauses */

struct client {
    struct ring_memory mem;
    _Atomic uint64_t credit;
    _Atomic uint32_t sleeping;
    struct ring_tx tx;
    struct ring_rx rx;
    uint64_t read, wakes;
};

static struct client clients[CLIENTS];
static uint64_t records = 300000;
static int bell;

static void wake(void *arg) {
    struct client *c = arg;
    uint64_t one = 1;
    c->wakes++;
    if (write(bell, &one, sizeof(one)) != sizeof(one)) abort();
}

static void *produce(void *arg) {
    static const struct doorbell_ops ops = {.wake = wake};
    struct client *c = arg;
    unsigned char buf[4096];
    for (uint64_t n = 0; n < records; n++) {
        uint32_t bytes = pattern_fill(n, buf), cut = bytes < 64 ? bytes : 64;
        while (ring_push(&c->tx, buf, cut, buf + cut, bytes - cut))
            sched_yield();
        doorbell_ring(&c->sleeping, &ops, c);
        /* Pauses of many lengths, so that the consumer falls asleep at every possible moment. */
        if (pattern_mix(~n) % 64 == 0) {
            for (uint64_t i = pattern_mix(n) % 4000; i > 0; i--)
                atom_pause();
        }
    }
    return NULL;
}

static void fail(const struct client *c, const char *what) {
    fprintf(stderr, "ring_stress: client %ld record %llu: %s\n", (long)(c - clients),
            (unsigned long long)c->read, what);
    exit(1);
}

/* Reads all pending records; returns true when there were any. */
static bool sweep(void) {
    static unsigned char buf[RING_RECORD_MAX];
    bool found = false;
    for (struct client *c = clients; c < clients + CLIENTS; c++) {
        int n;
        for (int quota = 64; quota > 0 && (n = ring_pop(&c->rx, buf, sizeof(buf))) != 0; quota--) {
            if (!pattern_check(c->read, buf, n)) fail(c, "torn, lost or out of order");
            c->read++;
            found = true;
        }
    }
    return found;
}

static void sleep_until_rung(void) {
    struct pollfd pfd = {.fd = bell, .events = POLLIN};
    if (poll(&pfd, 1, LOST_MS) == 0) {
        for (struct client *c = clients; c < clients + CLIENTS; c++) {
            if (ring_ready(&c->rx)) fail(c, "lost wake-up");
        }
        fail(clients, "nothing came");
    }
    uint64_t count;
    if (read(bell, &count, sizeof(count)) != sizeof(count)) abort();
}

int main(int argc, char **argv) {
    if (argc > 1) records = strtoull(argv[1], NULL, 10);
    bell = eventfd(0, EFD_CLOEXEC);
    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        ring_tx_init(&clients[i].tx, &clients[i].mem, &clients[i].credit);
        ring_rx_init(&clients[i].rx, &clients[i].mem, &clients[i].credit);
        if (pthread_create(&threads[i], NULL, produce, &clients[i])) return 2;
    }
    uint64_t sleeps = 0;
    while (clients[0].read < records || clients[1].read < records) {
        if (sweep()) continue;
        for (int i = 0; i < CLIENTS; i++)
            doorbell_arm(&clients[i].sleeping);
        if (!sweep() && (clients[0].read < records || clients[1].read < records)) {
            sleeps++;
            sleep_until_rung();
        }
        for (int i = 0; i < CLIENTS; i++)
            doorbell_disarm(&clients[i].sleeping);
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    printf("ring_stress: %llu records, %llu sleeps, %llu wakes\n",
           (unsigned long long)(clients[0].read + clients[1].read), (unsigned long long)sleeps,
           (unsigned long long)(clients[0].wakes + clients[1].wakes));
    if (sleeps == 0) return fprintf(stderr, "ring_stress: the consumer never slept\n"), 1;
    return 0;
}
