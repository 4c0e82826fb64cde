/* SPDX-License-Identifier: Apache-2.0
 *
 * Kills a producer process with SIGKILL somewhere in a push, many times. Its consumer must then
 * find complete records in order and an empty ring at the end, with no part of a record that was
 * being written. In half of the rounds the consumer reads only after the death, and so sees the
 * state that the kill left; in the others it reads at the same time. Exits 0 when no record was
 * ever torn.
 *
 *   ring_kill [seconds [after]]      after: every round is read only after the death
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "proto/wire/ring.h"
#include "test/proofs/pattern.h"

struct shared {
    struct ring_memory mem;
    _Atomic uint64_t credit;
    _Atomic uint32_t started;
};

static unsigned char buf[RING_RECORD_MAX];
static uint64_t total; /* complete records of all producers */

static uint64_t slots_of(int bytes) {
    return ((uint64_t)bytes + RING_SLOT_BODY - 1) / RING_SLOT_BODY;
}

/* Pushes for ever. When the consumer does not read meanwhile (`along` is false), it clears the full
 * ring and begins anew with the first slot. So a reader finds either nothing or the records of one
 * filling, and a kill lands in a push however late it comes. The numbers continue, so that a record
 * left from an earlier filling is never mistaken for a new one. */
static void produce(struct shared *s, bool along) {
    struct ring_tx tx;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ring_tx_init(&tx, &s->mem, &s->credit);
    atom_store_release(&s->started, 1);
    for (uint64_t n = 0;;) {
        uint32_t bytes = pattern_fill(n, buf);
        if (ring_push(&tx, buf, bytes, NULL, 0) == 0) {
            n++;
        } else if (!along) {
            for (uint32_t i = 0; i < RING_SLOTS; i++)
                atom_store_release(&s->mem.slots[i].word, 0);
            ring_tx_init(&tx, &s->mem, &s->credit);
        }
    }
}

/* Reads until the ring is empty. Returns false when a record is torn. `*next` is the expected
 * number; the very first record sets it. */
static bool drain(struct ring_rx *rx, uint64_t *next) {
    for (int n; (n = ring_pop(rx, buf, sizeof(buf))) != 0; ++*next) {
        if (n > 0 && rx->next == slots_of(n)) memcpy(next, buf, sizeof(*next));
        if (!pattern_check(*next, buf, n)) {
            fprintf(stderr, "ring_kill: record %llu: %s\n", (unsigned long long)*next,
                    n < 0 ? err_text(n) : "torn");
            return false;
        }
        total++;
    }
    return true;
}

/* Runs one producer until its death. Returns false when it left a torn record. */
static bool round_once(struct shared *s, uint64_t number, bool along) {
    memset(s, 0, sizeof(*s));
    struct ring_rx rx;
    ring_rx_init(&rx, &s->mem, &s->credit);
    pid_t pid = fork();
    if (pid < 0) exit(2);
    if (pid == 0) produce(s, along);
    while (!atom_load_acquire(&s->started))
        atom_pause();
    uint64_t end = fdutil_now_ns() + pattern_mix(number) % 60000, next = 0;
    bool whole = true;
    while (whole && fdutil_now_ns() < end) {
        if (along) whole = drain(&rx, &next);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    whole = whole && drain(&rx, &next);
    return whole;
}

int main(int argc, char **argv) {
    uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 5;
    bool only_after = argc > 2 && !strcmp(argv[2], "after");
    struct shared *s =
        mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) return 2;
    uint64_t start = fdutil_now_ns(), rounds = 0;
    for (; fdutil_now_ns() - start < seconds * 1000000000u; rounds++) {
        bool along = rounds % 2 && !only_after;
        if (!round_once(s, rounds, along)) {
            fprintf(stderr, "ring_kill: torn in round %llu\n", (unsigned long long)rounds);
            return 1;
        }
    }
    printf("ring_kill: %llu producers killed, %llu records whole\n", (unsigned long long)rounds,
           (unsigned long long)total);
    return total == 0; /* fails if no record was read: then nothing was tested */
}
