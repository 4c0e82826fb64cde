/* SPDX-License-Identifier: Apache-2.0
 *
 * Any sequence of launches, copies, frees, waits and marks: no access out of bounds, no undefined
 * behaviour. A mark ends the search for good. If every launch is different, no iteration begins,
 * whatever memory calls occur and however the same bytes repeat. A byte is an event: two bits give
 * its kind, six its number. The input is played ROUNDS times, so that short inputs have periods.
 */
#include <stdlib.h>

#include "daemon/worker/iteration/iteration.h"

#define ROUNDS 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct play {
    struct iteration *it;
    uint64_t live, now_ns, count;
    bool unique; /* no launch occurs twice, and there are no waits or marks */
    bool marked;
    bool worked; /* a launch or a copy occurred, so that a mark ends an iteration */
};

static void launch(struct play *p, uint32_t number) {
    uint64_t fingerprint = p->unique ? p->count * 0x9e3779b97f4a7c15ull : number;
    p->live += (uint64_t)(number & 3) << (number % 48);
    p->count++;
    p->worked = true;
    bool begins = iteration_launch(p->it, fingerprint, p->live, p->now_ns);
    if (begins && (p->unique || p->marked)) abort();
}

static void event(struct play *p, uint8_t byte) {
    uint32_t number = byte & 63;
    p->now_ns += number << (number % 20);
    if (byte >> 6 < 2) {
        launch(p, byte & 127);
    } else if (byte >> 6 == 2) {
        p->live >>= number % 8;
        iteration_drop(p->it, p->live);
    } else if (number && !p->unique) {
        iteration_idle(p->it, number & 1 ? p->now_ns : p->now_ns / 2);
        if (number & 2) iteration_returned(p->it, p->now_ns);
        p->now_ns += (uint64_t)number << 16;
        if (number & 4 && iteration_end(p->it, p->now_ns) && p->marked) abort();
        bool begins = iteration_transfer(p->it, number, number & 8, p->live, p->now_ns);
        if (begins && p->marked) abort();
        p->worked = true;
    } else if (!p->unique) {
        if (iteration_mark(p->it, p->now_ns) != p->worked) abort();
        p->marked = true;
    }
}

static void play(const uint8_t *data, size_t size, bool unique) {
    struct play p = {.unique = unique};
    if (iteration_create(&p.it)) return;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < size; i++)
            event(&p, data[i]);
    enum iteration_source source = iteration_source(p.it);
    if (p.marked != (source == ITERATION_MARK)) abort();
    if (unique && (source != ITERATION_NONE || iteration_period(p.it))) abort();
    if (source == ITERATION_PERIOD && !iteration_period(p.it)) abort();
    iteration_destroy(p.it);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 8192) return 0; /* longer ones show nothing new */
    play(data, size, false);
    play(data, size, true);
    return 0;
}
