/* SPDX-License-Identifier: Apache-2.0
 *
 * A client rewrites a record while the worker reads it: a thread flips a field between an allowed
 * value and a forbidden one. A worker that copies once (ring_pop), validates the copy and uses the
 * copy never uses a value that it did not validate. A naive worker, which validates in shared
 * memory and reads again, runs as well and must be fooled, or the attack was too weak to prove
 * anything. Exits 0 when the ring withstood and the naive reader was fooled.
 *
 *   ring_attack [records]
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "proto/wire/ring.h"

#define FIELD_AT 40
#define ALLOWED 7u
#define EVIL 0xffffffffu
#define LIMIT 1000u
#define WEAK_NS 30000000000u /* enough for the naive reader to be fooled thousands of times */

static struct ring_memory mem;
static _Atomic uint64_t credit;
static _Atomic uint32_t over;

struct count {
    uint64_t accepted, refused, fooled;
};

/* Flips the field in the slot that the worker reads. */
static void *attack(void *arg) {
    volatile uint32_t *field = (volatile uint32_t *)(mem.slots[0].body + FIELD_AT);
    while (!atom_load_relaxed(&over)) {
        *field = EVIL;
        *field = ALLOWED;
    }
    return arg;
}

/* Stands for a handler's work between validation and use. */
static void work(void) {
    for (int i = 0; i < 4; i++)
        atom_pause();
}

static void judge(struct count *c, uint32_t validated, uint32_t used) {
    if (validated >= LIMIT)
        c->refused++;
    else if (used >= LIMIT)
        c->fooled++;
    else
        c->accepted++;
}

static void naive(struct count *c) {
    const volatile uint32_t *field = (const volatile uint32_t *)(mem.slots[0].body + FIELD_AT);
    uint32_t validated = *field;
    work();
    judge(c, validated, *field);
}

static void careful(struct ring_rx *rx, struct count *c) {
    static unsigned char buf[RING_RECORD_MAX];
    rx->next = rx->published = 0; /* reads the same slot for ever, the attacked one */
    if (ring_pop(rx, buf, sizeof(buf)) != 64) {
        fprintf(stderr, "ring_attack: the record is gone\n");
        exit(1);
    }
    const volatile uint32_t *field = (const volatile uint32_t *)(buf + FIELD_AT);
    uint32_t validated = *field;
    work();
    judge(c, validated, *field);
}

int main(int argc, char **argv) {
    uint64_t records = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000000;
    struct ring_tx tx;
    struct ring_rx rx;
    unsigned char record[64] = {0};
    ring_tx_init(&tx, &mem, &credit);
    ring_rx_init(&rx, &mem, &credit);
    if (ring_push(&tx, record, sizeof(record), NULL, 0)) return 2;
    pthread_t thread;
    if (pthread_create(&thread, NULL, attack, NULL)) return 2;
    struct count ring = {0}, fool = {0};
    uint64_t start = fdutil_now_ns();
    for (uint64_t i = 0; i < records || !fool.fooled || !ring.refused || !ring.accepted; i++) {
        naive(&fool);
        careful(&rx, &ring);
        if (i % 1024 == 0 && fdutil_now_ns() - start > WEAK_NS) break;
    }
    atom_store_relaxed(&over, 1);
    pthread_join(thread, NULL);
    printf("ring_attack: copied once: %llu accepted, %llu refused, %llu fooled; "
           "naive: %llu accepted, %llu refused, %llu fooled\n",
           (unsigned long long)ring.accepted, (unsigned long long)ring.refused,
           (unsigned long long)ring.fooled, (unsigned long long)fool.accepted,
           (unsigned long long)fool.refused, (unsigned long long)fool.fooled);
    if (ring.fooled) return fprintf(stderr, "ring_attack: a validated record changed\n"), 1;
    if (!fool.fooled || !ring.refused || !ring.accepted)
        return fprintf(stderr, "ring_attack: the attack was too weak to show anything\n"), 1;
    return 0;
}
